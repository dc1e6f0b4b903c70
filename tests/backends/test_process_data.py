"""The values that cross from a worker to the host, and how they are written."""

import enum
import json
from collections import OrderedDict, deque
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Generic, Literal, NamedTuple, NewType, TypeVar
from uuid import UUID

import pytest
from pydantic import (
    Base64Bytes,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    PrivateAttr,
    RootModel,
    SecretStr,
    field_validator,
)

from tests.cases import in_case
from toolhaft import ToolResult
from toolhaft.backends import register_process_type
from toolhaft.backends.process_data import DataError, decode, encode
from toolhaft.backends.process_handler import pack_handler
from toolhaft.backends.process_types import find_type, handler_types
from toolhaft.core.content import Image
from toolhaft.core.ports import FileStat

T = TypeVar("T")


class Pair(NamedTuple):
    left: int
    right: object


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Right(enum.Flag):
    READ = enum.auto()
    WRITE = enum.auto()


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    label: str | None = None


@dataclass
class Shape:
    points: list[Point]
    colour: Colour = Colour.RED
    area: float = field(default=0.0, init=False)


@dataclass
class Positive:
    number: int

    def __post_init__(self):
        if self.number < 0:
            raise ValueError("negative")


class Order(BaseModel):
    model_config = ConfigDict(extra="allow", populate_by_name=False)
    number: int = Field(alias="no", ge=1)
    site: HttpUrl | None = None
    token: SecretStr | None = Field(default=None, exclude=True)
    point: Point | None = None
    _secret: int = PrivateAttr(default=0)


class Numbers(RootModel[list[int]]):
    pass


class Box(BaseModel, Generic[T]):
    item: T


class Trimmed(BaseModel):
    text: str

    @field_validator("text")
    @classmethod
    def _trim(cls, text):
        return text.strip()


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __eq__(self, other):
        return self.rows == other.rows

    __hash__ = None


register_process_type(Matrix, to_data=lambda matrix: matrix.rows, from_data=Matrix)


@dataclass
class Gadget:
    """Named by the module, but by no annotation."""

    path: str

    def __post_init__(self):
        raise AssertionError("not to be made")


class Lure(BaseModel):
    """The same."""

    path: str


def handler(
    order: Order, box: "Box[int]", positive: Positive, numbers: Numbers, trimmed: Trimmed
) -> list[Shape]: ...


KNOWN = handler_types(pack_handler(handler))


def find(name):
    return find_type(name, KNOWN)


def sent(value):
    return decode(encode(value), find)


def order(**fields):
    made = Order(
        no=3, site="https://example.com/a", token=SecretStr("hunter2"), point=Point(1.0), more=[1], **fields
    )
    made._secret = 7  # noqa: SLF001 -- private attributes are sent too
    return made


VALUES = (
    None,
    True,
    0,
    -(2**70),
    10**5000,
    1.5,
    float("inf"),
    "text",
    "lone \ud800 surrogate",
    "long " * 400_000,
    b"\x00\xff",
    b"",
    [1, 2, 3],
    [2**80, 1],
    [1, None, "a", [b"x", b"yy"]],
    {"a": {"b": [1.5]}},
    {"$": 1},
    {"$": ["tuple", []], "a": 1},
    {1: "a", (1, 2): "b", None: "c"},
    (1, (2, [3])),
    {1, "a"},
    frozenset({1}),
    date(2024, 2, 29),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    time(1, 2, 3),
    timedelta(days=-1, microseconds=5),
    Decimal("1.50"),
    UUID(int=5),
    ip_address("::1"),
    ip_network("10.0.0.0/8"),
    Path("a/b"),
    1 + 2j,
    Colour.RED,
    Level.LOW,
    Right.READ | Right.WRITE,
    Pair(1, [2]),
    Point(1.5, "x"),
    Shape([Point(1.0)], Colour.RED),
    Positive(5),
    order(),
    Numbers([1, 2]),
    Box[int](item=5),
    Trimmed(text="x"),
    Matrix([[1, 2]]),
    Image(data=b"png"),
    FileStat("a", "file", 5, 1.5),
    [[[[[[[[[[1]]]]]]]]]],
)


