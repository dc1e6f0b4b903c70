"""Every keyword that asks something, in a target that takes it, one that does not, and one with no words."""

import pytest

from tests.formats.each_case import each
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


@each(("start", "keyword", "value", "words"), WORDS, ids=[row[1] for row in WORDS])
def test_what_has_no_keyword_there_is_said_in_words(start, keyword, value, words):
    low = lower(tool({**start, keyword: value, "description": "So."}), PLAIN)
    said = words if words.split(":")[0] == keyword else words[0].lower() + words[1:]
    assert low.schema == tool({**start, "description": f"So. ({said})"})
    assert low.losses == (("/properties/x", keyword, "moved to description", said),)
    assert lower(tool({**start, keyword: value}), PLAIN).schema == tool({**start, "description": words})


@each(("start", "keyword", "value", "words"), WORDS, ids=[row[1] for row in WORDS])
def test_without_a_place_for_words_it_is_checked_locally(start, keyword, value, words):
    bare = Subset(keywords=PLAIN.keywords - {"description"})
    low = lower(tool({**start, keyword: value}), bare)
    assert low.schema == tool(start)
    assert low.losses == (("/properties/x", keyword, "checked locally", ""),)


@each(("start", "keyword", "value", "words"), WORDS, ids=[row[1] for row in WORDS])
def test_what_the_target_takes_stays_as_it_is(start, keyword, value, words):
    schema = tool({**start, keyword: value})
    low = lower(schema, Subset(keywords=PLAIN.keywords | {keyword, "const", "maxLength", "minProperties"}))
    assert low.schema is schema
    assert (low.mapping, low.losses) == (None, ())


def test_words_that_would_be_long_are_left_unsaid():
    low = lower(tool({**TEXT, "not": {"enum": ["a" * 300]}}), PLAIN)
    assert low.schema == tool(TEXT)
    assert low.losses == (("/properties/x", "not", "checked locally", ""),)


@pytest.mark.parametrize(
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
def test_what_asks_nothing_is_not_missed(start, keyword, value):
    low = lower(tool({**start, keyword: value}), PLAIN)
    assert (low.schema, low.losses) == (tool(start), ())


def test_a_condition_goes_as_a_whole():
    schema = {**WHOLE, "if": {"minimum": 5}, "then": {"multipleOf": 5}, "else": False}
    assert lower_x(schema, "openai_strict") == (
        {"type": "integer", "description": 'if: {"minimum":5}, then: {"multipleOf":5}, else: false'},
        [
            ("", "if", "moved to description", 'if: {"minimum":5}'),
            ("", "then", "moved to description", 'then: {"multipleOf":5}'),
            ("", "else", "moved to description", "else: false"),
        ],
    )


def test_what_refuses_values_is_kept_only_as_it_is_meant():
    keywords = PLAIN.keywords | {"not", "$defs"}
    inexact = lower(tool({**TEXT, "not": {"type": "string", "maxLength": 3}}), Subset(keywords=keywords))
    assert inexact.schema == tool({**TEXT, "description": 'not: {"type":"string","maxLength":3}'})
    assert inexact.losses == (
        ("/properties/x", "not", "moved to description", 'not: {"type":"string","maxLength":3}'),
    )
    exact = lower(tool({**TEXT, "not": {"const": "a", "$comment": "why"}}), Subset(keywords=keywords))
    assert (exact.schema, exact.losses) == (tool({**TEXT, "not": {"enum": ["a"]}}), ())


def test_annotations_without_a_place_are_left_out():
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


def test_a_default_without_a_place_is_said():
    assert lower_x({**TEXT, "default": "b", "description": "Which."}, "openai_strict") == (
        {"type": "string", "description": 'Which. (default: "b")'},
        [("", "default", "moved to description", 'default: "b"')],
    )


def test_a_default_whose_shape_changes_is_said_in_the_tools_own():
    schema = {"type": "object", "additionalProperties": WHOLE, "default": {"a": 1}}
    low, losses = lower_x(schema, "anthropic_strict")
    assert low["description"] == 'Default: {"a":1}'
    assert "default" not in low
    assert losses == [
        ("", "additionalProperties", "reshaped", "a list of key and value, no key twice"),
        ("", "default", "moved to description", 'default: {"a":1}'),
    ]


@pytest.mark.parametrize(
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
def test_patterns_stand_where_every_engine_of_the_target_reads_them(target, pattern, stays):
    low, losses = lower_x({**TEXT, "pattern": pattern}, target)
    assert ("pattern" in low) is stays
    assert losses == ([] if stays else [("", "pattern", "moved to description", f"pattern: {pattern}")])


def test_a_longer_list_than_may_be_asked_for_is_asked_for_as_far_as_it_may():
    assert lower_x({**LIST, "minItems": 3}, "anthropic_strict") == (
        {**LIST, "minItems": 1, "description": "At least 3 items"},
        [("", "minItems", "moved to description", "at least 3 items")],
    )


def test_the_keyword_nullable_of_a_tool_means_nothing():
    assert lower_x({**TEXT, "nullable": True}, "gemini_parameters") == (
        TEXT,
        [("", "nullable", "left out", "JSON Schema does not define it")],
    )


@each("target", [name for name, subset in TARGETS.items() if subset.any == "refuse"])
@each(
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
        (False, "nothing can fit it", "/properties/x"),
        ({"allOf": [{"type": "string"}, {"type": "object"}]}, "nothing can fit it", "/properties/x"),
        ({"enum": [1], "type": "string"}, "nothing can fit it", "/properties/x"),
    ],
)
def test_what_has_no_form_is_refused_by_its_place(target, schema, reason, path):
    with pytest.raises(RefusedSchema) as refused:
        lower(tool(schema), TARGETS[target])
    assert (refused.value.path, refused.value.reason) == (path, reason)
