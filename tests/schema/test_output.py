"""The value that a tool returns is checked against its schema; nothing gets past the fast check."""

import json
from dataclasses import dataclass, field
from datetime import date, timedelta
from enum import Enum
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict
from pydantic_core import to_jsonable_python

from tests.cases import each_case, in_case
from toolhaft import ToolCall, ToolConfig, ToolExecutor, ToolResult, create_tool, execute_tool, tool

LONG = "long text – with more than ASCII in it. ".replace("–", "\u2013") * 5_000  # noqa: RUF001 -- what it is about
SCHEMA = {
    "type": "object",
    "properties": {"content": {"type": "string", "description": "any"}, "size": {"type": "integer"}},
}


def giving(value, **changes):
    config = ToolConfig(
        name="give",
        description="Give it.",
        input_schema={"type": "object"},
        output_schema={**SCHEMA, **changes},
        execute=lambda _: value,
        effect="read",
    )
    return create_tool(config)


def test_a_valid_value_is_written_by_its_check_and_shown():
    for value in ({"content": LONG, "size": 5}, {"content": "short", "size": 5}):
        assert json.loads(giving(value).write_output(value)) == value
        result = execute_tool(giving(value), max_output_chars=10**6)
        assert (result.success, result.value) == (True, value)
        assert json.loads(result.render()) == value


@each_case("kind", ["string", "integer", "number", "boolean", "array", "object"])
def test_the_fast_check_of_a_single_type_writes_the_same_as_json(kind):
    tool = create_tool(
        ToolConfig(name="t", description="T.", input_schema={"type": "object"}, output_schema={"type": kind})
    )
    values = {
        "string": "a",
        "integer": 5,
        "number": 1.5,
        "boolean": True,
        "array": [1, None],
        "object": {"a": 1},
    }
    for name, value in values.items():
        fits = name == kind or (name, kind) == ("integer", "number")
        written = (
            "" if kind == "string" else json.dumps(value, separators=(",", ":"))
        )  # a string is shown as it is
        assert tool.write_output(value) == (written if fits else None), value
        assert (tool.check_output(value) is None) == fits, value
    for bad in (float("nan"), float("inf"), "\ud800", [float("nan")], {"a": float("inf")}):
        assert tool.write_output(bad) is None, bad
        assert tool.check_output(bad) is not None, bad


def test_a_long_text_with_a_message_is_shown_with_it():
    value = {"content": "x" * 70_000, "size": 5}
    rendered = execute_tool(giving(ToolResult.ok(value, "Done."))).render()
    assert rendered == f'Done.\n\n{{"content":"{value["content"]}","size":5}}'


@each_case(
    ("value", "problem"),
    [
        ({"content": LONG, "size": "5"}, "size: "),
        ({"content": LONG, "size": float("nan")}, "size: not a finite number"),
        ({"content": LONG, "size": 5, "more": float("inf")}, "more: not a finite number"),
        ({"content": LONG, "size": 5, "more": {1, object}}, "the value has no JSON form"),
        ({"content": LONG + "\ud800", "size": 5}, "the value has no JSON form"),
        ({"content": "\udfff" + "x" * 70_000, "size": 5}, "the value has no JSON form"),
        ({"content": LONG.encode(), "size": "5"}, "size: "),
        ([LONG], "expected an object"),
    ],
    ids=range(8),
)
def test_an_invalid_value_next_to_a_long_text_is_found(value, problem):
    result = execute_tool(giving(value))
    assert result.failure.kind == "invalid_output"
    assert problem in result.message or "does not fit the schema" in result.message


@each_case(
    "changes",
    [
        {"properties": {"content": {"type": "string", "maxLength": 10}}},
        {"properties": {"content": {"type": "string", "pattern": "^[a-z]+$"}}},
        {"properties": {"content": {"enum": ["", "a"]}}},
        {"properties": {"content": {"type": "string"}}, "additionalProperties": False},
        {"required": ["absent"]},
        {"maxProperties": 1},
        {"patternProperties": {"^c": {"maxLength": 10}}},
        {"allOf": [{"properties": {"content": {"maxLength": 10}}}]},
        {"not": {"properties": {"content": {"minLength": 10}}}},
    ],
    ids=str,
)
def test_every_keyword_for_a_long_text_is_checked(changes):
    value = {"content": LONG, "size": 5}
    assert giving(value, **changes).check_output(value) is not None
    assert execute_tool(giving(value, **changes)).failure.kind == "invalid_output"


