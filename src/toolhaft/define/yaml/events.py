"""The YAML parser behind one small type: the events of a text, and what stops them.

The only file that knows ruamel.yaml. It reads the events of YAML 1.2 and builds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

try:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError
    from ruamel.yaml.scanner import Scanner
except ImportError as error:
    raise ImportError("YAML tools need ruamel.yaml: pip install 'toolhaft[yaml]'") from error

Kind: TypeAlias = Literal[
    "StreamStart",
    "StreamEnd",
    "DocumentStart",
    "DocumentEnd",
    "Alias",
    "Scalar",
    "SequenceStart",
    "SequenceEnd",
    "MappingStart",
    "MappingEnd",
]

DEEPEST: Final = 64
"""Levels of lists and mappings inside each other."""
_TAG: Final = re.compile(r"!\S{0,60}")
_HINTS: Final = (
    ("'\\t'", "indent with spaces, not tabs"),
    ("mapping values", "quote a text that holds ': ', and indent the keys of one mapping alike"),
    ("end of stream", "close the quote or bracket that was opened"),
    ("<stream end>", "close the quote or bracket that was opened"),
    ("cannot start any token", "put the value in quotes"),
    ("anchor", "quote a text that starts with &"),
    ("alias", "quote a text that starts with *"),
)


class Event(NamedTuple):
    """One event: what starts, ends or stands here, and where."""

    kind: Kind
    line: int
    column: int
    start: int
    end: int
    anchor: str | None
    value: str
    style: str
    """Of a scalar: the mark that it starts with, "" for a plain one. Of a collection: "flow" or "block"."""
    version: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """One thing wrong in a file."""

    line: int
    what: str
    fix: str
    level: Literal["error", "warning"] = "error"


class UnreadableError(Exception):
    """A flaw after which nothing more can be read."""

    def __init__(self, line: int, what: str, fix: str) -> None:
        super().__init__(what)
        self.flaw = Flaw(line=line, what=what, fix=fix)


def read_events(text: str) -> Iterator[Event]:
    """The events of a text, one at a time, so that whoever asks may stop at any.

    Raises:
        UnreadableError: where the text is not YAML, or has a tag.
    """
    parser = YAML(typ="safe", pure=True)
    parser.Scanner = _Scanner
    line = 1
    try:
        for event in cast("Iterator[Any]", parser.parse(text)):  # pyright: ignore[reportUnknownMemberType] -- untyped there
            read = _read(event)
            line = read.line
            yield read
    except ReaderError as error:
        position = cast("int", error.position)
        what = f"the character {text[position]!a} cannot stand in a YAML file"
        fix = "take it out, or write it as an escape in double quotes"
        raise UnreadableError(text.count("\n", 0, position) + 1, what, fix) from error
    except MarkedYAMLError as error:
        raise _explain(error, line) from error
    except (YAMLError, ValueError, OverflowError) as error:
        # numbers that the parser does not check: an escape beyond Unicode, a version of a thousand digits
        what = f"this is not YAML: {error!s:.200}"
        raise UnreadableError(line, what, "check the escapes in double quotes after this line") from error


def _read(event: Any) -> Event:  # noqa: ANN401 -- what the parser gives has no types
    start, style = event.start_mark, getattr(event, "style", None) or ""
    if hasattr(event, "flow_style"):
        style = "flow" if event.flow_style else "block"
    return Event(
        kind=type(event).__name__.removesuffix("Event"),  # pyright: ignore[reportArgumentType] -- one of the ten
        line=start.line + 1,
        column=start.column,
        start=start.index,
        end=event.end_mark.index,
        anchor=getattr(event, "anchor", None),
        value=getattr(event, "value", ""),
        style=style,
        version=getattr(event, "version", None),
    )


def _explain(error: Any, line: int) -> UnreadableError:  # noqa: ANN401 -- a MarkedYAMLError, which has no types
    mark, context = error.problem_mark, error.context_mark
    what = f"this is not YAML: {error.problem or error.context!s:.200}"
    if mark is not None:
        line = mark.line + 1
    if context is not None and context.line + 1 < line:
        what += f", {error.context} that starts on line {context.line + 1}"
    fixes = (fix for sign, fix in _HINTS if sign in f"{what} {error.context}")
    fix = next(fixes, "check the quotes, brackets and indentation of this line and the one before")
    return UnreadableError(line, what, fix)


def too_deep(line: int) -> UnreadableError:
    """The error for a value inside too many others."""
    return UnreadableError(
        line, f"values are nested more than {DEEPEST} deep here", "make the structure flatter"
    )


class _Scanner(Scanner):
    """Stops at a tag and at many brackets: the parser's time for either grows with its length squared."""

    def fetch_flow_collection_start(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 -- untyped there
        if self.flow_level > DEEPEST:
            raise too_deep(cast("Any", self.reader).line + 1)
        super().fetch_flow_collection_start(*args, **kwargs)  # pyright: ignore[reportUnknownMemberType] -- untyped there

    def scan_tag(self) -> object:
        reader = cast("Any", self.reader)
        tag = _TAG.match(reader.buffer, reader.pointer)
        what = f"the tag {tag[0] if tag else '!'!r} is not allowed"
        raise UnreadableError(reader.line + 1, what, "take it out, and quote the value if it is text")
