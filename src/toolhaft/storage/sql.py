"""Parameter placeholders, statement splitting and parameter checks for SQL texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Final, TypeAlias

from toolhaft.errors import StorageError

SqlValue: TypeAlias = str | int | float | bool | None
Row: TypeAlias = tuple[object, ...]

_QUOTED: Final = r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/"""
_PLACEHOLDERS: Final = re.compile(rf"({_QUOTED}) | \?", re.VERBOSE | re.DOTALL)
_ENDS: Final = re.compile(rf"(?: {_QUOTED} | [^;'\"/-] | [/-] )+", re.VERBOSE | re.DOTALL)
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_LARGEST: Final = 2**63


@lru_cache(maxsize=512)
def number_placeholders(sql: str) -> str:
    """Replace the question marks with $1, $2 and so on."""
    numbers = count(1)
    return _PLACEHOLDERS.sub(lambda found: found[1] or f"${next(numbers)}", sql)


def split_statements(sql: str) -> list[str]:
    """Split a text at the semicolons between statements."""
    return [part.strip() for part in _ENDS.findall(sql) if _is_statement(part)]


def _is_statement(part: str) -> bool:
    return bool(re.sub(r"--[^\n]*|/\*.*?\*/", "", part, flags=re.DOTALL).strip())


def check_values(values: Sequence[SqlValue]) -> tuple[SqlValue, ...]:
    """Convert parameters to values that both databases accept: booleans become numbers.

    Raises:
        StorageError: for a text or number that one of the two cannot store.
    """
    checked: list[SqlValue] = []
    for number, value in enumerate(values, 1):
        if isinstance(value, str):
            if not is_storable(value):
                raise StorageError(f"parameter {number} contains a NUL or half a surrogate pair; remove it")
        elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
            raise StorageError(f"parameter {number} is an integer of more than 64 bits; store it as text")
        checked.append(int(value) if isinstance(value, bool) else value)
    return tuple(checked)


def is_storable(text: str) -> bool:
    """True if both databases can store the text: no NUL, and no half of a surrogate pair."""
    return "\0" not in text if text.isascii() else not _UNSTORABLE.search(text)
