"""Whether a client is still there while its call runs.

Knows one connection; does not know what is asked over it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from toolhaft.serve.answers import Receive

LINE: Final = "toolhaft.line"
"""The key of a request's scope that has the line it came over, where the server keeps one."""


class Line:
    """A connection, on which one request is answered at a time."""

    __slots__ = ("_watcher", "is_open", "on_left")

    def __init__(self) -> None:
        self.is_open = True
        self.on_left: Callable[[], object] | None = None
        """Called once, when the client goes away."""
        self._watcher: asyncio.Task[None] | None = None

    def hang_up(self) -> None:
        """The client is gone."""
        self.is_open = False
        tell, self.on_left = self.on_left, None
        if tell is not None:
            tell()

    def close(self) -> None:
        """Look after it no longer."""
        if self._watcher is not None:
            self._watcher.cancel()

    def watch(self, receive: Receive) -> None:
        """Have a task look after it: the body was read, so what is received next is the end."""
        self._watcher = asyncio.create_task(self._watch(receive))

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.hang_up()


def watched(receive: Receive) -> Line:
    """The line of a request, where the server keeps none."""
    line = Line()
    line.watch(receive)
    return line
