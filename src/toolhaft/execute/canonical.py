"""One text for one value, whatever the order of its keys.

Knows JSON; does not know calls.
"""

from __future__ import annotations

from hashlib import sha256
from typing import cast

from pydantic_core import to_json


def canonical_text(value: object) -> str:
    """One text for one value, whatever the order of its keys."""
    try:
        return to_json(_sorted(value), fallback=str, inf_nan_mode="strings").decode()
    except (ValueError, RecursionError):  # what UTF-8 cannot say, or too deep
        return ascii(value)


def digest(value: object) -> str:
    """A short name for a value that no other value has."""
    return sha256(canonical_text(value).encode()).hexdigest()


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {key: _sorted(members[key]) for key in sorted(members)}
    if isinstance(value, list):
        return [_sorted(part) for part in cast("list[object]", value)]
    return value
