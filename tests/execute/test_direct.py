"""A plain call is run in one function; its result is the same as that of the chain of steps."""

import asyncio
import gc
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from tests.cases import in_case
from toolhaft import ToolCall, ToolConfig, ToolExecutor, ToolResult, create_tool, tool
from toolhaft.errors import ToolAuthorizationError, ToolExecutionError, ToolValidationError
from toolhaft.execute import executor as executor_module


class Made(BaseModel):
    x: int = 1


def give(kind: str) -> Any:
    """Give a value, or fail."""
    return _value(kind)


def _value(kind: str) -> Any:
    values: dict[str, Any] = {
        "int": 5,
        "text": 'a "text"',
        "none": None,
        "dict": {"a": [1, {"b": None}]},
        "tuple": (1, 2),
        "model": Made(x=3),
        "nan": float("nan"),
        "set": {1},
        "object": object(),
        "ok": ToolResult.ok({"a": 1}, "Done."),
        "error": ToolResult.error("It did not work.", {"a": 1}),
        "returned error": ToolExecutionError("returned"),
    }
    errors: dict[str, BaseException] = {
        "raises": RuntimeError("broken"),
        "not valid": ToolValidationError("not that"),
        "not allowed": ToolAuthorizationError("not you"),
        "stops": StopIteration(5),
    }
    if kind in errors:
        raise errors[kind]
    return values[kind]


KINDS = ("int", "text", "none", "dict", "tuple", "model", "nan", "set", "ok", "error", "returned error", "raises", "not valid", "not allowed")  # fmt: skip


def typed(kind: str) -> dict[str, int]:
    """Give a value that may not fit."""
    return _value(kind)


def counting(count: int, scale: float = 1.0) -> str:
    """Take numbers, of which some are repaired."""
    return f"{count * scale:g}"


def chunks(count: int) -> Iterator[int]:
    """Give a stream."""
    yield from range(count)
    if count > 5:
        raise RuntimeError("too many")


def late(count: int) -> int:
    """Return after the limit."""
    time.sleep(0.02)
    return count


async def quick(kind: str) -> Any:
    """Give a value without waiting."""
    return _value(kind)


async def slow(kind: str) -> Any:
    """Give a value after waiting."""
    await asyncio.sleep(0)
    return _value(kind)


async def endless(count: int) -> int:
    """Wait for ever."""
    await asyncio.sleep(60)
    return count


async def async_chunks(count: int) -> AsyncIterator[int]:
    """Give a stream."""
    for number in range(count):
        yield number


def promised(count: int) -> Any:
    """Return a coroutine."""
    return slow("int")


RAW = create_tool(
    ToolConfig(
        name="raw",
        description="Give a value.",
        input_schema={"type": "object", "properties": {"kind": {"type": "string", "default": "int"}}},
        execute=lambda given: _value(given["kind"]),
        isolation="inline",
        max_attempts=50,
    )
)
CALLS: list[tuple[Any, list[str]]] = [
    (tool(give, isolation="inline", max_attempts=50), [f'{{"kind": "{kind}"}}' for kind in KINDS]),
    (tool(typed, isolation="inline", max_attempts=50), [f'{{"kind": "{kind}"}}' for kind in KINDS]),
    (tool(quick, max_attempts=50), [f'{{"kind": "{kind}"}}' for kind in (*KINDS, "stops")]),
    (tool(slow, max_attempts=50), [f'{{"kind": "{kind}"}}' for kind in (*KINDS, "stops")]),
    (RAW, ["{}", '{"kind": 5}', *(f'{{"kind": "{kind}"}}' for kind in KINDS)]),
    (tool(counting, isolation="inline"), ['{"count": 2}', '{"count": "3"}', '{"count": 4.0, "scale": "x"}', "{", "{}", '{"count": "x"}', '{"count": 1, "cuont": 2}', '{"count": 1}', "[]"]),
    (tool(chunks, isolation="inline", max_attempts=50), ['{"count": 3}', '{"count": 9}']),
    (tool(async_chunks, max_attempts=50), ['{"count": 3}']),
    (tool(promised, isolation="inline"), ['{"count": 3}']),
    (tool(late, isolation="inline", timeout_s=0.001, max_attempts=50), ['{"count": 3}'] * 2),
    (tool(endless, timeout_s=0.01, max_attempts=50), ['{"count": 3}'] * 2),
]  # fmt: skip