_PARTS = st.one_of(
    st.text(st.characters(), max_size=12),
    st.integers(),
    st.floats(),
    st.none(),
    st.lists(st.floats(), max_size=2),
    st.binary(max_size=3),
)


@given(st.dictionaries(st.sampled_from(["content", "size", "more"]), _PARTS))
def test_the_fast_check_passes_nothing_that_the_thorough_one_refuses(value):
    for changes in ({}, {"additionalProperties": False}, {"required": ["size"]}):
        tool = giving(value, **changes)
        if tool.write_output(value) is not None:
            assert tool.check_output(value) is None


class Color(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    label: str = ""
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Packed:
    point: Point
    on: date
    color: Color = Color.RED


@dataclass
class Shown(Point):
    def render(self) -> str:
        return f"the point {self.x}"


class Item(BaseModel):
    id: UUID
    points: list[Point]
    size: tuple[int, int] = (1, 2)


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")

    x: int


class Rated(BaseModel):
    score: float | None


ID = UUID("123e4567-e89b-42d3-a456-426614174000")
OBJECTS: list[tuple[Any, Any, bool]] = [
    (Point, Point(1, "a", ["b"]), True),
    (Point, Point("1"), False),
    (Point, {"x": 1, "label": "", "tags": []}, True),
    (Packed, Packed(Point(1), date(2026, 1, 2)), True),
    (Packed, Packed(Point(1), "soon"), False),
    (Shown, Shown(3), True),
    (Shown, Shown(None), False),
    (Item, Item(id=ID, points=[Point(1), Point(2)]), True),
    (Item, Item.model_construct(id=ID, points=[Point("x")]), False),
    (Open, Open(x=1, more={"y": [Point(1)]}), True),
    (Rated, Rated(score=float("nan")), False),
    (list[Point], [Point(1), Point(2)], True),
    (list[Point], [Point(1), Point(None)], False),
    (dict[str, Item], {"a": Item(id=ID, points=[])}, True),
    (dict[str, Item], {"a": Point(1)}, False),
    (Point | None, Point(1), True),
    (Point | Item, Item(id=ID, points=[]), True),
]


def returning(kind: Any, value: Any) -> Any:
    def give():
        return value

    give.__annotations__["return"] = kind
    return tool(give, description="Give it.", isolation="inline", max_attempts=10)


def test_dataclasses_and_models_are_checked_and_shown_as_their_json():
    for kind, value, is_valid in OBJECTS:
        made = returning(kind, value)
        executor = ToolExecutor([made])
        for _ in range(3):  # later ones are checked by their text
            with in_case(kind, value):
                result = executor.execute(ToolCall(id="1", name="give"))
                assert result.success is is_valid, result.message
                assert (made.write_output(value) is not None) is is_valid
                if isinstance(value, Shown) and is_valid:
                    assert result.render() == "the point 3"
                elif is_valid:
                    assert json.loads(result.render()) == to_jsonable_python(value)
                    assert result.value is value
                else:
                    assert result.failure.kind == "invalid_output"


def test_an_object_that_is_large_or_contains_itself_is_not_written_at_once():
    inside = Open(x=1)
    inside.__pydantic_extra__["more"] = inside
    for value in (inside, Open(x=1, more="x" * 3_000_000), Open(x=1, more=["y"] * 3_000_000)):
        made = returning(Open, value)
        made.write_output(Open(x=1))  # from now on values are checked by their text
        assert made.write_output(value) is None
        assert execute_tool(made).success is (value is not inside)


def test_every_duration_fits_its_schema_as_it_is_written():
    @tool
    def wait(time: timedelta) -> timedelta:
        """Wait."""
        return time

    for time in (
        timedelta(0),
        timedelta(milliseconds=1500),
        timedelta(microseconds=-1),
        timedelta(days=-1),
        timedelta(days=400, seconds=1),
        timedelta(hours=1, seconds=1),
    ):
        with in_case(time):
            written = to_jsonable_python(time)
            result = execute_tool(wait, {"time": written})
            assert (result.success, result.value) == (True, time)
            assert result.render() == json.dumps(written)
    for text in ("P", "PT", "P1", "P1S", "PT1.S", "P1W1D", "--P1D", "P1D\n", "P\u0661D"):
        with in_case(text):
            assert not execute_tool(wait, {"time": text}).success
