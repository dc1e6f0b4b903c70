"""Models whose written form differs from what a handler receives, and defaults of every kind."""

import math
from collections import deque
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    RootModel,
    SecretBytes,
    SecretStr,
    WrapSerializer,
    WrapValidator,
    computed_field,
    field_serializer,
    model_serializer,
    model_validator,
)
from pydantic import dataclasses as pydantic_dataclasses
from typing_extensions import TypedDict


class Hidden(BaseModel):
    """Everything that pydantic leaves out or changes when it writes a model."""

    role: str = Field("user", exclude=True)
    amount: int = 1
    token: SecretStr = SecretStr("none")
    key: SecretBytes = SecretBytes(b"none")
    price: Annotated[int, PlainSerializer(lambda _: 0)] = 7
    size: Annotated[int, WrapSerializer(lambda value, write: write(value) % 2)] = 8
    _secret: int = PrivateAttr(3)

    @field_serializer("amount")
    def write_amount(self, _: int) -> int:
        return 1

    @computed_field
    def total(self) -> int:
        return 99


HIDDEN = {"role": "admin", "amount": 1_000_000, "token": "t", "key": "k", "price": 5, "size": 6}
SHOWN = {"role": "user", "amount": 1, "token": "none", "key": "none", "price": 7, "size": 8}


class Emptied(BaseModel):
    one: Hidden
    more: list[Hidden] = []
    other: Hidden | None = None

    @model_serializer
    def write(self) -> dict[str, int]:
        return {}


class Renamed(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    a: int = Field(1, alias="A")
    b: int = Field(2, validation_alias=AliasChoices(AliasPath("deep", "b"), "B"))
    c: int = Field(3, validation_alias=AliasPath("deep", "c"))
    d: int = Field(4, serialization_alias="z")


class Kind(Enum):
    FILE = "file"


class Point(NamedTuple):
    x: int
    y: int = 5


@dataclass
class Part:
    size: int = 2
    made: int = field(init=False, default=7)


@pydantic_dataclasses.dataclass
class CheckedPart:
    name: str
    size: int = 3
    made: int = Field(init=False, default=7)


class Odd(BaseModel):
    """Defaults of types that JSON does not have."""

    kind: Kind = Kind.FILE
    price: Decimal = Decimal("1.50")
    data: bytes = b"x"
    day: date = date(2024, 1, 2)
    names: frozenset[str] = frozenset(("b", "a"))
    most: float = math.inf
    items: RootModel[list[int]] = RootModel[list[int]]([1])
    hidden: Hidden = Hidden(role="guest")
    queue: deque[int] = deque((1,))


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    owner: str = "none"


class Walk(BaseModel):
    free: Cat | Dog
    tagged: list[Annotated[Cat | Dog, Field(discriminator="kind")]] = []


class Mixed(TypedDict):
    part: Part
    other: NotRequired[int]
    checked: CheckedPart
    point: Point


class Changed(BaseModel):
    """Its validators change what the handler receives."""

    amount: Annotated[int, AfterValidator(lambda value: value * 100)]
    more: int = 1

    @model_validator(mode="before")
    @classmethod
    def copied(cls, data: Any) -> Any:
        return {**data}

    @model_validator(mode="after")
    def raised(self) -> "Changed":
        self.more += 1
        return self


class Wrapped(BaseModel):
    inner: Annotated[Changed, WrapValidator(lambda value, check: check(dict(value)))]
