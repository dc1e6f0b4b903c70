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
_MIN_COLUMN: Final = 12
"""Characters of a column in the middle of a drawn table, with the gap; longer texts wrap."""
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
    """Print a table: drawn to fit a terminal, in plain columns with every cell whole otherwise."""
    if is_terminal():
        _draw_table(headers, rows, color=color)
        return
    lines = [tuple(headers), *(tuple(map(_one_line, row)) for row in rows)]
    widths = _widths(lines)
    for line in lines:
        _write(sys.stdout, _GAP.join(map(str.ljust, line, widths)).rstrip())


def _one_line(cell: str) -> str:
    return printable(" ".join(cell.split()))


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*lines, strict=True)]


def _draw_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, color: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    screen = console(color=color)
    lines = [tuple(map(_one_line, row)) for row in rows]
    first, *others = (width + len(_GAP) for width in _widths([tuple(headers), *lines]))
    if first + sum(min(width, _MIN_COLUMN) for width in others[:-1]) + _MIN_LAST_COLUMN > screen.width:
        _print_stacked(headers, lines, screen.width)
        return
    left = max(screen.width - first - sum(others[:-1]), _MIN_LAST_COLUMN)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, len(_GAP), 0, 0))
    # people copy the first column: it never wraps
    table.add_column(headers[0], no_wrap=True, min_width=first - len(_GAP))
    for header in headers[1:]:
        table.add_column(header, overflow="fold")
    for line in lines:
        # as Text: a cell must not be read as rich markup
        table.add_row(*map(Text, (*line[:-1], _cut(line[-1], left))))
    screen.print(table)


def _print_stacked(headers: Sequence[str], lines: Sequence[Sequence[str]], width: int) -> None:
    """Print the cells of a row below each other, for a terminal that is too narrow for columns."""
    for first, *others, last in lines:
        _write(sys.stdout, first)
        for header, cell in zip(headers[1:-1], others, strict=True):
            if cell:
                _write(sys.stdout, f"  {header.lower()}: {cell}")
        if last:
            _write(sys.stdout, _cut(f"  {last}", max(width, _MIN_LAST_COLUMN)))


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
