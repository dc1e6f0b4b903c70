"""Types, nulls, enums and constants for each target."""

from tests.cases import each_case
from tests.formats.subset.lowering import lower_x, there_and_back, tool
from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import lower

MIXED = [1, "a", None, True]
TEXTS = "as strings, converted back when decoded"


@each_case(
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
def test_types_and_values_are_rewritten_without_losses(schema, target, wanted):
    assert lower_x(schema, target) == (wanted, [])


def test_a_nullable_object_keeps_its_properties():
    schema = {"type": ["object", "null"], "properties": {"a": {"type": "string"}}, "required": ["a"]}
    kept = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    assert lower_x(schema, "gemini_parameters") == ({**kept, "nullable": True}, [])
    closed, losses = lower_x({**schema, "additionalProperties": False}, "openai_strict")
    assert closed == {"anyOf": [{**kept, "additionalProperties": False}, {"type": "null"}]}
    assert losses == []


@each_case(
    ("values", "listed"),
    [
        ([1, 2], ["1", "2"]),
        ([1, "1"], ["1 (integer)", "1"]),
        (["", "a"], ["(empty)", "a"]),
        ([True, "x"], ["true", "x"]),
        ([1.5, {"a": [1]}], ["1.5", '{"a":[1]}']),
    ],
)
def test_enum_values_are_sent_as_strings_and_restored(values, listed):
    low = lower(tool({"enum": values}), TARGETS["gemini_parameters"])
    assert low.schema == tool({"type": "string", "enum": listed})
    assert low.losses == (("/properties/x", "enum", "reshaped", TEXTS),)
    assert [there_and_back(low, {"x": value}) for value in values] == [{"x": text} for text in listed]
    assert low.mapping.decode({"x": "none of them"}) == {"x": "none of them"}


def test_objects_in_an_enum_are_sent_as_strings_to_closed_targets():
    low = lower(tool({"enum": [{"a": 1}, '{"a":1}', 3]}), TARGETS["openai_strict"])
    texts = {"type": "string", "enum": ['{"a":1} (object)', '{"a":1}']}
    assert low.schema["properties"]["x"] == {"anyOf": [texts, {"type": "integer", "enum": [3]}]}
    assert low.losses == (("/properties/x", "enum", "reshaped", TEXTS),)
    for value in ({"a": 1}, '{"a":1}', 3):
        there_and_back(low, {"x": value})


def test_booleans_that_cannot_be_listed_become_their_type():
    assert lower_x({"enum": MIXED}, "gemini_json") == (
        {"anyOf": [{"type": ["string", "integer"], "enum": [1, "a"]}, {"type": "null"}, {"type": "boolean"}]},
        [("", "enum", "widened", "any boolean, not true alone")],
    )


def test_objects_that_cannot_be_listed_are_described_if_arguments_are_not_mapped():
    assert lower_x({"enum": [{"a": 1}]}, "gemini_json") == (
        {"description": 'One of [{"a":1}]'},
        [("", "enum", "moved to description", 'one of [{"a":1}]')],
    )


def test_only_null_is_widened_if_the_target_has_no_null_type():
    reported = [("", "type", "widened", "the target has no null type")]
    assert lower_x({"type": "null"}, "gemini_parameters") == ({"type": "string", "nullable": True}, reported)
    assert lower_x({"const": None}, "gemini_parameters") == ({"type": "string", "nullable": True}, reported)


def test_types_with_different_keywords_become_branches():
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


def test_the_type_is_inferred_from_the_keywords():
    schema = {"properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
    assert lower_x(schema, "openai_strict") == (
        {"type": "object", **schema},
        [("", "type", "narrowed", "only object, which its keywords apply to")],
    )
    assert lower_x(schema, "gemini_json") == (schema, [])


def test_any_value_is_sent_as_a_string_of_json():
    low = lower(tool({"description": "Whatever."}), TARGETS["closed_text"])
    words = "Whatever. (any JSON value, written as text)"
    assert low.schema["properties"]["x"] == {"type": "string", "description": words}
    assert low.losses == (("/properties/x", "type", "reshaped", "a string of JSON"),)
    assert there_and_back(low, {"x": {"a": [1, None]}}) == {"x": '{"a":[1,null]}'}
    assert low.mapping.decode({"x": "not JSON"}) == {"x": "not JSON"}
