"""Makes command-line flags from a tool's schema, and reads a call's arguments from flags and JSON.

Values are not validated here: the tool's own validation reports all problems at once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import click
from click.shell_completion import CompletionItem

from toolhaft.cli.completion import escape_for_shell
from toolhaft.cli.errors import CommandError
from toolhaft.schema import read_json, show
from toolhaft.schema.expected import expected
from toolhaft.schema.json_schema import (
    applied_schemas,
    argument_schemas,
    children_at,
    required_arguments,
    types_of,
)
from toolhaft.schema.json_text import LONGEST_TEXT, has_repeated_key
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.toolbox.untrusted_text import short_line

OWN_FLAGS: Final = frozenset(("arg-json", "dry-run", "help", "json", "timeout"))
"""Flags of `call` itself; a parameter with such a name can only be given as JSON."""
_FLAG: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_MAX_CHOICES_CHARS: Final = 40
_PLAIN_WORDS: Final = re.compile(r"[\w.:/@%+,-]+(?: [\w.:/@%+,-]+)*", re.ASCII)


class _Text(click.ParamType[str]):
    """A text; completion offers the values that the schema lists."""

    name = "text"

    def __init__(self, choices: tuple[str, ...]) -> None:
        self.choices = choices

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 -- click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """The listed values with this prefix."""
        matches = (choice for choice in self.choices if _completes(choice, incomplete))
        return [CompletionItem(escape_for_shell(ctx, choice)) for choice in matches]


def _completes(choice: str, incomplete: str) -> bool:
    """True for a match that is plain words: a schema must not be able to put commands into the shell."""
    return choice.startswith(incomplete) and _PLAIN_WORDS.fullmatch(choice) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """The command-line flag of one parameter."""

    parameter: str
    dest: str
    """The name of its value in click."""
    option: click.Option | None
    """None if the parameter's name cannot be a flag."""
    help: str
    """Its description in the help."""
    types: frozenset[str]
    item_types: frozenset[str]

    def is_switch(self, spelling: str | None) -> bool:
        """True if it is a boolean flag with this spelling."""
        option = self.option
        return option is not None and option.is_flag and spelling in (*option.opts, *option.secondary_opts)

    @property
    def switch_usage(self) -> str:
        """The error message for a value given to a boolean flag."""
        spellings = [] if self.option is None else [self.option.opts[0], *self.option.secondary_opts[:1]]
        return f"{spellings[0]} takes no value: write {' or '.join(spellings)}" if spellings else ""

    def parse(self, typed: object) -> JSONValue:
        """The argument for the typed texts, or for a boolean flag.

        Raises:
            CommandError: if a text names a file that cannot be read.
            click.UsageError: if a parameter that is not a list was given twice.
        """
        if isinstance(typed, bool):
            return typed
        texts = [_read_text(f"--{self.parameter}", text) for text in cast("tuple[str, ...]", typed)]
        if "array" in self.types and (len(texts) > 1 or not self.types - {"array", "null"}):
            whole = _parse_list(texts[0], self.item_types) if len(texts) == 1 else None
            return [_parse_value(text, self.item_types) for text in texts] if whole is None else whole
        if len(texts) > 1:
            raise click.UsageError(f"--{self.parameter} was given {len(texts)} times; it takes one value.")
        return _parse_value(texts[0], self.types)


def flags_of(schema: JSONObject) -> list[Flag]:
    """One flag per parameter of a tool, the required ones first."""
    properties = argument_schemas(schema)
    required = frozenset(required_arguments(schema))
    taken = set(OWN_FLAGS) | {name for name in properties if _FLAG.fullmatch(name)}
    flags: list[Flag] = []
    for number, (name, member) in enumerate(properties.items()):
        types = types_of(schema, member)
        items = list(children_at(schema, member, 0))
        of_items = [types_of(schema, item) for item in items]
        item_types = frozenset[str]().union(*of_items) if items else frozenset(("string",))
        spellings = [] if name in OWN_FLAGS or not _FLAG.fullmatch(name) else _spellings(name, taken)
        dest = f"parameter_{number}"
        help_text = _help_text(schema, member, is_required=name in required)
        option = None
        if spellings and not types - {"boolean", "null"}:
            option = _switch_option(dest, spellings, help_text, taken)
        elif spellings:
            choices = _choices(schema, [member, *(items if "array" in types else ())])
            metavar = _metavar(types, item_types, choices)
            option = _FlagOption(
                [dest, *spellings], type=_Text(choices), multiple=True, metavar=metavar, help=help_text
            )
        flags.append(
            Flag(parameter=name, dest=dest, option=option, help=help_text, types=types, item_types=item_types)
        )
    return sorted(flags, key=lambda flag: flag.parameter not in required)