def _seen(result: ToolResult[Any]) -> dict[str, Any]:
    failure = result.failure
    return {
        "rendered": result.render(),
        "message": result.message,
        "value": repr(result.value),
        "success": result.success,
        "final": result.final,
        "repairs": list(map(str, result.repairs)),
        "failure": failure and (failure.kind, list(map(str, failure.problems)), failure.advice, repr(failure.error), failure.outcome),
    }  # fmt: skip


def _run(made: Any, texts: list[str]) -> list[dict[str, Any]]:
    """The results of the same calls of one executor, by a sync and by an async caller."""
    seen: list[dict[str, Any]] = []
    for is_async in (False, True):
        with ToolExecutor([made]) as executor:
            for text in (*texts, *texts[::-1]):
                call = ToolCall(id="1", name=made.name, arguments=text)
                result = asyncio.run(executor.aexecute(call)) if is_async else executor.execute(call)
                assert result.call is call
                seen.append({"text": text, "is_async": is_async, **_seen(result)})
    return seen


def test_a_direct_call_has_the_result_of_the_chain(monkeypatch: pytest.MonkeyPatch):
    direct = [_run(made, texts) for made, texts in CALLS]
    monkeypatch.setattr(executor_module, "direct_call", lambda *_: None)
    for (made, texts), results in zip(CALLS, direct, strict=True):
        for mine, other in zip(results, _run(made, texts), strict=True):
            with in_case(made.name, mine["text"], mine["is_async"]):
                assert mine == other


def test_only_plain_chains_are_run_directly():
    plain = tool(counting, isolation="inline")
    call = ToolCall(id="1", name="counting", arguments='{"count": 1}')

    def is_direct(**options: Any) -> bool:
        executor = ToolExecutor([plain], **options)
        executor.execute(call)
        return bool(vars(executor)["_direct_calls"])

    assert is_direct()
    assert not is_direct(policy=lambda *_: "allow")
    assert not is_direct(max_repeats=3)
    assert not is_direct(allow=["other"])


def test_a_cancelled_caller_of_a_direct_call_gets_no_result():
    executor = ToolExecutor([tool(endless)])
    call = ToolCall(id="1", name="endless", arguments='{"count": 1}')

    async def cancel() -> None:
        task = asyncio.ensure_future(executor.aexecute(call))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())


def _python_calls(run: Any) -> int:
    """The Python functions that are called: the same number on any machine."""
    count = 0

    def profile(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    gc.disable()  # its callbacks would be counted
    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def test_a_mistake_that_is_repeated_is_refused_with_few_calls():
    failing = tool(counting, isolation="inline", max_attempts=1000)
    executor = ToolExecutor([failing])
    for text in ('{"count": "x"}', "{}", '{"count": 1, "cuont": 2}'):
        call = ToolCall(id="1", name="counting", arguments=text)
        for _ in range(3):
            executor.execute(call)
        with in_case(text):
            assert _python_calls(lambda call=call: executor.execute(call)) <= 55


def test_the_calls_for_a_list_of_models_do_not_grow_with_its_length():
    class Item(BaseModel):
        id: int
        tags: list[str] | None = None
        part: Made | None = None

    def take(items):
        """Take items."""

    take.__annotations__ = {"items": list[Item]}
    read = tool(take).read_input

    def calls(length: int) -> int:
        text = json.dumps({"items": [{"id": number, "part": {"x": 1}} for number in range(length)]})
        return _python_calls(lambda: read(text))

    assert calls(400) == calls(40)
