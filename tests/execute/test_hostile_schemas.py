"""What could take too long to check is checked in a worker process, within the time of the call."""

import asyncio
import json
from typing import Any

import pytest

from toolhaft import ToolCall, ToolConfig, ToolExecutor, create_tool
from toolhaft.core.masking import argument_mask
from toolhaft.schema.work import INLINE_STEPS, WorkBound

pytestmark = pytest.mark.external

NODE = {"properties": {"a": {"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}, {"type": "integer"}]}}}


def making(input_schema: Any = None, output_schema: Any = None, value: Any = None, timeout_s: float = 30.0):
    return create_tool(
        ToolConfig(
            name="make",
            description="Make.",
            input_schema={
                "type": "object",
                "properties": {"value": input_schema or {}},
                "$defs": {"n": NODE},
            },
            output_schema=output_schema or {},
            execute=lambda _: value,
            timeout_s=timeout_s,
        )
    )


def deep(depth: int, value: Any) -> Any:
    for _ in range(depth):
        value = {"a": value}
    return value


def run(tool: Any, value: Any, *, is_async: bool) -> Any:
    executor = ToolExecutor([tool])
    call = ToolCall("1", "make", json.dumps({"value": value}))
    return asyncio.run(executor.aexecute(call)) if is_async else executor.execute(call)


def ladder(depth: int) -> dict[str, Any]:
    """References of which each leads to the next one twice: too much work for any value that is deep enough."""
    defs: dict[str, Any] = {
        f"d{level}": {"anyOf": [{"properties": {"a": {"$ref": f"#/$defs/d{level + 1}"}}} for _ in range(2)]}
        for level in range(depth)
    }
    return {**defs, f"d{depth}": {"type": "string"}}


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
def test_arguments_that_could_take_long_get_the_verdict_of_a_worker(is_async):
    tool = making({"$ref": "#/$defs/n"}, value="made")
    assert WorkBound(tool.input_schema).steps_of({"value": deep(60, 1)}) > INLINE_STEPS
    assert run(tool, deep(60, 1), is_async=is_async).value == "made"
    many = making({"items": {"type": "integer"}}, value="made")
    assert run(many, [1] * 200_000, is_async=is_async).value == "made"
    refused = run(many, [1] * 199_999 + ["x"], is_async=is_async)
    assert refused.failure.kind == "invalid_arguments"
    assert 'value[199999]: got "x"; expected an integer' in refused.message
    for arguments in ({"value": [1] * 200_000}, json.dumps({"value": [1] * 200_000}).encode()):
        call = ToolCall("1", "make", arguments)
        executor = ToolExecutor([many])
        result = asyncio.run(executor.aexecute(call)) if is_async else executor.execute(call)
        assert result.value == "made"
    repaired = run(many, [1] * 199_999 + [5.0], is_async=is_async)
    assert repaired.success


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
def test_outputs_that_could_take_long_get_the_verdict_of_a_worker(is_async):
    schema = {"type": "array", "items": {"type": "integer"}}
    assert run(making(None, schema, [1] * 200_000), 1, is_async=is_async).success
    failed = run(making(None, schema, [1] * 199_999 + ["x"]), 1, is_async=is_async)
    assert failed.failure.kind == "invalid_output"
    assert '[199999]: got "x"' in failed.message
    recursive = {"$ref": "#/$defs/n", "$defs": {"n": NODE}}
    assert run(making(None, recursive, deep(60, 1)), 1, is_async=is_async).success


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
def test_a_check_that_takes_too_long_is_killed_at_the_time_limit_of_the_call(is_async):
    root = {"type": "object", "properties": {"value": {"$ref": "#/$defs/d0"}}, "$defs": ladder(40)}
    tool = create_tool(
        ToolConfig(name="make", description="Make.", input_schema=root, output_schema={}, timeout_s=1.0)
    )
    result = run(tool, deep(40, 3), is_async=is_async)
    assert result.failure.kind == "timeout"
    assert "make was not run: its arguments were not checked" in result.message
    output = {"$ref": "#/$defs/d0", "$defs": ladder(40)}
    result = run(making(None, output, deep(40, 3), timeout_s=1.0), 1, is_async=is_async)
    assert result.failure.kind == "invalid_output"
    assert "took too long to check" in result.message


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
def test_arguments_that_a_worker_repaired_are_what_the_policy_and_the_handler_get(is_async):
    integers = {"type": "array", "items": {"type": "integer"}}
    properties = {
        "many": integers,
        "large": {"type": "integer"},
        "left_out": {"type": "string"},
        "tree": {"$ref": "#/$defs/n"},
        "limit": {"type": "integer", "default": 7},
        "token": {"type": "string", "writeOnly": True, "default": "hidden-token"},
    }
    ran: list[Any] = []
    seen: list[Any] = []
    made = create_tool(
        ToolConfig(
            name="make",
            description="Make.",
            input_schema={"type": "object", "properties": properties, "$defs": {"n": NODE}},
            output_schema={},
            execute=ran.append,
        )
    )

    def policy(request: Any) -> str:
        seen.append(dict(request.arguments))
        return "allow"

    executor = ToolExecutor([made], policy=policy)
    for many in ([1] * 100_000, json.dumps([1] * 10_000)):
        arguments = {"many": many, "large": 1, "left_out": None, "tree": deep(180, 1)}
        text = json.dumps(arguments).replace('"large": 1', '"large": 1e30')
        call = ToolCall("1", "make", text)
        result = asyncio.run(executor.aexecute(call)) if is_async else executor.execute(call)
        assert result.success, result.message[:500]
        assert [repair.path for repair in result.repairs][-2:] == ["large", "left_out"]
        expected = {
            "many": json.loads(many) if isinstance(many, str) else many,
            "large": 10**30,
            "tree": deep(180, 1),
            "limit": 7,
            "token": "hidden-token",
        }
        assert ran[-1] == expected
        assert seen[-1] == expected


def test_masking_the_secrets_of_a_call_does_not_multiply_along_the_depth():
    node = {**NODE, "type": "object"}
    node["properties"] = {**NODE["properties"], "token": {"type": "string", "writeOnly": True}}
    root = {"type": "object", "properties": {"value": {"$ref": "#/$defs/n"}}, "$defs": {"n": node}}
    made = create_tool(ToolConfig(name="make", description="Make.", input_schema=root, output_schema={}))
    mask = argument_mask(made)
    assert mask is not None
    sent = {"value": deep(150, {"token": "hidden", "a": 1})}
    assert mask(sent) == {"value": deep(150, {"token": "***", "a": 1})}
