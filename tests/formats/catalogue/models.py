"""The Python types of the catalogue's typed tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Generic, Literal, NamedTuple, NotRequired, Optional, TypedDict, TypeVar
from uuid import UUID

from pydantic import AnyUrl, BaseModel, ConfigDict, Field


class Priority(IntEnum):
    LOW = 1
    HIGH = 9


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Range(BaseModel):
    low: float = 0
    high: float | None = None


class Filters(BaseModel):
    """What to leave out."""

    author: str
    year: Annotated[int, Field(ge=1900, le=2100, description="When it came out.")]
    tags: list[str] = []
    price: Range


class Node(BaseModel):
    value: int
    children: list[Node] = []


class Husband(BaseModel):
    name: str
    wife: Optional[Wife] = None


class Wife(BaseModel):
    name: str
    husband: Husband | None = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog", "wolf"]
    name: str


class Box(BaseModel):
    model_config = ConfigDict(extra="allow")
    size: int


class Camel(BaseModel):
    model_config = ConfigDict(populate_by_name=False)
    first_name: str = Field(alias="firstName")
    is_old: bool = Field(default=False, alias="is-old")


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    next: str | None = None


class Times(BaseModel):
    day: date
    moment: datetime | None = None
    clock: time | None = None
    pause: timedelta | None = None
    id: UUID | None = None
    link: AnyUrl | None = None
    amount: Decimal | None = None


class Point(NamedTuple):
    x: int
    y: int = 0


class Address(TypedDict):
    street: str
    city: NotRequired[str]


@dataclass
class Order:
    item: str
    count: int = 1
    color: Color = Color.RED
    notes: list[str] = field(default_factory=list)
    ship_to: Address | None = None


@dataclass
class Sum:
    total: float
