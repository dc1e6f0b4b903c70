"""Reads `run: {argv: [...]}`: a program and its arguments, never a shell's line.

Knows what the block may say; does not start anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, cast

from toolhaft.define.running.faults import Faults
from toolhaft.define.running.parameters import Parameters
from toolhaft.define.running.shape import Shape, shape_of
from toolhaft.define.running.template import Template, as_text
from toolhaft.schema.json_value import JSONObject, JSONValue

ARGV_KEYS: Final = ("argv", "cwd", "env", "max_output_bytes", "stdin")
DEFAULT_OUTPUT: Final = 1_000_000
LARGEST_OUTPUT: Final = 100_000_000
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgvPlan:
    """A program, what it is given, and how much it may answer."""

    program: str
    arguments: tuple[Template, ...]
    cwd: str
    """Below the project's folder; empty for that folder."""
    env: tuple[str, ...]
    stdin: Template | None
    max_output_bytes: int
    shape: Shape | None


def read_argv(fields: JSONObject, parameters: Parameters, faults: Faults) -> ArgvPlan | None:
    """The plan, or None where it cannot be run."""
    program, texts = _program_and_arguments(parameters, fields["argv"], faults)
    plan = ArgvPlan(
        program=program,
        arguments=tuple(text for text in texts if text is not None),
        cwd=_folder(fields.get("cwd"), faults),
        env=_variables(fields.get("env"), faults),
        stdin=_stdin(parameters, fields.get("stdin"), faults),
        max_output_bytes=_size(fields.get("max_output_bytes", DEFAULT_OUTPUT), faults),
        shape=shape_of(parameters, None),
    )
    return None if faults.has_errors else plan


def _program_and_arguments(
    parameters: Parameters, elements: JSONValue, faults: Faults
) -> tuple[str, list[Template | None]]:
    if not isinstance(elements, list) or not elements:
        faults.add(("argv",), "argv is not a list", 'write argv: ["program", "--option=${parameter}"]')
        return "", []
    texts = [_argument(parameters, item, number, faults) for number, item in enumerate(elements[1:], 1)]
    program = _program(parameters, elements[0], faults)
    _warn_options(parameters, texts, faults)
    return program, texts


def _program(parameters: Parameters, item: JSONValue, faults: Faults) -> str:
    place = ("argv", 0)
    if not isinstance(item, str) or not item.strip() or "\0" in item:
        faults.add(
            place, "argv does not begin with a program", 'write its name first: argv: ["convert", ...]'
        )
        return ""
    made = parameters.template(item, place, faults)
    if made is not None and not made.is_literal:
        what = "the program is chosen by a parameter"
        faults.add(place, what, "name the program itself; parameters are its arguments")
    return "" if made is None else made.literal


def _argument(parameters: Parameters, item: JSONValue, number: int, faults: Faults) -> Template | None:
    place = ("argv", number)
    if item is None or isinstance(item, list | dict):
        faults.add(place, f"element {number} of argv is not text", "write each argument as one text")
        return None
    text = as_text(item)
    if "\0" in text:
        faults.add(place, f"element {number} of argv has a NUL in it", "take it out: no program can get it")
        return None
    return parameters.template(text, place, faults)


def _warn_options(parameters: Parameters, texts: list[Template | None], faults: Faults) -> None:
    """A text from a model that begins with a dash is read as an option by most programs."""
    for number, text in enumerate(texts, 1):
        if text is None:
            continue
        if text.is_literal and text.literal == "--":
            return
        name = text.whole
        if (
            name is not None
            and parameters.inputs[name].get("type") == "string"
            and not _is_closed(parameters.inputs[name])
        ):
            what = f"the program may read ${{{name}}} as an option where it begins with '-'"
            faults.warn(("argv", number), what, f'put "--" before it, or write "--option=${{{name}}}"')


def _is_closed(schema: object) -> bool:
    """True for a text whose author says what it may be."""
    said = cast("JSONObject", schema)
    return any(key in said for key in ("enum", "const", "pattern"))


def _folder(value: JSONValue, faults: Faults) -> str:
    if value is None:
        return ""
    parts = PurePosixPath(value).parts if isinstance(value, str) else ("..",)
    if not isinstance(value, str) or ".." in parts or value.startswith(("/", "~")) or not value.strip():
        faults.add(("cwd",), "cwd is not a folder below the project's", 'write it as "data/images"')
        return ""
    if "${" in value or "\0" in value:
        faults.add(("cwd",), "cwd cannot be filled by a parameter", "name the folder itself")
        return ""
    return value


def _variables(value: JSONValue, faults: Faults) -> tuple[str, ...]:
    if value is None:
        return ()
    names = value if isinstance(value, list) else [None]
    bad = [name for name in names if not isinstance(name, str) or not _VARIABLE.fullmatch(name)]
    if bad:
        what = "env is not a list of variables' names"
        faults.add(("env",), what, "write env: [HOME, LANG]; values come from the environment or .env")
        return ()
    return tuple(cast("list[str]", names))


def _stdin(parameters: Parameters, value: JSONValue, faults: Faults) -> Template | None:
    if value is None:
        return None
    made = parameters.template(as_text(value), ("stdin",), faults)
    if made is not None and made.whole is None:
        parameters.needs_sure(made, ("stdin",), faults, "inside a longer text")
    return made


def _size(value: JSONValue, faults: Faults) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST_OUTPUT:
        what = "max_output_bytes is not a whole number of bytes"
        faults.add(("max_output_bytes",), what, f"give it 1 to {LARGEST_OUTPUT:,}")
        return DEFAULT_OUTPUT
    return value
