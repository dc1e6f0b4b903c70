"""Where the events of a session are published and heard.

Does not know what an event does to the state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from toolhaft.errors import SessionError
from toolhaft.session.branch import Branch
from toolhaft.session.subscribers import Subscriber

ThingT = TypeVar("ThingT")


def dispatch(branch: Branch, event: object) -> None:
    """Write an event, and tell subscribers where that makes it true."""
    if event is None or isinstance(event, type):
        hint = f"{event.__qualname__}(...)" if isinstance(event, type) else "an object of your own type"
        raise SessionError(f"{event!r} is not an event. Fix: dispatch {hint}")
    family = branch.family
    branch.write(("dispatch", None, family.custody.take(event), branch.rules.route(type(event))))
    if branch.parent is None:
        family.subscribers.tell(event)


class Dispatcher:
    """The events of a session or fork; subscribers are those of the whole session, whoever brought them."""

    __slots__ = ("_branch",)

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    def dispatch(self, event: object) -> None:
        """Hand an event to every reducer for its type, or append it to its own slice; then tell subscribers.

        Subscribers hear what is dispatched through a fork when it is committed.

        Raises:
            CallEndedError: where the call that this view belongs to has ended.
            ReadOnlyError: where the call may only read.
        """
        dispatch(self._branch, event)

    def subscribe(
        self, event_type: type[ThingT], subscriber: Callable[[ThingT], object]
    ) -> Callable[[], None]:
        """Have every event of a type, or one derived from it, handed to a function; undone by the answer.

        Raises:
            SessionError: for what is no type, or cannot be called.
        """
        return self._branch.family.subscribers.subscribe(event_type, cast("Subscriber", subscriber))

    def unsubscribe(self, event_type: type[ThingT], subscriber: Callable[[ThingT], object]) -> bool:
        """Undo one subscription; False where there was none."""
        return self._branch.family.subscribers.unsubscribe(event_type, cast("Subscriber", subscriber))

    def hears(self, event_type: type) -> bool:
        """True if anybody subscribed to this type or a base of it."""
        return self._branch.family.subscribers.hears(event_type)

    def on_change(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call back when subscriptions or registrations change; undone by the answer.

        The object of a bound method is not kept alive by this.
        """
        return self._branch.family.subscribers.on_change(callback)