def test_values_cross_unchanged():
    for value in VALUES:
        with in_case(value):
            received = sent(value)
            assert received == value
            assert type(received) is type(value)
    assert repr(sent(float("nan"))) == "nan"


def test_a_model_keeps_what_its_json_does_not_show():
    received = sent(order())
    assert received.token.get_secret_value() == "hunter2"
    assert received.model_extra == {"more": [1]}
    assert received.model_fields_set == {"number", "site", "token", "point", "more"}
    assert received._secret == 7  # noqa: SLF001 -- under test


def test_subclasses_of_plain_values_become_plain():
    class Text(str):
        __slots__ = ()

    class Rows(list):
        pass

    cases = (
        (OrderedDict(a=1), {"a": 1}),
        (deque([1]), [1]),
        (Text("a"), "a"),
        (Rows([1]), [1]),
        (bytearray(b"a"), b"a"),
    )
    for value, plain in cases:
        with in_case(value):
            received = sent({"value": value})["value"]
            assert (received, type(received)) == (plain, type(plain))


def test_a_result_crosses_with_what_a_handler_sets():
    result = ToolResult(
        message="m", value=Point(1.0), success=False, content=(Image(data=b"x"),), final=True, untrusted=True
    )
    assert sent(result) == result


def cycle():
    items = []
    items.append(items)
    return items


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


REFUSED = {
    "is not data. Fix: return JSON-like data": (object(), print, Point, [{"a": open}], lambda: 1),
    "nested": (cycle(), deep(5000)),
}


def test_what_is_not_data_is_refused_with_what_can_be_sent():
    for text, values in REFUSED.items():
        for value in values:
            with in_case(text), pytest.raises(DataError, match=text):
                encode(value)


def test_a_message_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("toolhaft.backends.process_data.MAX_TEXT_BYTES", 100)
    monkeypatch.setattr("toolhaft.backends.process_data.MAX_MESSAGE_BYTES", 200)
    for value in ("x" * 101, b"x" * 201):
        with pytest.raises(DataError, match="it is too large"):
            encode(value)
    assert sent(b"x" * 150) == b"x" * 150


def test_types_check_what_they_are_made_of_again():
    """A compromised worker cannot make an object that its type would refuse."""
    module = __name__
    cases = (
        (f"{module}:Positive", {"number": -1}),
        (f"{module}:Order", [{"number": 0}, ["number"], {}]),
        (f"{module}:Order", [{"number": 1}, ["number"]]),
        (f"{module}:Colour", "BLUE"),
        (f"{module}:Colour", ["blue"]),
        (f"{module}:Pair", [1]),
        (f"{module}:Point", {"x": 1, "more": 2}),
        (f"{module}:Point", {"label": "x"}),
        (f"{module}:Numbers", [{"root": ["a"]}, [], {}]),
        ("toolhaft.core.result:ToolResult", [{}]),
        ("toolhaft.core.result:ToolResult", [{"message": 5, "error": None}]),
    )
    for name, state in cases:
        with in_case(name, state), pytest.raises(DataError, match="not valid"):
            receive(name, state)


def receive(name, state, known=KNOWN):
    text = json.dumps({"$": ["object", name, state]}).encode()
    return decode(len(text).to_bytes(8) + text, lambda name: find_type(name, known))


def test_a_type_that_runs_code_when_it_is_made_has_to_be_declared():
    for name, state in (("Gadget", {"path": "x"}), ("Lure", [{"path": "x"}, [], {}])):
        with in_case(name), pytest.raises(DataError, match=r"Fix: name it in the annotations of the handler"):
            receive(f"{__name__}:{name}", state)
    assert receive(f"{__name__}:Point", {"x": 1.0, "label": None}) == Point(1.0)


RAN = []


class Guessing(enum.Enum):
    ONE = 1

    @classmethod
    def _missing_(cls, value):
        RAN.append(value)


@dataclass
class Temporary:
    path: str

    def __del__(self):
        RAN.append(self.path)


