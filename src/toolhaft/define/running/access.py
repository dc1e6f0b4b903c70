"""Where the platform is, and the key that is sent to it and to nobody else.

Knows one address and one key; sends nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from toolhaft.core.context import ToolContext
from toolhaft.define.running.environment import Environment, project_of
from toolhaft.define.running.settings import DEFAULT_URL, KEY_VARIABLE, URL_VARIABLE, platform_in_settings
from toolhaft.errors import HttpRefusedError, ResourceMissingError
from toolhaft.resources.http.places import read_url


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformAccess:
    """The platform that this project talks to; a resource, or read off the environment."""

    url: str = DEFAULT_URL
    key: str | None = field(default=None, repr=False)

    def covers(self, url: str) -> bool:
        """True if a URL is of the platform's own origin."""
        try:
            return read_url(url).origin == read_url(self.url).origin
        except HttpRefusedError:
            return False


def access_of(
    context: ToolContext | None, environment: Environment, folder: str | None = None
) -> PlatformAccess:
    """The platform of a call: the resource where one was given, else that of the tool's project.

    Args:
        context: of the call.
        environment: says it first; it has the key, whose platform must be known before it is sent anywhere.
        folder: of the tool's file; the settings of its project say it next.

    Raises:
        ResourceError: where one was to be given and could not be made.
        ToolExecutionError: for settings that cannot be read.
    """
    if context is not None:
        try:
            return context.resources.get(PlatformAccess)
        except ResourceMissingError as error:
            if error.kind not in (None, PlatformAccess):
                raise
    url = environment.find(URL_VARIABLE) or platform_in_settings(project_of(folder)) or DEFAULT_URL
    return PlatformAccess(url=url, key=environment.find(KEY_VARIABLE) or None)
