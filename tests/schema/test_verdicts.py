"""One table of values, checked by both validation engines: a function and its raw schema agree."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict, Union
from uuid import UUID

import pytest
from annotated_types import Ge, Gt, Le, Len, Lt, MultipleOf
from pydantic import BaseModel, Field

from tests.schema.closed_schema import closed
from toolhaft import InvalidArguments, Tool, ToolConfig, ValidArguments, create_tool, tool


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Plain(Enum):
    ONE = 1
    TWO = 2


class Point(NamedTuple):
    x: int
    y: int = 0


class Movie(TypedDict):
    name: str
    year: NotRequired[int]


@dataclass
class Box:
    width: int
    label: str = "none"


class Model(BaseModel):
    score: float
    tags: list[str] = []
    when: datetime | None = None


MODEL_SCHEMA = {
    "type": "object",
    "properties": {
        "score": {"type": "number"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "when": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    },
    "required": ["score"],
    "additionalProperties": False,
}
UUID_TEXT = '"123e4567-e89b-42d3-a456-426614174000"'

# annotation, the twin's schema, texts that pass, texts that pass with a told repair, texts that are refused
TABLE: list[tuple[object, dict[str, Any], list[str], list[str], list[str]]] = [
    (int, {"type": "integer"}, ["1", "-5", "0", "123456789012345678901234567890"], ["5.0", '"5"', "1e2"],
     ["true", "1.5", '"five"', "null", "[1]", "{}", "NaN", "1e999", '"5.5"', '"true"']),
    (float, {"type": "number"}, ["1", "1.5", "-2e3"], ['"1.5"', '"2"'], ["true", '"x"', "NaN", "Infinity", "1e999", "null"]),
    (bool, {"type": "boolean"}, ["true", "false"], ['"true"'], ["1", "0", '"yes"', "null"]),
    (str, {"type": "string"}, ['"a"', '"5"', '""', '"true"', '"a:b"', '"\\u00e9"'], [], ["1", "true", "null", '["a"]', '"\\ud800"']),
    (None, {"type": "null"}, ["null"], ['"null"'], ["0", "false", '""', '"x"']),
    (Any, {}, ["1", '"x"', "[1,2]", '{"a": 1}', "null", "1.0"], [], ["NaN", "1e999", "[1e999]", '{"a": [NaN]}', "-Infinity"]),
    (list, {"type": "array"}, ["[]", '[1, "a", null]'], ['"[1]"'], ["{}", "1", "[1e999]"]),
    (dict, {"type": "object"}, ["{}", '{"a": [1]}'], ['"{}"'], ["[]", '"x"', '{"a": 1e999}']),
    (list[int], {"type": "array", "items": {"type": "integer"}}, ["[]", "[1, 2]"], ["[1.0]", '["1"]', '"[1]"', '"[1.0]"'], ["[true]", '["a"]', "1", "[1.5]"]),
    (list[list[str]], {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, ['[["a"]]'], [], ["[[1]]", '["a"]']),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, ['{"a": 1}', "{}"], ['{"a": 1.0}', '{"a": "1"}'], ['{"a": true}', '{"a": "x"}']),
    (dict[int, str], {"type": "object", "additionalProperties": {"type": "string"}, "propertyNames": {"pattern": "^-?(?:0|[1-9][0-9]{0,18})$"}}, ['{"1": "a"}', '{"-7": "a"}'], [], ['{"1.0": "a"}', '{"x": "a"}', '{"01": "a"}']),
    (Mapping[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}, ['{"a": true}'], ['{"a": "true"}'], ['{"a": 1}']),
    (Sequence[int], {"type": "array", "items": {"type": "integer"}}, ["[1]"], ["[1.0]"], ['["x"]', '"ab"']),
    (Iterable[int], {"type": "array", "items": {"type": "integer"}}, ["[1, 2]"], [], ['["a"]', "[1, null]"]),
    (tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}, ['[1, "a"]'], ['[1.0, "a"]'], ["[1]", '[1, "a", 2]', '["a", 1]', "{}"]),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, ["[]", "[1, 2, 3]"], ["[2.0]"], ['["x"]']),
    (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, ["[1, 2]", "[]"], ["[1.0, 2]"], ["[1, 1]", '["a"]']),
    (frozenset[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}, ['["a", "b"]'], [], ['["a", "a"]']),
    (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}, ["1", "null"], ['"1"', "1.0", '"null"'], ["true", '"x"', "1.5"]),
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}, ["1", '"1"'], ["2.0"], ["true", "1.5", "null"]),
    (Union[int, list[int]], {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]}, ["1", "[1]"], ['"1"', '"[1]"', "[1.0]"], ["true", '["x"]', "{}"]),
    (Literal["a", "b"], {"enum": ["a", "b"]}, ['"a"'], [], ['"c"', "1", "null", '"A"']),
    (Literal[1], {"enum": [1]}, ["1"], ["1.0", '"1"'], ["true", "2", '"x"', "1.5"]),
    (Literal[True], {"enum": [True]}, ["true"], ['"true"'], ["1", "false", "1.0"]),
    (Literal["a", 1] | None, {"anyOf": [{"enum": ["a", 1]}, {"type": "null"}]}, ['"a"', "1", "null"], ["1.0"], ["true", '"1"', "0"]),
    (Color, {"enum": ["red", "blue"]}, ['"red"'], [], ['"RED"', '"green"', "1"]),
    (Level, {"enum": [1, 2]}, ["1", "2"], ["1.0", '"2"'], ["true", "3", '"LOW"']),
    (Plain, {"enum": [1, 2]}, ["1"], ["2.0"], ["true", "3"]),
    (Point, {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "minItems": 1, "maxItems": 2}, ["[1]", "[1, 2]"], ["[1.0]"], ['{"x": 1}', "[]", "[1, 2, 3]", '["a"]']),
    (Movie, {"type": "object", "properties": {"name": {"type": "string"}, "year": {"type": "integer"}}, "required": ["name"], "additionalProperties": False}, ['{"name": "a"}', '{"name": "a", "year": 1}'], ['{"name": "a", "year": "1"}', '"{\\"name\\": \\"a\\"}"'], ["{}", '{"name": 1}', '{"name": "a", "yaer": 1}']),
    (Box, {"type": "object", "properties": {"width": {"type": "integer"}, "label": {"type": "string"}}, "required": ["width"], "additionalProperties": False}, ['{"width": 1}'], ['{"width": 1.0}'], ['{"width": true}', "{}", '{"width": 1, "x": 2}', "[1]"]),
    (Model, MODEL_SCHEMA, ['{"score": 1}', '{"score": 1.5, "tags": ["a"], "when": "2024-01-31T09:30:00Z"}'], ['{"score": "1.5"}'],
     ['{"score": NaN}', '{"score": 1e999}', '{"score": 1, "when": "1700000000"}', '{"score": 1, "tags": [1]}', '{"score": 1, "extra": 1}', '{"score": true}']),
    (list[Model], {"type": "array", "items": MODEL_SCHEMA}, ['[{"score": 1}]'], ['[{"score": "2"}]'], ['[{"score": "x"}]', '[{"score": 1, "q": 1}]']),
    (datetime, {"type": "string", "format": "date-time"}, ['"2024-01-31T09:30:00Z"', '"2024-01-31T09:30:00+02:00"', '"2024-01-31T09:30:00.5"', '"2024-01-31T09:30"'], [], ['"1700000000"', "1700000000", '"2024-01-31"', '"yesterday"', '"2024-13-01T00:00:00Z"', '"2024-02-30T00:00:00Z"']),
    (date, {"type": "string", "format": "date"}, ['"2024-01-31"'], [], ['"2024-01-31T00:00:00"', '"20240131"', '"1700000000"', '"2023-02-29"', "0"]),
    (time, {"type": "string", "format": "time"}, ['"09:30"', '"09:30:00"', '"09:30:00Z"', '"23:59:59.123"'], [], ['"25:00"', "3600", '"9"', '"noon"']),
    (timedelta, {"type": "string", "format": "duration"}, ['"PT1H"', '"P1D"'], [], ['"3600"', "3600", '"an hour"']),
    (UUID, {"type": "string", "format": "uuid"}, [UUID_TEXT, UUID_TEXT.upper()], [], ['"123e4567e89b42d3a456426614174000"', '"urn:uuid:123e4567-e89b-42d3-a456-426614174000"', '"{123e4567-e89b-42d3-a456-426614174000}"', "1"]),
    (Path, {"type": "string"}, ['"/tmp/x"', '"a b"'], [], ["1", "null"]),
    (bytes, {"type": "string"}, ['"abc"'], [], ["1", "[1]"]),
    (Decimal, {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$"}]}, ["1", "1.5", '"1.50"', '"-3"'], [], ['"NaN"', '"x"', "true", "NaN", '"1e5"', "1e999"]),
    (Annotated[int, Field(ge=1, le=100)], {"type": "integer", "minimum": 1, "maximum": 100}, ["1", "100"], ["5.0", '"7"'], ["0", "101", "0.5", '"500"']),
    (Annotated[int, Gt(1024), Lt(65536)], {"type": "integer", "exclusiveMinimum": 1024, "exclusiveMaximum": 65536}, ["1025", "65535"], [], ["1024", "65536"]),
    (Annotated[float, Ge(0.0), Le(1.0)], {"type": "number", "minimum": 0.0, "maximum": 1.0}, ["0", "1", "0.5"], [], ["-0.1", "1.01"]),
    (Annotated[float, MultipleOf(0.01)], {"type": "number", "multipleOf": 0.01}, ["19.99", "0.07", "1", "0", "4.35", "1.1"], [], ["19.999", "0.005"]),
    (Annotated[float, MultipleOf(0.1)], {"type": "number", "multipleOf": 0.1}, ["0.3", "0.7", "1.1"], [], ["0.35"]),
    (Annotated[int, MultipleOf(5)], {"type": "integer", "multipleOf": 5}, ["0", "10", "-5"], ["15.0"], ["7"]),
    (Annotated[str, Field(min_length=3, max_length=20, pattern="^[a-zA-Z0-9_]+$")], {"type": "string", "minLength": 3, "maxLength": 20, "pattern": "^[a-zA-Z0-9_]+$"}, ['"abc"', '"a_1"'], [], ['"ab"', '"a b c"', '"' + "a" * 21 + '"']),
    (Annotated[str, Len(2, 2)], {"type": "string", "minLength": 2, "maxLength": 2}, ['"ab"', '"éé"', '"👍🏽"'], [], ['"é"', '"abc"']),
    (Annotated[list[str], Field(min_length=1, max_length=2)], {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}, ['["a"]'], ['"[\\"a\\"]"'], ["[]", '["a", "b", "c"]']),
    (Annotated[dict[str, int], Len(1)], {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1}, ['{"a": 1}'], [], ["{}"]),
    (Annotated[int | None, Ge(1)], {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, ["1", "null"], ["2.0"], ["0", "true"]),
]  # fmt: skip


def _function(annotation: object) -> Tool[Any, Any]:
    def take(value):
        """Take a value."""

    take.__annotations__ = {"value": annotation}
    return tool(take)


def _twin(schema: dict[str, Any]) -> Tool[Any, Any]:
    root = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    return create_tool(ToolConfig(name="take", description="Take a value.", input_schema=root))


def _verdict(made: Tool[Any, Any], text: str) -> str:
    answer = made.validate(f'{{"value": {text}}}')
    if isinstance(answer, InvalidArguments):
        return "refused"
    assert isinstance(answer, ValidArguments)
    return "repaired" if answer.repairs else "passed"


ROWS = pytest.mark.parametrize(
    "row", TABLE, ids=[str(getattr(row[0], "__name__", row[0]))[:60] for row in TABLE]
)


@ROWS
def test_both_engines_give_the_same_verdict(row):
    annotation, schema, passed, repaired, refused = row
    function = _function(annotation)
    engines = {
        "types": function,
        "raw": _twin(schema),
        # the function's own schema, with nested objects closed as the types close them
        "own schema": _twin(closed(function.input_schema["properties"]["value"])),
    }
    for verdict, texts in (("passed", passed), ("repaired", repaired), ("refused", refused)):
        for text in texts:
            found = {name: _verdict(made, text) for name, made in engines.items()}
            assert found == dict.fromkeys(engines, verdict), text


@ROWS
def test_an_object_gets_the_verdict_of_its_text(row):
    annotation, schema, passed, repaired, refused = row
    for made in (_function(annotation), _twin(schema)):
        for text in [*passed, *repaired, *refused]:
            if "NaN" in text or "Infinity" in text or "1e999" in text or "ud800" in text:
                continue  # Python's own reader takes what JSON does not have
            as_text = made.validate(f'{{"value": {text}}}')
            as_object = made.validate({"value": json.loads(text)})
            assert as_text == as_object, text


def test_nan_and_infinity_in_an_object_are_refused_like_in_text():
    for annotation in (float, Any, list, dict):
        for value in (float("nan"), float("inf")):
            wrapped = [value] if annotation is list else {"a": value} if annotation is dict else value
            assert isinstance(_function(annotation).validate({"value": wrapped}), InvalidArguments)
            twin = _twin(_function(annotation).input_schema["properties"]["value"])
            assert isinstance(twin.validate({"value": wrapped}), InvalidArguments)
