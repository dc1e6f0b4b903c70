"""One thing for each event loop, found quickly on the loop that asked last.

Knows no thing in particular.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import ReferenceType, WeakKeyDictionary, ref

ThingT = TypeVar("ThingT")


class PerLoop(Generic[ThingT]):
    """Makes a thing for a loop when first asked for, and forgets it with the loop."""

    __slots__ = ("_make", "_recent", "_things")

    def __init__(self, make: Callable[[asyncio.AbstractEventLoop], ThingT]) -> None:
        self._make = make
        self._things: WeakKeyDictionary[asyncio.AbstractEventLoop, ThingT] = WeakKeyDictionary()
        self._recent: tuple[ReferenceType[asyncio.AbstractEventLoop], ThingT] | None = None

    def of(self, loop: asyncio.AbstractEventLoop) -> ThingT:
        """The thing of this loop; only ever asked for on the loop's own thread."""
        recent = self._recent
        if recent is not None and recent[0]() is loop:
            return recent[1]
        thing = self._things.get(loop)
        if thing is None:
            thing = self._things[loop] = self._make(loop)
        self._recent = (ref(loop), thing)
        return thing
