"""Catalogue: tools defined with Python types, by the decorator and as typed tools."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Optional, Union

from pydantic import Field

from tests.formats.catalogue.case import Case
from tests.formats.catalogue.models import (
    Address,
    Box,
    Camel,
    Cat,
    Color,
    Dog,
    Filters,
    Husband,
    Node,
    Order,
    Page,
    Point,
    Priority,
    Sum,
    Times,
)
from toolhaft import Tool, tool


@tool
def search(
    query: Annotated[str, Field(min_length=1, max_length=500)],
    filters: Filters,
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
    sort_by: Literal["relevance", "date", "size"] = "relevance",
    tags: list[str] | None = None,
) -> dict[str, Any]:
    """Search the library.

    Args:
        query: what to look for.
        filters: what to leave out.
        limit: how many hits.
        sort_by: what comes first.
        tags: only hits with all of these.
    """
    return {}


@tool
def grow(tree: Node, couple: Husband | None = None) -> int:
    """Grow a tree."""
    return 1


@tool
def adopt(
    pet: Annotated[Union[Cat, Dog], Field(discriminator="kind")], spare: Cat | Dog | None = None
) -> str:
    """Adopt a pet."""
    return ""


@tool
def count(scores: dict[str, int], pets: dict[str, Cat] | None = None, by_number: dict[int, str] = {}) -> int:  # noqa: B006 -- a default like any other
    """Count scores."""
    return 1


@tool
def place(
    point: tuple[int, str],
    path: tuple[float, ...] = (),
    corner: Point = Point(1, 2),  # noqa: B008 -- a default like any other
    flags: set[str] | None = None,
) -> None:
    """Place something."""


@tool
def rank(
    priority: Priority,
    color: Color = Color.RED,
    level: Literal[1, "two"] | None = None,
    flag: Literal[True] = True,
) -> None:
    """Rank something."""


@tool
def schedule(times: Times) -> None:
    """Schedule something."""


@tool
def mix(value: int | str | list[int] | None, number: float | bool = 1.5, other: Optional[str] = "x") -> None:
    """Mix types."""


@tool
def loose(
    anything: Any,
    thing: object = None,
    mapping: dict[str, Any] | None = None,
    things: list[Any] | None = None,
) -> None:
    """Take anything."""


@tool
def pack(box: Box, who: Camel | None = None, page: Page[int] | None = None) -> None:
    """Pack a box."""


@tool
def move(to: Address, start: Optional[Address] = None, *, quickly: bool = False) -> None:
    """Move house."""


@tool
def now() -> str:
    """Tell the time."""
    return ""


order: Final[Tool[Any, Any]] = Tool[Order, Sum](name="order", description="Order an item.")

_FILTERS: Final = {"author": "Ada", "year": 1999, "price": {}}

CASES: Final[tuple[Case, ...]] = (
    Case(
        tool=search,
        valid=(
            {"query": "q", "filters": _FILTERS},
            {
                "query": "q",
                "filters": {**_FILTERS, "tags": ["a"], "price": {"low": 1, "high": 2.5}},
                "limit": 5,
                "sort_by": "date",
            },
            {"query": "q", "filters": _FILTERS, "tags": ["b"]},
        ),
        invalid=(
            {"query": "", "filters": _FILTERS},
            {"query": "q"},
            {"query": "q", "filters": {**_FILTERS, "year": 1}},
        ),
    ),
    Case(
        tool=grow,
        valid=(
            {"tree": {"value": 1}},
            {
                "tree": {"value": 1, "children": [{"value": 2}]},
                "couple": {"name": "Bo", "wife": {"name": "Cy"}},
            },
        ),
        invalid=({"tree": {}}, {"tree": {"value": 1, "children": [{"value": "one"}]}}),
    ),
    Case(
        tool=adopt,
        valid=(
            {"pet": {"kind": "cat"}},
            {"pet": {"kind": "wolf", "name": "W"}, "spare": {"kind": "cat", "lives": 3}},
        ),
        invalid=({"pet": {"kind": "dog"}}, {"pet": {"kind": "cat", "name": "W"}}),
    ),
    Case(
        tool=count,
        valid=(
            {"scores": {}},
            {"scores": {"a": 1}, "pets": {"tom": {"kind": "cat"}}, "by_number": {"1": "x"}},
        ),
        invalid=({"scores": {"a": "one"}}, {"scores": {}, "pets": {"rex": {"kind": "dog"}}}),
    ),
    Case(
        tool=place,
        valid=({"point": [1, "a"]}, {"point": [1, "a"], "path": [1.5, 2], "corner": [3, 4], "flags": ["f"]}),
        invalid=({"point": [1]}, {"point": ["a", 1]}),
    ),
    Case(
        tool=rank,
        valid=(
            {"priority": 1},
            {"priority": 9, "color": "blue", "level": "two", "flag": True},
            {"priority": 1, "level": 1},
        ),
        invalid=({"priority": 2}, {"priority": 1, "color": "green"}, {"priority": 1, "flag": False}),
    ),
    Case(
        tool=schedule,
        valid=(
            {"times": {"day": "2026-01-02"}},
            {
                "times": {
                    "day": "2026-01-02",
                    "moment": "2026-01-02T03:04:05Z",
                    "clock": "03:04:05Z",
                    "pause": "PT1H",
                    "id": "123e4567-e89b-12d3-a456-426614174000",
                    "link": "https://example.org/",
                    "amount": "1.5",
                }
            },
        ),
        invalid=({"times": {"day": "soon"}}, {"times": {"day": "2026-01-02", "id": "one"}}),
    ),
    Case(
        tool=mix,
        valid=(
            {"value": 1},
            {"value": "a", "number": True},
            {"value": [1], "other": "y"},
            {"value": None, "number": 2.5},
        ),
        invalid=({"value": 1.5}, {"value": ["a"]}),
    ),
    Case(
        tool=loose,
        valid=(
            {"anything": 1},
            {"anything": None, "thing": [1], "mapping": {"a": {"b": 1}}, "things": [1, "a"]},
        ),
        invalid=({}, {"anything": 1, "mapping": 2}),
    ),
    Case(
        tool=pack,
        valid=(
            {"box": {"size": 1}},
            {
                "box": {"size": 1, "note": "x"},
                "who": {"firstName": "A", "is-old": True},
                "page": {"items": [1]},
            },
        ),
        invalid=({"box": {}}, {"box": {"size": 1}, "who": {"first_name": "A"}}),
    ),
    Case(
        tool=move,
        valid=(
            {"to": {"street": "S"}},
            {"to": {"street": "S", "city": "C"}, "start": {"street": "T"}, "quickly": True},
        ),
        invalid=({"to": {"city": "C"}}, {"to": {"street": "S"}, "quickly": "yes"}),
    ),
    Case(tool=now, valid=({},), invalid=({"a": 1},)),
    Case(
        tool=order,
        valid=(
            {"item": "a"},
            {"item": "a", "count": 2, "color": "blue", "notes": ["n"], "ship_to": {"street": "S"}},
        ),
        invalid=({"count": 1}, {"item": "a", "color": "green"}),
    ),
)
