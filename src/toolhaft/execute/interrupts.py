"""Holds an interruption back while something must not be left half-done.

Knows signals; does not know what is done meanwhile.
"""

from __future__ import annotations

import signal
import threading

# signal.getsignal looks every handler up in an enum: for one of asyncio's that costs 20 µs and an exception
from _signal import getsignal  # pyright: ignore[reportMissingImports, reportUnknownVariableType] -- typeshed leaves it out


class HeldInterrupts:
    """A block that Ctrl-C does not cut in two: it is raised at the end.

    Only the main thread is interrupted, and only where Python's own handler is in place: whoever has set
    another one, as asyncio does, decides by himself when to raise.
    """

    __slots__ = ("_came", "_holds")

    def __enter__(self) -> None:
        self._came = False
        self._holds = (
            threading.current_thread() is threading.main_thread()
            and getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._holds:
            signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *_: object) -> None:
        if self._holds:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if self._came:
                raise KeyboardInterrupt

    def _note(self, *_: object) -> None:
        self._came = True
