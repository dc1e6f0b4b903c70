"""Patterns mean what ECMAScript says, in both engines, and no pattern takes unbounded time."""

import json
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tests.cases import each_case, in_case
from toolhaft import InvalidArguments, ToolConfig, ValidArguments, create_tool, tool
from toolhaft.errors import DefinitionError
from toolhaft.schema.patterns import match_size, pattern_size
from toolhaft.schema.work import INLINE_STEPS, WorkBound


def raw(schema: dict[str, Any], **more: Any):
    root = {"type": "object", "properties": {"value": schema}, **more}
    return create_tool(ToolConfig(name="raw", description="Raw.", input_schema=root))


def typed(annotation: Any):
    def take(value):
        """Take."""

    take.__annotations__ = {"value": annotation}
    return tool(take)


def ways(pattern: str):
    """The same pattern as a raw schema, as a field, and as a constraint."""
    yield raw({"type": "string", "pattern": pattern})
    yield typed(Annotated[str, Field(pattern=pattern)])
    yield typed(Annotated[str, StringConstraints(pattern=pattern, min_length=0)] | None)


ACCEPTED = [
    (r"^(?=.*\d)(?=.*[a-z]).{8,}$", ["abcdefg1"], ["abcdefgh", "a1"]),
    (r"^(?!admin)[a-z]+$", ["bob"], ["admin", "administrator"]),
    (r"(?<=a)b", ["ab"], ["cb"]),
    (r"(?<!a)b", ["cb"], ["ab"]),
    (r"^(a+)\1$", ["aa", "aaaa"], ["a", "aaa"]),
    (r"^(?<year>\d{4})-\k<year>$", ["2020-2020"], ["2020-2021"]),
    ("^.{0,1000}$", ["", "x" * 1_000], ["x" * 1_001, "a\nb"]),
    (r"^[\p{L}\s]{1,24}$", ["héllo wörld"], ["x" * 25, "a1", ""]),
    (r"^\S{1,500}$", ["x" * 500], ["a b"]),
    (r"^\d+$", ["12"], ["\u0661\u0662", "1a"]),
    (r"^\w+$", ["a_1"], ["é"]),
    ("^a$", ["a"], ["a\n", "ab"]),
    (r"^\/x\/$", ["/x/"], ["x"]),
    ("^[^]$", ["a", "\n"], ["", "ab"]),
    (r"^\u{1F600}$", ["\U0001f600"], ["a"]),
    (r"^\cA\x41\u0042$", ["\x01AB"], ["AB"]),
    ("^[a-z]+$", ["abc"], ["ABC"]),
    ("^[a&&b]$", ["a", "&"], ["c"]),
    ("^[[a]$", ["[", "a"], ["b"]),
    ("^[a-z--b~~|||]$", ["b", "B", "-", "~", "|"], ["&"]),
]


@each_case("pattern, good, bad", ACCEPTED)
def test_lookaround_backreferences_and_long_repeats_get_the_same_verdict_everywhere(pattern, good, bad):
    for made in ways(pattern):
        for text in (*good, *bad):
            with in_case(made.name, text):
                kind = ValidArguments if text in good else InvalidArguments
                assert isinstance(made.validate({"value": text}), kind)
        message = made.validate({"value": bad[0]}).message
        assert "does not match" in message or "got" in message


def test_the_pattern_of_a_model_is_matched_by_the_bounded_engine_whatever_its_configuration_says():
    class Account(BaseModel):
        model_config = ConfigDict(regex_engine="python-re")
        name: str = Field(pattern=r"^(?!admin)(\w+\s?)*$")

    made = typed(Account)
    assert isinstance(made.validate({"value": {"name": "bob smith"}}), ValidArguments)
    for name in ("admin", "a" * 3_000 + "!"):  # Python's own engine would never end
        assert isinstance(made.validate({"value": {"name": name}}), InvalidArguments)


HOSTILE = [
    (r"(a+)+$", "a" * 3_000 + "b"),
    (r"^(\w+\s?)*$", "a " * 2_000 + "!"),
    (r"(?=(a+))\1b", "a" * 3_000),
    (r"(?=(a+)+$)", "a" * 3_000 + "b"),
    (r"(.*)\1\1x", "ab" * 1_000),
    (r"((a|aa)+)\1$", "a" * 3_000 + "b"),
    (r"(?:(?=(a*))\1)*b", "a" * 3_000),
    (r"(?<=(a*))b", "a" * 3_000),
]


