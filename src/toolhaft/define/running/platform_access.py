"""The platform of a project, its API key, and the platforms that the current call has passed through."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.define.running.environment import Environment, project_of
from toolhaft.define.running.platform_settings import (
    DEFAULT_URL,
    KEY_VARIABLE,
    URL_VARIABLE,
    platform_in_settings,
)
from toolhaft.errors import HttpRefusedError, ResourceMissingError
from toolhaft.resources.http.urls import parse_url

HOPS_HEADER: Final = "Toolhaft-Trail"
MAX_HOPS: Final = 8
"""How many tools of platforms a call may pass through; a longer chain is taken for a loop."""
HOPS: ContextVar[tuple[str, ...]] = ContextVar("toolhaft_trail", default=())
"""The tokens of the tools of platforms that the current call has passed through."""

_TOKEN: Final = re.compile(r"[0-9a-f]{16}")
_MAX_READ: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformAccess:
    """The address and the key of the platform; given as a resource, or read from the environment."""

    url: str = DEFAULT_URL
    key: str | None = field(default=None, repr=False)

    def covers(self, url: str) -> bool:
        """True if a URL has the platform's origin."""
        try:
            return parse_url(url).origin == parse_url(self.url).origin
        except HttpRefusedError:
            return False


def access_of(
    context: ToolContext | None, environment: Environment, folder: str | None = None
) -> PlatformAccess:
    """Return the platform of a call: the resource if there is one, else that of the tool's project.

    Args:
        context: the context of the call.
        environment: has the key, and may have the address.
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
    url = environment.find(URL_VARIABLE) or platform_in_settings(project_of(folder)) or DEFAULT_URL
    return PlatformAccess(url=url, key=environment.find(KEY_VARIABLE) or None)


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
