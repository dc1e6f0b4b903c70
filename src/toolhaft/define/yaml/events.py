"""The YAML 1.2 parser: yields the events of a text. The only module that imports ruamel.yaml."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, cast

try:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.reader import ReaderError
    from ruamel.yaml.scanner import Scanner
except ImportError as error:
    raise ImportError("YAML tools need ruamel.yaml: pip install 'toolhaft[yaml]'") from error

MAX_DEPTH: Final = 64
"""Levels of nested lists and mappings."""
_TAG: Final = re.compile(r"!\S{0,60}")
_HINTS: Final = (
    ("'\\t'", "indent with spaces, not tabs"),
    ("mapping values", "quote a text that contains ': ', and indent the keys of one mapping alike"),
    ("end of stream", "close the quote or bracket that was opened"),
    ("<stream end>", "close the quote or bracket that was opened"),
    ("cannot start any token", "put the value in quotes"),
    ("anchor", "quote a text that starts with &"),
    ("alias", "quote a text that starts with *"),
)


class YamlEvent(NamedTuple):
    """One event: what starts, ends or occurs here, and where."""

    kind: str
    """The name of the parser's class without "Event": StreamStart, Scalar, Alias, MappingEnd, ..."""
    line: int
    column: int
    start: int
    end: int
    anchor: str | None
    value: str
    style: str
    """The first character of a scalar that is not plain; "flow" or "block" for a collection."""
    version: object


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlProblem:
    """One problem of a file."""

    line: int
    what: str
    fix: str
    level: Literal["error", "warning"] = "error"


class UnreadableError(Exception):
    """A problem after which nothing more can be parsed."""

    def __init__(self, line: int, what: str, fix: str) -> None:
        super().__init__(what)
        self.problem = YamlProblem(line=line, what=what, fix=fix)


def read_events(text: str) -> Iterator[YamlEvent]:
    """Yield the events of a text.

    Raises:
        UnreadableError: if the text is not YAML, or has a tag.
    """
    parser = YAML(typ="safe", pure=True)
    parser.Scanner = _Scanner
    line = 1
    try:
        for event in cast("Iterator[Any]", parser.parse(text)):  # pyright: ignore[reportUnknownMemberType] -- untyped there
            read = _convert(event)
            line = read.line
            yield read
    except ReaderError as error:
        position = cast("int", error.position)
        what = f"the character {text[position]!a} is not allowed in a YAML file"
        fix = "take it out, or write it as an escape in double quotes"
        raise UnreadableError(text.count("\n", 0, position) + 1, what, fix) from error
    except MarkedYAMLError as error:
        raise _explain(error, line) from error
    except (YAMLError, ValueError, OverflowError) as error:
        # the parser does not check numbers, such as an escape beyond Unicode or a huge version
        what = f"this is not YAML: {error!s:.200}"
        raise UnreadableError(line, what, "check the escapes in double quotes after this line") from error


def _convert(event: Any) -> YamlEvent:  # noqa: ANN401 -- the parser's events have no types
    start, style = event.start_mark, getattr(event, "style", None) or ""
    if hasattr(event, "flow_style"):
        style = "flow" if event.flow_style else "block"
    return YamlEvent(
        kind=type(event).__name__.removesuffix("Event"),
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
    """Make the error for a value that is nested too deep."""
    return UnreadableError(
        line, f"values are nested more than {MAX_DEPTH} deep here", "make the structure flatter"
    )


class _Scanner(Scanner):
    """Refuses tags and deep brackets, for which the parser takes quadratic time."""

    def fetch_flow_collection_start(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 -- untyped there
        if self.flow_level > MAX_DEPTH:
            raise too_deep(cast("Any", self.reader).line + 1)
        super().fetch_flow_collection_start(*args, **kwargs)  # pyright: ignore[reportUnknownMemberType] -- untyped there

    def scan_tag(self) -> object:
        reader = cast("Any", self.reader)
        tag = _TAG.match(reader.buffer, reader.pointer)
        what = f"the tag {tag[0] if tag else '!'!r} is not allowed"
        raise UnreadableError(reader.line + 1, what, "take it out, and quote the value if it is text")
