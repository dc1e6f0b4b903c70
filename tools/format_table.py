"""Generates the tables of docs/formats.md: one small tool, choice or result per feature, in every format."""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from toolhaft import Audio, Document, Image, Tool, ToolCall, ToolResult, Video
from toolhaft.formats import FORMATS, encode_results, export_tools, import_tools
from toolhaft.formats.names import NameRule
from toolhaft.formats.registry import get_format
from toolhaft.schema.json_value import JSONObject, JSONValue

BLOCK = re.compile(r"(?<=<!-- formats -->\n).*?(?=<!-- /formats -->)", re.DOTALL)
KEPT: Final = "✓"
WORDS: Final = {
    "moved to description": "described",
    "widened": "wider",
    "narrowed": "narrower",
    "renamed": "renamed",
    "reshaped": "reshaped",
    "checked locally": "local",
    "left out": "dropped",
    "kept": "risky",
}
AnyTool = Tool[Any, Any]
Cell = Callable[["Variant"], str]


class Variant(NamedTuple):
    """A format, as one of its dialects, strict or not."""

    format: str
    dialect: str
    strict: bool

    def __str__(self) -> str:
        return " ".join(word for word in (self.format, self.dialect, "strict" if self.strict else "") if word)


def variants() -> Iterator[Variant]:
    """Every format, dialect and strictness."""
    for format in FORMATS:
        provider = get_format(format)
        for dialect in provider.dialects:
            shown = dialect if dialect != provider.dialects[0] else ""
            yield Variant(format, shown, strict=False)
        if provider.has_strict:
            yield Variant(format, "", strict=True)


TEXT: Final[JSONObject] = {"type": "string"}
NODE: Final[JSONObject] = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/Node"}, "value": {"type": "integer"}},
    "required": ["value"],
    "additionalProperties": False,
}
POINT: Final[JSONObject] = {
    "type": "object",
    "properties": {"lat": {"type": "number"}},
    "required": ["lat"],
    "additionalProperties": False,
}


