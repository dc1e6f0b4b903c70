"""One object of arguments from what was typed: JSON, standard input, flags.

Knows JSON text and flags; what the arguments must be is the tool's to say.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from toolhaft.cli.call_flags import Flag, given_arguments
from toolhaft.cli.errors import CommandError
from toolhaft.schema import read_json
from toolhaft.schema.json_text import LONGEST_TEXT, has_repeated_key
from toolhaft.schema.json_value import JSONObject, JSONValue

_VALUES_OF_A_SWITCH: Final = ("true", "false", "yes", "no", "on", "off", "1", "0")


def gather(
    flags: Sequence[Flag], params: Mapping[str, object], *, text: str | None, parts: Iterable[str]
) -> str | JSONObject:
    """The arguments: the text itself where nothing else was given, so that the tool's check reads it.

    Raises:
        CommandError: where a text is no JSON, or one parameter is given in two ways.
        click.UsageError: where a parameter that is no list was given twice as a flag.
    """
    if text == "-":
        text = _standard_input()
    given: JSONObject = {}
    for source in (given_arguments(flags, params), *(_part(part) for part in parts)):
        _join(given, source)
    if text is None:
        return given
    if not given:
        return text
    switch = next((flag for flag in flags if isinstance(params.get(flag.dest), bool)), None)
    if switch is not None and text.strip().lower() in _VALUES_OF_A_SWITCH:
        raise CommandError(switch.told_as_switch)
    whole = _read("the JSON", text)
    if not isinstance(whole, dict):
        raise CommandError("the JSON is no object: write {...}")
    return _join(whole, given)


def _join(into: JSONObject, more: JSONObject) -> JSONObject:
    twice = [name for name in more if name in into]
    if twice:
        raise CommandError(f"{', '.join(twice)}: given both as JSON and as a flag, or twice; give it once")
    into.update(more)
    return into


def _part(part: str) -> JSONObject:
    name, equals, text = part.partition("=")
    if not equals or not name:
        raise CommandError(f"--arg-json {part}: write NAME=JSON, such as --arg-json limit=5")
    return {name: _read(f"--arg-json {name}", text)}


def _read(what: str, text: str) -> JSONValue:
    try:
        value = read_json(text)
    except ValueError as error:
        raise CommandError(f"{what} cannot be read: {error}; a text needs its quotes in JSON") from None
    if has_repeated_key(text, value):
        raise CommandError(f"{what} gives one key twice")
    return value


def _standard_input() -> str:
    stream = sys.stdin
    if stream is None:  # the program was started with it closed
        raise CommandError("standard input is closed, so - has nothing to read")
    data = stream.buffer.read(4 * LONGEST_TEXT + 1)
    try:
        text = data.decode("utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"standard input is not UTF-8, from byte {error.start} on") from None
    if len(text) > LONGEST_TEXT:
        raise CommandError(f"standard input is longer than {LONGEST_TEXT:,} characters")
    if not text.strip():
        raise CommandError("standard input is empty: a JSON object is wanted there, at least {}")
    return text
