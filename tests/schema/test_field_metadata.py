"""Rules in a dataclass field's metadata hold for every type, as those in `Annotated` do."""

from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from tests.cases import each_case
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


@each_case(("kind", "rules", "bad", "good"), CASES)
@each_case("said", ["metadata", "annotated"])
def test_a_rule_next_to_a_field_is_enforced(said, kind, rules, bad, good):
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
