"""Answers a repeat with the recorded result: by idempotency key, or from the cache of a reading tool.

Knows keys and memos; does not know how a result comes about.
"""

from __future__ import annotations

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.execute.arguments import final_arguments
from toolhaft.execute.canonical import canonical_text, digest
from toolhaft.execute.failures import after_running, refused
from toolhaft.execute.gates import Gate
from toolhaft.execute.memory import Memo, own_copy
from toolhaft.execute.run import Run, Step, arrive
from toolhaft.execute.setup import Setup
from toolhaft.execute.twins import is_same_handler


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Absent where the tool has no key, no cache, and may run beside itself."""
    names = tool.idempotency
    if not names and tool.cache_s is None and tool.effect is not Effect.IDEMPOTENT:
        return inner

    async def remember(run: Run) -> AnyResult:
        given = final_arguments(run)
        key = _key(tool, run, canonical_text([given.get(name) for name in names] if names else given))
        step = _recalled(tool, setup, key, inner) if names or tool.cache_s is not None else inner
        return await _in_line(tool, setup, run, key, step)

    return remember


def compose_keyed(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """The same for calls that bring a key of their own."""

    async def remember(run: Run) -> AnyResult:
        key = _key(tool, run, f"key:{run.call.idempotency_key}")
        return await _in_line(tool, setup, run, key, _recalled(tool, setup, key, inner))

    return remember


def _key(tool: AnyTool, run: Run, key: str) -> str:
    """Keys are a caller's own: nobody is given what another one's call gave back."""
    return f"{'' if run.principal is None else run.principal.id}\0{tool.name}\0{key}"


def _recalled(tool: AnyTool, setup: Setup, key: str, inner: Step) -> Step:
    """The inner steps, run only where nothing is recorded under the key."""

    async def recall(run: Run) -> AnyResult:
        arguments = digest(final_arguments(run))
        memo = setup.memory.get(key)
        if memo is not None and _is_of(memo, tool, run):
            if memo.arguments != arguments and run.call.idempotency_key is not None:
                return refused(
                    "invalid_arguments",
                    f"the idempotency key of this call was used before with other arguments of {tool.name}.",
                    advice="Use a new key for a new call.",
                )
            run.is_replay = True
            return own_copy(memo.result)
        try:
            result = await arrive(inner(run))
        except BaseException as error:
            if run.is_over and tool.effect is Effect.IRREVERSIBLE:
                cut_off = after_running(tool, "cancelled", f"{tool.name} was cut off", error=error)
                setup.memory.put(key, cut_off, arguments, None, tool.handler)
            raise
        is_unknown = result.failure is not None and result.failure.outcome == "unknown"
        if result.success or (is_unknown and tool.effect is Effect.IRREVERSIBLE):
            # an outcome that nobody knows is recorded too: running it again might do it twice
            keep_s = tool.cache_s if not tool.idempotency else None
            setup.memory.put(key, result, arguments, keep_s, tool.handler)
        return result

    return recall


def _is_of(memo: Memo, tool: AnyTool, run: Run) -> bool:
    """True where this tool gave the result: another prompt may have another one of its name."""
    # an approval is for one run, whatever handler the tool has by now
    return bool(run.approved_id) or is_same_handler(memo.handler, tool.handler)


async def _in_line(tool: AnyTool, setup: Setup, run: Run, key: str, inner: Step) -> AnyResult:
    """Calls with one key run one at a time."""
    with setup.gates_lock:
        gate = setup.gates.setdefault(key, Gate())
        ticket = gate.ask()
    try:
        if not await gate.enter(ticket, run.port, run.patience_s(tool)):
            return refused(
                "rate", f"a call of {tool.name} with the same key still runs: this one was not run."
            )
        return await arrive(inner(run))
    finally:
        with setup.gates_lock:
            gate.leave(ticket)
            if gate.is_unused:
                setup.gates.pop(key, None)
