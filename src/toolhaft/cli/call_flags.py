"""Flags made from a tool's schema: one a parameter, and the arguments that the given ones stand for.

Knows JSON Schema and click; values are not checked here: the tool's own check tells all problems at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

import click
from click.shell_completion import CompletionItem

from toolhaft.cli.completion import as_typed
from toolhaft.schema import read_json, show
from toolhaft.schema.expected import expected
from toolhaft.schema.json_schema import children_at, in_place, types_of
from toolhaft.schema.json_value import JSONObject, JSONValue
from toolhaft.toolbox.outside import one_line

OWN_FLAGS: Final = frozenset(("arg-json", "dry-run", "help", "json", "timeout"))
"""What `call` itself takes; a parameter of such a name is given as JSON."""
_FLAG: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_LONGEST_CHOICES: Final = 40
_PLAIN_WORDS: Final = re.compile(r"[\w.:/@%+,-]+(?: [\w.:/@%+,-]+)*", re.ASCII)


class _Text(click.ParamType[str]):
    """A text as it was typed; its completions are the values that the schema lists."""

    name = "text"

    def __init__(self, choices: tuple[str, ...]) -> None:
        self.choices = choices

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 -- click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """The listed values that begin so."""
        offered = (choice for choice in self.choices if _is_offered(choice, incomplete))
        return [CompletionItem(as_typed(ctx, choice)) for choice in offered]


def _is_offered(choice: str, incomplete: str) -> bool:
    """True for plain words: whoever wrote the schema writes no commands here."""
    return choice.startswith(incomplete) and _PLAIN_WORDS.fullmatch(choice) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One parameter as the command line has it."""

    parameter: str
    dest: str
    """What click calls it; `option` is None where the name can be no flag."""
    option: click.Option | None
    words: str
    """What help says of it."""
    types: frozenset[str]
    item_types: frozenset[str]

    def is_switch(self, spelling: str | None) -> bool:
        """True if it is a yes or no, and has this spelling."""
        option = self.option
        return option is not None and option.is_flag and spelling in (*option.opts, *option.secondary_opts)

    @property
    def told_as_switch(self) -> str:
        """What is said to whoever gives a value to a yes or no."""
        spellings = [] if self.option is None else [self.option.opts[0], *self.option.secondary_opts[:1]]
        return f"{spellings[0]} takes no value: write {' or '.join(spellings)}" if spellings else ""

    def value_of(self, given: object) -> JSONValue:
        """The argument that these texts, or this switch, stand for.

        Raises:
            click.UsageError: where a parameter that is no list was given twice.
        """
        if isinstance(given, bool):
            return given
        texts = list(cast("tuple[str, ...]", given))
        if "array" in self.types and (len(texts) > 1 or not self.types - {"array", "null"}):
            return [_read(text, self.item_types) for text in texts]
        if len(texts) > 1:
            raise click.UsageError(f"--{self.parameter} is given {len(texts)} times, and takes one value.")
        return _read(texts[0], self.types)


def flags_of(schema: JSONObject) -> list[Flag]:
    """A flag for each parameter of a tool, those that are needed first."""
    properties = cast("JSONObject", schema.get("properties") or {})
    required = frozenset(cast("list[str]", schema.get("required") or []))
    taken = set(OWN_FLAGS) | {name for name in properties if _FLAG.fullmatch(name)}
    flags: list[Flag] = []
    for number, (name, member) in enumerate(properties.items()):
        types = types_of(schema, member)
        items = [types_of(schema, child) for child in children_at(schema, member, 0)]
        spellings = [] if name in OWN_FLAGS or not _FLAG.fullmatch(name) else _spellings(name, taken)
        dest = f"parameter_{number}"
        words = _words(schema, member, is_required=name in required)
        option = None
        if spellings and not types - {"boolean", "null"}:
            option = _switch(dest, spellings, words, taken)
        elif spellings:
            option = _value(dest, spellings, words, _Shape(schema, member, types))
        flags.append(
            Flag(
                parameter=name,
                dest=dest,
                option=option,
                words=words,
                types=types,
                item_types=frozenset[str]().union(*items) if items else frozenset(("string",)),
            )
        )
    return sorted(flags, key=lambda flag: flag.parameter not in required)