def flag_arguments(flags: Iterable[Flag], params: Mapping[str, object]) -> JSONObject:
    """The arguments that were given as flags.

    Raises:
        CommandError: if a flag names a file that cannot be read.
        click.UsageError: if a parameter that is not a list was given twice.
    """
    typed = ((flag, params.get(flag.dest)) for flag in flags)
    return {flag.parameter: flag.parse(value) for flag, value in typed if value is not None and value != ()}


def _parse_value(text: str, types: frozenset[str]) -> JSONValue:
    """The text itself if the schema allows strings or it is not JSON, else its JSON value."""
    if "string" in types:
        return text
    try:
        return read_json(text)
    except ValueError:
        return text


def _parse_list(text: str, item_types: frozenset[str]) -> list[JSONValue] | None:
    """The whole list if the text is one as JSON; None if the text is a single item."""
    if not text.lstrip().startswith("["):
        return None
    try:
        value = read_json(text)
    except ValueError:
        return None
    if not isinstance(value, list) or (
        "array" in item_types and not all(isinstance(item, list) for item in value)
    ):
        return None
    return value


def _read_text(what: str, text: str) -> str:
    """The typed text; for `@FILE` the text of the file, and for `@@...` the text from the second @ on."""
    if not text.startswith("@"):
        return text
    return text[1:] if text.startswith("@@") else _read_file(what, text[1:])


def _spellings(name: str, taken: set[str]) -> list[str]:
    """The flag spelled like the parameter, and with dashes if no other flag is spelled so."""
    dashed = name.replace("_", "-").lower()
    if dashed in taken:
        return [f"--{name}"]
    taken.add(dashed)
    return [f"--{dashed}", f"--{name}"]


def _switch_option(dest: str, spellings: list[str], help_text: str, taken: set[str]) -> click.Option:
    decls = [dest]
    for spelling in spellings:
        off = f"no-{spelling[2:]}" if "-" in spelling[2:] or "_" not in spelling else f"no_{spelling[2:]}"
        has_off = off not in taken
        taken.add(off)
        decls.append(f"{spelling}/--{off}" if has_off else spelling)
    return _FlagOption(decls, is_flag=True, default=None, help=help_text)


class _FlagOption(click.Option):
    """An option whose help shows only its first spelling."""

    def get_help_spec(self, ctx: click.Context) -> str:
        """The spelling and the kind of value."""
        if not self.is_flag:
            return f"{self.opts[0]} {self.make_metavar(ctx)}"
        return " / ".join((self.opts[0], *self.secondary_opts[:1]))


def _choices(root: JSONObject, members: Iterable[JSONValue]) -> tuple[str, ...]:
    """The values that some schemas list, as the user types them."""
    listed: list[JSONValue] = []
    for node in (node for member in members for node in applied_schemas(root, member)):
        values = [node["const"]] if "const" in node else node.get("enum")
        listed += values if isinstance(values, list) else []
    return tuple(value if isinstance(value, str) else show(value) for value in listed if value is not None)


def _metavar(types: frozenset[str], item_types: frozenset[str], choices: tuple[str, ...]) -> str:
    """The placeholder of a value in the help."""
    kinds = types - {"null"}
    if kinds == frozenset(("array",)):
        kinds = item_types - {"null"}
    shown = "|".join(map(short_line, choices))
    if shown and len(shown) <= _MAX_CHOICES_CHARS:
        word = f"[{shown}]"
    elif "string" in kinds:
        word = "TEXT"
    elif kinds <= {"integer"}:
        word = "INTEGER"
    else:
        word = "NUMBER" if kinds <= {"integer", "number"} else "JSON"
    return f"{word}..." if "array" in types else word


