"""The text of arguments: strict JSON, bounded, without repeated keys."""

import json
import resource
import tracemalloc
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.cases import each_case
from toolhaft import InvalidArguments, Tool, ToolConfig, ValidArguments, create_tool, tool
from toolhaft.schema import explainer
from toolhaft.schema.json_text import (
    LONGEST_TEXT,
    count_keys,
    has_repeated_key,
    keys_in_text,
    repeated_keys,
)
from toolhaft.schema.value_size import is_over_limit


class Part(BaseModel):
    a: int
    b: str = "b"


@dataclass
class Bag:
    parts: list[Part] = field(default_factory=list)
    note: str = ""


@tool
def take(
    query: str,
    part: Part | None = None,
    bag: Bag | None = None,
    extra: Any = None,
    many: dict[str, Part] | None = None,
) -> str:
    """Take things."""
    return query


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


RAW = create_tool(
    ToolConfig(
        name="raw",
        description="Raw.",
        input_schema={
            "type": "object",
            "properties": {"query": {"type": "string"}, "part": {"type": "object"}, "extra": {}},
            "required": ["query"],
        },
    )
)


@each_case(
    ("made", "text", "path"),
    [
        (add, '{"a": 1, "b": 2, "a": 3}', "a"),
        (add, '{"a": 1, "a": 1, "b": 2}', "a"),
        (take, '{"query": "x", "query": "y"}', "query"),
        (take, '{"query": "x:y", "query": "y"}', "query"),
        (take, '{"query": "x", "part": {"a": 1, "a": 2}}', "part.a"),
        (take, '{"query": "x", "bag": {"parts": [{"a": 1}, {"a": 1, "b": "q", "b": "q"}]}}', "bag.parts[1].b"),
        (take, '{"query": "x", "bag": {"note": "n", "note": "n"}}', "bag.note"),
        (take, '{"query": "x", "extra": {"k": [{"z": 1, "z": 2}]}}', "extra.k[0].z"),
        (take, '{"query": "x", "many": {"m": {"a": 1}, "m": {"a": 1}}}', "many.m"),
        (take, '{"query": "x", "extra": {"k\\u0061": 1, "ka": 2}}', "extra.ka"),
        (RAW, '{"query": "x", "query": "y"}', "query"),
        (RAW, '{"query": "x", "part": {"deep": {"z": 1, "z": 2}}}', "part.deep.z"),
    ],
)  # fmt: skip
def test_a_repeated_key_is_refused_and_named(made: Tool[Any, Any], text: str, path: str):
    verdict = made.validate(text)
    assert isinstance(verdict, InvalidArguments)
    assert [str(problem) for problem in verdict.problems] == [f"{path}: the key is given twice"]


def test_a_repeated_key_is_reported_beside_other_problems():
    verdict = add.validate('{"a": "x", "a": "x", "c": 1}')
    assert isinstance(verdict, InvalidArguments)
    assert {problem.path for problem in verdict.problems} == {"a", "b", "c"}
    assert any(problem.what == "the key is given twice" for problem in verdict.problems)


@pytest.mark.parametrize("text", ['{"query": "a:b"}', '{"query": "\\"x\\": {"}', '{"query": "\\\\"}', '{"query" : "x"}', '{"query": "x", "extra": {"a:b": ":"}}'])  # fmt: skip
def test_a_colon_in_a_string_is_not_a_key(text: str):
    for made in (take, RAW):
        verdict = made.validate(text)
        assert isinstance(verdict, ValidArguments), text
        assert verdict.params["query"] == json.loads(text)["query"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=40)
@given(json_values)
def test_keys_are_counted_right_in_any_text(value: Any):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert keys_in_text(text) == count_keys(json.loads(text))
        assert not has_repeated_key(text, json.loads(text))
        assert repeated_keys(text) == []


@settings(max_examples=40)
@given(st.dictionaries(st.text(max_size=5), json_values, min_size=1, max_size=4), st.data())
def test_any_repeated_key_is_found(value: dict[str, Any], data: st.DataObject):
    key = data.draw(st.sampled_from(sorted(value)))
    text = json.dumps(value)[:-1] + f", {json.dumps(key)}: 0}}"
    assert has_repeated_key(text, json.loads(text))
    assert (key,) in repeated_keys(text)


@each_case(
    "text",
    [
        "",
        " ",
        "{",
        '{"a": 1, "b": 2',
        '{"a": 1, "b": 2}}',
        '{"a": 1, "b": 2} trailing',
        '\ufeff{"a": 1, "b": 2}',
        "{'a': 1, 'b': 2}",
        '{"a": 1, "b": 2,}',
        '{"a": 01, "b": 2}',
        '{"a": 1, "b": +2}',
        '{"a": 1 /* one */, "b": 2}',
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"a": 1, "b": "\\x"}',
    ],
)
def test_invalid_json_is_refused_and_never_raises(text: str):
    for made in (add, RAW):
        verdict = made.validate(text)
        assert isinstance(verdict, InvalidArguments)
        assert len(verdict.message) <= 2000


