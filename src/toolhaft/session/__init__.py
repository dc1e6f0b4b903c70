"""Typed state: slices, reducers, events, snapshots."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.session.operations import Append as Append
    from toolhaft.session.operations import Clear as Clear
    from toolhaft.session.operations import Extend as Extend
    from toolhaft.session.operations import KeepLatest as KeepLatest
    from toolhaft.session.operations import Operation as Operation
    from toolhaft.session.operations import Replace as Replace
    from toolhaft.session.operations import ReplaceLatest as ReplaceLatest
    from toolhaft.session.operations import SliceView as SliceView
    from toolhaft.session.operations import Upsert as Upsert
    from toolhaft.session.reducers import append_all as append_all
    from toolhaft.session.reducers import keep_latest as keep_latest
    from toolhaft.session.reducers import reducer as reducer
    from toolhaft.session.reducers import replace_latest as replace_latest
    from toolhaft.session.reducers import upsert_by as upsert_by
    from toolhaft.session.session import Dispatcher as Dispatcher
    from toolhaft.session.session import Session as Session
    from toolhaft.session.slices import Slice as Slice

_HOMES = {
    "Append": "operations",
    "Clear": "operations",
    "Dispatcher": "session",
    "Extend": "operations",
    "KeepLatest": "operations",
    "Operation": "operations",
    "Replace": "operations",
    "ReplaceLatest": "operations",
    "Session": "session",
    "Slice": "slices",
    "SliceView": "operations",
    "Upsert": "operations",
    "append_all": "reducers",
    "keep_latest": "reducers",
    "reducer": "reducers",
    "replace_latest": "reducers",
    "upsert_by": "reducers",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
