"""allOf merged into one schema that admits exactly what all branches admit."""

import pytest

from tests.cases import each_case
from tests.formats.subset.judging import same
from tests.formats.subset.lowering import lower_x, tool
from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import RefusedSchema, lower
from toolhaft.schema.raw_definition import compile_validator

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
BESIDE = ("checked locally", "combined with another")


def record(*required, **properties):
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


@each_case(
    ("branches", "wanted"),
    [
        ([{"type": "number"}, {"type": ["integer", "string"]}], {"type": "integer"}),
        ([{"type": ["string", "null"]}, TEXT], TEXT),
        (
            [{**WHOLE, "minimum": 1, "maximum": 9}, {"minimum": 3, "maximum": 20}],
            {**WHOLE, "minimum": 3, "maximum": 9},
        ),
        ([{**WHOLE, "multipleOf": 4}, {"multipleOf": 6}], {**WHOLE, "multipleOf": 12}),
        (
            [{**TEXT, "minLength": 1}, {"minLength": 2, "maxLength": 3}],
            {**TEXT, "minLength": 2, "maxLength": 3},
        ),
        ([{"enum": [1, 2, 3]}, {"enum": [2, 3.0, 4]}], {"enum": [2, 3]}),
        ([{"const": "a"}, {"enum": ["a", "b"]}], {"enum": ["a"]}),
        ([{**TEXT, "description": "One."}, {"description": "Two."}], {**TEXT, "description": "One. Two."}),
        (
            [{**TEXT, "description": "The same."}, {"description": "same."}],
            {**TEXT, "description": "The same."},
        ),
        ([{**TEXT, "title": "First"}, {"title": "Second"}], {**TEXT, "title": "First"}),
        ([True, TEXT, {}], TEXT),
        ([record("a", a=TEXT), record("b", b=WHOLE)], record("a", "b", a=TEXT, b=WHOLE)),
        ([record(a=TEXT), record(a={"minLength": 1})], record(a={**TEXT, "minLength": 1})),
        (
            [{**record(a=TEXT), "additionalProperties": False}, record(a={"minLength": 1}, b=WHOLE)],
            {**record(a={**TEXT, "minLength": 1}), "additionalProperties": False},
        ),
        (
            [{**record(a=TEXT), "additionalProperties": WHOLE}, record(b={"minimum": 1})],
            {**record(a=TEXT, b={**WHOLE, "minimum": 1}), "additionalProperties": WHOLE},
        ),
        (
            [{"type": "array", "items": WHOLE}, {"items": {"minimum": 1}, "uniqueItems": True}],
            {"type": "array", "items": {**WHOLE, "minimum": 1}, "uniqueItems": True},
        ),
        (
            [{"type": "array", "prefixItems": [WHOLE]}, {"items": {"minimum": 1}}],
            {"type": "array", "prefixItems": [{**WHOLE, "minimum": 1}], "items": {"minimum": 1}},
        ),
        (
            [{"anyOf": [TEXT, WHOLE]}, {"anyOf": [{"type": "boolean"}, {"type": "number"}]}],
            {"anyOf": [WHOLE]},
        ),
    ],
)
def test_branches_are_merged_exactly(branches, wanted):
    assert lower_x({"allOf": branches}, "gemini_json") == (wanted, [])


def test_a_merged_schema_admits_what_all_branches_admit():
    branches = [
        {**record("a", a=TEXT), "patternProperties": {"^n": WHOLE}},
        {**record(n1={"minimum": 3}), "additionalProperties": {"type": ["string", "integer"]}},
    ]
    low = lower(tool({"allOf": branches}), TARGETS["unrolled"])
    own, wire = (
        compile_validator({"allOf": branches}, "own"),
        compile_validator(low.schema["properties"]["x"], "wire"),
    )
    for value in (
        {"a": "x"},
        {"a": 1},
        {"a": "x", "n1": 2},
        {"a": "x", "n1": 3},
        {"a": "x", "z": []},
        {},
        {"a": "x", "n": ""},
    ):
        assert same(own.is_valid(value), wire.is_valid(value))


@each_case(
    "branches",
    [
        [TEXT, WHOLE],
        [{"enum": [1]}, {"enum": [2]}],
        [{"const": 1}, {"const": 2}],
        [{**record("a", a=TEXT)}, {"type": "object", "additionalProperties": False}],
        [record("a", a=TEXT), record(a=WHOLE)],
        [TEXT, False],
    ],
)
def test_branches_that_admit_no_common_value_are_refused(branches):
    with pytest.raises(RefusedSchema, match="no value is valid for it"):
        lower(tool({"allOf": branches}), TARGETS["gemini_json"])


