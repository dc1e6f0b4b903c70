"""What a tool gives back, and how it reads."""

import pickle
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from tests.cases import each_case
from toolhaft import ToolCall, ToolExample, ToolResult
from toolhaft.errors import DefinitionError


@dataclass
class Hit:
    title: str


class Page(BaseModel):
    number: int


class Own:
    def render(self) -> str:
        return "rendered by itself"


LOOP: list[object] = []
LOOP.append(LOOP)


@each_case(
    ("result", "text"),
    [
        (ToolResult.ok(Hit("a"), "Found"), 'Found\n\n{"title":"a"}'),
        (ToolResult.ok(Hit("a")), 'OK\n\n{"title":"a"}'),
        (ToolResult.ok("plain", "Found"), 'Found\n\n"plain"'),
        (ToolResult.ok([Page(number=1)], "Found"), 'Found\n\n[{"number":1}]'),
        (ToolResult.ok(Own(), "Found"), "Found\n\nrendered by itself"),
        (ToolResult.ok(None, "Done"), "Done"),
        (ToolResult.error("Not found"), "Not found"),
        (ToolResult.error("Not found", {"tried": 2}), 'Not found\n\n{"tried":2}'),
        (ToolResult(value="text as it is"), "text as it is"),
        (ToolResult(value={"é": [1, None]}), '{"é":[1,null]}'),
        (ToolResult(value=0), "0"),
        (ToolResult(value=float("nan")), '"NaN"'),
        (ToolResult(), ""),
        (ToolResult(message="Kept", value="secret", exclude_value_from_context=True), "Kept"),
    ],
)
def test_a_result_renders_as_message_then_value(result, text):
    assert result.render() == text


@each_case("value", [object(), LOOP, b"\xff", {1, 2}])
def test_a_value_without_a_json_form_is_rendered_too(value):
    assert ToolResult(value=value).render()


def test_ok_and_error_set_success():
    assert (ToolResult.ok(1).success, ToolResult.error("x").success) == (True, False)
    assert ToolResult.error("x").value is None
    assert ToolResult.ok(1) == ToolResult(message="OK", value=1)
    assert ToolResult.ok(1) != ToolResult.ok(2)
    assert ToolResult.ok(1) != 1
    assert repr(ToolResult.ok(1)) == "ToolResult(message='OK', value=1, success=True)"


def test_examples_are_compared_by_content():
    example = ToolExample(input={"a": 1}, output=2)
    assert example == ToolExample(input={"a": 1}, output=2)
    assert example != ToolExample(input={"a": 1})
    assert example != 1
    assert repr(example) == "ToolExample(description='', input={'a': 1}, output=2)"
    with pytest.raises(DefinitionError, match="must be text"):
        ToolExample.read({"input": 1, "description": 5})


def test_a_result_that_no_executor_returned_has_no_call():
    assert ToolResult.ok(1).call is None
    assert ToolResult.error("no").call is None
    assert ToolResult(value=1).call is None


def test_the_call_of_a_result_is_pickled_and_not_compared():
    result = ToolResult.ok(1)
    result.call = ToolCall("1", "add", {"a": 1})
    assert result == ToolResult.ok(1)
    assert repr(result) == repr(ToolResult.ok(1))
    assert result.with_fields(final=True).call is result.call
    assert pickle.loads(pickle.dumps(result)).call == result.call  # noqa: S301 -- our own bytes
