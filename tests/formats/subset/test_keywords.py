"""Every constraining keyword, for targets that accept it, that do not, and that have no description."""

import pytest

from tests.cases import each_case
from tests.formats.subset.lowering import lower_x, tool
from tests.formats.subset.targets import TARGETS
from toolhaft.formats.subset.lower import RefusedSchema, lower
from toolhaft.formats.subset.target import Subset

TEXT, WHOLE, LIST, CLOSED = (
    {"type": "string"},
    {"type": "integer"},
    {"type": "array", "items": {"type": "string"}},
    {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    },
)
WORDS = [
    (WHOLE, "minimum", 1, "At least 1"),
    (WHOLE, "maximum", 9, "At most 9"),
    (WHOLE, "exclusiveMinimum", 0, "More than 0"),
    (WHOLE, "exclusiveMaximum", 10, "Less than 10"),
    (WHOLE, "multipleOf", 5, "A multiple of 5"),
    (TEXT, "minLength", 1, "At least 1 character"),
    (TEXT, "maxLength", 500, "At most 500 characters"),
    (TEXT, "pattern", "^a+$", "pattern: ^a+$"),
    (TEXT, "format", "uri", "format: uri"),
    (LIST, "minItems", 2, "At least 2 items"),
    (LIST, "maxItems", 1, "At most 1 item"),
    (LIST, "uniqueItems", True, "No item twice"),
    (LIST, "contains", {"const": "a"}, 'contains: {"const":"a"}'),
    (CLOSED, "minProperties", 1, "At least 1 key"),
    (CLOSED, "maxProperties", 1, "At most 1 key"),
    (CLOSED, "propertyNames", {"maxLength": 1}, 'propertyNames: {"maxLength":1}'),
    (CLOSED, "dependentRequired", {"a": ["b", "c"]}, "If a is given, so must be b and c"),
    (CLOSED, "dependentSchemas", {"a": {"minProperties": 1}}, 'dependentSchemas: {"a":{"minProperties":1}}'),
    (TEXT, "not", {"const": "a"}, 'not: {"const":"a"}'),
]
PLAIN = Subset(
    keywords=frozenset(
        ("type", "properties", "required", "items", "additionalProperties", "description", "enum")
    )
)


@each_case(("start", "keyword", "value", "words"), WORDS, ids=[row[1] for row in WORDS])
def test_unsupported_keywords_are_described(start, keyword, value, words):
    low = lower(tool({**start, keyword: value, "description": "So."}), PLAIN)
    said = words if words.split(":")[0] == keyword else words[0].lower() + words[1:]
    assert low.schema == tool({**start, "description": f"So. ({said})"})
    assert low.losses == (("/properties/x", keyword, "moved to description", said),)
    assert lower(tool({**start, keyword: value}), PLAIN).schema == tool({**start, "description": words})


@each_case(("start", "keyword", "value", "words"), WORDS, ids=[row[1] for row in WORDS])
def test_unsupported_keywords_are_checked_locally_without_a_description(start, keyword, value, words):
    bare = Subset(keywords=PLAIN.keywords - {"description"})
    low = lower(tool({**start, keyword: value}), bare)
    assert low.schema == tool(start)
    assert low.losses == (("/properties/x", keyword, "checked locally", ""),)


@each_case(("start", "keyword", "value", "words"), WORDS, ids=[row[1] for row in WORDS])
def test_supported_keywords_are_unchanged(start, keyword, value, words):
    schema = tool({**start, keyword: value})
    low = lower(schema, Subset(keywords=PLAIN.keywords | {keyword, "const", "maxLength", "minProperties"}))
    assert low.schema is schema
    assert (low.mapping, low.losses) == (None, ())


def test_long_constraints_are_not_described():
    low = lower(tool({**TEXT, "not": {"enum": ["a" * 300]}}), PLAIN)
    assert low.schema == tool(TEXT)
    assert low.losses == (("/properties/x", "not", "checked locally", ""),)


@each_case(
    ("start", "keyword", "value"),
    [
        (TEXT, "minLength", 0),
        (LIST, "minItems", 0),
        (LIST, "uniqueItems", False),
        (CLOSED, "minProperties", 0),
        (CLOSED, "dependentRequired", {}),
        (CLOSED, "propertyNames", {}),
    ],
)
def test_keywords_without_effect_are_dropped_without_a_loss(start, keyword, value):
    low = lower(tool({**start, keyword: value}), PLAIN)
    assert (low.schema, low.losses) == (tool(start), ())


def test_the_keywords_of_a_condition_are_kept_or_moved_together():
    schema = {**WHOLE, "if": {"minimum": 5}, "then": {"multipleOf": 5}, "else": False}
    assert lower_x(schema, "openai_strict") == (
        {"type": "integer", "description": 'if: {"minimum":5}, then: {"multipleOf":5}, else: false'},
        [
            ("", "if", "moved to description", 'if: {"minimum":5}'),
            ("", "then", "moved to description", 'then: {"multipleOf":5}'),
            ("", "else", "moved to description", "else: false"),
        ],
    )


