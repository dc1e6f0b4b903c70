"""Shows tools and results as HTML in a notebook: escaped, bounded, in the notebook's own colours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Final, cast

from toolhaft.core.content import Image
from toolhaft.core.signature_text import type_text
from toolhaft.errors import DefinitionError
from toolhaft.schema.json_schema import argument_schemas, required_arguments
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyResult, AnyTool

_LONGEST_TEXT: Final = 1_000
_LONGEST_OUTPUT: Final = 5_000
_MOST_ROWS: Final = 50
_LARGEST_IMAGE: Final = 1_000_000
_IMAGE_TYPES: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_GREY: Final = "rgba(128,128,128,.4)"  # visible on a light and on a dark background
_GREEN, _RED = "#2e9e4f", "#d9534f"
_CELL: Final = f"padding:.2em .6em;text-align:left;vertical-align:top;border-bottom:1px solid {_GREY}"


def frame(title: str, *blocks: str, mark: str = "") -> str:
    """A box with a title; `blocks` and `mark` are HTML already."""
    style = f"border:1px solid {_GREY};border-radius:6px;padding:.6em .9em;max-width:60em"
    head = f'<div style="font-weight:600">{text(title)}{mark and " "}{mark}</div>'
    return f'<div style="{style}">{head}{"".join(blocks)}</div>'


def text(value: str, longest: int = _LONGEST_TEXT) -> str:
    """A text, escaped and cut."""
    return escape(value if len(value) <= longest else f"{value[:longest]}…")


def paragraph(value: str) -> str:
    """A paragraph, or nothing for an empty text."""
    return f'<div style="margin:.3em 0;white-space:pre-wrap">{text(value)}</div>' if value else ""


def preformatted(value: str) -> str:
    """A text in a fixed font, with its line breaks."""
    style = "margin:.4em 0;white-space:pre-wrap;overflow-wrap:anywhere;background:transparent;color:inherit"
    return f'<pre style="{style}">{text(value, _LONGEST_OUTPUT)}</pre>' if value else ""


def facts(pairs: Mapping[str, object]) -> str:
    """One line of names and values, without the empty ones."""
    shown = [f"{escape(name)}: {text(str(value), 200)}" for name, value in pairs.items() if value]
    return f'<div style="margin:.3em 0;opacity:.75">{" · ".join(shown)}</div>' if shown else ""


def table(heads: Iterable[str], rows: list[list[str]]) -> str:
    """A table of texts; what is beyond the first rows is counted."""
    head = "".join(f'<th style="{_CELL}">{escape(one)}</th>' for one in heads)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{text(cell, 300)}</td>' for cell in row) + "</tr>"
        for row in rows[:_MOST_ROWS]
    )
    more = paragraph(f"and {len(rows) - _MOST_ROWS} more") if len(rows) > _MOST_ROWS else ""
    return (
        f'<table style="border-collapse:collapse;margin:.4em 0"><tr>{head}</tr>{body}</table>{more}'
        if rows
        else ""
    )


def tool_html(tool: AnyTool) -> str:
    """A tool: its description, parameters, result and options; a wrong definition shows what is wrong."""
    try:
        schema, output = cast("JSONObject", tool.input_schema), cast("JSONValue", tool.output_schema)
    except DefinitionError as error:
        return frame(repr(tool), paragraph(str(error)), mark=_mark("not valid", _RED))
    returned = "" if output is None else type_text(output)
    described = output.get("description") if isinstance(output, dict) else None
    return frame(
        f"{tool.name}: {tool.title}" if tool.title else tool.name,
        paragraph(tool.description),
        paragraph(f"When to use: {tool.when_to_use}" if tool.when_to_use else ""),
        table(("parameter", "type", "default", "description"), _rows(schema)),
        paragraph(f"Returns {returned}{f': {described}' if described else ''}" if returned else ""),
        facts(
            {
                "effect": tool.effect,
                "timeout": f"{tool.timeout_s:g} s",
                "rate": tool.rate,
                "requires": ", ".join(tool.requires),
                "version": tool.version,
                "tags": ", ".join(tool.tags),
                "examples": len(tool.examples),
            }
        ),
    )


def _rows(schema: JSONObject) -> list[list[str]]:
    """The parameters; the schema that a tool shows has no defaults of secrets."""
    required = required_arguments(schema)
    rows: list[list[str]] = []
    for name, own in argument_schemas(schema).items():
        keywords = own if isinstance(own, dict) else {}
        default = "required" if name in required else ""
        if "default" in keywords:
            default = to_json_text(keywords["default"])
        rows.append([name, type_text(own), default, str(keywords.get("description", ""))])
    return rows


def result_html(result: AnyResult) -> str:
    """A result as the model reads it, and why it failed; arguments are not shown, they may be secret."""
    call, failure = result.call, result.failure
    value_type = type(cast("object", result.value)).__name__
    hidden = f"{value_type}, not shown to the model" if result.exclude_value_from_context else ""
    return frame(
        call.name if call is not None else "ToolResult",
        preformatted(result.render()),
        *(_part(part) for part in result.content[:_MOST_ROWS]),
        facts(
            {
                "failure": "" if failure is None else failure.kind,
                "outcome": "" if failure is None else failure.outcome.replace("_", " "),
                "value": hidden,
                "waits for approval": "yes" if result.pending is not None else "",
                "final": "yes" if result.final else "",
                "repairs": "; ".join(map(str, result.repairs)),
                "untrusted": "yes" if result.untrusted else "",
            }
        ),
        mark=_mark("ok", _GREEN) if result.success else _mark("failed", _RED),
    )


def _mark(word: str, colour: str) -> str:
    return f'<span style="color:{colour}">{escape(word)}</span>'


def _part(part: object) -> str:
    """An image, if it is small and of a kind that every browser shows; else a line about the part."""
    data = part.data if isinstance(part, Image) and part.media_type in _IMAGE_TYPES else None
    if isinstance(part, Image) and data is not None and len(data) <= _LARGEST_IMAGE:
        return f'<img style="max-width:100%" src="data:{part.media_type};base64,{part.base64}">'
    return preformatted(f"{part!r:.200}")
