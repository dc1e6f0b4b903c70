"""The nodes of a YAML document, and how plain texts become values."""

from __future__ import annotations

import re
from math import isfinite
from typing import Final, Literal, NamedTuple, TypeAlias

MAX_WEIGHT: Final = 10_000
"""The number of nodes, aliases expanded; 64 characters of a text count as one node."""
CHARACTERS_PER_NODE: Final = 64
_MAX_DIGITS: Final = 300

_FLAGS: Final = {word: word[0] in "tT" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
WORDS: Final[dict[str, bool | None]] = {**_FLAGS, **dict.fromkeys(("", "~", "null", "Null", "NULL"))}
"""The plain texts that are not text."""
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NUMBER: Final = re.compile(rf"{_INTEGER.pattern}|{_FLOAT.pattern}|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")

Scalar: TypeAlias = str | int | float | bool | None
Style: TypeAlias = Literal["plain", "quoted", "literal", "empty", "alias", "block", "flow"]


class YamlNode(NamedTuple):
    """A value and its position in the text; for an alias, the position of the alias."""

    # a named tuple: a frozen dataclass takes five times as long to make, and a file has dozens of nodes
    value: Scalar | list[YamlNode] | dict[str, YamlEntry]
    style: Style
    line: int
    column: int
    start: int
    end: int
    weight: int = 1
    height: int = 1


class YamlEntry(NamedTuple):
    """One key of a mapping; a key merged with `<<` is elsewhere in the text."""

    line: int
    node: YamlNode
    is_merged: bool = False


def resolve_plain(text: str) -> Scalar:
    """The value of a plain text, by the core schema of YAML 1.2.

    Raises:
        ValueError: if it is a number that JSON does not have.
    """
    if text in WORDS:
        return WORDS[text]
    if _INTEGER.fullmatch(text):
        if len(text) <= _MAX_DIGITS:
            return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    elif _FLOAT.fullmatch(text) and isfinite(float(text)):
        return float(text)
    if _NUMBER.fullmatch(text):
        raise ValueError(f"{text:.40} is not a number in JSON")
    return text
