"""Shared by OpenAI's two APIs and those that copy them: schema subsets, free-form tools, supported files."""

from __future__ import annotations

from typing import Final

from toolhaft.formats.hints import (
    NON_BLANK_TEXT,
    HintRule,
    dropped_hint,
    fits,
    object_of,
    one_of,
    rejected_hints,
)
from toolhaft.formats.losses import SchemaLoss
from toolhaft.formats.message_parts import IMAGES, WEB, arguments_text, as_object, is_supported_file
from toolhaft.formats.provider_format import Media, OutgoingCall, ToolDeclaration
from toolhaft.formats.subset.keywords import NUMBER
from toolhaft.formats.subset.target import COMBINATORS, STRICT_KEYWORDS, Subset
from toolhaft.schema.json_value import JSONObject, JSONValue

FREE_FORM_SCHEMA: Final[JSONObject] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""The input schema of an imported free-form tool."""
_GRAMMAR: Final = object_of(
    {"syntax": one_of("lark", "regex"), "definition": NON_BLANK_TEXT}, {"type": one_of("grammar")}
)


def _accept_free_form(value: JSONValue) -> JSONValue:
    return value if isinstance(value, bool) else _GRAMMAR.accept(value)


FREE_FORM: Final = HintRule(f"true, or {_GRAMMAR.expected}", _accept_free_form)
_PARTS: Final = ("syntax", "definition")


def grammar_of(hint: JSONValue) -> JSONObject | None:
    """The grammar of the free text; None for any text."""
    if not isinstance(hint, dict) or not fits(hint, _GRAMMAR):
        return None
    return {part: hint[part] for part in _PARTS}


def read_grammar(form: JSONValue) -> JSONValue:
    """The hint of an imported free-form tool; an invalid grammar is reported on export."""
    value = form if isinstance(form, dict) else {}
    return {part: value[part] for part in _PARTS if part in value} or True


def free_form_losses(tool: ToolDeclaration) -> list[SchemaLoss]:
    """The losses of a free-form tool, and of an invalid hint."""
    hint = tool.hints.get("free_form")
    if not hint:
        return rejected_hints(tool.hints, {"free_form": FREE_FORM})
    losses: list[SchemaLoss] = []
    if not fits(hint, FREE_FORM):
        losses.append(dropped_hint("free_form", f"any text is accepted; expected {FREE_FORM.expected}"))
    if tool.strict:
        losses.append(SchemaLoss("", "strict", "checked locally", "a free-form tool has no strict form"))
    return losses


def supports_image(part: Media) -> bool:
    """True for an image type that the models accept."""
    return part.kind == "image" and is_supported_file(part, IMAGES, WEB)


def free_form_text(call: OutgoingCall) -> str:
    """The text of a call of a free-form tool."""
    value = as_object(call.arguments)
    value = value.get("input") if value is not None else None
    return value if isinstance(value, str) else arguments_text(call)


_ROOT_BANNED: Final = COMBINATORS | {"enum", "const", "not"}

LOOSE: Final = Subset(root="flatten", root_banned=_ROOT_BANNED)
"""Any JSON Schema with a plain object at its root."""

STRICT: Final = Subset(
    keywords=STRICT_KEYWORDS | NUMBER | {"minItems", "maxItems"},
    formats=frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")),
    ref_siblings=False,
    any="refuse",
    closed=True,
    all_required=True,
    maps="pairs",
    tuples="object",
    patterns="plain",
    items_needed=True,
    root="wrap",
    root_banned=_ROOT_BANNED,
    most_properties=5000,
    deepest=10,
    most_enum_values=1000,
    most_enum_chars=15_000,
    most_name_chars=120_000,
)
