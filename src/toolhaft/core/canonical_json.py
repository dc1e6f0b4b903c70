"""Writes a JSON value as one canonical text, whatever the order of its keys, and makes digests of it."""

from __future__ import annotations

from hashlib import sha256
from typing import cast

from pydantic_core import to_json


def canonical_text(value: object) -> str:
    """The JSON text of a value with sorted keys; its ASCII repr if JSON cannot hold it."""
    try:
        return to_json(_sorted(value), fallback=str, inf_nan_mode="strings").decode()
    except (ValueError, RecursionError):  # a lone surrogate, or nested too deeply
        return ascii(value)


def digest(value: object) -> str:
    """The SHA-256 of the canonical text."""
    return sha256(canonical_text(value).encode()).hexdigest()


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return {key: _sorted(members[key]) for key in sorted(members)}
    if isinstance(value, list):
        return [_sorted(part) for part in cast("list[object]", value)]
    return value
