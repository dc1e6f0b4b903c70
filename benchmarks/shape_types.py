"""The types of the parameters in `benchmarks/shapes.json`."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Generic, Literal, NamedTuple, NotRequired, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, field_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12


class Color(Enum):
    """A choice of texts."""

    RED = "red"
    GREEN = "green"
    BLUE = "blue"


class Size(Enum):
    """A choice of numbers."""

    SMALL = 1
    LARGE = 2


class Point(BaseModel):
    """A model whose fields are all required."""

    x: float
    y: float


class Page(BaseModel):
    """A model whose fields all have defaults."""

    number: int = 1
    size: int = 20
    cursor: str | None = None


class Span(BaseModel):
    """Two days."""

    start: str
    end: str


class Filters(BaseModel):
    """A model with an optional model in it."""

    category: str
    archived: bool = False
    labels: list[str] = []
    span: Span | None = None


class Line(BaseModel):
    """One line of an order, with a default."""

    sku: str
    quantity: int = 1
    note: str | None = None


class Address(BaseModel):
    """The third level of an order."""

    street: str
    city: str
    country: str = "NL"


class Customer(BaseModel):
    """The second level of an order."""

    name: str
    email: str | None = None
    address: Address


class Order(BaseModel):
    """The first level of an order."""

    id: int
    customer: Customer
    lines: list[Line]
    page: Page | None = None


class Circle(BaseModel):
    """One branch of a union."""

    kind: Literal["circle"]
    radius: float
    label: str = ""


class Square(BaseModel):
    """Another branch."""

    kind: Literal["square"]
    side: float
    label: str = ""


class Person(BaseModel):
    """A branch without a discriminator."""

    first_name: str
    last_name: str
    age: int | None = None


class Company(BaseModel):
    """Another one."""

    legal_name: str
    employees: int
    site: str | None = None


class Animal(BaseModel):
    """A model that others inherit."""

    name: str
    legs: int = 4


class Dog(Animal):
    """A model that inherits."""

    breed: str
    tricks: list[str] = []


class Puppy(Dog):
    """A model that inherits twice."""

    weeks: int


class Event(BaseModel):
    """An open model."""

    model_config = ConfigDict(extra="allow")

    name: str
    level: int = 0


class Named(BaseModel):
    """A model with aliases."""

    model_config = ConfigDict(populate_by_name=True)

    first_name: str = Field(alias="firstName")
    last_name: str = Field(alias="lastName")
    postal_code: str | None = Field(default=None, validation_alias=AliasChoices("postalCode", "zip"))


class Tags(RootModel[list[str]]):
    """A root model."""


class Node(BaseModel):
    """A model that contains itself."""

    title: str
    children: list["Node"] = []


ItemT = TypeVar("ItemT")


class Paged(BaseModel, Generic[ItemT]):
    """A generic model."""

    items: list[ItemT]
    total: int
    page: Page = Field(default_factory=Page)


class Constrained(BaseModel):
    """A model with constraints."""

    code: Annotated[str, Field(pattern="^[A-Z]{3}-[0-9]{4}$")]
    amount: Annotated[float, Field(gt=0, le=1e6)]
    tags: Annotated[list[Annotated[str, Field(min_length=1, max_length=20)]], Field(max_length=10)]


@dataclass
class Job:
    """A dataclass with defaults."""

    name: str
    command: str
    retries: int = 3
    env: dict[str, str] = field(default_factory=dict)


@dataclass
class Stage:
    """A dataclass of dataclasses."""

    title: str
    jobs: list[Job]
    fallback: Job | None = None


class Movie(TypedDict):
    """A TypedDict."""

    title: str
    year: int
    genres: list[str]


class Query(TypedDict, total=False):
    """A TypedDict of optional keys."""

    text: str
    language: str
    fuzzy: bool
    fields: list[str]


class Draft(TypedDict):
    """A TypedDict with one optional key."""

    subject: str
    body: str
    cc: NotRequired[list[str]]


class Reading(NamedTuple):
    """A NamedTuple."""

    sensor: str
    value: float
    unit: str


class Meeting(BaseModel):
    """A model with moments in it."""

    title: str
    start: datetime
    end: datetime | None = None


class Invoice(BaseModel):
    """A model with amounts of money."""

    number: str
    amount: Decimal
    tax: Decimal = Decimal(0)


class Contact(BaseModel):
    """A model with a validator that runs first."""

    name: str
    email: str

    @field_validator("email", mode="before")
    @classmethod
    def lower(cls, value: object) -> object:
        """Write the address in small letters."""
        return value.lower() if isinstance(value, str) else value


@pydantic_dataclass
class Booking:
    """A dataclass of Pydantic with defaults."""

    guest: str
    nights: int = 1
    note: str = ""


class Place(NamedTuple):
    """An array with a default for its last item."""

    lat: float
    lon: float
    name: str = ""
