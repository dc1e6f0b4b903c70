"""Missing and unknown names are reported with work that grows with their number, not with the product."""

import json
from dataclasses import make_dataclass
from typing import Any

import pytest

from tests.cases import in_case
from toolhaft import InvalidArguments, Tool, ToolConfig, ValidArguments, create_tool
from toolhaft.schema import wide_gaps


def record(name: str, count: int) -> type:
    return make_dataclass(name, [(f"known_{number}", str) for number in range(count)])


def typed(params: type) -> Tool[Any, Any]:
    return Tool[params, None](name="typed", description="Typed.")  # type: ignore[valid-type] -- made at run time


def raw(made: Tool[Any, Any]) -> Tool[Any, Any]:
    return create_tool(ToolConfig(name="raw", description="Raw.", input_schema=made.input_schema))


@pytest.mark.parametrize(("known", "unknown"), [(200, 10_000), (2_000, 2_000), (1_000, 20_000)])
def test_missing_times_unknown_names_are_reported_in_linear_work(known, unknown):
    wide = record("Wide", known)
    cases = [(typed(wide), ()), (typed(make_dataclass("Outer", [("inner", wide)])), ("inner",))]
    for made, path in cases:
        value: Any = {f"unknown_{number}": 1 for number in range(unknown)}
        text = json.dumps(value if not path else {"inner": value})
        with in_case(path):
            problems = made.validate(text).problems
            assert sum(problem.what == "missing" for problem in problems) == 100
            assert sum(problem.what.startswith("unknown") for problem in problems) == 20
    verdict = raw(typed(wide)).validate(json.dumps({f"unknown_{number}": 1 for number in range(unknown)}))
    assert isinstance(verdict, InvalidArguments)
    assert len(verdict.problems) <= 120


def test_a_large_value_next_to_missing_names_is_not_copied_for_each_of_them(monkeypatch):
    made = typed(make_dataclass("Params", [("items", list[int]), *[(f"k{n}", int) for n in range(100)]]))
    problems = made.validate({"items": list(range(20_000))}).problems
    assert [problem.path for problem in problems] == [f"k{number}" for number in range(100)]
    monkeypatch.setattr(wide_gaps, "MAX_COPIES", 10**9)
    assert wide_gaps.wide_gaps(None, {}, 1) == []  # type: ignore[arg-type] -- nothing to explain


def test_large_values_without_a_gap_are_checked_as_ever():
    wide = record("Wide", 300)
    whole = {f"known_{number}": "x" * 100 for number in range(300)}
    assert isinstance(typed(wide).validate(whole), ValidArguments)
    lists = typed(make_dataclass("Lists", [("items", list[record("Small", 20)])]))
    small = {f"known_{number}": "x" for number in range(20)}
    assert isinstance(lists.validate({"items": [small] * 2_000}), ValidArguments)
    wrong = lists.validate({"items": [*[small] * 1_999, {"known_1": "x"}]})
    assert "items[1999].known_0" in {problem.path for problem in wrong.problems}