class Setter:
    def __get__(self, owner, kind):
        return "x"

    def __set__(self, owner, value):
        RAN.append(value)


@dataclass
class Watched:
    path: str = Setter()


def test_no_code_of_a_type_runs_that_no_annotation_names():
    RAN.clear()
    known = handler_types(pack_handler(named_bases))
    fields = {"path": "x"}
    for name, state in (("Guessing", ["x"]), ("Temporary", fields), ("Watched", fields)):
        with in_case(name), pytest.raises(DataError, match="is not known outside the process"):
            receive(f"{__name__}:{name}", state, known)
    assert RAN == []
    assert receive(f"{__name__}:Level", "LOW", known) is Level.LOW


def test_a_worker_cannot_make_a_class():
    known = handler_types(pack_handler(named_bases))
    for kind in (enum.Enum, enum.IntEnum, enum.Flag, enum.StrEnum):
        assert kind in known
        with in_case(kind), pytest.raises(DataError, match="not valid"):
            receive(f"enum:{kind.__name__}", ["Made", ["A", "B"]], known)


def named_bases() -> enum.Enum | enum.IntEnum | enum.Flag | enum.StrEnum: ...


@dataclass
class Page(Generic[T]):
    items: list[T]

    def __post_init__(self):
        self.items = list(self.items)


Score = NewType("Score", Positive)
Kept = TypeVar("Kept", bound=Trimmed)


def generic() -> Page[Score] | list[Kept] | Literal[Guessing.ONE]: ...


def test_annotations_name_types_through_generics_new_types_bounds_and_literals():
    known = handler_types(pack_handler(generic))
    assert {Page, Positive, Trimmed, Guessing} <= known


@dataclass
class Log:
    name: str
    entries: list[int] = field(default_factory=list, init=False)

    def __post_init__(self):
        self.total = 0


@dataclass
class Price:
    cents: int

    def __post_init__(self):
        self.cents *= 100


@dataclass
class Opened:
    number: int
    extra: InitVar[int]

    def __post_init__(self, extra):
        self.number += extra


class Encoded(BaseModel):
    data: Base64Bytes


class Reading(BaseModel):
    values: list[float]
    place: Path = Path("a")


def remade() -> Log | Price | Opened | Encoded | Reading: ...


def test_an_object_that_is_not_made_again_as_it_was_is_refused_and_not_changed():
    known = handler_types(pack_handler(remade))
    filled = Log("a")
    filled.entries.append(1)
    for value in (filled, Price(5), Opened(1, 2), Encoded(data=b"YWJjZA==")):
        with in_case(value), pytest.raises(DataError, match=r"cannot be made .*register_process_type"):
            decode(encode(value), lambda name: find_type(name, known))
    reading = Reading(values=[float("nan")])
    reading.place = "b"  # converted as the model declares
    received = decode(encode(reading), lambda name: find_type(name, known))
    assert (repr(received.values), received.place) == ("[nan]", Path("b"))


def test_keys_with_equal_hashes_are_refused_by_the_work_of_comparing_them(monkeypatch):
    modulus = 2**61 - 1
    long = [[*([0] * 50), number * modulus] for number in range(20)]
    assert len(sent({tuple(keys) for keys in long})) == 20
    monkeypatch.setattr("toolhaft.backends.process_data._MAX_COMPARED_BYTES", 10_000)
    for value in ({tuple(keys) for keys in long}, {tuple(keys): 1 for keys in long}):
        with pytest.raises(DataError, match="too many equal keys"):
            sent(value)
    assert sent({-1, -2}) == {-1, -2}


def test_a_type_is_registered_by_name_or_with_functions():
    @dataclass
    class Local:
        x: int

    name = f"{__name__}:test_a_type_is_registered_by_name_or_with_functions.<locals>.Local"
    assert find(name) is None
    assert register_process_type(Local) is Local
    assert sent(Local(3)) == Local(3)
    for kind, given in ((object, {}), (Local, {"to_data": vars}), (int, {})):
        with pytest.raises(TypeError, match="give to_data and from_data"):
            register_process_type(kind, **given)