@pytest.mark.parametrize("raw", [b'{"a": 1, "b": 2}', bytearray(b'{"a": 1, "b": 2}'), {"a": 1, "b": 2}])
def test_bytes_and_objects_are_read_like_text(raw: object):
    assert add.validate(raw) == ValidArguments({"a": 1, "b": 2}, ())


@each_case("raw", [b"\xff\xfe{", '{"a": 1, "b": 2}'.encode("utf-16"), None, 5, ["a"], object(), {"a": object()}, {"a": {1, 2}}, {1: 2}, "null", "5", {"a": "\ud800"}])  # fmt: skip
def test_values_that_are_not_json_objects_are_refused_and_never_raise(raw: object):
    for made in (add, RAW):
        assert isinstance(made.validate(raw), InvalidArguments)


def test_an_object_that_contains_itself_is_refused(monkeypatch):
    monkeypatch.setattr(explainer, "is_over_limit", partial(is_over_limit, most=10_000))
    loop: dict[str, Any] = {"a": 1}
    loop["b"] = loop
    for made in (add, RAW):
        assert isinstance(made.validate(loop), InvalidArguments)


def test_a_text_over_the_limit_is_refused_unread():
    text = '{"query": "' + "x" * LONGEST_TEXT + '"}'
    for made in (take, RAW):
        tracemalloc.start()
        verdict = made.validate(text)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert isinstance(verdict, InvalidArguments)
        assert "over the limit" in verdict.message
        assert peak < 1_000_000  # it was not parsed


@tool
def floods(
    items: list[int], parts: list[Part] | None = None, named: dict[str, int] | None = None, extra: Any = None
) -> None:
    """Take many."""


RAW_FLOODS = create_tool(ToolConfig(name="floods", description="Many.", input_schema=floods.input_schema))


def test_an_object_whose_text_would_be_huge_is_refused_without_writing_it(monkeypatch):
    monkeypatch.setattr(explainer, "object_to_text", lambda value: pytest.fail("it was written"))
    for value in ("x" * (LONGEST_TEXT + 1), {"a": "x" * LONGEST_TEXT}, ["x" * 1_000_000] * 5):
        verdict = take.validate({"query": "q", "extra": value})
        assert isinstance(verdict, InvalidArguments)
        assert "limit" in verdict.message


def test_many_problems_are_reported_in_a_short_message():
    for made in (floods, RAW_FLOODS):
        verdict = made.validate(json.dumps({"items": ["x"] * 3_000}))
        assert isinstance(verdict, InvalidArguments)
        assert len(verdict.message) <= 2000
        assert "more" in verdict.message


def flood(kind: str, count: int) -> str:
    """A text whose members are nearly all wrong."""
    return {
        "items": lambda: '{"items": [' + ",".join(['"a"'] * count) + "]}",
        "parts": lambda: '{"items": [], "parts": [' + ",".join(["{}"] * count) + "]}",
        "values": lambda: '{"items": [], "named": {' + ",".join(f'"{i}":""' for i in range(count)) + "}}",
        "unknown": lambda: '{"items": [], ' + ",".join(f'"{i}":1' for i in range(count)) + "}",
        "repeated": lambda: '{"items": [], "extra": {' + ",".join(['"k":1'] * count) + "}}",
        "endless": lambda: '{"items": [], "extra": [' + ",".join(["1e999"] * count) + "]}",
        "long": lambda: '{"items": [], "extra": "' + "x" * count * 10 + '", "y": 1}',
    }[kind]()


def test_only_the_first_of_very_many_problems_are_collected():
    for kind in ("items", "parts", "values", "unknown", "repeated", "endless", "long"):
        text = flood(kind, 22_000)  # more than MANY_COMMAS, and longer than SHORT_TEXT
        for made in (floods, RAW_FLOODS):
            verdict = made.validate(text)
            assert isinstance(verdict, InvalidArguments), kind
            assert len(verdict.message) <= 2000, kind
            assert len(verdict.problems) <= 101, kind


@pytest.mark.parametrize("made", [floods, RAW_FLOODS], ids=["types", "raw"])
def test_refusing_a_million_problems_takes_little_memory(made: Tool[Any, Any]):
    text = flood("items", 900_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert isinstance(made.validate(text), InvalidArguments)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 256 * 1024


def test_a_long_valid_text_passes():
    text = json.dumps({"items": list(range(50_000)), "extra": "a:b" * 1000})
    for made in (floods, RAW_FLOODS):
        verdict = made.validate(text)
        assert isinstance(verdict, ValidArguments)
        assert verdict.params["items"][-1] == 49_999
