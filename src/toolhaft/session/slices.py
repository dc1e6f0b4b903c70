"""One slice of a session: read, written and given its reducers.

Does not know how a change is kept or dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar, cast

from toolhaft.errors import SessionError
from toolhaft.session.branch import Branch
from toolhaft.session.operations import Clear, Operation
from toolhaft.session.reducers import Keeper, function_step, refuse_type
from toolhaft.session.registration import read_registration
from toolhaft.session.vector import EMPTY, Vector
from toolhaft.session.views import Items

ThingT = TypeVar("ThingT")


class Slice(Items[ThingT]):
    """All items of one type in a session, oldest first; what it reads is always the newest state."""

    __slots__ = ("_branch", "_kind")

    def __init__(self, branch: Branch, kind: type[ThingT]) -> None:
        self._branch = branch
        self._kind = kind
        self._custody = branch.family.custody

    def _items(self) -> Vector:
        return self._branch.slices.get(self._kind, EMPTY)

    @property
    def is_log(self) -> bool:
        """True if the slice does not roll back."""
        return self._kind in self._branch.rules.logs

    def append(self, item: ThingT) -> None:
        """Add one item, by the reducers that the slice has for its type.

        Raises:
            SessionError: where the slice holds another type.
            CallEndedError: where the call that this view belongs to has ended.
            ReadOnlyError: where the call may only read.
        """
        kind = self._kind
        if not isinstance(item, kind):
            refuse_type(kind, item)
        branch = self._branch
        branch.write(("append", kind, self._custody.take(item), branch.rules.steps(kind, type(item))))

    def seed(self, items: object) -> None:
        """Set the slice to one item or several, past any reducer.

        Raises:
            SessionError: where the slice holds another type.
        """
        keeper = Keeper(self._kind, self._custody)
        if isinstance(items, self._kind) or not isinstance(items, Iterable):
            items = (items,)
        taken = tuple(map(keeper.take, cast("Iterable[object]", items)))
        self._branch.write(("seed", self._kind, taken, ((self._kind, set_to),)))

    def clear(self, predicate: Callable[[ThingT], object] | None = None) -> None:
        """Remove every item, or those that the predicate is true for."""
        step = function_step(self._kind, _clear, self._custody)
        self._branch.write(("clear", self._kind, predicate, ((self._kind, step),)))

    def register(self, *reducers: object, log: bool | None = None) -> None:
        """Give the slice reducers; `log=True` makes it a log, which does not roll back.

        What can be given: a built-in way to keep items of the slice's own type (`append_all`,
        `replace_latest`, `upsert_by(key)`, `keep_latest(count)`), functions marked with `@reducer(on=Event)`,
        an event type and a function for it, or nothing, for the marked methods of the slice's type.

        Raises:
            SessionError: for what is no reducer, or none for this slice.
        """
        registration = read_registration(self._kind, reducers, log=log, custody=self._custody)
        self._branch.register(registration)


def slice_of(branch: Branch, kind: type[ThingT]) -> Slice[ThingT]:
    """The slice for a type.

    Raises:
        SessionError: for what is no type.
    """
    if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance] -- a caller may not check types
        raise SessionError(f"session[{kind!r}]: a slice is named by a class. Fix: session[Plan]")
    return Slice(branch, kind)


def set_to(_: Vector, items: object) -> Vector:
    """The step that puts items in the place of all that there are."""
    return Vector.of(cast("Iterable[object]", items))


def _clear(_: object, where: object) -> Operation:
    return Clear(cast("Callable[[object], object] | None", where))
