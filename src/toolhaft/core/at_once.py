"""A handler's quicker sister: answers a call where its caller stands, or leaves it to the handler.

Does not know who calls either of them.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

from toolhaft.core.ports import Ready
from toolhaft.core.result import ToolResult

HandlerT = TypeVar("HandlerT", bound=Callable[..., object])

AtOnce = Callable[[dict[str, object], Ready], ToolResult[Any] | None]
"""Arguments and resources to a success, or None: the handler has to do it, refusals included.

Runs on the caller's thread, on an event loop too, and cannot be stopped: it may wait for nothing, neither for
a disk nor for anybody else's code.
"""

# by the function itself: a mark on it would be copied by `wraps` to functions that do more
_sisters: Final[WeakKeyDictionary[Any, AtOnce]] = WeakKeyDictionary()


def at_once(quick: AtOnce) -> Callable[[HandlerT], HandlerT]:
    """Have a function that only reads answered for by `quick` where that can be."""

    def pair(handler: HandlerT) -> HandlerT:
        _sisters[handler] = quick
        return handler

    return pair


def quick_of(handler: object) -> AtOnce | None:
    """What answers for a handler, if anything does."""
    return _sisters.get(handler) if type(handler) is FunctionType else None
