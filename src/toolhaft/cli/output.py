"""Prints data to standard output and notes to standard error; on a terminal, rich draws the tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, TextIO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import Console

_ALLOWED_CONTROLS: Final = "\n\t"
_MAX_CELL_CHARS: Final = 60
"""For a cell of a plain table."""
_MIN_LAST_COLUMN: Final = 20
"""Characters of the last column of a drawn table, however narrow the terminal is."""
_GAP: Final = "  "


def printable(text: str) -> str:
    """A text with its control characters escaped, so that a terminal does not execute them."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in _ALLOWED_CONTROLS else _escape(ord(char)) for char in text
    )


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 -- Python's escapes


def count_of(number: int, noun: str) -> str:
    """A number with its noun, such as `1 file` or `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_data(text: str) -> None:
    """Print a line of data."""
    _write(sys.stdout, text)


def print_note(text: str) -> None:
    """Print a line for the user that is not part of the data."""
    _write(sys.stderr, text)


def print_json(value: object) -> None:
    """Print a JSON value as data."""
    _write(sys.stdout, to_json(value, indent=2))


def to_json(value: object, *, indent: int | None = None) -> str:
    """The JSON text of a value; ASCII only if the output's encoding requires it."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, default=str)
    return text


def _write(stream: TextIO | None, text: str) -> None:
    # None if the program was started with the stream closed
    if stream is not None:
        stream.write(text + "\n")


def is_terminal(stream: TextIO | None = None) -> bool:
    """True if the stream is a terminal; standard output by default."""
    chosen = stream or sys.stdout
    return chosen is not None and chosen.isatty()


def for_terminal(text: str) -> str:
    """A text for standard output, with control characters escaped if that is a terminal."""
    return printable(text) if is_terminal() else text


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, color: bool = True) -> None:
    """Print a table: drawn on a terminal, in plain columns otherwise."""
    if is_terminal():
        _draw_table(headers, rows, color=color)
        return
    lines = [tuple(headers), *(tuple(_one_line(cell, _MAX_CELL_CHARS) for cell in row) for row in rows)]
    widths = _widths(lines)
    for line in lines:
        _write(sys.stdout, _GAP.join(map(str.ljust, line, widths)).rstrip())


def _one_line(cell: str, max_chars: int) -> str:
    text = printable(" ".join(cell.split()))
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*lines, strict=True)]


def _draw_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, color: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    screen = console(color=color)
    firsts = [headers[:-1], *([printable(" ".join(cell.split())) for cell in row[:-1]] for row in rows)]
    left = screen.width - sum(width + len(_GAP) for width in _widths(firsts))
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, len(_GAP), 0, 0))
    for header in headers:
        table.add_column(header, overflow="fold")
    for first, row in zip(firsts[1:], rows, strict=True):
        # as Text: a cell must not be read as rich markup
        table.add_row(*map(Text, (*first, _one_line(row[-1], max(left, _MIN_LAST_COLUMN)))))
    screen.print(table)


def console(*, color: bool = True, stderr: bool = False) -> Console:
    """A rich console; without colors if they are switched off."""
    from rich.console import Console as RichConsole

    # with NO_COLOR, rich alone would still print bold and dim
    is_plain = not color or bool(os.environ.get("NO_COLOR"))
    return RichConsole(
        stderr=stderr,
        color_system=None if is_plain else "auto",
        highlight=False,
        emoji=False,
        markup=False,
    )