SCHEMAS: Final[dict[str, JSONObject]] = {
    "a required string": TEXT,
    "`type` list with null": {"type": ["string", "null"]},
    "`type` list": {"type": ["string", "integer"]},
    "`anyOf` with null": {"anyOf": [TEXT, {"type": "null"}]},
    "`anyOf`": {"anyOf": [TEXT, {"type": "integer"}]},
    "`oneOf`, disjoint": {"oneOf": [TEXT, {"type": "integer"}]},
    "`oneOf`, overlapping": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    "`allOf`": {"allOf": [TEXT, {"enum": ["a", "b"]}]},
    "`enum` of strings": {"type": "string", "enum": ["a", "b"]},
    "`enum` of integers": {"type": "integer", "enum": [1, 2]},
    "`enum` with null": {"enum": ["a", None]},
    "`const`": {"const": "a"},
    "`not`": {"type": "string", "not": {"const": "a"}},
    "`if` / `then`": {"type": "string", "if": {"const": "a"}, "then": {"maxLength": 1}},
    "`minimum`, `maximum`": {"type": "integer", "minimum": 1, "maximum": 9},
    "`exclusiveMinimum`": {"type": "number", "exclusiveMinimum": 0},
    "`multipleOf`": {"type": "integer", "multipleOf": 5},
    "`minLength`, `maxLength`": {"type": "string", "minLength": 1, "maxLength": 9},
    "`pattern`": {"type": "string", "pattern": "^[a-z]+$"},
    "`format: date-time`": {"type": "string", "format": "date-time"},
    "`format: uri`": {"type": "string", "format": "uri"},
    "array without `items`": {"type": "array"},
    "`minItems: 1`": {"type": "array", "items": TEXT, "minItems": 1},
    "`minItems: 2`, `maxItems`": {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 3},
    "`uniqueItems`": {"type": "array", "items": TEXT, "uniqueItems": True},
    "`contains`": {"type": "array", "items": TEXT, "contains": {"const": "a"}},
    "`prefixItems`, closed": {
        "type": "array",
        "prefixItems": [TEXT, {"type": "integer"}],
        "items": False,
        "minItems": 2,
    },
    "`prefixItems`, open": {"type": "array", "prefixItems": [TEXT]},
    "object, closed": POINT,
    "object, open": {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
    "object with optional members": {
        "type": "object",
        "properties": {"a": TEXT, "b": TEXT},
        "required": ["a"],
        "additionalProperties": False,
    },
    "object of anything": {"type": "object"},
    "`additionalProperties: {schema}`": {"type": "object", "additionalProperties": {"type": "integer"}},
    "`patternProperties`": {"type": "object", "patternProperties": {"^a": {"type": "integer"}}},
    "`propertyNames`": {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "propertyNames": {"maxLength": 3},
    },
    "`minProperties`": {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
    "any value (`{}`)": {},
    "`default`": {"type": "string", "default": "a"},
    "`title`, `examples`": {"type": "string", "title": "X", "examples": ["a"]},
    "`deprecated`, `readOnly`": {"type": "string", "deprecated": True, "readOnly": True},
    "`x-...`": {"type": "string", "x-note": "a"},
}
"""Schemas of the only parameter of a tool."""

ROOTS: Final[dict[str, JSONObject]] = {
    "no parameters": {"type": "object", "properties": {}},
    "optional parameter": {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]},
    "optional parameter that takes null": {
        "type": "object",
        "properties": {"a": TEXT, "b": {"type": ["string", "null"], "default": "x"}},
        "required": ["a"],
    },
    "`$ref`": {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/Name"}},
        "required": ["x"],
        "$defs": {"Name": TEXT},
    },
    "`$ref` with siblings": {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/Name", "description": "Whose"}},
        "required": ["x"],
        "$defs": {"Name": TEXT},
    },
    "recursion": {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/Node"}},
        "required": ["x"],
        "$defs": {"Node": NODE},
    },
    "root `$ref`": {"type": "object", "$ref": "#/$defs/Point", "$defs": {"Point": POINT}},
    "root `anyOf`": {
        "type": "object",
        "anyOf": [
            {"properties": {"a": TEXT}, "required": ["a"]},
            {"properties": {"b": TEXT}, "required": ["b"]},
        ],
    },
    "`dependentRequired`": {
        "type": "object",
        "properties": {"a": TEXT, "b": TEXT},
        "dependentRequired": {"a": ["b"]},
    },
    "root `additionalProperties: true`": {
        "type": "object",
        "properties": {"a": TEXT},
        "required": ["a"],
        "additionalProperties": True,
    },
    "parameter `with space`": {
        "type": "object",
        "properties": {"with space": TEXT},
        "required": ["with space"],
    },
}
"""Input schemas of a tool."""

FIELDS: Final[dict[str, dict[str, object]]] = {
    "name `files.read`": {"name": "files.read"},
    "name of 100 letters": {"name": "n" * 100},
    "`when_to_use`": {"when_to_use": "For tests"},
    "`title`": {"title": "Try"},
    "what it returns, in words": {"output_schema": {"description": "A text"}},
    "`output_schema`, an object": {"output_schema": POINT},
    "`output_schema`, a list": {"output_schema": {"type": "array", "items": TEXT}},
    "`examples`": {"examples": [{"input": {"x": "a"}}]},
    "`effect`": {"effect": "read"},
    "`tags`": {"tags": ["a"]},
    "`version`": {"version": "1.0"},
    "`metadata`": {"metadata": {"author": "me"}},
    "`timeout_s` and other limits": {"timeout_s": 3.0},
}
CHOICES: Final[dict[str, object]] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "one tool": "try",
    "some tools": ["try", "other"],
}
PARTS: Final[dict[str, Image | Audio | Video | Document]] = {
    "image": Image(data=b"bytes-41871"),
    "image by URL": Image(url="https://example.com/41871.png"),
    "audio": Audio(data=b"bytes-41871"),
    "video": Video(data=b"bytes-41871"),
    "document (PDF)": Document(data=b"bytes-41871", name="x.pdf"),
    "document (text)": Document(data=b"bytes-41871", media_type="text/plain", name="x.txt"),
}


def _tool(**fields: object) -> AnyTool:
    options: dict[str, Any] = {"name": "try", "description": "Try.", "input_schema": _input(TEXT), **fields}
    return Tool(**options)


def _input(schema: JSONObject) -> JSONObject:
    return {"type": "object", "properties": {"x": schema}, "required": ["x"]}


def _schema(schema: JSONObject) -> Cell:
    """How an input schema is exported; strict modes get a closed one, as they require."""
    closed: JSONObject = {"additionalProperties": False, **schema} if "properties" in schema else schema

    def cell(variant: Variant) -> str:
        return _sent(_tool(input_schema=closed if variant.strict else schema), "input_schema")(variant)

    return cell


def _sent(tool: AnyTool, field: str) -> Cell:
    """How one field of a tool is exported."""

    def cell(variant: Variant) -> str:
        export = export_tools([tool], variant.format, strict=variant.strict, dialect=variant.dialect or None)
        if export.refused:
            return "refused"
        if export.losses:
            return ", ".join(dict.fromkeys(WORDS[loss.done] for loss in export.losses))
        if export.policy_fields:
            return "policy"
        again = import_tools(export.payload, variant.format)[0]
        if getattr(again, field) == getattr(tool, field):
            return KEPT
        return "rewritten" if field == "input_schema" else "dropped"

    return cell


def _chosen(choice: object) -> Cell:
    def cell(variant: Variant) -> str:
        tools = [_tool(), _tool(name="other"), _tool(name="third")]
        export = export_tools(tools, variant.format, choice=choice, dialect=variant.dialect or None)
        if export.refused:
            return "refused"
        return "by sending fewer tools" if any(loss.keyword == "choice" for loss in export.losses) else KEPT

    return cell


def _one_at_a_time(variant: Variant) -> str:
    export = export_tools([_tool()], variant.format, parallel=False, dialect=variant.dialect or None)
    return "refused" if export.refused else KEPT