def given_arguments(flags: Iterable[Flag], params: Mapping[str, object]) -> JSONObject:
    """The arguments that flags were given for.

    Raises:
        click.UsageError: where a parameter that is no list was given twice.
    """
    given = ((flag, params.get(flag.dest)) for flag in flags)
    return {
        flag.parameter: flag.value_of(value) for flag, value in given if value is not None and value != ()
    }


def _read(text: str, types: frozenset[str]) -> JSONValue:
    """A text as it is where the schema admits one, else what it says as JSON; else the check refuses it."""
    if "string" in types:
        return text
    try:
        return read_json(text)
    except ValueError:
        return text


def _spellings(name: str, taken: set[str]) -> list[str]:
    """The flag by the parameter's own name, and with dashes where no other has that."""
    dashed = name.replace("_", "-").lower()
    if dashed in taken:
        return [f"--{name}"]
    taken.add(dashed)
    return [f"--{dashed}", f"--{name}"]


def _switch(dest: str, spellings: list[str], words: str, taken: set[str]) -> click.Option:
    decls = [dest]
    for spelling in spellings:
        off = f"no-{spelling[2:]}" if "-" in spelling[2:] or "_" not in spelling else f"no_{spelling[2:]}"
        has_off = off not in taken
        taken.add(off)
        decls.append(f"{spelling}/--{off}" if has_off else spelling)
    return _Shown(decls, is_flag=True, default=None, help=words)


class _Shown(click.Option):
    """An option of which help shows the first spelling alone."""

    def get_help_spec(self, ctx: click.Context) -> str:
        """The spelling, and what it takes."""
        if not self.is_flag:
            return f"{self.opts[0]} {self.make_metavar(ctx)}"
        return " / ".join((self.opts[0], *self.secondary_opts[:1]))


@dataclass(frozen=True, slots=True)
class _Shape:
    root: JSONObject
    member: JSONValue
    types: frozenset[str]

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that the schema lists, as they are typed."""
        listed: list[JSONValue] = []
        for node in self._nodes():
            values = [node["const"]] if "const" in node else node.get("enum")
            listed += values if isinstance(values, list) else []
        return tuple(
            value if isinstance(value, str) else show(value) for value in listed if value is not None
        )

    def _nodes(self) -> Iterator[JSONObject]:
        yield from in_place(self.root, self.member)
        if "array" in self.types:
            for child in children_at(self.root, self.member, 0):
                yield from in_place(self.root, child)

    @property
    def metavar(self) -> str:
        """What stands for the value in help."""
        kinds = self.types - {"null"}
        if kinds == frozenset(("array",)):
            inner = [types_of(self.root, child) for child in children_at(self.root, self.member, 0)]
            kinds = frozenset[str]().union(*inner) - {"null"} if inner else frozenset(("string",))
        shown = "|".join(map(one_line, self.choices))
        if shown and len(shown) <= _LONGEST_CHOICES:
            word = f"[{shown}]"
        elif "string" in kinds:
            word = "TEXT"
        elif kinds <= {"integer"}:
            word = "INTEGER"
        else:
            word = "NUMBER" if kinds <= {"integer", "number"} else "JSON"
        return f"{word}..." if "array" in self.types else word


def _value(dest: str, spellings: list[str], words: str, shape: _Shape) -> click.Option:
    return _Shown(
        [dest, *spellings],
        type=_Text(shape.choices),
        multiple=True,
        metavar=shape.metavar,
        help=words,
    )


def _words(root: JSONObject, member: JSONValue, *, is_required: bool) -> str:
    """What help says of a parameter: its description, what it takes, its default."""
    nodes = list(in_place(root, member))
    said = next((node["description"] for node in nodes if isinstance(node.get("description"), str)), "")
    marks = [one_line(expected(root, member))]
    default = next((node["default"] for node in nodes if "default" in node), None)
    if default is not None:
        marks.append(f"default: {one_line(show(default))}")
    if is_required:
        marks.append("required")
    text = f"[{'; '.join(mark for mark in marks if mark)}]"
    return f"{one_line(cast('str', said))}  {text}" if said else text
