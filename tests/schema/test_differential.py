"""Generated signatures and values: we accept what strict pydantic accepts, except for our own rules.

Our own rules are not generated here, but tested in test_strictness.py and test_verdicts.py: true or 1.0 for an integer
choice, numbers as text for a datetime, other forms of a UUID, repeats in a set, an object for a NamedTuple,
NaN and infinities, unknown keys.
"""

import dataclasses
import json
import os
from datetime import UTC, date, datetime
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, Optional, Union
from uuid import UUID

from annotated_types import Ge, Le, MaxLen, MinLen
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError, create_model

from tests.schema.closed_schema import closed
from toolhaft import InvalidArguments, ToolConfig, ValidArguments, create_tool, tool

EXAMPLES = 100 if os.environ.get("TOOLHAFT_LONG") else 15


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Kind(NamedTuple):
    """A type, and JSON values that may or may not fit it."""

    annotation: Any
    values: st.SearchStrategy[Any]
    is_ambiguous: bool = False
    """A text that is also a UUID, a date or a choice fits several branches of a union: either may take it."""


noise = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
words = st.text(alphabet="abcdefgh -", max_size=8)  # no digits: a number as text is a datetime to pydantic
leaves = [
    Kind(int, st.integers()),
    Kind(str, st.text(max_size=10)),
    Kind(float, st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9)),
    Kind(bool, st.booleans()),
    Kind(Any, noise),
    Kind(Literal["a", "b"], st.sampled_from(["a", "b", "c", "A"])),
    Kind(Color, st.sampled_from(["red", "blue", "green"])),
    Kind(Annotated[int, Ge(0), Le(10)], st.integers(-3, 13)),
    Kind(Annotated[str, MinLen(1), MaxLen(4)], st.text(max_size=6)),
    Kind(datetime, st.datetimes().map(datetime.isoformat) | st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat) | words),
    Kind(date, st.dates().map(date.isoformat) | words),
    Kind(UUID, st.uuids().map(str) | words),
]  # fmt: skip


def _grow(inner: st.SearchStrategy[Kind]) -> st.SearchStrategy[Kind]:
    return st.one_of(
        inner.map(lambda kind: Kind(list[kind.annotation], st.lists(kind.values, max_size=3), kind.is_ambiguous)),
        inner.map(lambda kind: Kind(dict[str, kind.annotation], st.dictionaries(st.text(max_size=3), kind.values, max_size=3), kind.is_ambiguous)),
        inner.map(lambda kind: Kind(Optional[kind.annotation], st.none() | kind.values, kind.is_ambiguous)),
        st.tuples(inner, inner).map(lambda pair: Kind(Union[pair[0].annotation, pair[1].annotation], pair[0].values | pair[1].values, True)),
        st.tuples(inner, inner).map(lambda pair: Kind(tuple[pair[0].annotation, pair[1].annotation], st.tuples(pair[0].values, pair[1].values).map(list), pair[0].is_ambiguous or pair[1].is_ambiguous)),
        st.lists(inner, min_size=1, max_size=3).map(_model),
        st.lists(inner, min_size=1, max_size=3).map(_dataclass),
    )  # fmt: skip


def _record_values(kinds: list[Kind]) -> st.SearchStrategy[dict[str, Any]]:
    values = {f"f{number}": kind.values for number, kind in enumerate(kinds)}
    first, rest = list(values)[:1], {name: value for name, value in values.items() if name != "f0"}
    return st.fixed_dictionaries({name: values[name] for name in first}, optional=rest)


def _model(kinds: list[Kind]) -> Kind:
    fields: dict[str, Any] = {
        f"f{number}": (kind.annotation, ... if number == 0 else None) for number, kind in enumerate(kinds)
    }
    return Kind(
        create_model("Made", **fields), _record_values(kinds), any(kind.is_ambiguous for kind in kinds)
    )


def _dataclass(kinds: list[Kind]) -> Kind:
    fields = [
        (f"f{number}", kind.annotation, dataclasses.field(**({} if number == 0 else {"default": None})))
        for number, kind in enumerate(kinds)
    ]
    return Kind(
        dataclasses.make_dataclass("Made", fields),
        _record_values(kinds),
        any(kind.is_ambiguous for kind in kinds),
    )


