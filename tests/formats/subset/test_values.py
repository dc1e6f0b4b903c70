"""Types, nulls, enums and constants in the way of each target."""

import pytest

from tests.formats.each_case import each
from tests.formats.subset.lowering import lower_x, there_and_back, tool
from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import lower

MIXED = [1, "a", None, True]
TEXTS = "as strings, converted back when decoded"


@each(
    ("schema", "target", "wanted"),
    [
        ({"type": ["string", "integer"]}, "openai_strict", {"type": ["string", "integer"]}),
        (
            {"type": ["string", "integer"]},
            "gemini_parameters",
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ),
        ({"type": ["string", "null"]}, "openai_strict", {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, "gemini_parameters", {"type": "string", "nullable": True}),
        ({"type": ["string", "null"]}, "cohere_strict", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "gemini_parameters",
            {"type": "string", "nullable": True},
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            "gemini_parameters",
            {"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": True},
        ),
        ({"enum": ["a", "b"]}, "openai_strict", {"type": "string", "enum": ["a", "b"]}),
        ({"enum": ["a", None]}, "gemini_parameters", {"type": "string", "enum": ["a"], "nullable": True}),
        ({"enum": ["a", None]}, "openai_strict", {"type": ["string", "null"], "enum": ["a", None]}),
        (
            {"enum": ["a", None]},
            "cohere_strict",
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
        ({"const": "a"}, "openai_strict", {"type": "string", "const": "a"}),
        ({"const": "a"}, "gemini_json", {"enum": ["a"]}),
        ({"const": "a"}, "gemini_parameters", {"type": "string", "enum": ["a"]}),
        ({"enum": [True, False]}, "gemini_json", {"type": "boolean"}),
        ({"enum": [1, 2, 3], "minimum": 2}, "anthropic_strict", {"type": "integer", "enum": [2, 3]}),
        ({"enum": [1, 1.5], "type": "number"}, "openai_strict", {"type": "number", "enum": [1, 1.5]}),
        ({"enum": ["a", 1], "type": "string"}, "openai_strict", {"type": "string", "enum": ["a"]}),
    ],
)
def test_types_and_values_that_lose_nothing(schema, target, wanted):
    assert lower_x(schema, target) == (wanted, [])


def test_a_nullable_object_keeps_its_properties():
    schema = {"type": ["object", "null"], "properties": {"a": {"type": "string"}}, "required": ["a"]}
    kept = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert lower_x(schema, "gemini_parameters") == ({**kept, "nullable": True}, [])
    closed, losses = lower_x({**schema, "additionalProperties": False}, "openai_strict")
    assert closed == {"anyOf": [{**kept, "additionalProperties": False}, {"type": "null"}]}
    assert losses == []


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        ([1, 2], ["1", "2"]),
        ([1, "1"], ["1 (integer)", "1"]),
        (["", "a"], ["(empty)", "a"]),
        ([True, "x"], ["true", "x"]),
        ([1.5, {"a": [1]}], ["1.5", '{"a":[1]}']),
    ],
)
def test_values_that_are_no_texts_are_sent_as_texts_and_read_back(values, listed):
    low = lower(tool({"enum": values}), TARGETS["gemini_parameters"])
    assert low.schema == tool({"type": "string", "enum": listed})
    assert low.losses == (("/properties/x", "enum", "reshaped", TEXTS),)
    assert [there_and_back(low, {"x": value}) for value in values] == [{"x": text} for text in listed]
    assert low.mapping.decode({"x": "none of them"}) == {"x": "none of them"}


def test_objects_among_values_are_sent_as_texts_where_every_object_must_be_closed():
    low = lower(tool({"enum": [{"a": 1}, '{"a":1}', 3]}), TARGETS["openai_strict"])
    texts = {"type": "string", "enum": ['{"a":1} (object)', '{"a":1}']}
    assert low.schema["properties"]["x"] == {"anyOf": [texts, {"type": "integer", "enum": [3]}]}
    assert low.losses == (("/properties/x", "enum", "reshaped", TEXTS),)
    for value in ({"a": 1}, '{"a":1}', 3):
        there_and_back(low, {"x": value})


def test_booleans_that_may_not_be_listed_are_told_by_their_type():
    assert lower_x({"enum": MIXED}, "gemini_json") == (
        {"anyOf": [{"type": ["string", "integer"], "enum": [1, "a"]}, {"type": "null"}, {"type": "boolean"}]},
        [("", "enum", "widened", "any boolean, not true alone")],
    )


def test_objects_that_may_not_be_listed_are_said_where_nothing_is_turned():
    assert lower_x({"enum": [{"a": 1}]}, "gemini_json") == (
        {"description": 'One of [{"a":1}]'},
        [("", "enum", "moved to description", 'one of [{"a":1}]')],
    )


def test_null_alone_is_widened_where_it_is_no_type():
    told = [("", "type", "widened", "the target has no null type")]
    assert lower_x({"type": "null"}, "gemini_parameters") == ({"type": "string", "nullable": True}, told)
    assert lower_x({"const": None}, "gemini_parameters") == ({"type": "string", "nullable": True}, told)


def test_types_that_take_different_keywords_go_apart():
    schema = {
        "type": ["object", "string"],
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "minLength": 1,
    }
    assert lower_x({**schema, "additionalProperties": False}, "openai_strict") == (
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"a": {"type": "string"}},
                    "required": ["a"],
                    "additionalProperties": False,
                },
                {"type": "string", "description": "At least 1 character"},
            ]
        },
        [("", "minLength", "moved to description", "at least 1 character")],
    )


def test_keywords_without_a_type_are_taken_for_the_type_that_they_are_about():
    schema = {"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
    assert lower_x(schema, "openai_strict") == (
        {"type": "object", **schema},
        [("", "type", "narrowed", "only object, which its keywords apply to")],
    )
    assert lower_x(schema, "gemini_json") == (schema, [])


def test_any_value_can_be_sent_as_text():
    low = lower(tool({"description": "Whatever."}), TARGETS["closed_text"])
    words = "Whatever. (any JSON value, written as text)"
    assert low.schema["properties"]["x"] == {"type": "string", "description": words}
    assert low.losses == (("/properties/x", "type", "reshaped", "a string of JSON"),)
    assert there_and_back(low, {"x": {"a": [1, None]}}) == {"x": '{"a":[1,null]}'}
    assert low.mapping.decode({"x": "not JSON"}) == {"x": "not JSON"}
