"""Tracks whether the client of a running call is still connected."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from toolhaft.serve.responses import Receive

CONNECTION_KEY: Final = "toolhaft.connection"
"""The key of the ASGI scope under which our server puts the request's ClientConnection."""


class ClientConnection:
    """A client's connection, on which one request is answered at a time."""

    __slots__ = ("_watcher", "is_open", "on_disconnect")

    def __init__(self) -> None:
        self.is_open = True
        self.on_disconnect: Callable[[], object] | None = None
        """Called once, when the client disconnects."""
        self._watcher: asyncio.Task[None] | None = None

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

    def watch(self, receive: Receive) -> None:
        """Start a task that waits for the disconnect."""
        self._watcher = asyncio.create_task(self._wait_for_disconnect(receive))

    async def _wait_for_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.mark_disconnected()


def watch_connection(receive: Receive) -> ClientConnection:
    """The connection of a request under another ASGI server, watched by a task.

    The body must have been read: the next message is then the disconnect.
    """
    connection = ClientConnection()
    connection.watch(receive)
    return connection
