"""Runs the calls of one model turn and collects their results; streams a single call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence

from toolhaft.core.conversion import AnyResult
from toolhaft.core.events import Beat, Chunk, Progress
from toolhaft.errors import VisibilityExpansionRequired
from toolhaft.execute.active_call import ActiveCall, CallStream
from toolhaft.execute.failures import refused
from toolhaft.execute.pipeline import Chains, Step, resolve


async def run_call(chains: Chains, active: ActiveCall) -> AnyResult | BaseException:
    """Run one call of a turn, then free its place in the queue if it did not use it."""
    try:
        return await _run(chains.find(active.call), active)
    finally:
        leave_queue([active])


async def _run(chain: Step, active: ActiveCall) -> AnyResult | BaseException:
    """The result of a call, or an exit or interrupt.

    A task that raises one of them ends its event loop at once, before the other calls have ended.
    """
    try:
        return await resolve(chain(active))
    except (KeyboardInterrupt, SystemExit) as error:
        return error


def leave_queue(active_calls: list[ActiveCall]) -> None:
    """Free the places of calls that failed early or never began, so that other calls can run."""
    for active in active_calls:
        if active.ticket is not None:
            active.scope.queue.leave(active.ticket)


async def stream(
    active: ActiveCall, chain: Step
) -> AsyncGenerator[Beat | Chunk | Progress | AnyResult, None]:
    """Every chunk, progress report and beat of a call, then its result; leaving early cancels the call."""
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[Beat | Chunk | Progress | None] = asyncio.Queue()

    def emit(item: Beat | Chunk | Progress) -> None:
        try:
            loop.call_soon_threadsafe(items.put_nowait, item)
        except RuntimeError:  # the loop is closed, and the caller with it
            active.is_over = True

    active.stream = CallStream(emit)
    task = asyncio.ensure_future(_run(chain, active))
    task.add_done_callback(lambda _: items.put_nowait(None))
    try:
        while (item := await items.get()) is not None:
            yield item
        yield collect_results([outcome_of(task)], None, [active])[0]
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait([task])


def outcome_of(task: asyncio.Future[AnyResult | BaseException]) -> AnyResult | BaseException:
    """The result or the exception of a task."""
    if task.cancelled():  # by its own handler, not by the caller
        return refused("cancelled", "the call was cancelled from within.", outcome="unknown")
    return task.exception() or task.result()


def collect_results(
    outcomes: Sequence[AnyResult | BaseException],
    interrupt: BaseException | None,
    active_calls: Sequence[ActiveCall],
) -> list[AnyResult]:
    """The results of a turn, in the order of its calls.

    If a call raised an exception that is passed on to the caller, or an interrupt or cancellation of the
    caller ended the turn, it is raised with all results on it; of several that request sections, one that
    requests all of them.
    """
    results = [
        _placeholder(outcome, active) if isinstance(outcome, BaseException) else outcome
        for outcome, active in zip(outcomes, active_calls, strict=True)
    ]
    for result, active in zip(results, active_calls, strict=True):
        result.call = active.call
    raised = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if interrupt is not None:
        raised.insert(0, interrupt)
    if not raised:
        return results
    first = next((error for error in raised if not isinstance(error, Exception)), raised[0])
    if isinstance(first, VisibilityExpansionRequired):
        first = _merged([error for error in raised if isinstance(error, VisibilityExpansionRequired)])
    first.results = tuple(results)  # pyright: ignore[reportAttributeAccessIssue] -- only a PromptError declares it
    raise first


def _placeholder(error: BaseException, active: ActiveCall) -> AnyResult:
    """The result for a call that raised an exception instead of returning one."""
    name = active.call.name
    if not isinstance(error, Exception):
        outcome = "unknown" if active.is_over else "nothing_happened"
        return refused("cancelled", f"{name} was interrupted.", outcome=outcome)
    if not isinstance(error, VisibilityExpansionRequired):
        return refused("failed", f"{name} was not finished: it ended the run.", outcome="unknown")
    keys = f": {', '.join(error.section_keys)}" if error.section_keys else ""
    return refused("failed", f"{name}: the sections are shown in full from the next message on{keys}.")


def _merged(errors: list[VisibilityExpansionRequired]) -> VisibilityExpansionRequired:
    """One exception that requests everything that these request, in their order."""
    if len(errors) == 1:
        return errors[0]
    overrides: dict[tuple[str, ...], str] = {}
    for error in errors:
        overrides.update(error.requested_overrides)
    merged = VisibilityExpansionRequired(
        "; ".join(_unique(str(error) for error in errors)),
        requested_overrides=overrides,
        reason="; ".join(_unique(error.reason for error in errors)),
        section_keys=tuple(_unique(key for error in errors for key in error.section_keys)),
        section_path=errors[0].section_path,
    )
    merged.__cause__ = errors[0]
    return merged


def _unique(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]
