"""Describes tools as text: Markdown for people, or Python-like stubs that cost a model few tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from keyword import iskeyword
from typing import Final, cast

from toolhaft.core.conversion import AnyTool, flatten, to_tool
from toolhaft.errors import WireError
from toolhaft.formats.description_text import examples_of, join_description, returns_of
from toolhaft.formats.operations.python_types import Member, Records, notes_of, python_text
from toolhaft.schema.json_text import to_json_text
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.schema.nearest import nearest

_WIDEST: Final = 100


def describe(tools: object, style: str = "markdown") -> str:
    """The tools and their parameters as text.

    Args:
        tools: tools of any definition style, in nested lists or a mapping; an executor, registry or catalog.
        style: 'markdown' has every detail; 'signature' is a Python-like stub per tool.

    Raises:
        WireError: for an unknown style.
        DefinitionError: for an invalid tool.
    """
    write = _STYLES.get(style)
    if write is None:
        close = nearest(style, _STYLES) if isinstance(style, str) else None  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        hint = f"; did you mean {close!r}?" if close else ""
        raise WireError(f"no style {style!r:.80}{hint}", expected=f"one of {', '.join(_STYLES)}")
    return write([to_tool(thing) for thing in flatten(tools)])


def _signatures(tools: Sequence[AnyTool]) -> str:
    records = Records()
    blocks: list[str] = []
    for tool in tools:
        known = len(records.found)
        stub = _stub(tool, records)
        fresh = list(records.found.items())[known:]
        blocks += [_record_stub(name, members) for name, members in fresh]
        blocks.append(stub)
    return "\n\n".join(blocks) + "\n" if blocks else ""


def _stub(tool: AnyTool, records: Records) -> str:
    schema = cast("JSONObject", tool.input_schema)
    members = records.members(schema, schema)
    returns = _returns(tool, records)
    arrow = f" -> {returns}" if returns else ""
    more = _more(schema)
    parts = [_parameter(member) for member in members] + more
    line = f"def {tool.name}({', '.join(parts)}){arrow}:"
    if len(line) > _WIDEST or any(_comment(member) for member in members):
        lines = [f"    {_parameter(member)},{_comment(member)}" for member in members]
        lines += [f"    {part}," for part in more]
        line = "\n".join((f"def {tool.name}(", *lines, f"){arrow}:"))
    return f"{line}\n{_docstring(tool, schema)}"


def _parameter(member: Member) -> str:
    default = (
        f" = {python_text(member.default)}" if member.has_default else "" if member.is_required else " = ..."
    )
    is_word = member.name.isidentifier() and not iskeyword(member.name)
    name = member.name if is_word else to_json_text(member.name)
    return f"{name}: {member.type}{default}"


def _comment(member: Member) -> str:
    text = member.description or member.notes
    if member.notes and member.description:
        text += f" ({member.notes})"
    return f"  # {text}" if text else ""


def _more(schema: JSONObject) -> list[str]:
    """A parameter for arguments with other names, if the schema admits them."""
    is_open = schema.get("additionalProperties") not in (None, False) or schema.get("patternProperties")
    return ["**more"] if is_open else []


def _docstring(tool: AnyTool, schema: JSONObject) -> str:
    rules = "; ".join(notes_of(schema, schema))
    text = join_description(tool, returns_of(tool)).strip() + (f"\n\nArguments: {rules}" if rules else "")
    text = text.replace('"""', "'''")
    if "\n" not in text and not text.endswith('"'):
        return f'    """{text}"""'
    inside = "\n".join(f"    {line}".rstrip() for line in text.split("\n"))
    return f'    """{inside.lstrip()}\n    """'


def _record_stub(name: str, members: Iterable[Member]) -> str:
    lines = [f"    {_parameter(member)}{_comment(member)}" for member in members]
    return "\n".join((f"class {name}:", *lines))


def _returns(tool: AnyTool, records: Records) -> str:
    schema = cast("JSONValue", tool.output_schema)
    if schema is None:
        return ""
    return records.type(schema, schema if isinstance(schema, dict) else {}, f"{tool.name} result")


def _markdown(tools: Sequence[AnyTool]) -> str:
    return "\n".join(_page(tool) for tool in tools)


def _page(tool: AnyTool) -> str:
    records = Records()
    schema = cast("JSONObject", tool.input_schema)
    members = records.members(schema, schema)
    parts = [f"## {tool.name}" + (f": {tool.title}" if tool.title else ""), tool.description]
    if tool.when_to_use:
        parts.append(f"**When to use:** {tool.when_to_use}")
    parts.append(_table(members, "parameter") if members else "No parameters.")
    if _more(schema):
        parts.append("Arguments with other names are accepted too.")
    rules = "; ".join(notes_of(schema, schema))
    if rules:
        parts.append(f"**Arguments:** {_cell(rules)}")
    returns = _returns(tool, records)
    for name, inside in records.found.items():
        parts.append(f"**{name}**")
        parts.append(_table(inside, "member"))
    if returns:
        text = " ".join(returns_of(tool).split())
        parts.append(f"**Returns:** {_code(returns)}" + (f": {text}" if text else ""))
    facts = {
        "Effect": tool.effect,
        "Rate limit": tool.rate,
        "Version": tool.version,
        "Tags": ", ".join(tool.tags),
    }
    parts += [f"**{name}:** {_cell(fact)}" for name, fact in facts.items() if fact]
    if tool.examples:
        parts.append(_examples(tool))
    return "\n\n".join(part.strip() for part in parts) + "\n"


_COLUMNS: Final[Mapping[str, Callable[[Member], str]]] = {
    "type": lambda member: _code(member.type),
    "required": lambda member: "yes" if member.is_required else "no",
    "default": lambda member: _code(to_json_text(member.default)) if member.has_default else "",
    "constraints": lambda member: member.notes,
    "description": lambda member: member.description,
}


def _table(members: Sequence[Member], first: str) -> str:
    """One row per member, without empty columns."""
    columns = [[first, *(_code(member.name) for member in members)]]
    for title, cell in _COLUMNS.items():
        cells = [cell(member) for member in members]
        if any(cells):
            columns.append([title, *cells])
    rows = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in zip(*columns, strict=True)]
    return "\n".join((rows[0], "|" + " --- |" * len(columns), *rows[1:]))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _examples(tool: AnyTool) -> str:
    lines = ["**Examples**", ""]
    for example in examples_of(tool):
        text = example.get("description")
        arguments = _code(to_json_text(example["input"]))
        output = f" gives {_code(to_json_text(example['output']))}" if "output" in example else ""
        lines.append(f"- {f'{text}: ' if text else ''}{arguments}{output}")
    return "\n".join(lines)


_STYLES: Final[Mapping[str, Callable[[Sequence[AnyTool]], str]]] = {
    "markdown": _markdown,
    "signature": _signatures,
}
