"""Which version of a tool a request means: If-Match, If-None-Match, and what the document itself says.

Knows headers of RFC 9110; does not know the shelf.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import EllipsisType
from typing import Final

from toolhaft.serve.problems import Problem

ANY: Final = "*"
_TAG: Final = re.compile(r'(?P<weak>W/)?"(?P<tag>[\x21\x23-\x7e]*)"')


def base_of(headers: Mapping[bytes, bytes], written: str | None) -> tuple[str | EllipsisType | None, bool]:
    """What a change is made from, and whether a header said so; `written` is what the document says.

    Raises:
        Problem: 400 for a header that names no version, or several.
    """
    matching, new = headers.get(b"if-match"), headers.get(b"if-none-match")
    if matching is not None and new is not None:
        raise Problem(400, "If-Match and If-None-Match are both there", fix="send one of them")
    if new is not None:
        if new.strip() != b"*":
            raise Problem(
                400, "If-None-Match names a version", fix="send If-None-Match: * to make a new tool only"
            )
        return None, True
    if matching is not None:
        return _one_tag("If-Match", matching), True
    return written, False


def has_it_already(headers: Mapping[bytes, bytes], etag: str) -> bool:
    """True if the client has this version, so that it need not be sent."""
    given = headers.get(b"if-none-match")
    if given is None:
        return False
    text = given.decode("latin-1")
    return text.strip() == ANY or any(f'"{found["tag"]}"' == etag for found in _TAG.finditer(text))


def _one_tag(name: str, given: bytes) -> str | EllipsisType:
    text = given.decode("latin-1").strip()
    if text == ANY:
        return ...
    found = _TAG.fullmatch(text)
    if found is None or found["weak"]:
        raise Problem(
            400,
            f"{name} names no version: {text!r:.100}",
            fix=f"send the ETag of the tool as it was given, or {name}: *",
        )
    return found["tag"]
