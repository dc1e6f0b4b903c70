"""The JSON Schema of each type, and the values that the function gets."""

import collections.abc
import operator
import typing
from collections import OrderedDict, deque
from dataclasses import InitVar, dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, Flag, StrEnum
from pathlib import Path, PurePosixPath
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NamedTuple,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
    Union,
)
from uuid import UUID

import pytest
import typing_extensions
from annotated_types import Ge, Interval, Len, MinLen, Predicate, doc
from pydantic import (
    AnyUrl,
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    RootModel,
    SecretStr,
    field_validator,
    model_validator,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass

from tests.cases import each_case
from toolhaft import InvalidArguments, Tool, ValidArguments, tool
from toolhaft.errors import DefinitionError

T = TypeVar("T")


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Size(Enum):
    SMALL = 1
    LARGE = 2.5


class Point(NamedTuple):
    x: int
    y: float = 0.5


class Movie(TypedDict):
    name: str
    year: NotRequired[int]


class Partial(TypedDict, total=False):
    name: Required[str]
    note: typing_extensions.ReadOnly[str]


class Quoted(TypedDict, total=False):
    name: "Required[str]"
    note: "str"


class QuotedTotal(TypedDict):
    name: "str"
    note: "NotRequired[str]"


class Extended(typing_extensions.TypedDict):
    name: typing_extensions.NotRequired[str]


class Model(BaseModel):
    """A model with words."""

    name: str = Field(description="Its name", examples=["a"])
    kind: Literal["a", "b"] = "a"
    color: Color = Color.RED
    price: Decimal = Decimal("1.5")


class Wrapper(BaseModel, Generic[T]):
    inner: T


class Roots(RootModel[list[int]]):
    pass


@pydantic_dataclass
class Checked:
    x: int = Field(ge=1)


@dataclass
class Rich:
    a: Annotated[int, Ge(1), "The a"]
    b: str = field(default="b", metadata={"description": "The b", "max_length": 3, "title": "B"})
    c: list[int] = field(default_factory=list)
    d: InitVar[int] = 0
    e: ClassVar[int] = 5
    f: int = field(default=1, init=False)
    g: str = field(default="", metadata={"alias": "from", "unit": "m"})

    def __post_init__(self, d: int) -> None:
        self.f = d


@dataclass
class WithField:
    x: int = Field(3, ge=1)


DECIMAL = {
    "anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)$"}]
}

