"""The platform of a project, its API key, and the platforms that the current call has passed through."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.define.running.environment import ENV_FILE, Environment, project_of
from toolhaft.define.running.platform_keys import check_encrypted, is_below, is_encrypted, stored_key
from toolhaft.define.running.platform_settings import (
    DEFAULT_URL,
    KEY_VARIABLE,
    SETTINGS_FILE,
    URL_VARIABLE,
    platform_in_settings,
)
from toolhaft.errors import ConfigError, ResourceMissingError, ToolExecutionError

HOPS_HEADER: Final = "Toolhaft-Trail"
MAX_HOPS: Final = 8
"""How many tools of platforms a call may pass through; a longer chain is taken for a loop."""
HOPS: ContextVar[tuple[str, ...]] = ContextVar("toolhaft_trail", default=())
"""The tokens of the tools of platforms that the current call has passed through."""

_TOKEN: Final = re.compile(r"[0-9a-f]{16}")
_MAX_READ: Final = 64
_ENVIRONMENT: Final = "the environment"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformAccess:
    """The address and the key of the platform; given as a resource, or read from the settings.

    Raises:
        ConfigError: for a key that would be sent over plain http to another machine.
    """

    url: str = DEFAULT_URL
    key: str | None = field(default=None, repr=False)
    refusal: str = ""
    """Why a key that is set is not sent to this address, and what to type; empty if there is none."""

    def __post_init__(self) -> None:
        if self.key:
            check_encrypted(self.url, place="url")

    def covers(self, url: str) -> bool:
        """True if a URL has the platform's origin, and begins with its path."""
        return is_below(url, self.url)


def access_of(
    context: ToolContext | None, environment: Environment, folder: str | None = None
) -> PlatformAccess:
    """Return the platform of a call: the resource if there is one, else that of the tool's project.

    Args:
        context: the context of the call.
        environment: may have the address and the key.
        folder: the folder of the tool's file; its project's settings are read if there is no address yet.

    Raises:
        ResourceError: if the resource could not be made.
        ToolExecutionError: if the settings cannot be read.
    """
    if context is not None:
        try:
            return context.resources.get(PlatformAccess)
        except ResourceMissingError as error:
            if error.kind not in (None, PlatformAccess):
                raise
    own, in_file = environment.sources((URL_VARIABLE, KEY_VARIABLE))
    try:
        return find_access(own, in_file, platform_in_settings(project_of(folder)))
    except ConfigError as error:
        raise ToolExecutionError(str(error)) from error


def find_access(own: Mapping[str, str], in_file: Mapping[str, str], configured: str | None) -> PlatformAccess:
    """Find the platform of a project, and the key that was given for its address.

    A project's files could name any address, so a key is sent only to an address from the same source.

    Args:
        own: the variables of the environment, which win over those of the file.
        in_file: the variables of the project's `.env` file.
        configured: `platform_url` in the project's settings.

    Raises:
        ConfigError: if the file of the stored keys cannot be used.
    """
    url, source = _address(own, in_file, configured)
    own_key, file_key = (one.get(KEY_VARIABLE, "").strip() for one in (own, in_file))
    if KEY_VARIABLE in own:
        file_key = ""
    if source == _ENVIRONMENT and own_key:
        key = own_key
    else:
        key = stored_key(url) or (file_key if source == ENV_FILE else "")
    refusal = ""
    if (key or own_key or file_key) and not is_encrypted(url):
        refusal = (
            f"no key is sent to {url}, since others can read plain http; use the platform's https address"
        )
    elif not key and (own_key or file_key):
        place = _ENVIRONMENT if own_key else ENV_FILE
        refusal = (
            f"{KEY_VARIABLE} is not sent to {url}: the key is from {place}, the address from "
            f"{source or 'no setting'}, and a key is sent only to the address that it was given for. To "
            f"store a key for this address, type: lk login {url}"
        )
    return PlatformAccess(url=url, key=None if refusal else key or None, refusal=refusal)


def _address(own: Mapping[str, str], in_file: Mapping[str, str], configured: str | None) -> tuple[str, str]:
    """Return the address of the platform, and which setting names it; '' for the default address."""
    if URL_VARIABLE in own:
        url, source = own[URL_VARIABLE].strip(), _ENVIRONMENT
    else:
        url, source = in_file.get(URL_VARIABLE, "").strip(), ENV_FILE
    if url:
        return url, source
    return (configured, SETTINGS_FILE) if configured else (DEFAULT_URL, "")


def hop_token(instance_id: str, tool_id: str) -> str:
    """Return the opaque token of one platform's tool."""
    return blake2b(f"{instance_id}\0{tool_id}".encode(errors="replace"), digest_size=8).hexdigest()


def read_hops(header: str | None) -> tuple[str, ...]:
    """Read the tokens of a header; parts that are not tokens are skipped."""
    if not header:
        return ()
    found = (part.strip() for part in header.split(",", _MAX_READ)[:_MAX_READ])
    return tuple(part for part in found if _TOKEN.fullmatch(part))


def write_hops() -> str:
    """Write the header for a request of the current call; empty if it has passed through no platform."""
    return ",".join(HOPS.get())
