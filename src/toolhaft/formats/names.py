"""Makes tool names and call ids that a format accepts from those that it does not, always in the same way."""

from __future__ import annotations

import re
from hashlib import blake2b, sha256
from typing import Final, NamedTuple

from pydantic_core import to_json

_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_HASH: Final = 8
_GENERATED: Final = re.compile("call_[0-9a-f]{16}")


class NameRule(NamedTuple):
    """Which names or ids a format accepts."""

    pattern: re.Pattern[str]
    """Matches a whole valid name."""
    bad: re.Pattern[str]
    """Matches one character that no name may have."""
    longest: int
    exact: bool = False
    """Whether a name must have exactly `longest` characters."""

    def admits(self, name: str) -> bool:
        """True if the name can be sent unchanged."""
        return self.pattern.fullmatch(name) is not None


def rule(characters: str, longest: int, *, first: str = "") -> NameRule:
    """A rule from the characters that a name may have, and those that it may begin with."""
    start = first or characters
    return NameRule(
        pattern=re.compile(f"[{start}][{characters}]{{0,{longest - 1}}}"),
        bad=re.compile(f"[^{characters}]"),
        longest=longest,
    )


WORD: Final = "A-Za-z0-9_-"
NINE_CHARACTERS: Final = NameRule(re.compile("[A-Za-z0-9]{9}"), re.compile("[^A-Za-z0-9]"), 9, exact=True)


def fit_name(name: str, wanted: NameRule, *, is_taken: bool = False) -> str:
    """The name itself if the format accepts it, else one derived from it."""
    if wanted.admits(name) and not is_taken:
        return name
    if wanted.exact:
        return _digest(name, wanted.longest)
    safe = wanted.bad.sub("_", name)
    if not wanted.admits(safe[: wanted.longest]):
        safe = f"_{safe}"
    if len(safe) > wanted.longest or is_taken or not safe.strip("_"):
        safe = f"{safe[: wanted.longest - _HASH - 1]}_{_digest(name, _HASH)}"
    return safe


def fit_id(id: str, wanted: NameRule) -> str:
    """The call id itself if the format accepts it, else one derived from it; different ids stay different."""
    if wanted.admits(id):
        return id
    return _digest(id, wanted.longest) if wanted.exact else f"call_{_digest(id, 24)}"


def _digest(text: str, length: int) -> str:
    number = int.from_bytes(sha256(text.encode("utf-8", "surrogatepass")).digest())
    made = ""
    for _ in range(length):
        number, digit = divmod(number, len(_DIGITS))
        made += _DIGITS[digit]
    return made


def is_generated_id(id: str) -> bool:
    """True for an id made by `generated_id`."""
    return _GENERATED.fullmatch(id) is not None


def generated_id(number: int, name: str, arguments: object) -> str:
    """An id for a call that has none; the same call at the same position gets the same id."""
    try:
        content = to_json((number, name, arguments))
    except (ValueError, RecursionError):  # the arguments are not JSON
        content = f"{number} {name}".encode("utf-8", "surrogatepass")
    return f"call_{blake2b(content, digest_size=8).hexdigest()}"
