"""Joins the head and the body of an answer into one write to the socket.

Knows transports; does not know HTTP. uvicorn writes the two apart, and each write is a call of the system's.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

_LONGEST_HELD: Final = 4_096


class JoinedWrites(asyncio.Transport):
    """A transport that holds a short text back for the next one, at most until the loop's next turn."""

    __slots__ = ("_held", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write now what follows on something short; hold back what is short itself."""
        held = self._held
        if held:
            self._held = b""
            self._transport.write(held + data)
        elif len(data) <= _LONGEST_HELD:
            self._held = bytes(data)
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Write what is held, then close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._held = b""
        self._transport.abort()

    def is_closing(self) -> bool:
        """True once it was closed."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 -- asyncio's own
        """What the transport knows of itself."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Read nothing for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._transport.resume_reading()

    def _flush(self) -> None:
        held, self._held = self._held, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)
