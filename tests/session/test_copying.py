"""Immutable items are shared, all others are copied when they are stored and read."""

import datetime as dt
import decimal
import enum
import fractions
import pathlib
import threading
import typing
import uuid
from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, NewType, Optional, TypeVar

import pydantic
import pytest

from tests.cases import in_case
from toolhaft.errors import SessionError
from toolhaft.session import Append, Session
from toolhaft.session.copying import copy_rule_of

T = TypeVar("T")
UserId = NewType("UserId", int)


class Color(enum.Enum):
    RED = 1


@dataclass(frozen=True, slots=True)
class Leaf:
    number: int


class Point(NamedTuple):
    x: int
    leaf: Leaf


class FrozenModel(pydantic.BaseModel, frozen=True):
    leaf: Leaf
    tags: tuple[str, ...] = ()


class OpenModel(pydantic.BaseModel, frozen=True, extra="allow"):
    number: int = 0


class PrivateModel(pydantic.BaseModel, frozen=True):
    _cache: dict[str, int] = pydantic.PrivateAttr(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    SOME: ClassVar[list[int]] = []
    number: int = 0
    maybe: str | None = None
    old: Optional[float] = None
    choice: Literal["a", "b"] = "a"
    noted: Annotated[int, ["a list in a note"]] = 0
    user: UserId = UserId(1)
    color: Color = Color.RED
    leaves: tuple[Leaf, ...] = ()
    pair: tuple[int, str] | None = None
    names: frozenset[str] = frozenset()
    point: Point | None = None
    model: FrozenModel | None = None
    when: dt.datetime | None = None
    price: decimal.Decimal | fractions.Fraction = decimal.Decimal(0)
    path: pathlib.Path = pathlib.Path()
    id: uuid.UUID | None = None
    kind: type[Leaf] = Leaf
    child: "Frozen | None" = None
    start: InitVar[int] = 0


@dataclass(frozen=True)
class Vouched:
    __toolhaft_frozen__ = True
    anything: object
    lock: object = field(default_factory=threading.Lock)


@dataclass
class Thawed:
    number: int = 0


@dataclass(frozen=True)
class WithList:
    numbers: list[int]


@dataclass(frozen=True)
class WithObject:
    anything: object


@dataclass(frozen=True)
class WithAny:
    anything: Any


@dataclass(frozen=True)
class WithThawed:
    inner: tuple[Thawed, ...]


@dataclass(frozen=True)
class Box(Generic[T]):
    value: T


@dataclass(frozen=True)
class Unresolved:
    value: "NoSuchType"  # noqa: F821 -- that it is not there is the point


@dataclass(frozen=True)
class Listed(list):
    number: int = 0


class Loose(Leaf):
    pass


Untyped = namedtuple("Untyped", "a b")  # noqa: PYI024 -- without types is the point


def test_immutable_items_are_shared():
    cases = [int, str, type(None), Color, Leaf, Point, FrozenModel, Frozen, Vouched, bytes]
    for kind in cases:
        with in_case(kind):
            assert copy_rule_of(kind) is not False


def test_mutable_items_are_copied():
    cases = [
        *(list, dict, set, bytearray, tuple, object, Thawed, WithList, WithObject, WithAny, WithThawed, Box),
        *(
            Unresolved,
            Listed,
            Loose,
            Untyped,
            OpenModel,
            PrivateModel,
            ValueError,
            type("Custom", (), {}),
        ),
    ]
    for kind in cases:
        with in_case(kind):
            assert copy_rule_of(kind) is False


def test_type_alias_is_judged_by_its_value():
    if not hasattr(typing, "TypeAliasType"):
        pytest.skip("type aliases of this kind came with Python 3.12")
    alias = typing.TypeAliasType("alias", int)
    other = typing.TypeAliasType("other", list)
    assert copy_rule_of(dataclass(frozen=True)(type("A", (), {"__annotations__": {"a": alias}}))) is not False
    assert copy_rule_of(dataclass(frozen=True)(type("B", (), {"__annotations__": {"a": other}}))) is False


def test_frozen_item_is_returned_without_a_copy():
    session = Session()
    item = Frozen(leaves=(Leaf(1),))
    session[Frozen].append(item)
    assert session[Frozen].latest() is item
    assert session[Frozen].all()[0] is item
    assert session.fork()[Frozen].latest() is item


def reads(session):
    yield session[Thawed].latest()
    yield session[Thawed].all()[0]
    yield next(iter(session[Thawed]))
    yield session[Thawed].where(lambda _: True)[0]


def test_changing_a_read_item_does_not_change_the_session():
    """Issue: state is as before; the plainest way to break that is to change what `latest` gave."""
    session = Session()
    session[Thawed].seed(Thawed(1))
    fork = session.fork()
    for place in (session, fork):
        for item in reads(place):
            item.number = 99
        assert place[Thawed].all() == (Thawed(1),)
    item = fork[Thawed].latest()
    item.number = 2
    fork[Thawed].append(item)
    item.number = 3
    fork.commit()
    assert session[Thawed].all() == (Thawed(1), Thawed(2))


def test_changing_a_seeded_or_dispatched_object_does_not_change_the_session():
    session = Session()
    items = [Thawed(1), Thawed(2)]
    session[Thawed].seed(items)
    event = Thawed(3)
    session.dispatch(event)
    items[0].number = event.number = 99
    assert session[Thawed].all() == (Thawed(1), Thawed(2), Thawed(3))


def test_predicates_and_reducers_receive_copies():
    def spoil(item):
        item.number = 99
        return False

    session = Session()
    session[Thawed].seed([Thawed(1), Thawed(2)])
    session[Thawed].register(str, lambda view, event: [spoil(item) for item in view] and None)
    session[Thawed].where(spoil)
    session[Thawed].clear(spoil)
    session.dispatch("go")
    assert session[Thawed].all() == (Thawed(1), Thawed(2))


def test_items_returned_by_a_reducer_are_copied():
    kept = Thawed(1)
    session = Session()
    session[Thawed].register(str, lambda view, event: Append(kept))
    session.dispatch("go")
    kept.number = 99
    assert session[Thawed].all() == (Thawed(1),)


def test_list_in_a_tuple_field_makes_the_type_copied():
    session = Session()
    honest = Frozen(leaves=(Leaf(1),))
    steps = [Leaf(2)]
    session[Frozen].append(honest)
    session[Frozen].append(Frozen(leaves=steps))
    steps.append(Leaf(99))
    session[Frozen].latest().leaves.append(Leaf(99))
    assert session[Frozen].latest().leaves == [Leaf(2)]
    assert session[Frozen].all()[0] == honest


def test_mutable_item_that_cannot_be_copied_is_refused_with_a_fix():
    session = Session()
    with pytest.raises(
        SessionError, match=r"type WithObject can change.*cannot be copied.*Fix: .*__toolhaft_frozen__"
    ):
        session[WithObject].append(WithObject(threading.Lock()))
    vouched = Vouched(threading.Lock())
    session[Vouched].append(vouched)
    assert session[Vouched].latest() is vouched
