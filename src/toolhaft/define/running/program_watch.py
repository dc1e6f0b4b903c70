"""Awaits the end of a program that a thread of its own watches; whoever stops waiting has it killed.

Knows loops and threads; does not know what is run.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Thread
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.define.running.program_run import Ended, ProgramRun

_BEAT_S: Final = 0.1
_PATIENCE_S: Final = 2.0
"""For a program that was told to die; the system takes milliseconds."""


async def watched(run: ProgramRun, seconds: float, context: ToolContext | None) -> Ended:
    """The end of a run, which comes within its time.

    Raises:
        CallEndedError: where the call is over meanwhile; the program is killed, as with all that is raised.
    """
    watch = _Watch(run, seconds)
    try:
        watch.start()
        await watch.wait(context)
    except BaseException:
        await watch.stop()
        raise
    return watch.ended()


class _Watch:
    def __init__(self, run: ProgramRun, seconds: float) -> None:
        self._run = run
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._found: Ended | BaseException | None = None
        self._thread = Thread(target=self._watch, name="toolhaft-program", daemon=True)

    def start(self) -> None:
        self._thread.start()

    async def wait(self, context: ToolContext | None) -> None:
        while not self._done.done():
            await asyncio.wait({self._done}, timeout=_BEAT_S)
            if context is not None:
                context.beat()  # where the call runs on a thread, nothing else tells that it is over

    async def stop(self) -> None:
        self._run.stop()
        if self._thread.ident is None:  # none could be had
            self._watch()
        with suppress(asyncio.CancelledError):
            await asyncio.wait({self._done}, timeout=_PATIENCE_S)

    def ended(self) -> Ended:
        self._thread.join()
        if isinstance(self._found, Ended):
            return self._found
        raise self._found or RuntimeError("a program was not watched to its end")

    def _watch(self) -> None:
        try:
            self._found = self._run.wait(self._seconds)
        except BaseException as error:  # noqa: BLE001 -- raised where it is awaited
            self._found = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._tell)

    def _tell(self) -> None:
        if not self._done.done():
            self._done.set_result(None)