def test_keywords_with_schemas_are_kept_only_if_their_schemas_stay_exact():
    keywords = PLAIN.keywords | {"not", "$defs"}
    inexact = lower(tool({**TEXT, "not": {"type": "string", "maxLength": 3}}), Subset(keywords=keywords))
    assert inexact.schema == tool({**TEXT, "description": 'not: {"type":"string","maxLength":3}'})
    assert inexact.losses == (
        ("/properties/x", "not", "moved to description", 'not: {"type":"string","maxLength":3}'),
    )
    exact = lower(tool({**TEXT, "not": {"const": "a", "$comment": "why"}}), Subset(keywords=keywords))
    assert (exact.schema, exact.losses) == (tool({**TEXT, "not": {"enum": ["a"]}}), ())


def test_unsupported_annotations_are_left_out():
    schema = {
        **TEXT,
        "title": "T",
        "examples": ["a"],
        "deprecated": True,
        "x-own": 1,
        "$comment": "not for models",
    }
    assert lower_x(schema, "openai_strict") == (
        {"type": "string", "title": "T"},
        [
            ("", "examples", "left out", ""),
            ("", "deprecated", "left out", ""),
            ("", "x-own", "left out", ""),
        ],
    )


def test_an_unsupported_default_is_described():
    assert lower_x({**TEXT, "default": "b", "description": "Which."}, "openai_strict") == (
        {"type": "string", "description": 'Which. (default: "b")'},
        [("", "default", "moved to description", 'default: "b"')],
    )


def test_a_reshaped_default_is_described_in_the_tools_shape():
    schema = {"type": "object", "additionalProperties": WHOLE, "default": {"a": 1}}
    low, losses = lower_x(schema, "anthropic_strict")
    assert low["description"] == 'Default: {"a":1}'
    assert "default" not in low
    assert losses == [
        ("", "additionalProperties", "reshaped", "a list of key and value, no key twice"),
        ("", "default", "moved to description", 'default: {"a":1}'),
    ]


@each_case(
    ("target", "pattern", "stays"),
    [
        ("openai_strict", "^a+$", True),
        ("openai_strict", "(?:a|b)", True),
        ("openai_strict", "^(?!a)", False),
        ("openai_strict", r"(a)\1", False),
        ("cohere_strict", "[^a]b", True),
        ("cohere_strict", r"\$a", True),
        ("cohere_strict", "^a", False),
        ("cohere_strict", "a$", False),
    ],
)
def test_patterns_are_kept_if_the_target_accepts_them(target, pattern, stays):
    low, losses = lower_x({**TEXT, "pattern": pattern}, target)
    assert ("pattern" in low) is stays
    assert losses == ([] if stays else [("", "pattern", "moved to description", f"pattern: {pattern}")])


def test_min_items_is_reduced_to_the_largest_accepted_value():
    assert lower_x({**LIST, "minItems": 3}, "anthropic_strict") == (
        {**LIST, "minItems": 1, "description": "At least 3 items"},
        [("", "minItems", "moved to description", "at least 3 items")],
    )


def test_nullable_in_a_tools_schema_is_ignored():
    assert lower_x({**TEXT, "nullable": True}, "gemini_parameters") == (
        TEXT,
        [("", "nullable", "left out", "JSON Schema does not define it")],
    )


@each_case("target", [name for name, subset in TARGETS.items() if subset.any == "refuse"])
@each_case(
    ("schema", "reason", "path"),
    [
        ({}, "a value of any type cannot be sent", "/properties/x"),
        (True, "a value of any type cannot be sent", "/properties/x"),
        ({"type": "array"}, "a value of any type cannot be sent", "/properties/x"),
        ({"type": "array", "items": {}}, "a value of any type cannot be sent", "/properties/x/items"),
        ({"type": "object"}, "an object with any keys cannot be sent", "/properties/x"),
        (
            {"type": "object", "additionalProperties": True},
            "a value of any type cannot be sent",
            "/properties/x/additionalProperties",
        ),
        (False, "no value is valid for it", "/properties/x"),
        ({"allOf": [{"type": "string"}, {"type": "object"}]}, "no value is valid for it", "/properties/x"),
        ({"enum": [1], "type": "string"}, "no value is valid for it", "/properties/x"),
    ],
)
def test_a_schema_without_a_lowered_form_is_refused_with_its_path(target, schema, reason, path):
    with pytest.raises(RefusedSchema) as refused:
        lower(tool(schema), TARGETS[target])
    assert (refused.value.path, refused.value.reason) == (path, reason)
