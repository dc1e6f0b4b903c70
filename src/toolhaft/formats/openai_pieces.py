"""What both of OpenAI's wires have: tools that take free text, their hint, and the pictures that they take.

Does not know either wire.
"""

from __future__ import annotations

from typing import Final

from toolhaft.formats.hints import WORDS, Hint, fits, left_out_hint, not_taken, object_of, one_of
from toolhaft.formats.subset.told import SchemaLoss
from toolhaft.formats.wire import Declared, Media, WireCall
from toolhaft.formats.writing import IMAGES, WEB, arguments_text, as_object, is_taken
from toolhaft.schema.json_value import JSONObject, JSONValue

FREE_FORM_SCHEMA: Final[JSONObject] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""What a free-form tool takes, as an ordinary one would say it."""
_GRAMMAR: Final = object_of(
    {"syntax": one_of("lark", "regex"), "definition": WORDS}, {"type": one_of("grammar")}
)


def _take_free_form(value: JSONValue) -> JSONValue:
    return value if isinstance(value, bool) else _GRAMMAR.take(value)


FREE_FORM: Final = Hint(f"true, or {_GRAMMAR.expected}", _take_free_form)
_PARTS: Final = ("syntax", "definition")


def grammar_of(hint: JSONValue) -> JSONObject | None:
    """The grammar that free text is to follow; None where it is any text."""
    if not isinstance(hint, dict) or not fits(hint, _GRAMMAR):
        return None
    return {part: hint[part] for part in _PARTS}


def read_grammar(form: JSONValue) -> JSONValue:
    """The hint of a free-form tool, from what the wire says of its text; what is wrong is told on export."""
    given = form if isinstance(form, dict) else {}
    return {part: given[part] for part in _PARTS if part in given} or True


def told_of_free_form(tool: Declared) -> list[SchemaLoss]:
    """What a free-form tool has no place for, and a hint for one that cannot be read."""
    hint = tool.hints.get("free_form")
    if not hint:
        return not_taken(tool.hints, {"free_form": FREE_FORM})
    told: list[SchemaLoss] = []
    if not fits(hint, FREE_FORM):
        told.append(left_out_hint("free_form", f"any text is taken; expected {FREE_FORM.expected}"))
    if tool.strict:
        told.append(SchemaLoss("", "strict", "checked locally", "a free-form tool has no strict form"))
    return told


def shows(part: Media) -> bool:
    """True for a picture that the models look at."""
    return part.kind == "image" and is_taken(part, IMAGES, WEB)


def free_form_text(call: WireCall) -> str:
    """The text of a call of a free-form tool."""
    value = as_object(call.arguments)
    given = value.get("input") if value is not None else None
    return given if isinstance(given, str) else arguments_text(call)
