"""The names of options: a wrong one is answered with the nearest right one, wherever it is given."""

import inspect
import pickle

import pytest

from tests.cases import each_case
from toolhaft import Tool, ToolConfig, ToolContext, ToolExecutor, ToolResult, create_tool, execute_tool, tool
from toolhaft.define.yaml import parse_tool
from toolhaft.errors import DefinitionError

WRONG_NAMES = {
    "timeout": "timeout_s",
    "timeout_seconds": "timeout_s",
    "max_attempt": "max_attempts",
    "retries": "max_attempts",
    "Effect": "effect",
}
HEAD = {"name": "add", "description": "Add."}


def handle(params: None, *, context: ToolContext) -> ToolResult[None]:
    """Handle."""
    return ToolResult.ok(None)


WAYS = {
    "decorator": lambda **options: tool(**HEAD, **options)(lambda: 1).validate,
    "raw": lambda **options: Tool(**HEAD, **options),
    "typed": lambda **options: Tool[None, None](**HEAD, **options),
    "wrap": lambda **options: Tool.wrap(handle, **options),
    "config": lambda **options: create_tool(ToolConfig(**HEAD, input_schema={"type": "object"}, **options)),
    "yaml": lambda **options: parse_tool(
        f"id: add\nname: Add\ndescription: Add.\n{next(iter(options))}: 5\n"
    ),
    "replace": lambda **options: Tool(**HEAD).replace(**options),
}


@each_case("way", WAYS)
def test_a_misspelled_option_is_answered_with_the_right_one_at_every_way_to_define_a_tool(way):
    for wrong, right in WRONG_NAMES.items():
        with pytest.raises((DefinitionError, TypeError)) as caught:
            WAYS[way](**{wrong: 5})
        assert repr(wrong) in str(caught.value)
        assert f"did you mean {right!r}?" in str(caught.value)


@each_case("way", [way for way in WAYS if way not in ("yaml", "replace")])
def test_an_option_that_is_like_no_other_is_answered_with_all_of_them(way):
    with pytest.raises((DefinitionError, TypeError), match="timeout_s"):
        WAYS[way](zzzz=5)


def test_a_misspelled_option_of_an_executor_is_answered_with_the_right_one():
    with pytest.raises(TypeError, match=r"ToolExecutor has no option 'polcy'; did you mean 'policy'\?"):
        ToolExecutor([], polcy=None)
    with pytest.raises(TypeError, match=r"ToolExecutor has no option 'sesion'; did you mean 'session'\?"):
        execute_tool(Tool(**HEAD), sesion=None)
    with pytest.raises(TypeError, match="ToolExecutor has no option 'zzzz'; the options are tools, session,"):
        ToolExecutor(zzzz=None)


def test_the_signatures_of_constructors_stay_visible():
    assert "policy" in inspect.signature(ToolExecutor).parameters
    assert "timeout_s" in inspect.signature(ToolConfig).parameters


def test_a_subclass_may_have_options_of_its_own():
    class Named(ToolExecutor):
        def __init__(self, tools, *, label):
            super().__init__(tools, max_repeats=3)
            self.label = label

    assert Named([], label="a").label == "a"
    config = ToolConfig(**HEAD, input_schema={"type": "object"})
    assert pickle.loads(pickle.dumps(config)) == config  # noqa: S301 -- our own bytes
