"""What both of OpenAI's wires have: tools that take free text, and the pictures that they take.

Does not know either wire.
"""

from __future__ import annotations

from typing import Final

from toolhaft.formats.wire import Media, WireCall
from toolhaft.formats.writing import arguments_text, as_object
from toolhaft.schema.json_value import JSONObject, JSONValue

FREE_FORM_SCHEMA: Final[JSONObject] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""What a free-form tool takes, as an ordinary one would say it."""
_IMAGES: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))


def grammar_of(hint: JSONValue) -> JSONObject | None:
    """The grammar that free text is to follow; None where it is any text."""
    if not isinstance(hint, dict):
        return None
    grammar = {"syntax": hint.get("syntax"), "definition": hint.get("definition")}
    return grammar if all(isinstance(value, str) for value in grammar.values()) else None


def shows(part: Media) -> bool:
    """True for a picture that the models look at."""
    return part.kind == "image" and (part.url is not None or part.media_type in _IMAGES)


def free_form_text(call: WireCall) -> str:
    """The text of a call of a free-form tool."""
    value = as_object(call.arguments)
    given = value.get("input") if value is not None else None
    return given if isinstance(given, str) else arguments_text(call)
