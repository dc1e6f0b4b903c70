"""Resources of tools: filesystems, clocks, the guarded web client, and the registry that provides them."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.ports import Clock as Clock
    from toolhaft.core.ports import FileList as FileList
    from toolhaft.core.ports import FileStat as FileStat
    from toolhaft.core.ports import Filesystem as Filesystem
    from toolhaft.core.ports import FileText as FileText
    from toolhaft.core.ports import GrepHit as GrepHit
    from toolhaft.resources.call_resources import CallResources as CallResources
    from toolhaft.resources.clock import FakeClock as FakeClock
    from toolhaft.resources.clock import SystemClock as SystemClock
    from toolhaft.resources.host import HostFilesystem as HostFilesystem
    from toolhaft.resources.memory import MemoryFilesystem as MemoryFilesystem
    from toolhaft.resources.registry import ResourceRegistry as ResourceRegistry

_HOMES = {
    "CallResources": "call_resources",
    "Clock": "ports",
    "FakeClock": "clock",
    "FileList": "ports",
    "FileStat": "ports",
    "FileText": "ports",
    "Filesystem": "ports",
    "GrepHit": "ports",
    "HostFilesystem": "host",
    "MemoryFilesystem": "memory",
    "ResourceRegistry": "registry",
    "SystemClock": "clock",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, listed once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