@pytest.mark.parametrize(
    ("keyword", "one", "other"),
    [("pattern", "^a", "b$"), ("format", "date", "email"), ("multipleOf", 0.5, 0.75)],
)
def test_keywords_that_cannot_be_merged_are_kept_once_and_reported(keyword, one, other):
    start = {"type": "number"} if keyword == "multipleOf" else TEXT
    assert lower_x({"allOf": [{**start, keyword: one}, {keyword: other}]}, "gemini_json") == (
        {**start, keyword: one},
        [("/allOf/1", keyword, *BESIDE)],
    )


def test_one_of_two_conditions_is_kept_and_the_other_reported():
    low, losses = lower_x(
        {"allOf": [{**WHOLE, "if": {"minimum": 5}, "then": False}, {"if": {"maximum": 0}, "then": False}]},
        "gemini_json",
    )
    assert low == {"type": "integer", "description": 'if: {"minimum":5}, then: false'}
    assert losses[-1] == ("/allOf/1", "if", *BESIDE)


def test_unevaluated_properties_apply_to_all_merged_branches():
    schema = {"allOf": [record(a=TEXT)], "properties": {"b": WHOLE}, "unevaluatedProperties": False}
    assert lower_x(schema, "gemini_json") == (
        {"type": "object", "properties": {"b": WHOLE, "a": TEXT}, "additionalProperties": False},
        [],
    )
    inner = {"allOf": [{**record(a=TEXT), "unevaluatedProperties": False}, record(b=WHOLE)]}
    assert lower_x(inner, "gemini_json") == ({**record(a=TEXT), "additionalProperties": False}, [])
    spread = {"anyOf": [record("a", a=TEXT), record("b", b=WHOLE)], "unevaluatedProperties": False}
    closed = {"additionalProperties": False}
    assert lower_x(spread, "anthropic_strict") == (
        {"anyOf": [{**record("a", a=TEXT), **closed}, {**record("b", b=WHOLE), **closed}]},
        [],
    )


def test_too_many_combinations_of_unions_are_reported_and_not_written():
    def crossed(*sizes):
        names = [[f"k{side}_{number}" for number in range(size)] for side, size in enumerate(sizes)]
        schema = {
            "type": "object",
            "properties": {name: TEXT for side in names for name in side},
            "allOf": [{"anyOf": [{"required": [name]} for name in side]} for side in names],
        }
        low, losses = lower_x(schema, "gemini_json")
        return len(low["anyOf"]), losses

    assert crossed(8, 8) == (64, [])
    assert crossed(13, 5) == (13, [("", "anyOf", "checked locally", "too many combinations with another")])


def test_branches_are_kept_if_the_target_accepts_all_of():
    schema = tool({"allOf": [record(a=TEXT), record(b=WHOLE)]})
    assert lower(schema, TARGETS["everything"]).schema is schema
    low = lower({**schema, "not": {"required": ["y"]}}, TARGETS["openai_loose"])
    assert low.schema["properties"] == schema["properties"]


def test_unevaluated_properties_next_to_a_union_are_kept_if_accepted():
    record_a = record("a", a=TEXT)
    schema = tool(
        {"anyOf": [{"$ref": "#/$defs/A"}], "unevaluatedProperties": False}, **{"$defs": {"A": record_a}}
    )
    low = lower({**schema, "not": {"required": ["y"]}}, TARGETS["openai_loose"])
    assert (low.schema["properties"], low.schema["$defs"]) == (schema["properties"], schema["$defs"])
    reported = [("", "unevaluatedProperties", "checked locally", "")]
    assert lower_x(schema["properties"]["x"], "gemini_json", **{"$defs": {"A": record_a}}) == (
        {"anyOf": [{"$ref": "#/$defs/A"}]},
        reported,
    )


def test_losses_of_a_merged_schema_have_the_path_of_their_branch():
    schema = {
        "allOf": [{**WHOLE, "minimum": 1}, {"maximum": 9, "minLength": 3, "multipleOf": 2}],
        "title": "T",
    }
    low = lower(tool(schema), TARGETS["anthropic_strict"])
    assert [loss[:2] for loss in low.losses] == [
        ("/properties/x/allOf/0", "minimum"),
        ("/properties/x/allOf/1", "maximum"),
        ("/properties/x/allOf/1", "multipleOf"),
    ]
