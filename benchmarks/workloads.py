"""The three workloads of the design: a tiny, a medium and a large call, with their arguments."""

import json
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field


class Range(BaseModel):
    """A span of days."""

    start: str
    end: str


class Filters(BaseModel):
    """Filters of a search."""

    category: str
    min_score: float
    archived: bool
    span: Range


class Dimensions(BaseModel):
    """The size of an item."""

    width: float
    height: float
    depth: float


class Item(BaseModel):
    """One item to ingest."""

    id: int
    name: str
    price: Annotated[float, Field(ge=0)]
    tags: list[str]
    dimensions: Dimensions
    active: bool


class Stock(Item):
    """One item to ingest, with a default."""

    active: bool = True


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def search(
    query: Annotated[str, Field(min_length=1, max_length=500)],
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
    sort_by: Literal["relevance", "date", "name"] = "relevance",
    tags: list[str] | None = None,
    filters: Filters | None = None,
) -> dict[str, object]:
    """Search the records.

    Args:
        query: What to look for
        limit: How many to return
        sort_by: In which order
        tags: Only these tags
        filters: What to leave out
    """
    hits = [{"id": number, "title": query, "score": 0.5} for number in range(3)]
    return {"hits": hits, "limit": limit, "sort_by": sort_by, "tags": tags, "filters": filters is not None}


@dataclass
class Hit:
    """One record, as a dataclass."""

    title: str
    limit: int
    tags: list[str] | None


class HitModel(BaseModel):
    """One record, as a model."""

    title: str
    limit: int
    tags: list[str] | None


def find(query: str, limit: int = 10, tags: list[str] | None = None) -> Hit:
    """Find a record."""
    return Hit(query, limit, tags)


def find_model(query: str, limit: int = 10, tags: list[str] | None = None) -> HitModel:
    """Find a record."""
    return HitModel(title=query, limit=limit, tags=tags)


def find_models(query: str, limit: int = 10, tags: list[str] | None = None) -> list[HitModel]:
    """Find records."""
    return [HitModel(title=query, limit=limit, tags=tags) for _ in range(3)]


def ingest(items: list[Item]) -> int:
    """Ingest items."""
    return len(items)


def ingest_stock(items: list[Stock]) -> int:
    """Ingest items that have a default."""
    return len(items)


TINY = '{"a": 1, "b": 2}'
TINY_WITH_PROBLEM = '{"a": 1, "b": "two"}'
MEDIUM = json.dumps(
    {
        "query": "quarterly revenue by region",
        "limit": 25,
        "sort_by": "date",
        "tags": ["finance", "europe", "2024"],
        "filters": {
            "category": "reports",
            "min_score": 0.75,
            "archived": False,
            "span": {"start": "2024-01-01", "end": "2024-12-31"},
        },
    }
)
FIND = json.dumps(
    {"query": "quarterly revenue by region", "limit": 25, "tags": ["finance", "europe", "2024"]}
)
MEDIUM_WITH_COLONS = MEDIUM.replace("quarterly revenue", "note: see https://example.com; revenue")
LARGE = json.dumps(
    {
        "items": [
            {
                "id": number,
                "name": f"item number {number}",
                "price": number * 1.25,
                "tags": ["alpha", "beta", "gamma"],
                "dimensions": {"width": 1.5, "height": 2.25, "depth": 0.125},
                "active": number % 2 == 0,
            }
            for number in range(100)
        ]
    }
)
MEDIUM_WITH_FIVE_PROBLEMS = json.dumps(
    {
        "query": "",
        "limit": 500,
        "sort_by": "size",
        "tags": ["finance", 7],
        "filters": {
            "category": "reports",
            "min_score": "high",
            "archived": False,
            "span": {"start": "2024-01-01", "end": "2024-12-31"},
        },
    }
)
