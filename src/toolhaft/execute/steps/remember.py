"""The step `remember`: returns the recorded result of a repeated call, by idempotency key or cache."""

from __future__ import annotations

from hashlib import sha256
from typing import Final

from toolhaft.core.canonical_json import canonical_text, digest
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.execute.active_call import ActiveCall, final_arguments
from toolhaft.execute.failures import after_running, refused
from toolhaft.execute.inputs import is_same_handler
from toolhaft.execute.pipeline import Step, resolve
from toolhaft.execute.result_memory import RecordedResult, own_copy
from toolhaft.execute.setup import Setup
from toolhaft.schema.json_value import JSONValue

_LONGEST_KEY: Final = 200
"""In characters; of a longer key only the digest is kept."""


def remember(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In a chain if the tool has `idempotency`, `cache_s`, or the effect `idempotent`."""
    names = tool.idempotency
    if not names and tool.cache_s is None and tool.effect is not Effect.IDEMPOTENT:
        return inner
    records = bool(names) or tool.cache_s is not None

    async def step(active: ActiveCall) -> AnyResult:
        given = final_arguments(tool, active)
        parts = [_with_whole_numbers(given.get(name)) for name in names] if names else given
        key = _key(tool, active, canonical_text(parts))
        return await _one_at_a_time(
            tool,
            setup,
            active,
            key,
            _recalled(tool, setup, key, inner, is_callers=False) if records else inner,
        )

    return step


def remember_keyed(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """In every chain for calls that have their own idempotency key, or that were approved."""
    # what the tool declares holds for them too: two approvals of one payment pay once
    within = remember(tool, setup, inner) if tool.idempotency else inner

    async def step(active: ActiveCall) -> AnyResult:
        key = _key(tool, active, f"key:{active.call.idempotency_key}")
        recalled = _recalled(tool, setup, key, within, is_callers=True)
        return await _one_at_a_time(tool, setup, active, key, recalled)

    return step


def _with_whole_numbers(value: JSONValue) -> JSONValue:
    """The value with 2.0 written as 2: the same number must not be paid twice."""
    if isinstance(value, dict):
        return {name: _with_whole_numbers(child) for name, child in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _key(tool: AnyTool, active: ActiveCall, key: str) -> str:
    """A key per caller: nobody gets a result that was recorded for somebody else."""
    whole = f"{'' if active.principal is None else active.principal.id}\0{tool.name}\0{key}"
    return whole if len(whole) <= _LONGEST_KEY else sha256(whole.encode(errors="surrogatepass")).hexdigest()


def _find(tool: AnyTool, setup: Setup, active: ActiveCall, key: str) -> tuple[str, RecordedResult | None]:
    """Where the result of this tool is recorded under the key, and the result if there is one."""
    while (recorded := setup.memory.get(key)) is not None and not _is_from(recorded, tool, active):
        key += "\0"  # another tool of this name has used the key: its record stays
    return key, recorded


def _recalled(tool: AnyTool, setup: Setup, key: str, inner: Step, *, is_callers: bool) -> Step:
    """The inner steps, which run only if nothing is recorded under the key."""
    # a repeat of the other two does no harm
    is_kept = tool.effect in (Effect.IRREVERSIBLE, Effect.REVERSIBLE)

    async def step(active: ActiveCall) -> AnyResult:
        arguments = digest(final_arguments(tool, active))
        place, recorded = _find(tool, setup, active, key)
        if recorded is not None:
            if recorded.arguments != arguments and is_callers:
                return refused(
                    "invalid_arguments",
                    f"the idempotency key of this call was used before with other arguments of {tool.name}.",
                    advice="Use a new key for a new call.",
                )
            active.report = active.report._replace(is_replay=True)
            return own_copy(recorded.result)
        if is_kept and setup.memory.is_full:
            return _full_refusal(tool, setup)
        try:
            result = await resolve(inner(active))
        except BaseException as error:
            if active.is_over and tool.effect is Effect.IRREVERSIBLE:
                interrupted = after_running(tool, "cancelled", f"{tool.name} was interrupted", error=error)
                setup.memory.put(place, interrupted, arguments, None, tool.handler, forever=True)
            raise
        is_unknown = result.failure is not None and result.failure.outcome == "unknown"
        if result.success or (is_unknown and is_kept):
            # an unknown outcome is recorded too: another run might do the work twice
            keep_s = tool.cache_s if not tool.idempotency else None
            setup.memory.put(place, result, arguments, keep_s, tool.handler, forever=is_kept)
        return result

    return step


def _full_refusal(tool: AnyTool, setup: Setup) -> AnyResult:
    return refused(
        "rate",
        f"this executor has {setup.memory.most_keys:,} idempotency keys and takes no further ones: "
        f"{tool.name} was not run.",
        advice="Make a new executor, when nobody repeats a call with an old key any more.",
    )


def _is_from(recorded: RecordedResult, tool: AnyTool, active: ActiveCall) -> bool:
    """True if this tool returned the result: another prompt may have another tool of this name."""
    # an approval is for one run, even if the handler has been replaced since
    return active.approved is not None or is_same_handler(recorded.handler, tool.handler)


async def _one_at_a_time(tool: AnyTool, setup: Setup, active: ActiveCall, key: str, inner: Step) -> AnyResult:
    """Calls with the same key run one at a time."""
    queue, ticket = setup.memory.join_queue(key)
    try:
        if not await queue.enter(ticket, active.waiter, active.queue_limit_s(tool)):
            return refused(
                "rate", f"a call of {tool.name} with the same key still runs: this one was not run."
            )
        return await resolve(inner(active))
    finally:
        setup.memory.leave_queue(key, ticket)
