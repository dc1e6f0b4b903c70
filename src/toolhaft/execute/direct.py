"""Runs a plain call in one function instead of a chain of steps, for speed.

It does what the steps `limit`, `parse`, `verify` and `invoke` do for a call that succeeds at once, without a
repair. Whatever else happens is left to those steps.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from time import monotonic
from typing import Any, Final, cast

from toolhaft.backends.loop import drive_on
from toolhaft.core.call import ToolCall
from toolhaft.core.content import returned_parts
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.result import plain_result
from toolhaft.execute.active_call import ActiveCall
from toolhaft.execute.handlers import PLAIN, HandlerKind, error_result, handler_kind, is_record
from toolhaft.execute.pipeline import DirectCall, StepAnswer, resolve
from toolhaft.execute.setup import Setup
from toolhaft.execute.steps.invoke import finish_inline, invoke, stopped
from toolhaft.execute.steps.limit import count_outcome, give_trial_back, kind_of, refusal_of
from toolhaft.execute.steps.validate import use_params, verify
from toolhaft.schema.problems import InvalidArguments

_LISTS: Final = (list, tuple)
_STEPS: Final = (("limit", "parse", "invoke"), ("limit", "parse", "verify", "invoke"))


def direct_call(tool: AnyTool, setup: Setup, names: tuple[str, ...]) -> DirectCall | None:
    """The function that runs plain calls of this tool; None if its chain has other steps, or it has to wait.

    `names` are the steps of its chain.
    """
    if names not in _STEPS or setup.limits.budget is not None or tool.context_name is not None:
        return None
    if tool.takes not in ("input", "keywords") or tool.handler is None or tool.stall_s is not None:
        return None
    kind = handler_kind(tool.handler)
    if kind is HandlerKind.SYNC and tool.isolation == "inline":
        return _inline(tool, setup)
    if kind is HandlerKind.ASYNC and tool.isolation not in ("process", "thread"):
        return _on_loop(tool, setup)
    return None


class _Steps:
    """The steps of a tool, for a call that turns out not to be plain."""

    __slots__ = ("_counter", "_finished", "_invoked", "_setup", "_tool")

    def __init__(self, tool: AnyTool, setup: Setup) -> None:
        inner = verify(tool, setup, invoke(tool, setup, _answer))
        self._tool, self._setup = tool, setup
        self._counter = setup.workers.stats.counter_of(tool.name)
        self._invoked = count_outcome(
            tool, setup, lambda active: use_params(tool, setup, active.params, active, inner)
        )
        self._finished = count_outcome(tool, setup, verify(tool, setup, _answer))

    def run(self, active: ActiveCall) -> StepAnswer:
        """A tool has failed before: this call may be refused, or tests whether the tool works again."""
        refusal = refusal_of(self._tool, None, active)
        if refusal is None:
            return self.invoke(active, self._tool.read_input(active.call.arguments))
        self._counter.count_failure(kind_of(refusal))
        return refusal

    def invoke(self, active: ActiveCall, params: object) -> StepAnswer:
        """The arguments were repaired, are not valid, or could not be checked here."""
        if isinstance(params, InvalidArguments) and params.unchecked is None:
            give_trial_back(self._tool, active)
            self._counter.count_failure("invalid_arguments")
            return active.attempts.refused(self._tool, active.call.arguments, params, active.earlier)
        active.params = params
        return self._invoked(active)

    def fail(self, active: ActiveCall, params: object, error: BaseException, began: float) -> StepAnswer:
        """The handler has raised an exception."""
        return self._finish(active, params, lambda: error_result(self._tool, active, error), began)

    def finish(self, active: ActiveCall, params: object, value: object, began: float) -> StepAnswer:
        """The handler has returned any value."""
        return self._finish(
            active, params, lambda: finish_inline(self._tool, self._setup, active, value, began), began
        )

    def stop(self, active: ActiveCall, params: object, error: BaseException, began: float) -> StepAnswer:
        """The handler has suspended and was stopped, or has raised an exception."""
        return self._finish(active, params, lambda: stopped(self._tool, self._setup, active, error), began)

    def _finish(
        self, active: ActiveCall, params: object, answer: Callable[[], StepAnswer], began: float
    ) -> StepAnswer:
        active.took_s = monotonic() - began
        active.params = params
        active.answer = answer
        return self._finished(active)


def _answer(active: ActiveCall) -> StepAnswer:
    answer, active.answer = active.answer, None  # it refers to the call: together they would be a cycle
    return cast("Callable[[], StepAnswer]", answer)()


def _inline(tool: AnyTool, setup: Setup) -> DirectCall:
    handler, takes_keywords = cast("Callable[..., Any]", tool.handler), tool.takes == "keywords"
    read, write = tool.read_input, tool.write_output or _unwritten
    timeout_s = cast("float", tool.timeout_s)
    failing, steps = setup.limits.circuits.failing, _Steps(tool, setup)
    counter = setup.workers.stats.counter_of(tool.name)
    count_call, add_duration = counter.count_call, counter.add_duration

    def run(call: ToolCall, active_call: type[ActiveCall]) -> StepAnswer:
        if failing:
            return steps.run(active_call(call))
        params: Any = read(call.arguments)
        if params.__class__ is not dict:
            return steps.invoke(active_call(call), params)
        began = monotonic()
        try:
            value: object = handler(**params) if takes_keywords else handler(params)
        except BaseException as error:  # noqa: BLE001 -- the handler may raise anything
            return steps.fail(active_call(call), params, error, began)
        took_s, kind = monotonic() - began, type(value)
        if (kind in PLAIN or is_record(kind)) and took_s <= timeout_s and not failing:
            text = write(value)
            if text is not None:
                count_call()
                add_duration(took_s)
                # a text is rendered without quotes
                return plain_result(value, None if kind is str else text or None)
        return steps.finish(active_call(call), params, value, began)

    return run


def _on_loop(tool: AnyTool, setup: Setup) -> DirectCall:  # noqa: C901, PLR0915 -- inlined for speed
    handler, takes_keywords = cast("Callable[..., Any]", tool.handler), tool.takes == "keywords"
    read, write = tool.read_input, tool.write_output or _unwritten
    timeout_s = cast("float", tool.timeout_s)
    failing, steps = setup.limits.circuits.failing, _Steps(tool, setup)
    counter = setup.workers.stats.counter_of(tool.name)
    count_call, add_duration = counter.count_call, counter.add_duration
    running = setup.workers.running.calls

    async def wait(active: ActiveCall, params: object, rest: Awaitable[object]) -> AnyResult:
        active.began_at = began = monotonic()
        running[active] = None
        try:
            value = await rest
        except BaseException as error:  # noqa: BLE001 -- the handler may raise anything
            return await resolve(steps.stop(active, params, error, began))
        finally:
            del running[active]
        took_s, kind = monotonic() - began, type(value)  # from here as in `_inline`
        if (kind in PLAIN or is_record(kind)) and took_s <= timeout_s and not failing:
            text = write(value)
            if text is not None:
                count_call()
                add_duration(took_s)
                return plain_result(value, None if kind is str else text or None)
        return await resolve(steps.finish(active, params, value, began))

    def run(call: ToolCall, active_call: type[ActiveCall]) -> StepAnswer:
        if failing or not active_call.waiter.is_loop:
            return steps.run(active_call(call))
        params: Any = read(call.arguments)
        if params.__class__ is not dict:
            return steps.invoke(active_call(call), params)
        began = monotonic()
        try:
            coroutine: Coroutine[Any, Any, Any] = handler(**params) if takes_keywords else handler(params)
            waits_for = coroutine.send(None)
        except StopIteration as done:  # it never suspended: no timer is needed
            value: object = done.value
        except BaseException as error:  # noqa: BLE001 -- the handler may raise anything
            return steps.fail(active_call(call), params, error, began)
        else:
            return wait(active_call(call), params, drive_on(coroutine, waits_for, timeout_s))
        took_s, kind = monotonic() - began, type(value)  # from here as in `_inline`
        if (kind in PLAIN or is_record(kind)) and took_s <= timeout_s and not failing:
            text = write(value)
            if text is not None:
                count_call()
                add_duration(took_s)
                return plain_result(value, None if kind is str else text or None)
        return steps.finish(active_call(call), params, value, began)

    return run


def _unwritten(value: object) -> str | None:
    """The text of a value without an output schema, which is written when it is rendered.

    None for a list with parts such as images.
    """
    return "" if value.__class__ not in _LISTS or returned_parts(value) is None else None
