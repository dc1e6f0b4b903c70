"""Finding tools: the registry, and the catalog of files, built-in and installed tools and platforms."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.catalog import Catalog as Catalog
    from toolhaft.catalog.embedded import EmbeddedPlatform as EmbeddedPlatform
    from toolhaft.catalog.listing import Listing as Listing
    from toolhaft.catalog.platform import Platform as Platform
    from toolhaft.catalog.platform import platform_of as platform_of
    from toolhaft.catalog.project import Project as Project
    from toolhaft.catalog.registry import ToolRegistry as ToolRegistry
    from toolhaft.catalog.remote import RemotePlatform as RemotePlatform
    from toolhaft.catalog.toolsets import combine as combine
    from toolhaft.catalog.toolsets import keep as keep
    from toolhaft.catalog.toolsets import prefix as prefix
    from toolhaft.catalog.toolsets import rename as rename

_HOMES = {
    "Catalog": "catalog",
    "EmbeddedPlatform": "embedded",
    "Listing": "listing",
    "Platform": "platform",
    "Project": "project",
    "RemotePlatform": "remote",
    "ToolRegistry": "registry",
    "combine": "toolsets",
    "keep": "toolsets",
    "platform_of": "platform",
    "prefix": "toolsets",
    "rename": "toolsets",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