@each_case("pattern, text", HOSTILE)
def test_a_match_over_the_limit_is_a_problem_of_the_value(pattern, text):
    for made in ways(pattern):
        verdict = made.validate({"value": text})
        assert isinstance(verdict, InvalidArguments)
        assert verdict.problems[0].path == "value"


def test_many_values_with_a_costly_pattern_are_bounded_together():
    pattern = r"(?=(a+))\1b"
    texts = ["a" * 100] * 10_000
    items = raw({"type": "array", "items": {"type": "string", "pattern": pattern}})
    verdict = items.read_input(json.dumps({"value": texts}))
    assert isinstance(verdict, InvalidArguments)
    assert verdict.unchecked is not None
    listed = typed(list[Annotated[str, Field(pattern=pattern)]])
    assert isinstance(listed.validate({"value": texts}), InvalidArguments)
    assert isinstance(listed.validate({"value": ["aab"] * 100}), ValidArguments)  # a new share of time


def test_the_bound_counts_the_places_of_a_pattern_that_can_be_active_together():
    text = "ab" * 5_000
    for pattern in ("a.{400}b.{400}c", "[ab]*a[ab]{900}c", r"(?=(a+))\1b"):
        bound = WorkBound({"type": "object", "properties": {"value": {"pattern": pattern}}})
        assert bound.exceeds({"value": text}, text, INLINE_STEPS), pattern
        assert not bound.exceeds({"other": text}, text, INLINE_STEPS), pattern
    plain = WorkBound({"type": "object", "properties": {"value": {"pattern": "^.{0,9000}$"}}})
    assert not plain.exceeds({"value": text}, text, INLINE_STEPS)


@each_case(
    "pattern, size",
    [
        ("^abc$", 5),
        ("(a{10}){10}", 100),
        ("((a{1000}){1000}){1000}", 10**9),
        ("[a-z]{2,3}", 3),
        (r"\{a\}{4}", 6),
        ("(?:ab|c){5}", 15),
        (".{0,1000}", 4_000),
        ("a{1", 3),
    ],
)
def test_the_size_of_a_pattern_is_that_of_its_written_out_repeats(pattern, size):
    assert pattern_size(pattern) == size
    assert match_size(pattern) <= size + 4


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "((a{1000}){1000}){1000}"},
        {"pattern": "(a{400}){400}"},
        {"pattern": "^.{0,30000}$"},
        {"anyOf": [{"pattern": f"^.{{0,{number}}}$"} for number in range(900, 950)]},
        {"anyOf": [{"pattern": rf"^\p{{L}}{{0,4}}{number}$"} for number in range(200)]},
        {"patternProperties": {"(a{400}){400}": {}}},
        {"propertyNames": {"pattern": r"(\p{L}{100}){100}"}},
    ],
    ids=str,
)
def test_patterns_that_are_too_large_to_compile_are_refused_with_what_to_write_instead(schema):
    with pytest.raises(
        DefinitionError, match=r"too large with its repeats written out.*minLength and maxLength"
    ):
        raw(schema)
    if "pattern" in schema:
        with pytest.raises(DefinitionError, match="too large with its repeats written out"):
            _ = typed(Annotated[str, Field(pattern=schema["pattern"])]).validate


@each_case(
    "schema",
    [
        {"not": {"pattern": "(?=a)b"}},
        {"not": {"$ref": "#/$defs/hard"}},
        {"if": {"properties": {"a": {"pattern": r"(a)\1"}}}, "then": False},
    ],
)
def test_a_match_that_is_given_up_never_accepts_a_value(schema):
    with pytest.raises(DefinitionError, match=r"\(\?=a\)b|\\\\1"):
        raw(schema, **{"$defs": {"hard": {"pattern": "(?=a)b"}}})


def test_keys_of_hostile_patterns_are_matched_by_the_bounded_engine_in_messages_and_repairs_too():
    made = raw({"type": "object", "patternProperties": {"^(a+)+$": {"type": "integer"}}})
    for key in ("a" * 60 + "!", "a" * 50):
        verdict = made.validate({"value": {key: "x", "other": 1}})  # Python's own engine would never end
        assert isinstance(verdict, InvalidArguments) == (not key.endswith("!"))