def _help_text(root: JSONObject, member: JSONValue, *, is_required: bool) -> str:
    """The help of a parameter: its description, the expected value, its default."""
    nodes = list(applied_schemas(root, member))
    description = next(
        (node["description"] for node in nodes if isinstance(node.get("description"), str)), ""
    )
    marks = [short_line(expected(root, member))]
    default = next((node["default"] for node in nodes if "default" in node), None)
    if default is not None:
        marks.append(f"default: {short_line(show(default))}")
    if is_required:
        marks.append("required")
    text = f"[{'; '.join(mark for mark in marks if mark)}]"
    return f"{short_line(cast('str', description))}  {text}" if description else text


_BOOLEAN_WORDS: Final = ("true", "false", "yes", "no", "on", "off", "1", "0")


def read_arguments(
    flags: Sequence[Flag], params: Mapping[str, object], *, text: str | None, parts: Iterable[str]
) -> str | JSONObject:
    """The arguments from flags, JSON parts and JSON text; JSON text alone is returned unparsed.

    Raises:
        CommandError: if a text is not JSON, a file cannot be read, or a parameter is given in two ways.
        click.UsageError: if a parameter that is not a list was given twice as a flag.
    """
    if text == "-":
        text = _read_stdin()
    elif text is not None and text.startswith("@"):
        text = _read_file("the arguments", text[1:])
    given: JSONObject = {}
    for source in (flag_arguments(flags, params), *(_parse_part(part) for part in parts)):
        _merge(given, source)
    if text is None:
        return given
    if not given:
        return text
    switch = next((flag for flag in flags if isinstance(params.get(flag.dest), bool)), None)
    if switch is not None and text.strip().lower() in _BOOLEAN_WORDS:
        raise CommandError(switch.switch_usage)
    whole = _parse_json("the JSON", text)
    if not isinstance(whole, dict):
        raise CommandError("the JSON is not an object: write {...}")
    return _merge(whole, given)


def _merge(into: JSONObject, more: JSONObject) -> JSONObject:
    twice = [name for name in more if name in into]
    if twice:
        raise CommandError(f"{', '.join(twice)}: given twice, as JSON or as a flag; give it once")
    into.update(more)
    return into


def _parse_part(part: str) -> JSONObject:
    name, equals, text = part.partition("=")
    if not equals or not name:
        raise CommandError(f"--arg-json {part}: write NAME=JSON, such as --arg-json limit=5")
    return {name: _parse_json(f"--arg-json {name}", text)}


def _parse_json(what: str, text: str) -> JSONValue:
    try:
        value = read_json(text)
    except ValueError as error:
        raise CommandError(f"{what} is not valid JSON: {error}; a string needs quotes") from None
    if has_repeated_key(text, value):
        raise CommandError(f"{what} has the same key twice")
    return value


def _read_file(what: str, path: str) -> str:
    if path == "-":
        return _read_stdin()
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(4 * LONGEST_TEXT + 1)
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        reason = getattr(error, "strerror", None) or str(error)
        raise CommandError(f"{what}: @{path}: {reason}; for a text that begins with @ write @@") from None
    return _decode(f"{what}: @{path}", data)


def _read_stdin() -> str:
    stream = sys.stdin
    if stream is None:  # the program was started with stdin closed
        raise CommandError("standard input is closed, so - has nothing to read")
    text = _decode("standard input", stream.buffer.read(4 * LONGEST_TEXT + 1))
    if not text.strip():
        raise CommandError("standard input is empty: write a JSON object to it, at least {}")
    return text


def _decode(what: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{what} is not UTF-8, starting at byte {error.start}") from None
    if len(text) > LONGEST_TEXT:
        raise CommandError(f"{what} is longer than {LONGEST_TEXT:,} characters")
    return text
