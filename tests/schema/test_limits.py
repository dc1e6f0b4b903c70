"""Every limit of the package holds: what is collected, cached, repaired, shown or inlined is bounded."""

import json
from operator import attrgetter
from typing import Any

import pytest
from pydantic import BaseModel, create_model
from pydantic_core import SchemaValidator, ValidationError, core_schema

from toolhaft import InvalidArguments, ToolConfig, ValidArguments, create_tool, tool
from toolhaft.errors import DefinitionError
from toolhaft.schema import annotations, explainer, typed, typed_problems
from toolhaft.schema.json_text import non_finite_paths, repeated_keys
from toolhaft.schema.value_size import is_light


def raw(schema: dict[str, Any], output: dict[str, Any] | None = None):
    return create_tool(
        ToolConfig(name="raw", description="Raw.", input_schema=schema, output_schema=output or {})
    )


def taking(annotation: Any):
    def take(value):
        """Take."""

    take.__annotations__ = {"value": annotation}
    return tool(take)


def items_tools():
    function = taking(list[int])
    return function, raw(function.input_schema)


def test_more_errors_than_can_be_listed_are_only_counted(monkeypatch):
    monkeypatch.setattr(typed, "_MAX_ERRORS", 3)
    message = taking(list[int]).validate({"value": ["x"] * 5}).message
    assert "5 problems, too many to list" in message
    assert "value[3]" in taking(list[int]).validate({"value": [1, 1, 1, "x"]}).message


def test_the_cache_of_described_paths_is_limited():
    made = explainer.Explainer({"type": "object", "additionalProperties": {"type": "integer"}})
    for number in range(600):
        assert made.problem((f"k{number}",), "missing").expected == "an integer"
    assert len(attrgetter("_described")(made)) == 500


def test_the_cache_of_known_problems_is_limited():
    made = explainer.Explainer({"type": "array", "items": {"type": "integer"}})
    known: typed_problems.KnownProblems = {}
    value = ["x"] * 600
    with pytest.raises(ValidationError) as caught:
        SchemaValidator(core_schema.list_schema(core_schema.int_schema())).validate_python(value)
    errors = typed_problems.error_details(caught.value)
    assert len(typed_problems.to_problems(errors, value, made, known)) == 100
    for start in range(100, 600, 100):
        typed_problems.to_problems(errors[start:], value, made, known)
    assert len(known) == 500
    assert typed_problems.recall_lines(errors[501:], known) is None
    lines = [f'- [{index}]: got "x"; expected an integer' for index in range(3)]
    assert typed_problems.recall_lines(errors[:3], known) == lines
    problems = typed_problems.recall_problems(lines, errors[:3], known)
    assert [f"- {problem}" for problem in problems] == lines


def test_the_cache_of_common_types_is_limited_and_schemas_are_not_shared(monkeypatch):
    cache: dict[object, Any] = {}
    monkeypatch.setattr(annotations, "_COMMON", cache)
    common: list[Any] = [int, str, float, bool]
    for annotation in common:  # it grows: lists and dicts of all that went before
        assert isinstance(taking(annotation).input_schema, dict)
        if len(common) < 1_100:
            common += [list[annotation], dict[str, annotation]]
    assert len(cache) == 1_000
    first, second = (taking(list[int]).input_schema["properties"]["value"] for _ in range(2))
    first["items"]["type"] = "changed"
    assert second == {"type": "array", "items": {"type": "integer"}}


def test_only_the_first_paths_of_bad_numbers_and_repeated_keys_are_returned():
    assert len(non_finite_paths([float("inf")] * 100)) == 20
    text = "{" + ", ".join(f'"k{number}": 1, "k{number}": 2' for number in range(100)) + "}"
    assert len(repeated_keys(text)) == 20


def test_only_the_first_unknown_keys_are_reported():
    composed = raw({"type": "object", "properties": {"a": {}}, "anyOf": [{"properties": {"b": {}}}]})
    unknown = {f"k{number}": 1 for number in range(100)}
    assert len(composed.validate(unknown).problems) == 20
    nested = raw(
        {
            "type": "object",
            "properties": {"a": {"type": "object", "properties": {"b": {}}, "additionalProperties": False}},
        }
    )
    assert len(nested.validate({"a": unknown}).problems) == 50


def test_only_the_first_problems_of_an_output_are_listed():
    made = raw({"type": "object"}, {"type": "array", "items": {"type": "integer"}})
    assert made.check_output(["x"] * 100).endswith("; and 80 more")
    long = made.check_output(["x"] * 30_000)
    assert long.startswith('an array of 30000 members does not fit the schema; [0]: got "x"')


def test_an_output_that_contains_itself_is_refused():
    loop: list[object] = []
    loop.append(loop)
    made = raw({"type": "object"}, {"type": "array", "items": {"type": "integer"}})
    assert made.check_output(loop) == "the value is too large to check, or contains itself"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "minLength": 41},
        {"type": "array", "minItems": 41, "items": {}},
        {"enum": ["x" * 400]},
    ],
)
def test_a_large_example_is_not_shown(schema):
    root = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    assert raw(root).validate("{}").example is None


def test_an_example_is_made_to_a_depth_of_twelve():
    schema: dict[str, Any] = {"type": "integer"}
    for depth in range(15):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
        assert (raw(schema).validate("{").example is None) == (depth >= 12), depth


def test_what_is_expected_is_described_to_a_depth_of_four_and_with_twelve_choices():
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(8):
        schema = {"type": "array", "items": schema}
    (problem,) = raw({"type": "object", "properties": {"a": schema}}).validate({"a": 1}).problems
    assert problem.expected == "an array, each an array, each an array, each an array"
    choices = raw({"type": "object", "properties": {"a": {"enum": [f"c{n}" for n in range(30)]}}})
    (problem,) = choices.validate({"a": 1}).problems
    assert problem.expected.endswith('"c11", or 18 others')


def test_a_value_of_too_many_parts_is_not_repaired():
    for made in items_tools():
        assert isinstance(made.validate(json.dumps({"value": ["5"] * 2_000})), ValidArguments)
        assert isinstance(made.validate(json.dumps({"value": ["5"] * 20_000})), InvalidArguments)


def test_a_schema_over_its_limit_is_refused():
    with pytest.raises(DefinitionError, match=r"the schema has 20000\d\d characters"):
        raw({"type": "object", "description": "x" * 2_000_000})


def test_types_that_would_grow_without_end_are_not_inlined():
    made: type[BaseModel] = create_model("L0", value=(int, ...))
    for level in range(1, 14):
        made = create_model(f"L{level}", left=(made, ...), right=(made, ...))
        if level == 8:
            assert "$defs" not in taking(made).input_schema
    assert "$defs" in taking(made).input_schema


def test_a_value_of_many_long_parts_is_not_light():
    assert is_light(["x"] * 600)
    assert not is_light(["x" * 10_000] * 600)
    assert not is_light([object()] * 600)