def _longest(rule: NameRule | None) -> str:
    if rule is None:
        return "any"
    return f"{'exactly ' if rule.exact else ''}{rule.longest}"


def _encoded(result: ToolResult[Any], variant: Variant) -> tuple[list[JSONValue], list[str]]:
    call = ToolCall("call00001", "try", {})
    encoded = encode_results([(call, result)], variant.format, dialect=variant.dialect or None)
    return list(encoded), [WORDS[loss.done] for loss in encoded.losses]


def _value(value: JSONValue) -> Cell:
    def cell(variant: Variant) -> str:
        found = list(_inside(_encoded(ToolResult(value=value), variant)[0]))
        if value in found:
            return KEPT
        is_wrapped = any(isinstance(part, dict) and value in part.values() for part in found)
        return "wrapped" if is_wrapped else "as text"

    return cell


def _error(variant: Variant) -> str:
    messages, _ = _encoded(ToolResult[Any](message="it broke", success=False), variant)
    is_in_text = any(isinstance(part, str) and part.startswith('{"error"') for part in _inside(messages))
    return "in the text" if is_in_text else "flag"


def _part(part: Image | Audio | Video | Document) -> Cell:
    def cell(variant: Variant) -> str:
        messages, losses = _encoded(ToolResult(message="Look", content=(part,)), variant)
        if losses:
            return losses[0]
        if not any(_holds(leaf, part) for leaf in _inside(messages)):
            return "dropped"
        return "separate" if len(messages) > 1 else KEPT

    return cell


def _holds(leaf: object, part: Image | Audio | Video | Document) -> bool:
    """True for the URL itself, or for text that contains the data."""
    if part.data is None:
        return leaf == part.url
    if isinstance(leaf, bytes):
        return leaf == part.data
    return isinstance(leaf, str) and (part.base64 in leaf or part.data.decode() in leaf)


def _inside(value: JSONValue) -> Iterator[JSONValue]:
    """Every value inside a value."""
    yield value
    if isinstance(value, dict):
        for member in value.values():
            yield from _inside(member)
    elif isinstance(value, list):
        for member in value:
            yield from _inside(member)


def table(title: str, rows: dict[str, Cell], columns: Sequence[Variant]) -> str:
    """One table in Markdown; equal columns are joined."""
    alike: dict[tuple[str, ...], list[Variant]] = {}
    for column in columns:
        alike.setdefault(tuple(cell(column) for cell in rows.values()), []).append(column)
    heads = [", ".join(str(name) for name in names) for names in alike.values()]
    lines = [f"| {title} | {' | '.join(heads)} |", "| --- |" + " --- |" * len(heads)]
    for number, name in enumerate(rows):
        lines.append(f"| {name} | {' | '.join(cells[number] for cells in alike)} |")
    return "\n".join(lines) + "\n"


def draw() -> str:
    """All tables."""
    every = list(variants())
    loose = [variant for variant in every if not variant.strict]
    strict = [variant for variant in every if variant.strict]
    schemas = {name: _schema(_input(schema)) for name, schema in SCHEMAS.items()}
    schemas |= {name: _schema(schema) for name, schema in ROOTS.items()}
    fields = {name: _sent(_tool(**options), next(iter(options))) for name, options in FIELDS.items()}
    requests: dict[str, Cell] = {f"choice: {name}": _chosen(choice) for name, choice in CHOICES.items()}
    requests["one call at a time"] = _one_at_a_time
    requests["longest name"] = lambda variant: _longest(get_format(variant.format).tool_names)
    requests["longest call id"] = lambda variant: _longest(get_format(variant.format).call_ids)
    results: dict[str, Cell] = {
        "an object": _value({"n": 41871}),
        "a list": _value([41871]),
        "an error": _error,
    }
    results |= {name: _part(part) for name, part in PARTS.items()}
    parts = (
        "### Schemas\n",
        table("in a schema", schemas, loose),
        "### Schemas, strict\n",
        table("in a schema", schemas, strict),
        "### Other fields of a tool\n",
        table("of a tool", fields, loose),
        "### Requests\n",
        table("in a request", requests, loose),
        "### Results\n",
        table("in a result", results, loose),
    )
    return "\n".join(parts)


def with_tables(page: str, drawn: str) -> str:
    """The page with the tables between its markers.

    Raises:
        ValueError: if the page does not have the two markers.
    """
    text, count = BLOCK.subn(lambda _: drawn, page)
    if count != 1:
        raise ValueError(
            "docs/formats.md needs one '<!-- formats -->' line and one '<!-- /formats -->' line after it"
        )
    return text


def main() -> None:
    """Print the tables, or write them into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the tables into docs/formats.md")
    drawn = draw()
    if not parser.parse_args().write:
        sys.stdout.write(drawn)
        return
    page = Path(__file__).resolve().parents[1] / "docs" / "formats.md"
    page.write_text(with_tables(page.read_text(encoding="utf-8"), drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