TABLE: list[tuple[Any, Any]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (Any, {}),
    (object, {}),
    (list, {"type": "array", "items": {}}),
    (list[str], {"type": "array", "items": {"type": "string"}}),
    (list, {"type": "array", "items": {}}),
    (dict, {"type": "object"}),
    (dict, {"type": "object"}),
    (dict[str, Any], {"type": "object"}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (dict[Color, int], {"type": "object", "propertyNames": {"enum": ["red", "blue"]}, "additionalProperties": {"type": "integer"}}),
    (dict[Annotated[str, Len(1, 3)], Any], {"type": "object", "propertyNames": {"minLength": 1, "maxLength": 3}}),
    (collections.abc.Mapping[str, str], {"type": "object", "additionalProperties": {"type": "string"}}),
    (Union[int, str], {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (Union[int, Union[str, None]], {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
    (Annotated[int | None, "Maybe"], {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "Maybe"}),
    (Literal["a", "b"], {"enum": ["a", "b"]}),
    (Literal[Color.RED], {"enum": ["red"]}),
    (Color, {"enum": ["red", "blue"]}),
    (Size, {"enum": [1, 2.5]}),
    (tuple[int, str], {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}),
    (tuple[()], {"type": "array", "minItems": 0, "maxItems": 0}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (collections.abc.Set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (collections.abc.Iterator[int], {"type": "array", "items": {"type": "integer"}}),
    (Point, {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "number"}], "minItems": 1, "maxItems": 2}),
    (Movie, {"type": "object", "properties": {"name": {"type": "string"}, "year": {"type": "integer"}}, "required": ["name"]}),
    (Partial, {"type": "object", "properties": {"name": {"type": "string"}, "note": {"type": "string"}}, "required": ["name"]}),
    (Extended, {"type": "object", "properties": {"name": {"type": "string"}}}),
    (Final[int], {"type": "integer"}),
    (T, {}),
    (typing.NewType("Id", int), {"type": "integer"}),
    (datetime, {"type": "string", "format": "date-time"}),
    (date, {"type": "string", "format": "date"}),
    (time, {"type": "string", "format": "time"}),
    (timedelta, {"type": "string", "format": "duration"}),
    (UUID, {"type": "string", "format": "uuid"}),
    (Path, {"type": "string", "format": "path"}),
    (PurePosixPath, {"type": "string", "format": "path"}),
    (bytes, {"type": "string", "format": "binary"}),
    (Decimal, DECIMAL),
    (AnyUrl, {"type": "string", "format": "uri", "minLength": 1}),
    (Model, {"type": "object", "description": "A model with words.", "properties": {"name": {"type": "string", "description": "Its name", "examples": ["a"]}, "kind": {"enum": ["a", "b"], "default": "a"}, "color": {"enum": ["red", "blue"], "default": "red"}, "price": {**DECIMAL, "default": "1.5"}}, "required": ["name"]}),
    (Wrapper[int], {"type": "object", "properties": {"inner": {"type": "integer"}}, "required": ["inner"]}),
    (Roots, {"type": "array", "items": {"type": "integer"}}),
    (Checked, {"type": "object", "properties": {"x": {"type": "integer", "minimum": 1}}, "required": ["x"]}),
    (WithField, {"type": "object", "properties": {"x": {"type": "integer", "minimum": 1, "default": 3}}}),
    (Rich, {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1, "description": "The a"}, "b": {"type": "string", "maxLength": 3, "description": "The b", "title": "B", "default": "b"}, "c": {"type": "array", "items": {"type": "integer"}}, "d": {"type": "integer", "default": 0}, "from": {"type": "string", "default": ""}}, "required": ["a"]}),
    (Annotated[int, Interval(ge=1, lt=9)], {"type": "integer", "minimum": 1, "exclusiveMaximum": 9}),
    (Annotated[list[int], MinLen(1)], {"type": "array", "items": {"type": "integer"}, "minItems": 1}),
    (Annotated[list, MinLen(1)], {"type": "array", "items": {}, "minItems": 1}),
    (Annotated[str, typing_extensions.Doc("Said")], {"type": "string", "description": "Said"}),
    (Annotated[str, doc("Said")], {"type": "string", "description": "Said"}),
    (Annotated[str, ["anything"], object()], {"type": "string"}),
    (Annotated[str, Field(title="T", json_schema_extra={"format": "email", "x-unit": "m"})], {"type": "string", "format": "email", "title": "T", "x-unit": "m"}),
    (Annotated[Decimal, Field(ge=1)], {"anyOf": [{"type": "number", "minimum": 1}, DECIMAL["anyOf"][1]]}),
    (Annotated[tuple[int, ...], Len(1, 2)], {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}),
]  # fmt: skip


def taking(annotation: Any) -> Tool[Any, Any]:
    def take(value):
        """Take."""

    take.__annotations__ = {"value": annotation}
    return tool(take)


@each_case(("annotation", "schema"), TABLE)
def test_each_type_becomes_its_schema(annotation, schema):
    assert taking(annotation).input_schema["properties"]["value"] == schema


@each_case(
    ("annotation", "sent", "arrives"),
    [
        (Color, "red", Color.RED),
        (Literal[Color.RED], "red", Color.RED),
        (Size, 2.5, Size.LARGE),
        (Point, [1], Point(1)),
        (Partial, {"name": "a"}, {"name": "a"}),
        (set[str], ["a"], {"a"}),
        (frozenset[int], [1], frozenset({1})),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple, [1, "a"], (1, "a")),
        (deque[int], [1], deque([1])),
        (OrderedDict[str, int], {"a": 1}, OrderedDict(a=1)),
        (bytes, "é", "é".encode()),
        (Decimal, "1.50", Decimal("1.50")),
        (Decimal, 0.1, Decimal("0.1")),
        (timedelta, "PT1H", timedelta(hours=1)),
        (PurePosixPath, "a/b", PurePosixPath("a/b")),
        (dict[int, str], {"7": "a"}, {7: "a"}),
        (dict[Color, int], {"red": 1}, {Color.RED: 1}),
        (Rich, {"a": 1, "d": 7, "from": "x"}, Rich(1, d=7, g="x")),
        (Checked, {"x": 2}, Checked(x=2)),
        (WithField, {}, WithField(3)),
        (Wrapper[int], {"inner": 1}, Wrapper[int](inner=1)),
        (Roots, [1], Roots([1])),
        (Model, {"name": "a"}, Model(name="a")),
        (Annotated[int, Predicate(lambda value: value > 0)], 5, 5),
    ],
)
def test_values_arrive_with_their_python_type(annotation, sent, arrives):
    verdict = taking(annotation).validate({"value": sent})
    assert isinstance(verdict, ValidArguments), verdict
    assert verdict.params["value"] == arrives
    assert type(verdict.params["value"]) is type(arrives)
    if annotation is Rich:
        assert verdict.params["value"].f == 7


def test_an_iterator_arrives_as_an_iterator():
    verdict = taking(collections.abc.Iterator[int]).validate({"value": [1, 2]})
    assert list(verdict.params["value"]) == [1, 2]
    assert next(iter(verdict.params["value"]), None) is None


@each_case(
    ("annotation", "bad"),
    [
        (Checked, {"x": 0}),
        (Checked, {"x": 1, "y": 2}),
        (Roots, ["a"]),
        (Wrapper[int], {"inner": True}),
        (AnyUrl, "nope"),
        (Annotated[Decimal, Field(ge=1)], "0.5"),
        (Annotated[tuple[int, ...], Len(1, 2)], []),
        (Annotated[int, Predicate(lambda value: value > 0)], -5),
        (Annotated[str, Field(json_schema_extra={"format": "email"})], "nope"),
        (dict[Annotated[str, Len(1, 3)], Any], {"long key": 1}),
        (deque[int], ["x"]),
        (SecretStr, 5),
    ],
)
def test_invalid_values_are_refused(annotation, bad):
    assert isinstance(taking(annotation).validate({"value": bad}), InvalidArguments)


class Event(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    when: datetime = Field(alias="at")
    pair: tuple[int, int] = (0, 0)
    inner: Wrapper[int] | None = None
    raw: bytes = b""

    @field_validator("when", "pair", "inner", "raw", mode="before")
    @classmethod
    def passed_on(cls, value: Any) -> Any:
        return value

    @model_validator(mode="before")
    @classmethod
    def whole(cls, value: Any) -> Any:
        return value


def test_validators_of_a_model_get_json_values():
    text = '{"value": {"at": "2024-01-31T09:30:00Z", "pair": [1, 2], "inner": {"inner": 3}, "raw": "x"}}'
    value = taking(Event).validate(text).params["value"]
    assert (value.pair, value.inner, value.raw) == ((1, 2), Wrapper[int](inner=3), b"x")
    assert isinstance(taking(Event).validate('{"value": {"at": "1700000000"}}'), InvalidArguments)
    assert isinstance(
        taking(Event).validate('{"value": {"at": "2024-01-31T09:30:00Z", "at": "2024-01-31T09:30:00Z"}}'),
        InvalidArguments,
    )


def test_a_tagged_union_is_checked_by_its_tag():
    class Cat(BaseModel):
        kind: Literal["cat"]
        lives: int

    class Dog(BaseModel):
        kind: Literal["dog"]
        good: bool

    made = taking(Annotated[Cat | Dog, Field(discriminator="kind")])
    assert made.validate({"value": {"kind": "dog", "good": True}}).params["value"] == Dog(
        kind="dog", good=True
    )
    assert isinstance(made.validate({"value": {"kind": "cow"}}), InvalidArguments)
    assert isinstance(made.validate({"value": {"kind": "cat", "lives": True}}), InvalidArguments)
    assert isinstance(made.validate('{"value": {"kind": "cat", "lives": 1, "lives": 1}}'), InvalidArguments)


@each_case(
    ("annotation", "words"),
    [
        (Flag("Empty", []), "has no members"),
        (Enum("Odd", {"A": (1, 2)}), "has no JSON form"),
        (type("Custom", (), {}), "Custom has no JSON form"),
        (collections.abc.Callable[[int], int], "has no JSON form"),
        (
            Annotated[int, Field(alias="a", validation_alias=__import__("pydantic").AliasChoices("a", "b"))],
            "is not one name",
        ),
        (Annotated[str, Field(pattern="(?=a")], "is not valid"),
        (Annotated[str, Field(pattern="(")], "cannot be checked"),
    ],
)
def test_a_type_without_a_json_form_is_refused_with_the_parameter(annotation, words):
    with pytest.raises(DefinitionError, match=words) as caught:
        _ = taking(annotation).validate
    assert "tool 'take'" in str(caught.value)


def test_a_type_whose_package_is_missing_is_refused():
    try:
        __import__("email_validator")
    except ImportError:
        with pytest.raises(DefinitionError, match="needs a package that is not installed"):
            _ = taking(EmailStr).validate


def test_shared_types_are_not_inlined_without_limit():
    types: list[Any] = [int]
    for number in range(20):
        types.append(type(f"D{number}", (BaseModel,), {"__annotations__": {"a": types[-1], "b": types[-1]}}))
    made = taking(types[-1])
    assert "$defs" in made.input_schema
    assert len(str(made.input_schema)) < 20_000


def test_a_builtin_is_read_by_its_signature_or_refused():
    with pytest.raises(DefinitionError, match="cannot be given by name"):
        _ = tool(operator.index, name="index", description="Index.").validate
    with pytest.raises(DefinitionError, match="no signature that can be read"):
        _ = tool(type, name="t", description="T.").validate


def test_keys_are_required_or_not_also_in_annotations_that_are_text():
    for cls in (Quoted, QuotedTotal):
        made: Tool[Any, Any] = Tool[cls, None](name="t", description="T.")  # type: ignore[valid-type] -- a variable
        assert made.input_schema["required"] == ["name"]
        assert isinstance(made.validate({"name": "x"}), ValidArguments)
        assert isinstance(made.validate({"note": "x"}), InvalidArguments)
