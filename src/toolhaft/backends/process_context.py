"""A call's context on both sides of a process: what travels as a copy, and what is asked of the host.

Knows the context's own ports; does not know how a question travels, nor what stands behind the ports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Protocol, TypeVar, cast

from toolhaft.core.context import ToolContext
from toolhaft.core.ports import Filesystem, Restorable, Snapshotable
from toolhaft.errors import ToolExecutionError

ThingT = TypeVar("ThingT")

_COPIED: Final = ("prompt", "rendered_prompt", "adapter", "deadline", "principal", "call")
_SLICE: Final = "session.slice."


class Line(Protocol):
    """How a handler in a worker reaches its host."""

    def ask(self, path: str, *args: object, **kwargs: object) -> object:
        """Have an operation done, and wait for its value."""
        ...

    def tell(self, path: str, *args: object, **kwargs: object) -> None:
        """Have an operation done without waiting."""
        ...


def copied_attributes(context: ToolContext) -> dict[str, object]:
    """The `context` of a ProcessJob: what travels as a copy, and whether there is a budget to ask about."""
    copied = {name: cast("object", getattr(context, name)) for name in _COPIED}
    copied["budget_tracker"] = context.budget_tracker is not None
    return copied


def serve_context(
    context: ToolContext, path: str, args: tuple[object, ...], kwargs: dict[str, object]
) -> object:
    """Do what a worker asks for on the call's own context; `partial(serve_context, context)` serves a job.

    Raises:
        ToolExecutionError: for a resource that cannot be copied without losing what the handler does to it.
    """
    target: object = context
    names = path
    if path.startswith(_SLICE):
        kind, *rest = args
        target = context.session[cast("type[object]", kind)]
        names, args = path.removeprefix(_SLICE), tuple(rest)
    for name in names.split("."):
        target = cast("object", getattr(target, name))
    value = target(*args, **kwargs) if callable(target) else target
    if path == "resources.get" and isinstance(value, Snapshotable | Restorable):
        raise ToolExecutionError(
            f"the resource {getattr(args[0], '__qualname__', args[0])} cannot travel to a process: what the "
            "handler does to a copy would be lost. Fix: use isolation='thread'"
        )
    return value


def remote_context(line: Line, copied: dict[str, object]) -> ToolContext:
    """The context of a handler in a worker: copies, and a line to the host for the rest."""
    budget = copied.pop("budget_tracker", None)
    tracker = Remote(line, "budget_tracker", ("budget", "calls", "tokens", "wall_s")) if budget else None
    return ToolContext(
        **copied,  # pyright: ignore[reportArgumentType] -- the host read each off a context
        budget_tracker=tracker,  # pyright: ignore[reportArgumentType] -- it answers as one
        session=RemoteSession(line, "session"),
        resources=RemoteResources(line),
        watcher=RemoteWatcher(line),
    )


class Remote:
    """Something in the host: its methods are called there, its `values` are read there."""

    def __init__(self, line: Line, path: str, values: tuple[str, ...] = ()) -> None:
        self._line = line
        self._path = path
        self._values = values

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)  # what copy, pickle and inspect look for, nobody's method
        method = partial(self._line.ask, f"{self._path}.{name}")
        return method() if name in self._values else method

    def __repr__(self) -> str:
        return f"<{self._path} of the host>"


class RemoteSession(Remote):
    """The call's session in the host."""

    @property
    def dispatcher(self) -> Remote:
        """Where events are published."""
        return Remote(self._line, f"{self._path}.dispatcher")

    def __getitem__(self, kind: type[object]) -> RemoteSlice:
        return RemoteSlice(self._line, kind)


class RemoteSlice:
    """All items of one type in the call's session; predicates stay here, since functions do not travel."""

    def __init__(self, line: Line, kind: type[object]) -> None:
        self._line = line
        self._kind = kind

    def _ask(self, method: str, *args: object) -> object:
        return self._line.ask(_SLICE + method, self._kind, *args)

    def latest(self) -> object:
        """The newest item, None where there is none."""
        return self._ask("latest")

    def all(self) -> tuple[object, ...]:
        """Every item."""
        return cast("tuple[object, ...]", self._ask("all"))

    def where(self, predicate: Callable[[object], bool]) -> tuple[object, ...]:
        """The items that the predicate is true for."""
        return tuple(item for item in self.all() if predicate(item))

    def append(self, item: object) -> None:
        """Add one item, by the reducer that is registered for its type."""
        self._ask("append", item)

    def seed(self, items: object) -> None:
        """Set the slice to one item or several, past any reducer."""
        self._ask("seed", tuple(cast("Iterator[object]", items)) if isinstance(items, Iterator) else items)

    def clear(self, predicate: Callable[[object], bool] | None = None) -> None:
        """Remove every item, or those that the predicate is true for."""
        if predicate is None:
            self._ask("clear")
        else:  # the items travel in place of the predicate: others may have come in the meantime
            self._ask("clear", Among([item for item in self.all() if predicate(item)]))

    def __iter__(self) -> Iterator[object]:
        return iter(self.all())

    def __len__(self) -> int:
        return cast("int", self._ask("__len__"))


class Among:
    """A predicate that can travel: true for items that are equal to one of these."""

    def __init__(self, items: list[object]) -> None:
        self.items = items

    def __call__(self, item: object) -> bool:
        """True if the item is among them."""
        return item in self.items


class RemoteResources:
    """What the call may touch: the files in the host, anything else as a copy."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._files: Remote | None = None

    def get(self, kind: type[ThingT]) -> ThingT:
        """The call's own view of the files, or a copy of a resource that is data.

        Raises:
            ResourceError: where none of this kind was given.
            ToolExecutionError: where it cannot travel.
        """
        if kind is not Filesystem:
            return cast("ThingT", self._line.ask("resources.get", kind))
        if self._files is None:
            files = Remote(self._line, "filesystem", ("read_only",))
            _ = files.read_only  # raises here where there are no files, not at the first use
            self._files = files
        return cast("ThingT", self._files)


class RemoteWatcher:
    """Who hears from the handler, in the host; nobody waits for it to hear."""

    def __init__(self, line: Line) -> None:
        self._line = line

    def beat(self) -> None:
        """The handler is alive."""
        self._line.tell("beat")

    def progress(self, done: float | None, total: float | None, message: str) -> None:
        """The handler has come so far."""
        self._line.tell("progress", done, total, message)
