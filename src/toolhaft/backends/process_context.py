"""The context of a call in a worker process: copied values, and operations that the host performs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import inf
from time import monotonic
from types import ModuleType, NoneType
from typing import Final, Protocol, TypeVar, cast

from toolhaft.backends.process_types import type_name
from toolhaft.core.context import ToolContext
from toolhaft.core.ports import Filesystem, ResourceKind, Restorable, Snapshotable
from toolhaft.errors import ResourceMissingError, ToolExecutionError

ResourceT = TypeVar("ResourceT")

_COPIED: Final = ("prompt", "rendered_prompt", "adapter", "deadline", "time_limit", "principal", "call")
_SLICE: Final = "session.slice."
_BEAT_EVERY_S: Final = 0.01

_Number: Final = (int, float, NoneType)
_FILES: Final[Mapping[str, Mapping[str, tuple[type, ...]]]] = {
    "read": {"path": (str,), "offset": (int,), "limit": (int, NoneType)},
    "read_bytes": {"path": (str,), "offset": (int,), "limit": (int, NoneType)},
    "write": {"path": (str,), "content": (str, bytes), "mode": (str,)},
    "list": {"path": (str,), "recursive": (bool,), "limit": (int, NoneType)},
    "glob": {"pattern": (str,), "path": (str,)},
    "grep": {"pattern": (str,), "path": (str,), "glob": (str, NoneType), "max_hits": (int,)},
    "stat": {"path": (str,)},
    "exists": {"path": (str,)},
    "delete": {"path": (str,), "recursive": (bool,)},
    "mkdir": {"path": (str,)},
}
"""The operations of a filesystem, with the types of their arguments."""
_SLICES: Final[Mapping[str, Mapping[str, tuple[type, ...]]]] = {
    "latest": {},
    "all": {},
    "append": {"item": (object,)},
    "seed": {"items": (object,)},
    "clear": {"items": (list, NoneType)},
    "__len__": {},
}
_OPERATIONS: Final[Mapping[str, Mapping[str, tuple[type, ...]]]] = {
    "beat": {},
    "progress": {"done": _Number, "total": _Number, "message": (str,)},
    "session.dispatch": {"event": (object,)},
    "session.dispatcher.dispatch": {"event": (object,)},
    "resources.get": {"kind": (str,)},
    "filesystem.read_only": {},
    **{f"filesystem.{name}": types for name, types in _FILES.items()},
    **{_SLICE + name: {"kind": (str,), **types} for name, types in _SLICES.items()},
    "budget_tracker.add": {"tokens": (int,), "calls": (int,)},
    "budget_tracker.check": {},
    **{f"budget_tracker.{name}": {} for name in ("budget", "calls", "tokens", "wall_s")},
}
"""All that a worker can ask for; the host performs nothing else."""


class HostLink(Protocol):
    """The connection of a handler in a worker to its host."""

    def request(self, path: str, /, *args: object, **kwargs: object) -> object:
        """Let the host perform an operation, and return its value."""
        ...

    def notify(self, path: str, /, *args: object, **kwargs: object) -> None:
        """Let the host perform an operation, without waiting for it."""
        ...


def copied_attributes(context: ToolContext) -> dict[str, object]:
    """The `context` of a ProcessJob: copied attributes, and whether there is a budget."""
    copied = {name: cast("object", getattr(context, name)) for name in _COPIED}
    copied["budget_tracker"] = context.budget_tracker is not None
    return copied


def serve_context(
    context: ToolContext, path: str, args: tuple[object, ...], kwargs: dict[str, object]
) -> object:
    """Perform an operation of a worker on the context of the call; pass `partial(serve_context, context)`.

    Raises:
        ToolExecutionError: if it is not in the list of operations or has other arguments; also for a
            resource with rollback, because changes to a copy would be lost.
    """
    _check(path, args, kwargs)
    if path == "resources.get":
        return _resource(context, cast("str", args[0]))
    if path.startswith(_SLICE):
        kind, *rest = args
        target = cast("object", context.session[_loaded_type(cast("str", kind))])
        if path == f"{_SLICE}clear":
            rest = [cast("list[object]", items).__contains__ for items in rest if items is not None]
        return cast("object", getattr(target, path.removeprefix(_SLICE))(*rest))
    target = context
    for name in path.split("."):
        target = cast("object", getattr(target, name))
    return target(*args, **kwargs) if callable(target) else target


def _check(path: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> None:
    types = _OPERATIONS.get(path)
    if types is None:
        raise ToolExecutionError(f"{path:.200} cannot be used from a process. Fix: use isolation='thread'")
    given = [*zip(types, args, strict=False), *kwargs.items()]
    if len(args) > len(types) or len(dict(given)) < len(given) or not kwargs.keys() <= types.keys():
        raise ToolExecutionError(f"{path} takes {', '.join(types) or 'no arguments'}")
    for name, value in given:
        if not isinstance(value, types[name]) or (
            isinstance(value, bool) and bool not in types[name] + (object,)
        ):
            raise ToolExecutionError(f"the argument {name} of {path} has the wrong type")
    if path == "budget_tracker.add" and any(cast("int", value) < 0 for _, value in given):
        raise ToolExecutionError("what was used of a budget cannot become less")


def _resource(context: ToolContext, name: str) -> object:
    value = cast("object", context.resources.get(_loaded_type(name)))
    if isinstance(value, Snapshotable | Restorable):
        raise ToolExecutionError(
            f"the resource {name.rpartition(':')[2]} cannot be sent to a process: "
            "changes to a copy would be lost. Fix: use isolation='thread'"
        )
    return value


def _loaded_type(name: str) -> type:
    """The class of this name in a module that is loaded already; only read, so that no code runs."""
    module, _, path = name.partition(":")
    found: object = sys.modules.get(module)
    for part in path.split("."):
        found = vars(found).get(part) if isinstance(found, ModuleType | type) else None
    if not isinstance(found, type):
        raise ToolExecutionError(f"the type {name!r:.200} is not known outside the process")
    return found


def remote_context(link: HostLink, copied: dict[str, object]) -> ToolContext:
    """The context of a handler in a worker; what was not copied is requested from the host."""
    budget = copied.pop("budget_tracker", None)
    tracker = Remote(link, "budget_tracker", ("budget", "calls", "tokens", "wall_s")) if budget else None
    return ToolContext(
        **copied,  # pyright: ignore[reportArgumentType] -- attributes of a context
        budget_tracker=tracker,  # pyright: ignore[reportArgumentType] -- it behaves like one
        session=RemoteSession(link, "session"),
        resources=RemoteResources(link),
        watcher=RemoteWatcher(link),
    )


class Remote:
    """A proxy of an object in the host: calls its methods and reads its attributes `values` there."""

    def __init__(self, link: HostLink, path: str, values: tuple[str, ...] = ()) -> None:
        self._link = link
        self._path = path
        self._values = values

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)  # copy, pickle and inspect look for such names
        method = partial(self._link.request, f"{self._path}.{name}")
        return method() if name in self._values else method

    def __repr__(self) -> str:
        return f"<{self._path} of the host>"


class RemoteSession(Remote):
    """The session of the call, in the host."""

    @property
    def dispatcher(self) -> Remote:
        """Publishes events."""
        return Remote(self._link, f"{self._path}.dispatcher")

    def __getitem__(self, kind: type[object]) -> RemoteSlice:
        return RemoteSlice(self._link, kind)


class RemoteSlice:
    """A slice of the session; predicates run here, because functions cannot be sent."""

    def __init__(self, link: HostLink, kind: type[object]) -> None:
        self._link = link
        self._kind = kind

    def _request(self, method: str, *args: object) -> object:
        return self._link.request(_SLICE + method, type_name(self._kind), *args)

    def latest(self) -> object:
        """The newest item; None if there is none."""
        return self._request("latest")

    def all(self) -> tuple[object, ...]:
        """Every item."""
        return cast("tuple[object, ...]", self._request("all"))

    def where(self, predicate: Callable[[object], bool]) -> tuple[object, ...]:
        """The items that match the predicate."""
        return tuple(item for item in self.all() if predicate(item))

    def append(self, item: object) -> None:
        """Add one item, through the reducer of its type."""
        self._request("append", item)

    def seed(self, items: object) -> None:
        """Replace the slice by one or several items, without a reducer."""
        self._request("seed", list(cast("Iterator[object]", items)) if isinstance(items, Iterator) else items)

    def clear(self, predicate: Callable[[object], bool] | None = None) -> None:
        """Remove all items, or those that match the predicate."""
        if predicate is None:
            self._request("clear")
        else:  # sends the items instead of the predicate: others may be added meanwhile
            self._request("clear", [item for item in self.all() if predicate(item)])

    def __iter__(self) -> Iterator[object]:
        return iter(self.all())

    def __len__(self) -> int:
        return cast("int", self._request("__len__"))


class RemoteResources:
    """The resources of the call: the filesystem in the host, other resources as copies."""

    def __init__(self, link: HostLink) -> None:
        self._link = link
        self._files: Remote | None = None

    def get(self, kind: ResourceKind[ResourceT]) -> ResourceT:
        """The filesystem of the call, or a copy of another resource.

        Raises:
            ResourceError: if there is no resource of this type.
            ToolExecutionError: if it cannot be pickled.
        """
        if kind is not Filesystem:
            return cast("ResourceT", self._link.request("resources.get", type_name(kind)))
        if self._files is None:
            files = Remote(self._link, "filesystem", ("read_only",))
            _ = files.read_only  # raises now if there is no filesystem, not at the first use
            self._files = files
        return cast("ResourceT", self._files)

    def __getitem__(self, kind: ResourceKind[ResourceT]) -> ResourceT:
        return self.get(kind)

    def __contains__(self, kind: type) -> bool:
        try:
            self.get(kind)
        except ResourceMissingError:
            return False
        except ToolExecutionError:  # there is one, and it cannot be copied
            return True
        return True


class RemoteWatcher:
    """Sends heartbeats and progress to the host, without waiting."""

    def __init__(self, link: HostLink) -> None:
        self._link = link
        self._last_beat = -inf

    def raise_if_ended(self) -> None:
        """Do nothing: when the call ends, this process is killed."""

    def beat(self) -> None:
        """Send a heartbeat, unless another one was sent just before."""
        now = monotonic()
        if now - self._last_beat >= _BEAT_EVERY_S:
            self._last_beat = now
            self._link.notify("beat")

    def progress(self, done: float | None, total: float | None, message: str) -> None:
        """Report the progress of the handler."""
        self._link.notify("progress", done, total, message)
