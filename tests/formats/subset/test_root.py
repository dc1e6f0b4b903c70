"""The root of a tool: always one object, with names that the target accepts."""

import pytest

from tests.cases import each_case
from tests.formats.subset.lowering import reported, there_and_back, tool
from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import RefusedSchema, lower
from toolhaft.formats.subset.target import EVERYTHING, Subset

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
CARD = {
    "properties": {"kind": {"const": "card"}, "number": TEXT},
    "required": ["kind", "number"],
    "additionalProperties": False,
}
CASH = {
    "properties": {"kind": {"const": "cash"}, "amount": WHOLE},
    "required": ["kind"],
    "additionalProperties": False,
}
PAY = {"type": "object", "oneOf": [CARD, CASH]}
FLAT = ("oneOf", "widened", "one object with the properties of all")


def test_a_union_is_flattened_into_one_object():
    low = lower(PAY, TARGETS["openai_loose"])
    assert low.schema == {
        "type": "object",
        "properties": {"kind": {"enum": ["card", "cash"]}, "number": TEXT, "amount": WHOLE},
        "required": ["kind"],
        "additionalProperties": False,
    }
    assert reported(low) == [("", *FLAT)]
    assert low.mapping is None


def test_a_name_that_an_open_branch_does_not_list_is_reported():
    low = lower(
        {"type": "object", "anyOf": [{"properties": {"a": TEXT}}, {"properties": {"b": WHOLE}}]},
        TARGETS["openai_loose"],
    )
    assert low.schema == {"type": "object", "properties": {"a": TEXT, "b": WHOLE}}
    assert [(loss.keyword, loss.done) for loss in low.losses] == [
        ("anyOf", "widened"),
        ("properties", "narrowed"),
        ("properties", "narrowed"),
    ]


def test_a_root_union_is_wrapped_in_one_argument_for_strict_targets():
    low = lower(PAY, TARGETS["openai_strict"])
    assert low.schema["required"] == ["arguments"]
    assert [branch["required"] for branch in low.schema["properties"]["arguments"]["anyOf"]] == [
        ["kind", "number"],
        ["kind", "amount"],
    ]
    assert reported(low) == [("", "oneOf", "reshaped", "as the value of one argument, 'arguments'")]
    assert there_and_back(low, {"kind": "cash"}) == {"arguments": {"kind": "cash", "amount": None}}
    assert there_and_back(low, {"kind": "card", "number": "1"}) == {
        "arguments": {"kind": "card", "number": "1"}
    }
    assert low.mapping.decode({"kind": "cash"}) == {"kind": "cash"}


def test_closing_a_branch_is_reported_if_another_lists_more_names():
    base = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}
    same = lower({**base, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, TARGETS["openai_strict"])
    assert [loss.done for loss in same.losses] == ["reshaped"]
    apart = lower(
        {
            "type": "object",
            "anyOf": [
                {"properties": {"a": TEXT}, "required": ["a"]},
                {"properties": {"b": TEXT}, "required": ["b"]},
            ],
        },
        TARGETS["openai_strict"],
    )
    assert [loss.done for loss in apart.losses] == ["reshaped", "narrowed", "narrowed"]


def test_a_union_with_one_branch_becomes_that_branch():
    low = lower({"type": "object", "anyOf": [CARD, False], "description": "Pay."}, TARGETS["openai_loose"])
    assert low.schema == {"type": "object", "description": "Pay.", **CARD}
    assert low.losses == ()


@each_case("target", [name for name, subset in TARGETS.items() if subset.root != "keep"])
def test_a_reference_at_the_root_is_resolved(target):
    record = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    low = lower({"type": "object", "$ref": "#/$defs/Args", "$defs": {"Args": record}}, TARGETS[target])
    assert (low.schema["properties"], low.schema["required"]) == ({"a": TEXT}, ["a"])
    assert "$ref" not in low.schema


def test_allof_at_the_root_is_merged_where_it_is_banned():
    schema = {
        "type": "object",
        "properties": {"a": TEXT},
        "allOf": [{"properties": {"b": WHOLE}, "required": ["b"]}],
    }
    low = lower(schema, TARGETS["anthropic_loose"])
    assert low.schema == {"type": "object", "required": ["b"], "properties": {"a": TEXT, "b": WHOLE}}
    assert low.losses == ()
    assert lower(schema, EVERYTHING).schema is schema


@each_case(
    ("keyword", "value", "words"),
    [
        ("not", {"required": ["y"]}, 'not: {"required":["y"]}'),
        ("enum", [{"x": "a"}], 'one of [{"x":"a"}]'),
        ("const", {"x": "a"}, 'always {"x":"a"}'),
    ],
)
@each_case("target", ["openai_loose", "openai_strict"])
def test_keywords_banned_at_the_root_are_described(keyword, value, words, target):
    low = lower(tool(TEXT, **{keyword: value}), TARGETS[target])
    assert low.schema["description"].lower() == words.lower()
    assert keyword not in low.schema
    assert low.schema["properties"] == {"x": TEXT}
    assert low.losses == (("", keyword, "moved to description", words),)


def test_names_that_the_target_refuses_are_renamed_and_restored():
    names = ["ok", "first name", "first_name", "ä" * 80, "", "9 lives", "a" * 70]
    schema = {
        "type": "object",
        "properties": dict.fromkeys(names, TEXT),
        "required": ["first name"],
        "description": "D.",
    }
    low = lower(schema, Subset(root_keys="[a-zA-Z_][a-zA-Z0-9_]{0,63}"))
    assert list(low.schema["properties"]) == [
        "ok",
        "first_name_1b836d86",
        "first_name",
        "property",
        "property_e3b0c442",
        "p_9_lives",
        "a" * 64,
    ]
    assert low.schema["required"] == ["first_name_1b836d86"]
    assert [loss[1:3] for loss in low.losses] == [("properties", "renamed")] * 5
    assert low.mapping.renames["p_9_lives"] == "9 lives"
    assert there_and_back(low, {"first name": "a", "ok": "b", "": "c"}) == {
        "first_name_1b836d86": "a",
        "ok": "b",
        "property_e3b0c442": "c",
    }


def test_a_name_that_cannot_be_renamed_is_refused():
    with pytest.raises(RefusedSchema, match="no valid name can replace 'a b'"):
        lower({"type": "object", "properties": {"a b": TEXT}}, Subset(root_keys="[0-9]+"))


def test_too_many_root_alternatives_are_refused():
    wide = {
        "type": "object",
        "anyOf": [{"properties": {f"p{n}": TEXT}, "required": [f"p{n}"]} for n in range(80)],
    }
    with pytest.raises(RefusedSchema, match="its arguments have more than 64 alternatives"):
        lower(wide, TARGETS["openai_loose"])
