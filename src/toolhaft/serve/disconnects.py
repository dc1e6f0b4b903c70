"""Tracks whether the client of a running call is still connected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from toolhaft.serve.responses import Receive

CONNECTION_KEY: Final = "toolhaft.connection"
"""The key of the ASGI scope under which our server puts the request's ClientConnection."""


class ClientConnection:
    """A client's connection, on which one request is answered at a time.

    Our server reports the disconnect. Under another server, a task waits for it: `receive` must then have
    returned the whole body, so that the next message is the disconnect.
    """

    __slots__ = ("_watcher", "is_open", "on_disconnect")

    def __init__(self, receive: Receive | None = None) -> None:
        self.is_open = True
        self.on_disconnect: Callable[[], object] | None = None
        """Called once, when the client disconnects."""
        self._watcher = None if receive is None else asyncio.create_task(self._wait_for_disconnect(receive))

    def mark_disconnected(self) -> None:
        """Record that the client disconnected, and call `on_disconnect`."""
        self.is_open = False
        callback, self.on_disconnect = self.on_disconnect, None
        if callback is not None:
            callback()

    def stop_watching(self) -> None:
        """Cancel the task that watches the connection, if there is one."""
        if self._watcher is not None:
            self._watcher.cancel()

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.mark_disconnected()
