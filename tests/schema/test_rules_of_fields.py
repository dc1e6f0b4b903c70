"""Rules in a dataclass field's metadata hold for every type, as those in `Annotated` do."""

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Annotated

import pytest
from pydantic import Field

from toolhaft import InvalidArguments, Tool

CASES = [
    (tuple[str, ...], {"min_length": 1}, [], ["a"]),
    (tuple[str, ...], {"max_length": 1}, ["a", "b"], ["a"]),
    (tuple[str, ...] | None, {"min_length": 1}, [], ["a"]),
    (list[int], {"min_length": 1}, [], [1]),
    (set[int], {"min_length": 2}, [1], [1, 2]),
    (frozenset[int], {"max_length": 1}, [1, 2], [1]),
    (dict[str, int], {"min_length": 1}, {}, {"a": 1}),
    (Decimal, {"ge": 1}, "0.5", "1.5"),
    (date, {"ge": date(2020, 1, 1)}, "2019-01-01", "2021-01-01"),
    (str, {"pattern": "^a"}, "b", "a"),
    (int, {"multiple_of": 3}, 4, 6),
]


@pytest.mark.parametrize(("kind", "rules", "bad", "good"), CASES)
@pytest.mark.parametrize("said", ["metadata", "annotated"])
def test_a_rule_beside_a_field_is_in_force(said, kind, rules, bad, good):
    if said == "metadata":

        @dataclass
        class Params:
            given: kind = field(metadata={**rules, "description": "Given"})
    else:

        @dataclass
        class Params:
            given: Annotated[kind, Field(**rules)]

    made = Tool[Params, None](name="t", description="T.")
    assert isinstance(made.validate({"given": bad}), InvalidArguments)
    assert not isinstance(made.validate({"given": good}), InvalidArguments)
