"""Takes SQL texts apart: where the parameters stand, and where a statement ends.

Knows quotes and comments, no database.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Final, TypeAlias

from toolhaft.errors import StorageError

Value: TypeAlias = str | int | float | bool | None
Row: TypeAlias = tuple[object, ...]

_QUOTED: Final = r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/"""
_PLACES: Final = re.compile(rf"({_QUOTED}) | \?", re.VERBOSE | re.DOTALL)
_ENDS: Final = re.compile(rf"(?: {_QUOTED} | [^;'\"/-] | [/-] )+", re.VERBOSE | re.DOTALL)
_HALVES: Final = re.compile("[\0\ud800-\udfff]")
_LARGEST: Final = 2**63


@lru_cache(maxsize=512)
def number_places(sql: str) -> str:
    """The text with $1, $2, ... in place of each question mark."""
    numbers = count(1)
    return _PLACES.sub(lambda found: found[1] or f"${next(numbers)}", sql)


def split_statements(sql: str) -> list[str]:
    """The statements of a text, without the semicolons between them."""
    return [part.strip() for part in _ENDS.findall(sql) if _says_something(part)]


def _says_something(part: str) -> bool:
    return bool(re.sub(r"--[^\n]*|/\*.*?\*/", "", part, flags=re.DOTALL).strip())


def check_values(values: Sequence[Value]) -> tuple[Value, ...]:
    """The parameters as both databases take them: booleans are numbers.

    Raises:
        StorageError: for a text or a number that one of the two could not keep.
    """
    checked: list[Value] = []
    for number, value in enumerate(values, 1):
        if isinstance(value, str):
            if not is_storable(value):
                raise StorageError(f"parameter {number} holds a NUL or half a character; take it out")
        elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise StorageError(f"parameter {number} is a number of more than 64 bits; keep it as text")
        checked.append(int(value) if isinstance(value, bool) else value)
    return tuple(checked)


def is_storable(text: str) -> bool:
    """True if a database can keep the text: PostgreSQL takes no NUL, and half a character is no UTF-8."""
    return "\0" not in text if text.isascii() else not _HALVES.search(text)
