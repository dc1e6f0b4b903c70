"""Awaits a program that a thread watches; cancelling the wait kills it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from threading import Thread
from typing import Final

from toolhaft.core.context import ToolContext
from toolhaft.define.running.program_run import ProgramResult, ProgramRun

_POLL_S: Final = 0.1
_KILL_S: Final = 2.0
"""How long to wait for a killed program; it usually takes milliseconds."""


async def run_to_end(run: ProgramRun, seconds: float, context: ToolContext | None) -> ProgramResult:
    """Wait for the end of a run, at most `seconds`; any exception kills the program.

    Raises:
        CallEndedError: if the call has ended meanwhile.
    """
    watch = _Watch(run, seconds)
    try:
        await watch.run_thread(context)
    except BaseException:
        await watch.stop()
        raise
    return watch.result()


class _Watch:
    def __init__(self, run: ProgramRun, seconds: float) -> None:
        self._run = run
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._outcome: ProgramResult | BaseException | None = None
        self._thread = Thread(target=self._watch, name="toolhaft-program", daemon=True)

    async def run_thread(self, context: ToolContext | None) -> None:
        self._thread.start()
        seen = 0
        while not self._done.done():
            await asyncio.wait({self._done}, timeout=_POLL_S)
            if context is None:
                continue
            if self._run.output_bytes > seen:  # what the program writes is a sign of life
                seen = self._run.output_bytes
                context.beat()
            else:
                context.raise_if_ended()  # on a thread nothing else reports that the call is over

    async def stop(self) -> None:
        self._run.stop()
        if self._thread.ident is None:  # the thread could not be started
            self._watch()
        with suppress(asyncio.CancelledError):
            await asyncio.wait({self._done}, timeout=_KILL_S)

    def result(self) -> ProgramResult:
        self._thread.join()
        if isinstance(self._outcome, ProgramResult):
            return self._outcome
        raise self._outcome or RuntimeError("the thread that watches the program ended without a result")

    def _watch(self) -> None:
        try:
            self._outcome = self._run.wait(self._seconds)
        except BaseException as error:  # noqa: BLE001 -- raised by the waiting coroutine
            self._outcome = error
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._set_done)

    def _set_done(self) -> None:
        if not self._done.done():
            self._done.set_result(None)
