"""Seed 001, Tool Specifications: what *Union Types* and *Null and Optional Types* say beyond one parameter.

Knows the page; the single definitions of the chapter are in `test_seed_001_parameters.py`.
"""

import json
from typing import NotRequired, TypedDict

import pytest

from toolhaft import InvalidArguments, Tool, ToolConfig, ValidArguments, create_tool, tool
from toolhaft.schema import Repair

OPTIONAL_PARAMETER = json.loads("""
{
  "type": "object",
  "properties": {
    "required_field": {"type": "string"},
    "optional_field": {"type": "string"}
  },
  "required": ["required_field"]
}
""")


class Fields(TypedDict):
    required_field: str
    optional_field: NotRequired[str]


@tool
def with_default(required_field: str, optional_field: str = "none given"):
    """Take one field or two."""


RAW = create_tool(
    ToolConfig(name="take", description="Take one field or two.", input_schema=OPTIONAL_PARAMETER)
)
TYPED = Tool[Fields, None](name="take", description="Take one field or two.")


def test_seed_001_optional_parameter_is_the_one_not_in_the_required_array():
    """Seed 001, *Null and Optional Types*: Optional parameter, in the three forms that can say it."""
    assert RAW.input_schema == OPTIONAL_PARAMETER
    assert TYPED.input_schema == OPTIONAL_PARAMETER
    assert with_default.input_schema == {
        "type": "object",
        "properties": {
            "required_field": {"type": "string"},
            "optional_field": {"type": "string", "default": "none given"},
        },
        "required": ["required_field"],
    }


@pytest.mark.parametrize("made", [RAW, TYPED, with_default], ids=["raw", "typed", "function"])
def test_seed_001_optional_parameter_may_be_left_out_and_null_means_that(made):
    """Seed 001, *Null and Optional Types*: optional is not the same as nullable; its null is a repair."""
    given = {"required_field": "a", "optional_field": "b"}
    assert made.validate(given) == ValidArguments(given)
    left_out = made.validate({"required_field": "a"})
    repairs = (Repair(path="optional_field", was=None, now=None),)
    assert made.validate({"required_field": "a", "optional_field": None}) == ValidArguments(
        left_out.params, repairs
    )
    for arguments, path in [
        ({"optional_field": "b"}, "required_field"),
        ({"required_field": None}, "required_field"),
        ({"required_field": "a", "option_field": "b"}, "option_field"),
    ]:
        verdict = made.validate(arguments)
        assert isinstance(verdict, InvalidArguments)
        assert [problem.path for problem in verdict.problems] == [path]


def test_seed_001_optional_parameter_without_default_does_not_appear():
    """Seed 001, *Null and Optional Types*: nothing is made up for a parameter that was not sent."""
    assert RAW.validate({"required_field": "a"}) == ValidArguments({"required_field": "a"})
    assert TYPED.validate({"required_field": "a"}) == ValidArguments({"required_field": "a"})
    assert with_default.validate({"required_field": "a"}) == ValidArguments(
        {"required_field": "a", "optional_field": "none given"}
    )


def test_seed_001_nullable_is_not_optional():
    """Seed 001, *Null and Optional Types*: a nullable parameter without a default must still be sent."""

    @tool
    def comment(text: str | None):
        """Comment on it."""

    assert comment.input_schema["required"] == ["text"]
    assert comment.validate({"text": None}) == ValidArguments({"text": None})
    assert isinstance(comment.validate({}), InvalidArguments)


@pytest.mark.parametrize(
    ("value", "is_valid"), [("abc", True), ("abcdef", True), ("ab", False), ("abcdefg", False), (5, False)]
)
def test_seed_001_all_of_wants_every_branch(value, is_valid):
    """Seed 001, *Union Types*: allOf, which the page names without an example."""
    schema = {
        "type": "object",
        "properties": {"value": {"allOf": [{"type": "string", "minLength": 3}, {"maxLength": 6}]}},
        "required": ["value"],
    }
    made = create_tool(ToolConfig(name="take", description="Take a value.", input_schema=schema))
    assert isinstance(made.validate({"value": value}), ValidArguments) is is_valid
