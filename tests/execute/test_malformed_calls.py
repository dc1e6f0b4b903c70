"""Calls that came broken off a wire: each is answered, and nothing is run for it."""

import asyncio
import json

import pytest
from pydantic import BaseModel

from tests.cases import each_case
from tests.execute.calls import WAYS, call, each_way, hear, kind_of
from tests.execute.defined_tools import DEFINED_TOOLS, add, typed_add
from tests.execute.process_tools import add as add_process
from tests.execute.secret_kit import TOKEN, assert_hidden, plain
from toolhaft import Tool, ToolCall, ToolExample, ToolExecutor, ToolResult, tool, validate_tool_input
from toolhaft.core.result import Failure
from toolhaft.execute.call_log import log_calls
from toolhaft.schema import UnreadArguments
from toolhaft.schema.problems import Problem

CUT = UnreadArguments('{"a": 2, "b', "the stream ended in the middle")
MESSAGE = (
    "The arguments are not valid.\n- arguments: the stream ended in the middle\nValid arguments look like: {}"
)


def broken(name, arguments=CUT, **rest):
    return ToolCall(id="1", name=name, arguments=arguments, **rest)


@each_way
@each_case("thing", [*DEFINED_TOOLS, typed_add], ids=lambda thing: type(thing).__name__)
def test_a_malformed_call_defined_in_any_way_is_answered_and_not_run(run, thing):
    executor = ToolExecutor([thing])
    (made,) = executor.tools.values()
    result = run(executor, broken(made.name))
    failure = result.failure
    assert (result.success, failure.kind, failure.outcome) == (False, "invalid_arguments", "nothing_happened")
    assert failure.problems == (Problem("", "the stream ended in the middle"),)
    assert result.message.splitlines()[:2] == MESSAGE.splitlines()[:2]
    assert result.message.splitlines()[2].startswith("Valid arguments look like: {")


@each_way
def test_the_message_has_the_problem_and_one_example(run):
    @tool(isolation="inline", examples=[ToolExample(input={"a": 5})])
    def double(a: int) -> int:
        """Double a number."""
        raise AssertionError("it must not be run")

    assert run(ToolExecutor([double]), broken("double")) == ToolResult(
        message=MESSAGE.replace("{}", '{"a":5}'),
        success=False,
        failure=Failure(
            kind="invalid_arguments",
            problems=(Problem("", "the stream ended in the middle"),),
            advice="This was attempt 1 of 3.",
        ),
    )


def test_a_problem_reported_by_a_format_is_one_short_line():
    executor = ToolExecutor([add])
    result = executor.execute(broken("add", UnreadArguments("", "x\n- forged: line" + "y" * 5000)))
    assert result.message.splitlines()[1].startswith("- arguments: x - forged: line")
    assert len(result.message) < 400


@pytest.mark.external
def test_a_malformed_call_of_a_process_tool_starts_nothing():
    with ToolExecutor([add_process]) as executor:
        for run in WAYS:
            result = run(executor, broken("add"))
            assert result.failure.problems == (Problem("", "the stream ended in the middle"),), run
            assert run(executor, call("add", a=2)).value == 3, run


@each_case("way", ["execute_all", "aexecute_all"])
def test_siblings_of_a_malformed_call_run(way):
    executor = ToolExecutor([add, typed_add])
    calls = [call("add", a=1), broken("add"), call("typed_add", a=2), broken("nobody"), broken("typed_add")]
    done = getattr(executor, way)(calls)
    results = asyncio.run(done) if way == "aexecute_all" else done
    assert [kind_of(result) for result in results] == [
        None,
        "invalid_arguments",
        None,
        "unknown_tool",
        "invalid_arguments",
    ]
    assert [result.call for result in results] == calls


@each_way
def test_a_malformed_call_of_a_tool_that_does_not_exist_is_an_unknown_tool(run):
    result = run(ToolExecutor([add]), broken("ad"))
    assert kind_of(result) == "unknown_tool"
    assert result.message == "no tool is called 'ad'. The tools are: add."


class Leaf(BaseModel):
    kids: "list[Leaf | int]"


@tool(isolation="inline")
def grow(tree: Leaf) -> int:
    """Grow a tree."""
    raise AssertionError("it must not be run")


RAW_TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"anyOf": [{"$ref": "#"}]}}}}


@each_case("made", [grow, Tool(name="raw", description="Grows.", input_schema=RAW_TREE, handler=len)])
def test_a_tool_whose_arguments_are_bounded_in_depth_refuses_it_too(made):
    result = ToolExecutor([made]).execute(broken(made.name))
    assert result.failure.problems == (Problem("", "the stream ended in the middle"),)
    assert validate_tool_input(made, CUT) == result.message


def test_policies_and_keys_ignore_a_malformed_call():
    asked = []

    @tool(isolation="inline", retryable=False, effect="idempotent", idempotency=["a"], max_attempts=5)
    def put(a: int) -> int:
        """Put a number."""
        return a

    def policy(request):
        asked.append(request.arguments)
        return "allow"

    executor = ToolExecutor([put], policy=policy)
    for _ in range(2):  # a tool that is not retryable is not asked whether these arguments have failed
        assert kind_of(executor.execute(broken("put", idempotency_key="k"))) == "invalid_arguments"
    assert asked == []
    assert executor.execute(call("put", a=1, idempotency_key="k")).value == 1
    assert asked == [{"a": 1}]


def test_three_malformed_calls_in_a_row_use_up_the_attempts():
    executor = ToolExecutor([add])
    kinds = [kind_of(executor.execute(broken("add"))) for _ in range(4)]
    assert kinds == ["invalid_arguments"] * 3 + ["attempts"]


def test_its_result_is_cut_at_the_limit():
    executor = ToolExecutor([add], max_output_chars=50, max_repeats=1)
    result = executor.execute(broken("add"))
    assert kind_of(result) == "invalid_arguments"
    assert result.render().endswith("characters shown]")


@each_case(
    ("text", "recorded"),
    [
        ('{"a": 2, "b', '{"a": 2, "b'),
        ('{"b": 1, "a": 2}', '{"a":2,"b":1}'),
        ("", ""),
        ("\ud800", "\ud800"),
    ],
)
def test_the_raw_text_is_in_the_event(text, recorded):
    executor = ToolExecutor([add])
    events = hear(executor)
    executor.execute(broken("add", UnreadArguments(text, "its id is broken")))
    executor.execute(broken("nobody", UnreadArguments(text, "its id is broken")))
    assert [(event.arguments, event.kind, event.call_id) for event in events] == [
        (recorded, "invalid_arguments", "1"),
        (recorded, "unknown_tool", "1"),
    ]


def test_a_malformed_call_is_a_line_of_the_call_log(tmp_path):
    executor = ToolExecutor([add])
    with log_calls(executor, tmp_path / "calls.jsonl") as log:
        executor.execute(broken("add"))
        assert log.lost == 0
    line = json.loads((tmp_path / "calls.jsonl").read_text())
    assert (line["tool"], line["arguments"], line["kind"]) == ("add", '{"a": 2, "b', "invalid_arguments")


@each_case("text", [f'{{"user": "u", "token": "{TOKEN}', f'{{"user": "u", "token": "{TOKEN}"}}'])
@each_case("name", ["plain", "plan"])
def test_a_secret_in_malformed_arguments_is_not_shown(text, name):
    one = broken(name, UnreadArguments(text, f"cut after {TOKEN}"))
    result, _ = assert_hidden(ToolExecutor([plain]), one)
    assert kind_of(result) == ("invalid_arguments" if name == "plain" else "unknown_tool")
    assert TOKEN not in repr(result)
