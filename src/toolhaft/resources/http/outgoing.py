"""What a request sends beside its URL, checked once: method, headers, body.

Does not know where it goes.
"""

from __future__ import annotations

import json as json_module
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import EllipsisType
from typing import Final

from toolhaft.errors import HttpRefusedError
from toolhaft.resources.http.decode import ACCEPTED
from toolhaft.schema.json_value import JSONValue

METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
SAFE_METHODS: Final = ("GET", "HEAD", "OPTIONS")

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?")
_OURS: Final = frozenset(
    (
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_KEPT_ABROAD: Final = ("accept", "accept-language", "user-agent")
_ABOUT_BODIES: Final = "content-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A request without its place."""

    method: str
    headers: Mapping[str, str] = field(repr=False)
    """The caller's, by lower-case name."""
    content: bytes | None = field(repr=False)

    def for_stranger(self) -> Outgoing:
        """What another origin may see of it."""
        kept = {name: self.headers[name] for name in _KEPT_ABROAD if name in self.headers}
        return replace(self, headers=kept)

    def as_get(self) -> Outgoing:
        """A plain question in its place, with nothing about a body."""
        kept = {name: value for name, value in self.headers.items() if not name.startswith(_ABOUT_BODIES)}
        return replace(self, method="GET", headers=kept, content=None)

    def lines(self, authority: str) -> list[tuple[bytes, bytes]]:
        """All headers, as they are sent."""
        headers = {
            "host": authority,
            "accept": "*/*",
            "accept-encoding": ACCEPTED,
            **self.headers,
            "connection": "close",
        }
        if self.content is not None:
            headers["content-length"] = str(len(self.content))
        return [(name.title().encode("ascii"), value.encode("ascii")) for name, value in headers.items()]


def read_outgoing(
    *,
    method: str,
    headers: Mapping[str, str],
    json: JSONValue | EllipsisType,
    content: bytes | None,
) -> Outgoing:
    """A request as the caller has it.

    Raises:
        HttpRefusedError: for a header that could not be sent, or is not the caller's to set.
        ValueError: for another method, two bodies, or one that has no JSON form.
    """
    if method not in METHODS:
        raise ValueError(f"no method {method!r:.40}; use one of {', '.join(METHODS)}")
    read = read_headers(headers)
    if json is not ...:
        if content is not None:
            raise ValueError("a request has one body: give json or content, not both")
        content = _json_bytes(json)
        read.setdefault("content-type", "application/json")
    elif content is not None and not isinstance(content, bytes | bytearray):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise TypeError(f"content is bytes, not {type(content).__name__}; encode text first")
    elif content is None and method in ("POST", "PUT", "PATCH"):
        content = b""
    return Outgoing(method=method, headers=read, content=None if content is None else bytes(content))


def read_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers by lower-case name.

    Raises:
        HttpRefusedError: naming the header, not its value.
    """
    read: dict[str, str] = {}
    for name, value in headers.items():
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise HttpRefusedError(f"{name!a:.40} is no name of a header")
        lower = name.lower()
        if lower in _OURS or lower.startswith("proxy-"):
            raise HttpRefusedError(f"the header {name[:40]!a} is set by the client itself; leave it out")
        if not isinstance(value, str) or _VALUE.fullmatch(value) is None:  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise HttpRefusedError(
                f"the value of the header {name[:40]!a} must be one line of ASCII, without spaces around it"
            )
        read[lower] = value
    return read


def _json_bytes(value: JSONValue) -> bytes:
    try:
        text = json_module.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"json has no JSON form: {str(error)[:80]}") from error
