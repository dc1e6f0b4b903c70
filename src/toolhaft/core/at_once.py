"""A handler's quicker sister: answers a call where its caller stands, or leaves it to the handler.

Does not know who calls either of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, cast

from toolhaft.core.result import ToolResult

ThingT = TypeVar("ThingT")
HandlerT = TypeVar("HandlerT", bound=Callable[..., object])

_MARK: Final = "__toolhaft_at_once__"


class Ready(Protocol):
    """The resources that are there already."""

    def ready(self, kind: type[ThingT]) -> ThingT | None:
        """A resource as it stands, to be read only; None where one would have to be made first."""
        ...


AtOnce = Callable[[dict[str, object], Ready], ToolResult[Any] | None]
"""Arguments and resources to a success, or None: the handler has to do it, refusals included.

Runs on the caller's thread, on an event loop too, and cannot be stopped: no step of it may wait, neither for
a disk nor for anybody else's code.
"""


def at_once(quick: AtOnce) -> Callable[[HandlerT], HandlerT]:
    """Have a handler that only reads answered by `quick` where that can be."""

    def mark(handler: HandlerT) -> HandlerT:
        setattr(handler, _MARK, (handler, quick))
        return handler

    return mark


def quick_of(handler: object) -> AtOnce | None:
    """What answers for a handler, if anything does."""
    whose, quick = cast("tuple[object, AtOnce | None]", getattr(handler, _MARK, (None, None)))
    return quick if whose is handler else None  # `wraps` copies the mark to functions that do more
