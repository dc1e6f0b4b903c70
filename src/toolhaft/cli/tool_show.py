"""`tool show`: prints a tool's description, parameters and result, or its definition in a format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import click

from toolhaft.cli.errors import CommandError
from toolhaft.cli.output import print_data, print_json, print_note, printable, to_json
from toolhaft.cli.shell import Shell, id_argument, json_option, pass_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.listing import Listing
    from toolhaft.core.conversion import AnyTool
    from toolhaft.schema.json_value import JSONObject


def _complete_formats(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 -- click's signature
    from toolhaft.formats import FORMATS

    return [name for name in (*FORMATS, "yaml") if name.startswith(incomplete)]


@click.command("show", help="Show a tool: its purpose, parameters and result.")
@id_argument
@click.option(
    "--format",
    "format",
    metavar="F",
    shell_complete=_complete_formats,
    help="Show it in a provider's format (openai_chat, mcp, ...), or as yaml.",
)
@json_option
@pass_shell
def command(shell: Shell, *, id: str, format: str | None, as_json: bool) -> None:
    """Show the tool."""
    tool = shell.catalog.get_tool(id)  # first: its error says why a platform is unreachable
    listing = shell.catalog.listing(id)
    if format == "yaml":
        from toolhaft.catalog.yaml_export import tool_yaml

        print_data(tool_yaml(tool).rstrip("\n"))
    elif format is not None:
        _print_format(tool, format)
    elif as_json:
        print_json({**listing.to_json(), "is_active": tool.is_active, **_facts(tool)})
    else:
        for line in _lines(listing, tool):
            print_data(printable(line))
        shell.suggest(f"call {id} --help" if tool.is_active else f"tool get {id}")


def _print_format(tool: AnyTool, format: str) -> None:
    from toolhaft.formats import FORMATS, export_tools

    if format not in FORMATS:
        from toolhaft.schema.nearest import nearest

        formats = (*FORMATS, "yaml")
        close = nearest(format, formats) or "openai_chat"
        raise CommandError(
            f"no format {format!r:.80}; the formats are {', '.join(formats)}",
            next=f"tool show {tool.name} --format {close}",
        )
    export = export_tools([tool], format)
    print_json(export.payload)
    for lost in (*export.losses, *export.refused):
        print_note(printable(f"note: {lost}"))


def _facts(tool: AnyTool) -> dict[str, object]:
    run = getattr(tool, "run", None)
    return {
        "when_to_use": tool.when_to_use,
        "version": tool.version,
        "timeout_s": tool.timeout_s,
        "stall_s": tool.stall_s,
        "retryable": tool.retryable,
        "rate": tool.rate,
        "requires": [*tool.requires],
        "endpoint": getattr(tool, "endpoint", None),
        "run": None if run is None else run.fields,
        "examples": _examples(tool),
        # without its examples, which are masked above
        "metadata": {key: value for key, value in tool.metadata.items() if key != "examples"},
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }


def _lines(listing: Listing, tool: AnyTool) -> Iterator[str]:
    place = f" ({listing.place})" if listing.place else ""
    yield f"{tool.name}: {listing.title or tool.name}"
    yield f"  {tool.description}"
    if tool.when_to_use:
        yield f"  when to use: {tool.when_to_use}"
    yield f"  {listing.store}{place}, {listing.share}, " + _state(tool)
    if listing.shadows:
        yield f"  hides: {'; '.join(listing.shadows)}"
    limits = ["no time limit" if tool.timeout_s is None else f"at most {tool.timeout_s:g} s"]
    if tool.stall_s is not None:
        limits.append(f"at most {tool.stall_s:g} s without a sign of life")
    if not tool.retryable:
        limits.append("not retryable")
    yield f"  effect {tool.effect}, {', '.join(limits)}"
    facts = {"rate limit": tool.rate, "version": tool.version, "tags": ", ".join(tool.tags)}
    yield from (f"  {name}: {fact}" for name, fact in facts.items() if fact)
    yield from _running(tool)
    yield from _members("parameters", tool.input_schema)
    if isinstance(tool.output_schema, Mapping):
        yield from result_lines(tool.output_schema)
    for number, example in enumerate(_examples(tool)):
        about = f"{example['description']}: " if "description" in example else ""
        output = f" gives {to_json(example['output'])}" if "output" in example else ""
        yield ("" if number else "examples:\n") + f"  {about}{to_json(example['input'])}{output}"


def _examples(tool: AnyTool) -> list[JSONObject]:
    """The examples, with secrets masked."""
    from toolhaft.formats.description_text import examples_of

    return examples_of(tool)


def result_lines(schema: Mapping[str, object]) -> Iterator[str]:
    """What the tool returns: its description and its members."""
    description = " ".join(str(schema.get("description", "")).split())
    title = f"result: {description}" if description else "result"
    members = list(_members(title, schema))
    # a value without members is described in one line
    yield from members or ([f"{title} ({_kind(schema)})"] if description else [])


def _state(tool: AnyTool) -> str:
    from toolhaft.define.running.activation import why_inactive

    return "active" if tool.is_active else f"not active: {why_inactive(tool)}"


def _running(tool: AnyTool) -> Iterator[str]:
    run = getattr(tool, "run", None)
    endpoint = getattr(tool, "endpoint", None)
    if run is not None:
        yield f"  runs: {_runs(cast('str', run.kind), cast('dict[str, object]', run.fields))}"
    elif endpoint:
        yield f"  answered by: {endpoint}"


def _runs(kind: str, fields: dict[str, object]) -> str:
    what = fields[kind]
    if kind == "http":
        request = cast("dict[str, object]", what)
        what = f"{request.get('method', 'GET')} {request['url']}"
    return f"{kind} {_plain(what)}"


def _plain(value: object) -> str:
    """A value as JSON; a string without quotes."""
    return value if isinstance(value, str) else to_json(value)


def _members(title: str, schema: Mapping[str, object]) -> Iterator[str]:
    from toolhaft.schema.json_schema import argument_schemas, required_arguments

    properties = argument_schemas(cast("JSONObject", schema))
    required = required_arguments(cast("JSONObject", schema))
    if properties:
        yield title if ": " in title else f"{title}:"
    for name, own in properties.items():
        member = own if isinstance(own, dict) else {}
        words = [_kind(member), *(["optional"] if name not in required else [])]
        if "default" in member:
            words.append(f"default {_plain(member['default']) or to_json('')}")
        description = " ".join(str(member.get("description", "")).split())
        yield f"  {name} ({', '.join(words)})" + (f": {description}" if description else "")


def _kind(schema: Mapping[str, object]) -> str:
    if isinstance(schema.get("enum"), list):
        return "one of " + ", ".join(map(str, cast("list[object]", schema["enum"])))
    type = schema.get("type", "any")
    return " or ".join(map(str, cast("list[object]", type))) if isinstance(type, list) else str(type)
