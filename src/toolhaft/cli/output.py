"""Prints: data on standard output, notes on standard error, tables drawn by rich on a terminal only.

Does not know the verbs, nor tools.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final, TextIO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.console import Console

_KEPT: Final = "\n\t"
_WIDEST: Final = 60
"""Characters of a cell of a plain table."""
_NARROWEST: Final = 20
"""Characters that the last column of a drawn table has, however narrow the terminal."""
_GAP: Final = "  "


def show(text: str) -> str:
    """A text with whatever a terminal would obey instead of show written out as an escape."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in _KEPT else _written(ord(letter)) for letter in text
    )


def _written(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 -- Python's own spelling


def say(text: str) -> None:
    """A line of data."""
    _write(sys.stdout, text)


def note(text: str) -> None:
    """A line for the person, which is no part of the data."""
    _write(sys.stderr, text)


def say_json(value: object) -> None:
    """A JSON value, as data."""
    _write(sys.stdout, to_json(value, indent=2))


def to_json(value: object, *, indent: int | None = None) -> str:
    """The JSON text of a value; letters as they are where the output can carry them."""
    import json  # noqa: PLC0415 -- most verbs print none

    text = json.dumps(value, ensure_ascii=False, indent=indent, default=str)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, default=str)
    return text


def _write(stream: TextIO | None, text: str) -> None:
    # a program may be started with its output closed: then nobody wants it
    if stream is not None:
        stream.write(text + "\n")


def is_terminal(stream: TextIO | None = None) -> bool:
    """True if a person sees the stream, standard output if none is given."""
    asked = stream or sys.stdout
    return asked is not None and asked.isatty()


def say_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, color: bool = True) -> None:
    """A table: drawn on a terminal, in plain columns elsewhere."""
    if is_terminal():
        _draw_table(headers, rows, color=color)
        return
    lines = [tuple(headers), *(tuple(_one_line(cell, _WIDEST) for cell in row) for row in rows)]
    widths = _widths(lines)
    for line in lines:
        _write(sys.stdout, _GAP.join(map(str.ljust, line, widths)).rstrip())


def _one_line(cell: str, widest: int) -> str:
    text = show(" ".join(cell.split()))
    return text if len(text) <= widest else text[: widest - 1] + "…"


def _widths(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*lines, strict=True)]


def _draw_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, color: bool) -> None:
    from rich.table import Table  # noqa: PLC0415 -- rich is for a terminal only
    from rich.text import Text  # noqa: PLC0415 -- the same

    screen = console(color=color)
    firsts = [headers[:-1], *([show(" ".join(cell.split())) for cell in row[:-1]] for row in rows)]
    left = screen.width - sum(width + len(_GAP) for width in _widths(firsts))
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, len(_GAP), 0, 0))
    for header in headers:
        table.add_column(header, overflow="fold")
    for first, row in zip(firsts[1:], rows, strict=True):
        # as Text: a cell is never read as rich's own markup
        table.add_row(*map(Text, (*first, _one_line(row[-1], max(left, _NARROWEST)))))
    screen.print(table)


def console(*, color: bool = True, stderr: bool = False) -> Console:
    """A rich console; without colours where they are not wanted."""
    from rich.console import Console as RichConsole  # noqa: PLC0415 -- rich is for a terminal only

    # rich's own answer to NO_COLOR still draws bold and dim
    is_plain = not color or bool(os.environ.get("NO_COLOR"))
    return RichConsole(
        stderr=stderr,
        color_system=None if is_plain else "auto",
        highlight=False,
        emoji=False,
        markup=False,
    )
