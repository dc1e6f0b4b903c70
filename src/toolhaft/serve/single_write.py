"""Sends the head and the body of a response in one write to the socket.

uvicorn writes the two separately, and each write is a system call.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

_MAX_HELD_BYTES: Final = 4_096


class SingleWriteTransport(asyncio.Transport):
    """A transport that holds a short write back until the next one, or the loop's next iteration."""

    __slots__ = ("_held", "_loop", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send the data together with what is held back; hold it back if it is short."""
        held = self._held
        if held:
            self._held = b""
            self._transport.write(held + data)
        elif len(data) <= _MAX_HELD_BYTES:
            self._held = bytes(data)
            self._loop.call_soon(self._flush)
        else:
            self._transport.write(data)

    def close(self) -> None:
        """Send what is held back, then close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close without sending what is held back."""
        self._held = b""
        self._transport.abort()

    def is_closing(self) -> bool:
        """True once it was closed."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 -- asyncio's signature
        """What the wrapped transport knows of the connection."""
        return self._transport.get_extra_info(name, default)

    def pause_reading(self) -> None:
        """Stop reading for now."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        self._transport.resume_reading()

    def _flush(self) -> None:
        held, self._held = self._held, b""
        if held and not self._transport.is_closing():
            self._transport.write(held)
