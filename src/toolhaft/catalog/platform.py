"""What a platform is to whoever publishes and finds tools there, and which one a project has.

Knows the port alone; the embedded one and the remote one are in files of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Protocol

from toolhaft.catalog.listing import Listing
from toolhaft.catalog.project import Project

TYPE_CHECKING = False  # a list of tools must not load the YAML door
if TYPE_CHECKING:
    from toolhaft.catalog.remote import RemotePublished
    from toolhaft.catalog.shelf import Published
    from toolhaft.core.conversion import AnyTool

    PublishedTool = Published | RemotePublished


class Platform(Protocol):
    """Where tools are published.

    Its methods raise PlatformError where it cannot be reached, ForbiddenError where the key does not reach,
    UnknownToolError where there is no such tool (or not for this key), ConflictError where somebody else was
    first, and DefinitionError for a text that is no sound tool.
    """

    @property
    def url(self) -> str:
        """Its address, without a slash at its end."""
        ...

    @property
    def is_embedded(self) -> bool:
        """True if it lives in this process."""
        ...

    def list(
        self, *, tag: str | None = None, owner: str | None = None, share: str | None = None
    ) -> Sequence[PublishedTool]:
        """Every tool that can be seen, by id."""
        ...

    def listings(self) -> list[Listing]:
        """The same as listings, at less cost."""
        ...

    def get(self, id: str) -> PublishedTool:
        """One tool."""
        ...

    def put(self, text: str, *, base: str | EllipsisType | None = ...) -> PublishedTool:
        """Publish a document: over whatever is there (...), only as a new one (None), or over a version."""
        ...

    def remove(self, id: str, *, base: str | EllipsisType = ...) -> None:
        """Take a tool away."""
        ...

    def runnable(self, id: str) -> AnyTool:
        """One tool, ready to be called from here."""
        ...

    def close(self) -> None:
        """Let go of what is held open; the next use opens it again."""
        ...


def platform_of(project: Project) -> Platform:
    """The platform of a project: the configured one, else the embedded one.

    Raises:
        ConfigError: where its settings make no sense.
    """
    url = project.platform_url
    if url is None:
        from toolhaft.catalog.embedded import EmbeddedPlatform  # noqa: PLC0415 -- each only where it is used

        return EmbeddedPlatform(project)
    from toolhaft.catalog.remote import RemotePlatform  # noqa: PLC0415 -- each only where it is used

    return RemotePlatform(url, project.api_key)