kinds = st.recursive(st.sampled_from(leaves), _grow, max_leaves=4)


def _strict(annotation: Any, text: str) -> tuple[bool, Any]:
    try:
        return True, TypeAdapter(annotation).validate_json(text, strict=True)
    except ValidationError:
        return False, None


def _mixed(kind: Kind) -> st.SearchStrategy[Any]:
    """Mostly what the type is about, and noise that it must refuse; a number as text is left to the leaks."""
    return (
        kind.values
        | kind.values
        | st.none()
        | st.booleans()
        | st.integers()
        | words
        | st.lists(words, max_size=2)
    )


@settings(max_examples=4 * EXAMPLES, deadline=None)
@given(kinds.flatmap(lambda kind: st.tuples(st.just(kind), _mixed(kind))))
def test_strict_checks_accept_the_same_values_as_strict_pydantic(case: tuple[Kind, Any]):
    kind, value = case

    def take(value):
        """Take a value."""

    take.__annotations__ = {"value": kind.annotation}
    text = json.dumps(value)
    accepted, parsed = _strict(kind.annotation, text)
    verdict = tool(take).validate(f'{{"value": {text}}}')
    passed = isinstance(verdict, ValidArguments) and not verdict.repairs
    assert passed == accepted, (kind.annotation, text, verdict)
    if isinstance(verdict, ValidArguments) and accepted:
        assert _same(kind, verdict.params["value"], parsed), (kind.annotation, text)


def _same(kind: Kind, ours: Any, theirs: Any) -> bool:
    if kind.is_ambiguous:
        return True
    if isinstance(theirs, BaseModel) and isinstance(ours, BaseModel):
        return ours.model_dump() == theirs.model_dump()
    return repr(ours) == repr(theirs) or ours == theirs


@settings(max_examples=3 * EXAMPLES, deadline=None)
@given(st.lists(kinds, min_size=0, max_size=4).flatmap(lambda some: st.tuples(st.just(some), st.tuples(*(kind.values for kind in some)))))  # fmt: skip
def test_what_the_schema_accepts_is_what_the_function_receives(case: tuple[list[Kind], tuple[Any, ...]]):
    signature, values = case
    received: dict[str, Any] = {}

    def take(**given):
        received.update(given)

    names = [f"p{number}" for number in range(len(signature))]
    function = _with_parameters(
        take, {name: kind.annotation for name, kind in zip(names, signature, strict=True)}
    )
    made = tool(function, name="take", description="Take values.")
    arguments = dict(zip(names, values, strict=True))
    twin = create_tool(ToolConfig(name="take", description="Take.", input_schema=closed(made.input_schema)))
    verdict, by_schema = made.validate(json.dumps(arguments)), twin.validate(json.dumps(arguments))
    assert isinstance(verdict, ValidArguments) == isinstance(by_schema, ValidArguments), (made.input_schema, arguments, verdict, by_schema)  # fmt: skip
    if isinstance(verdict, InvalidArguments):
        assert len(verdict.message) <= 2000
        return
    made(**verdict.params)
    assert received.keys() == arguments.keys()
    for name, kind in zip(names, signature, strict=True):
        assert _same(kind, received[name], TypeAdapter(kind.annotation).validate_json(json.dumps(_repaired(verdict, name, arguments[name])), strict=True))  # fmt: skip


def _repaired(verdict: ValidArguments, name: str, sent: Any) -> Any:
    for repair in verdict.repairs:
        if repair.path == name:
            return repair.now
    return sent


def _with_parameters(target: Any, annotations: dict[str, Any]) -> Any:
    """A function with exactly these parameters, as its author would have written it."""
    listed = ", ".join(annotations)
    passed = ", ".join(f"{name}={name}" for name in annotations)
    scope = {"target": target}
    exec(f"def take({listed}): return target({passed})", scope)  # noqa: S102 -- made here, from our own names
    function: Any = scope["take"]
    function.__annotations__ = annotations
    return function
