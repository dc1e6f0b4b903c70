"""The interface of a platform, where tools are published, and the choice of a project's platform."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Protocol, TypeAlias

from toolhaft.catalog.listing import Listing
from toolhaft.catalog.project import Project

TYPE_CHECKING = False  # a list of tools must not load the YAML package
if TYPE_CHECKING:
    from toolhaft.catalog.published import PublishedTool
    from toolhaft.catalog.remote import RemotePublishedTool
    from toolhaft.catalog.tool_versions import ToolVersion
    from toolhaft.core.conversion import AnyTool

    AnyPublishedTool: TypeAlias = PublishedTool | RemotePublishedTool


class Platform(Protocol):
    """Where tools are published.

    Its methods raise
    - PlatformError if it cannot be reached,
    - ForbiddenError if the key does not allow the request,
    - UnknownToolError if there is no such tool, or the key may not see it, or it has no such version,
    - ConflictError if somebody else published first,
    - DefinitionError if the text does not define a valid tool.
    """

    @property
    def url(self) -> str:
        """Its address, without a trailing slash."""
        ...

    @property
    def is_embedded(self) -> bool:
        """True if it runs in this process."""
        ...

    def list(
        self, *, tag: str | None = None, owner: str | None = None, share: str | None = None
    ) -> Sequence[AnyPublishedTool]:
        """Every visible tool, sorted by id."""
        ...

    def listings(self) -> list[Listing]:
        """The listing of every visible tool; cheaper than `list`."""
        ...

    def get(self, id: str) -> AnyPublishedTool:
        """One tool."""
        ...

    def put(self, text: str, *, base: str | EllipsisType | None = ...) -> AnyPublishedTool:
        """Publish a YAML text.

        `base` is the version that it replaces: `...` for any, None if the tool must be new.
        """
        ...

    def remove(self, id: str, *, base: str | EllipsisType = ...) -> None:
        """Delete a tool."""
        ...

    def versions(self, id: str) -> Sequence[ToolVersion]:
        """The last versions of a tool, the newest first; only its owner may see them."""
        ...

    def rollback(self, id: str, *, to: int | None = None, base: str | EllipsisType = ...) -> AnyPublishedTool:
        """Publish a version again, as a new one; by default the one before the current one."""
        ...

    def runnable(self, id: str) -> AnyTool:
        """One tool, ready to be called from this process."""
        ...

    def close(self) -> None:
        """Close the database or connections; the next use opens them again."""
        ...


def platform_of(project: Project) -> Platform:
    """The platform of a project: the configured one, else the embedded one.

    Raises:
        ConfigError: if its settings are invalid.
    """
    url = project.platform_url
    if url is None:
        from toolhaft.catalog.embedded import EmbeddedPlatform  # noqa: PLC0415 -- only one of the two is needed

        return EmbeddedPlatform(project)
    from toolhaft.catalog.remote import RemotePlatform  # noqa: PLC0415 -- the same

    access = project.access
    return RemotePlatform(url, access.key, refusal=access.refusal)
