"""Values that strict pydantic accepts and Toolhaft refuses."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, IntEnum
from typing import Any, Literal, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel

from tests.cases import each_case
from toolhaft import InvalidArguments, Tool, ValidArguments, tool


class Level(IntEnum):
    LOW = 1


class Plain(Enum):
    ONE = 1


class Point(NamedTuple):
    x: int
    y: int


class Inner(BaseModel):
    ratio: float
    anything: Any = None


class Outer(BaseModel):
    inner: Inner


@dataclass
class Deep:
    outer: Outer


def _taking(annotation: object) -> Tool[Any, Any]:
    def take(value):
        """Take a value."""

    take.__annotations__ = {"value": annotation}
    return tool(take)


def _refused(annotation: object, text: str) -> bool:
    return isinstance(_taking(annotation).validate(f'{{"value": {text}}}'), InvalidArguments)


@pytest.mark.parametrize("annotation", [Literal[1], Level, Plain], ids=str)
def test_true_is_not_the_integer_one(annotation):
    assert _refused(annotation, "true")


@pytest.mark.parametrize("annotation", [Literal[1], Level, Plain], ids=str)
def test_a_float_for_an_integer_choice_is_a_reported_repair(annotation):
    verdict = _taking(annotation).validate('{"value": 1.0}')
    assert isinstance(verdict, ValidArguments)
    assert [str(repair) for repair in verdict.repairs] == ["value: read 1.0 as 1"]
    assert type(verdict.params["value"]) in (int, Level, Plain)


@each_case("number", ["NaN", "1e999", "-1e999", "Infinity", "1" + "0" * 400])
@each_case("depth", [Outer, Deep, list[Outer], dict[str, Inner]], ids=str)
def test_numbers_without_a_finite_value_are_refused_inside_nested_models(number, depth):
    inner = f'{{"ratio": {number}}}'
    outer = f'{{"inner": {inner}}}'
    text = {
        Outer: outer,
        Deep: f'{{"outer": {outer}}}',
        list[Outer]: f"[{outer}]",
        dict[str, Inner]: f'{{"a": {inner}}}',
    }
    assert _refused(depth, text[depth])


@pytest.mark.parametrize("number", ["NaN", "1e999", "[1e999]", '{"a": [{"b": -1e999}]}'])
def test_numbers_without_a_finite_value_are_refused_inside_any(number):
    assert _refused(Any, number)
    assert _refused(Inner, f'{{"ratio": 1, "anything": {number}}}')
    assert _refused(list[Any], f"[{number}]")
    assert _refused(dict[str, Any], f'{{"a": {number}}}')


def test_a_number_in_text_is_not_a_datetime():
    assert _refused(datetime, '"1700000000"')
    assert _refused(datetime, "1700000000")


class Stamped(BaseModel):
    when: datetime
    id: UUID
    tags: set[int] = set()
    level: Level = Level.LOW
    kind: Literal[1] = 1
    point: Point = Point(0, 0)
    stream: Iterable[int] = ()


STAMPED = '"when": "2024-01-31T09:30:00Z", "id": "123e4567-e89b-42d3-a456-426614174000"'


@each_case(
    "field",
    [
        '"tags": [1, 1]',
        '"level": true',
        '"kind": true',
        '"point": {"x": 1, "y": 2}',
        '"stream": ["a"]',
        '"when": "1700000000"',
        '"id": "123e4567e89b42d3a456426614174000"',
        '"id": "urn:uuid:123e4567-e89b-42d3-a456-426614174000"',
        '"unknown": 1',
    ],
)
def test_the_same_rules_hold_inside_a_pydantic_model(field):
    key = field.split(":")[0]
    rest = ", ".join(part for part in STAMPED.split(", ") if not part.startswith(key))
    assert not _refused(Stamped, f"{{{STAMPED}}}")
    assert _refused(Stamped, f"{{{rest}, {field}}}" if rest else f"{{{field}}}")


@pytest.mark.parametrize(
    "text", ["123e4567e89b42d3a456426614174000", "urn:uuid:123e4567-e89b-42d3-a456-426614174000"]
)
def test_only_the_dashed_form_is_a_uuid(text):
    assert _refused(UUID, f'"{text}"')


@pytest.mark.parametrize("kind", [set[int], frozenset[int]], ids=str)
def test_a_set_with_a_repeated_item_is_refused(kind):
    assert _refused(kind, "[1, 2, 1]")


def test_an_object_is_not_a_named_tuple():
    assert _refused(Point, '{"x": 1, "y": 2}')
    assert not _refused(Point, "[1, 2]")


def test_an_iterable_is_checked_before_the_function_sees_it():
    assert _refused(Iterable[int], '[1, "two"]')
    verdict = _taking(Iterable[int]).validate('{"value": [1, 2]}')
    assert isinstance(verdict, ValidArguments)
    assert verdict.params == {"value": [1, 2]}


def test_an_array_is_not_an_arguments_object():
    verdict = _taking(int).validate("[1]")
    assert isinstance(verdict, InvalidArguments)
    assert verdict.message.startswith(
        "The arguments are not valid.\n- arguments: got [1]; expected an object with value"
    )


@each_case("name", ["context", "self", "timeout", "__class__", "__init__", "kwargs"])
def test_an_unknown_key_is_refused_whatever_its_name(name):
    verdict = _taking(int).validate(f'{{"value": 1, "{name}": 1}}')
    assert isinstance(verdict, InvalidArguments)
    assert [problem.path for problem in verdict.problems] == [name]


def test_a_model_with_extra_allow_takes_other_keys():
    class Open(BaseModel, extra="allow"):
        a: int

    class Ignoring(BaseModel, extra="ignore"):
        a: int

    assert not _refused(Open, '{"a": 1, "b": 2}')
    assert _refused(Open, '{"a": 1, "b": NaN}')
    assert _refused(Ignoring, '{"a": 1, "b": 2}')


def test_a_lax_model_is_still_checked_strictly():
    class Loose(BaseModel, strict=False, allow_inf_nan=True):
        count: int
        ratio: float = 0.0

    assert _refused(Loose, '{"count": true}')
    assert _refused(Loose, '{"count": 1, "ratio": 1e999}')
    verdict = _taking(Loose).validate('{"value": {"count": "1"}}')
    assert isinstance(verdict, ValidArguments)
    assert verdict.repairs
