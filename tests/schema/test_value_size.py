"""The size of a value is estimated before it is written: a shared part counts each time it occurs."""

from collections import deque
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from tests.cases import each_case
from toolhaft.schema import value_size
from toolhaft.schema.value_size import is_light, is_over_limit, is_writable


@dataclass(slots=True)
class Pair:
    left: object
    right: object


class Holder(BaseModel):
    items: list[object]


def diamond(depth):
    value: object = 0
    for _ in range(depth):
        value = [value, value]
    return value


def cycle():
    value = []
    value.append(value)
    return value


@each_case("value", [1, "text", None, {"a": [1, {"b": "c"}]}, [[0] * 10] * 10, "x" * 10**6])
def test_plain_small_values_are_light(value):
    assert is_light(value)
    assert is_writable(value)


@pytest.mark.parametrize("value", [[list(range(2000))] * 2, {"a": {str(n): [n] for n in range(400)}}])
def test_plain_values_of_many_parts_are_light_too(value):
    assert is_light(value)


@pytest.mark.parametrize("value", [diamond(40), [[0] * 10**4] * 10**5, ["x" * 10**6] * 10**4])
def test_a_shared_value_is_weighed_once_and_refused_if_too_large(value, monkeypatch):
    """Threats: aliasing bombs."""
    weighed, own_weight = [], vars(value_size)["_own_weight"]
    monkeypatch.setattr(value_size, "_own_weight", lambda part: weighed.append(part) or own_weight(part))
    assert not is_light(value)
    assert not is_writable(value)
    assert len(weighed) <= 41  # as many as there are different lists


@pytest.mark.parametrize("value", [cycle(), [cycle()], {"a": Pair(1, cycle())}, Holder(items=[cycle()])])
def test_a_value_that_contains_itself_cannot_be_written(value):
    assert not is_writable(value)


@each_case(
    "value", [Pair(1, [2]), Holder(items=[1]), {1, 2}, (1, [2]), deque([1]), b"bytes", object(), [print], 2.5]
)
def test_other_values_are_weighed_by_their_parts(value):
    assert is_writable(value)


def test_a_hundred_megabytes_can_be_written():
    assert is_writable("x" * 10**8)
    assert is_writable([0] * 10**5)


def test_a_value_over_the_limit_cannot_be_written(monkeypatch):
    monkeypatch.setattr(value_size, "_MAX_WEIGHT", 1000)
    assert is_writable(["x" * 900])
    assert not is_writable(["x" * 1000])
    assert not is_writable([[0] * 10] * 20)


@pytest.mark.parametrize("value", ["x" * 11, b"x" * 11, ["xxxx"] * 3, {"key": "value", "k": "v"}, (1,) * 6])
def test_is_over_limit_finds_values_over_the_limit(value):
    assert is_over_limit(value, 10)
    assert not is_over_limit(value, 1000)
