"""The tools of the turns: one returns text, one an object, one an image."""

from dataclasses import dataclass
from typing import Literal

from tests.formats.providers.provider import ScriptedCall
from toolhaft import Image, ToolResult, tool

PIXEL = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where things lie."""

    hall: int
    shelf: str | None = None


@tool
def weather(city: str, unit: Literal["celsius", "fahrenheit"] = "celsius") -> str:
    """Tell how warm it is in a city."""
    return f"21 degrees {unit} in {city}"


@tool(name="shop.stock")
def stock(item: str, place: Place | None = None) -> dict[str, object]:
    """Count what is left of an item."""
    return {"item": item, "left": 3, "hall": place.hall if place else None}


@tool
def chart(points: list[int]) -> ToolResult[None]:
    """Draw points."""
    return ToolResult(message=f"{len(points)} points", content=(Image(data=PIXEL),))


TOOLS = [weather, stock, chart]


def first_calls(ids, names):
    """What the model asks for first: a text and an object."""
    return [
        ScriptedCall(ids[0], "weather", {"city": "Paris"}),
        ScriptedCall(ids[1], names["shop.stock"], {"item": "bolt", "place": {"hall": 2}}),
    ]


def second_calls(ids, names):
    """What it asks for next: a tool that there is not, arguments that do not fit, and a picture."""
    return [
        ScriptedCall(ids[2], "wether", {"city": "Oslo"}),
        ScriptedCall(ids[3], names["shop.stock"], {"item": 5}),
        ScriptedCall(ids[4], "chart", {"points": [1, 2]}),
    ]
