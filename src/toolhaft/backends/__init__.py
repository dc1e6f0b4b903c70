"""Runs handlers on an event loop, on threads and in worker processes."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.backends.loop import BackgroundLoop as BackgroundLoop
    from toolhaft.backends.process import ProcessJob as ProcessJob
    from toolhaft.backends.process import ProcessKilledError as ProcessKilledError
    from toolhaft.backends.process import ProcessPool as ProcessPool
    from toolhaft.backends.process_types import register_process_type as register_process_type
    from toolhaft.backends.threads import ThreadPool as ThreadPool

_HOMES = {
    "BackgroundLoop": "loop",
    "ProcessJob": "process",
    "ProcessKilledError": "process",
    "ProcessPool": "process",
    "ThreadPool": "threads",
    "register_process_type": "process_types",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, listed once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
