"""Missing and unknown names are reported with work that grows with their number, not with the product."""

import json
from dataclasses import make_dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, Field, create_model

from tests.cases import each_case, in_case
from toolhaft import InvalidArguments, Tool, ToolConfig, ValidArguments, create_tool
from toolhaft.schema import raw as raw_module
from toolhaft.schema import typed as typed_module
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


def test_a_large_value_next_to_missing_names_is_not_copied_for_each_of_them():
    made = typed(make_dataclass("Params", [("items", list[int]), *[(f"k{n}", int) for n in range(100)]]))
    problems = made.validate({"items": list(range(20_000))}).problems
    assert [problem.path for problem in problems] == [f"k{number}" for number in range(100)]


@pytest.mark.parametrize("path", [(), ("inner",)])
def test_a_long_text_next_to_missing_names_is_not_copied_for_each_of_them(monkeypatch, path):
    wide = record("Wide", 200)
    made = typed(make_dataclass("Outer", [("inner", wide)]) if path else wide)
    long = {"known_0": "x" * 900_000}
    text = json.dumps({"inner": long} if path else long)
    monkeypatch.setattr(typed_module, "error_details", None)
    monkeypatch.setattr(raw_module, "to_problems", None)
    for each in (made, raw(made)):
        problems = each.validate(text).problems
        assert len(problems) == (1 if path and each is not made else 100)


def test_large_values_without_a_gap_are_checked_as_ever():
    wide = record("Wide", 300)
    whole = {f"known_{number}": "x" * 100 for number in range(300)}
    assert isinstance(typed(wide).validate(whole), ValidArguments)
    lists = typed(make_dataclass("Lists", [("items", list[record("Small", 20)])]))
    small = {f"known_{number}": "x" for number in range(20)}
    assert isinstance(lists.validate({"items": [small] * 2_000}), ValidArguments)
    wrong = lists.validate({"items": [*[small] * 1_999, {"known_1": "x"}]})
    assert "items[1999].known_0" in {problem.path for problem in wrong.problems}


def model(name: str, count: int, **more: Any) -> type[BaseModel]:
    return create_model(name, **{f"{name.lower()}_{number}": (int, ...) for number in range(count)}, **more)


class Open(BaseModel, extra="allow"):
    known: int


class Renamed(BaseModel, alias_generator=str.upper, populate_by_name=True):
    items: list[int]
    one: int
    two: int
    three: Annotated[int, Field(validation_alias=AliasChoices("third", "last"))]
    four: Annotated[int, Field(validation_alias=AliasPath("path", 0))]
    five: int


ITEMS = {"items": list(range(30_000))}
MANY = {f"name_{number}": number for number in range(30_000)}
A, B = model("A", 50), model("B", 0, items=(list[int], ...))
TAGGED_A = model("TaggedA", 50, kind=(Literal["a"], ...))
TAGGED_B = model("TaggedB", 0, kind=(Literal["b"], ...), items=(list[int], ...))
TAGGED = Annotated[TAGGED_A | TAGGED_B, Field(discriminator="kind")]  # type: ignore[valid-type] -- made at run time


@each_case(
    ("annotation", "value"),
    [
        (Open, {"known": 1, **MANY}),
        (A | B, ITEMS),
        (A | B | None, ITEMS),
        (dict[str, int] | A, MANY),
        (TAGGED, {"kind": "b", **ITEMS}),
        (list[TAGGED], [{"kind": "b", **ITEMS}] * 2),
        (Renamed, {**ITEMS, "one": 1, "TWO": 2, "last": 3, "path": [4], "five": 5}),
        (Renamed, {"ITEMS": [1] * 30_000, "one": 1, "two": 2, "third": 3, "path": [4], "FIVE": 5}),
        (dict[str, Any], {"deep": {"deeper": MANY}}),
    ],
)
def test_large_values_that_only_seem_to_lack_or_add_names_are_accepted(annotation, value):
    made = typed(make_dataclass("Params", [("value", annotation)]))
    assert isinstance(made.validate({"value": value}), ValidArguments)


@each_case(
    ("annotation", "value", "missing"),
    [
        (list[TAGGED], [{"kind": "a", "taggeda_1": list(range(30_000))}], "value[0].taggeda_0"),
        (A | None, {"a_1": list(range(30_000))}, "value.a_0"),
        (Renamed, {"ITEMS": [1] * 30_000, "one": 1}, "value.TWO"),
        (Open, {"more": [MANY] * 5}, "value.known"),
    ],
)
def test_large_gaps_are_found_in_the_alternative_that_is_meant(annotation, value, missing):
    made = typed(make_dataclass("Params", [("value", annotation)]))
    assert missing in {problem.path for problem in made.validate({"value": value}).problems}


def test_the_members_inside_each_part_are_counted_in_one_pass():
    inner = [[1, 2, 3], [], {"a": {}, "b": 1}]
    value = {"x": inner, "y": 1}
    sizes = wide_gaps._sizes(value, counts_text=False)  # noqa: SLF001 -- the speed of a check depends on it
    assert [sizes.get(id(part)) for part in (value, inner, *inner)] == [10, 8, 3, None, 2]


def test_names_missing_in_many_members_are_not_all_reported():
    """Each would be an error that takes time and memory, six million in all."""
    wide = record("Wide", 2_000)
    for annotation, value in (
        (list[wide], [{}] * 3_000),
        (dict[str, wide], {str(number): {} for number in range(3_000)}),
    ):
        with in_case(annotation):
            verdict = typed(make_dataclass("Params", [("value", annotation)])).validate({"value": value})
            assert {problem.what for problem in verdict.problems} == {"missing"}  # and no number of problems
            assert len(verdict.problems) == 100
