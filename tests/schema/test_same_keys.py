"""Keys and items that become the same value: two of them are refused, whatever their type."""

import dataclasses
import json
from datetime import datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, StringConstraints, create_model

from tests.cases import in_case
from toolhaft import ValidArguments
from toolhaft.schema.typed import compile_type

UUID_TEXT = "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa"


class Mode(Enum):
    FAST = "fast"


class Point(BaseModel):
    a: int = 1


def test_two_texts_do_not_become_the_same_key():
    for key, one, other in (
        (UUID, UUID_TEXT, UUID_TEXT.upper()),
        (Decimal, "1.0", "1.00"),
        (datetime, "2024-01-01T00:00:00Z", "2024-01-01T01:00:00+01:00"),
        (timedelta, "PT1M", "PT60S"),
        (UUID | int, UUID_TEXT, UUID_TEXT.upper()),
        (Annotated[str, StringConstraints(to_lower=True)], "A", "a"),
        (Annotated[str, StringConstraints(strip_whitespace=True)], "a", "a "),
    ):
        for annotation in (dict[key, int], create_model("Held", value=(dict[key, int], ...))):
            with in_case(annotation, one, other):
                made = compile_type(dataclasses.make_dataclass("Params", [("value", annotation)]))
                is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
                for value, is_valid in (({one: 1}, True), ({one: 1, other: 2}, False)):
                    verdict = made.validate(json.dumps({"value": {"value": value} if is_model else value}))
                    assert isinstance(verdict, ValidArguments) is is_valid
                    assert is_valid or "has two keys that mean the same" in verdict.message


def test_objects_by_numbers_and_uuids_may_hold_any_type():
    for key, text in ((UUID, UUID_TEXT), (Decimal, "1.5"), (int, "3"), (datetime, "2024-01-01T00:00:00Z")):
        for value, written in (
            (Point, {"a": 2}),
            (list[Point], [{"a": 2}]),
            (Mode, "fast"),
            (timedelta, "PT1M"),
        ):
            for annotation in (dict[key, value], create_model("Held", value=(dict[key, value], ...))):
                with in_case(annotation):
                    made = compile_type(dataclasses.make_dataclass("Params", [("value", annotation)]))
                    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
                    held = {text: written}
                    sent = json.dumps({"value": {"value": held} if is_model else held})
                    assert isinstance(made.validate(sent), ValidArguments)


def test_many_equal_items_are_called_equal():
    made = compile_type(dataclasses.make_dataclass("Params", [("value", set[int])]))
    verdict = made.validate(json.dumps({"value": [1] * 500}))
    assert not isinstance(verdict, ValidArguments)
    assert "has the same item twice" in verdict.message
