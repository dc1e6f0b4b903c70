"""Finds characters that a reader does not see and a model does, in the texts of a tool."""

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

from toolhaft.errors import DefinitionError
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath
from toolhaft.schema.problems import render_path

_CANDIDATE: Final = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"  # control characters; tabs and line breaks are visible
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U00016fe4\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe-\U000e0fff"  # with planes that Unicode does not use
    "\U000efffe\U000effff\U000ffffe\U000fffff\U0010fffe\U0010ffff"
    "]"
)
"""Unicode's default-ignorable code points, and others that are shown as nothing."""
_ASCII_CANDIDATE: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
"""The same in a text that is all ASCII, as most are: much faster."""
_BLACK_FLAG: Final = "\U0001f3f4"
_FLAG_OR_CANDIDATE: Final = re.compile(f"{_CANDIDATE.pattern[:-1]}{_BLACK_FLAG}]")
_FLAG: Final = re.compile(
    f"{_BLACK_FLAG}(?:"
    + "|".join(
        "".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls")
    )
    + ")\U000e007f"
)
"""The flags of England, Scotland and Wales, the only emoji that are written with tag characters."""
_JOINING: Final = re.compile(
    "[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ua800-\uabff\ufb50-\ufdcf\ufdf0-\ufdff\ufe70-\ufefc]"
)
"""Arabic, Indic and other scripts in which a zero-width joiner or non-joiner changes how letters look."""
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
"""Thai, Lao, Burmese and Khmer, in which a zero-width space separates words."""
_IDEOGRAPH: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_MONGOLIAN: Final = re.compile("[\u1820-\u18aa]")
_BRAILLE: Final = re.compile("[\u2801-\u28ff]")
_MORE_EMOJI: Final = "#*0123456789\u203c\u2049\u2139\u3030\u303d"
"""Characters with an emoji form that are not symbols by their category."""
_NAMES: Final = {"\x00": "NULL", "\x08": "BACKSPACE", "\x1b": "ESCAPE", "\x7f": "DELETE"}
MAX_LISTED: Final = 5
"""Invisible characters that one message names."""


class InvisibleCharacter(NamedTuple):
    """One invisible character of a text."""

    at: int
    character: str

    @property
    def name(self) -> str:
        """Its code point and name, such as `U+200B ZERO WIDTH SPACE`."""
        named = unicodedata.name(self.character, "") or _NAMES.get(self.character, "")
        return f"U+{ord(self.character):04X} {named}".rstrip()


def invisible_characters(text: str) -> Iterator[InvisibleCharacter]:
    """Yield the invisible characters of a text, without those that a script or an emoji needs there."""
    has_braille: bool | None = None
    flag_end = 0
    pattern = _ASCII_CANDIDATE if text.isascii() else _FLAG_OR_CANDIDATE
    for found in pattern.finditer(text):
        index, character = found.start(), found[0]
        if character == _BLACK_FLAG:
            flag = _FLAG.match(text, index)
            flag_end = flag.end() if flag else flag_end
        elif character == "\u2800":
            has_braille = bool(_BRAILLE.search(text)) if has_braille is None else has_braille
            if not has_braille:
                yield InvisibleCharacter(index, character)
        elif index >= flag_end and not _is_needed(text, index, character):
            yield InvisibleCharacter(index, character)


def invisible_in(value: JSONValue, path: ValuePath = ()) -> Iterator[tuple[str, InvisibleCharacter]]:
    """Yield the invisible characters in all texts and keys of a value, each with its path."""
    if isinstance(value, str):
        for found in invisible_characters(value):
            yield render_path(path), found
    elif isinstance(value, dict):
        for key, child in value.items():
            for found in invisible_characters(key):
                yield f"the key {render_path((*path, key))}", found
            yield from invisible_in(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from invisible_in(child, (*path, index))


def refuse_invisible(texts: JSONObject) -> None:
    """Refuse the texts of a tool that the user has not written, if they have invisible characters.

    Raises:
        DefinitionError: naming the first ones.
    """
    found = [
        f"{character.name} in {place}" for place, character in islice(invisible_in(texts), MAX_LISTED + 1)
    ]
    if found:
        more = ", ..." if len(found) > MAX_LISTED else ""
        raise DefinitionError(
            f"there are invisible characters, which a model reads and people do not see: "
            f"{', '.join(found[:MAX_LISTED])}{more}",
            fix="do not use this tool before you know why they are there; then take them out",
        )


def _is_needed(text: str, index: int, character: str) -> bool:
    """True if the text is not written correctly without the character."""
    before = text[index - 1] if index else ""
    after = text[index + 1 : index + 2]
    if character in "\u200c\u200d":
        return _joins(character, text, index, before, after)
    if character == "\u200b":
        return bool(_UNSPACED.match(before) and _UNSPACED.match(after))
    if "\u180b" <= character <= "\u180f":
        return bool(_MONGOLIAN.match(before))
    return _varies(character, before)


def _joins(character: str, text: str, index: int, before: str, after: str) -> bool:
    """True for a joiner between letters of a script that has joined forms, or between two emoji."""
    if _JOINING.match(before) and not _CANDIDATE.match(before):
        return not _CANDIDATE.match(after)
    if _JOINING.match(after):
        return before.isalnum()
    if character != "\u200d":
        return False
    base = text[index - 2 : index - 1] if before == "\ufe0f" else before
    return _is_emoji(base) and _is_emoji(after)


def _is_emoji(character: str) -> bool:
    return bool(character) and (
        unicodedata.category(character) == "So" or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _varies(character: str, before: str) -> bool:
    """True for a variation selector after a character that has such a variation."""
    if not before or _CANDIDATE.match(before):
        return False
    if character in "\ufe0e\ufe0f":
        return unicodedata.category(before) in ("So", "Sm") or before in _MORE_EMOJI
    if "\ufe00" <= character <= "\ufe05":
        return not before.isascii() and unicodedata.category(before) in ("Lo", "Sm", "So", "Po", "Ps", "Pe")
    return "\U000e0100" <= character <= "\U000e010f" and bool(_IDEOGRAPH.match(before))
