"""Which requests are looked at at all: the right host, the right origin, no header twice.

Knows headers; does not know keys or tools.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from toolhaft.serve.answers import Scope
from toolhaft.serve.problems import Problem

_ONCE: Final = frozenset(
    (
        b"accept-encoding",
        b"authorization",
        b"content-encoding",
        b"content-length",
        b"content-type",
        b"host",
        b"idempotency-key",
        b"if-match",
        b"if-none-match",
        b"origin",
        b"toolhaft-trail",
        b"transfer-encoding",
    )
)


class Gate:
    """Lets requests for this platform through; a page of another site, or a rebound name, stays out."""

    __slots__ = ("_hosts", "_origins", "_url")

    def __init__(self, hosts: frozenset[bytes], origins: frozenset[bytes], url: str) -> None:
        self._hosts = hosts
        self._origins = origins
        self._url = url

    def admit(self, scope: Scope) -> dict[bytes, bytes]:
        """The headers, by lower-case name.

        Raises:
            Problem: 400 for a header twice or a coded transfer, 421 for another host, 403 for another origin.
        """
        given = scope["headers"]
        headers: dict[bytes, bytes] = dict(given)
        if len(headers) != len(given):
            _refuse_twins(given)
        host = headers.get(b"host", b"")
        if host not in self._hosts and host.lower() not in self._hosts:
            said = host.decode("ascii", "replace")[:200]
            raise Problem(421, f"this is not the host {said!r}", fix=f"send requests to {self._url}")
        origin = headers.get(b"origin")
        if origin is not None and origin not in self._origins:
            raise Problem(
                403,
                "pages of other sites may not use this platform",
                fix="call it from a program, not from a page in a browser",
            )
        encoding = headers.get(b"transfer-encoding")
        if encoding is not None and encoding.lower() != b"chunked":
            said = encoding.decode("latin-1")[:40]
            raise Problem(400, f"a body sent as {said!r} is not read", fix="send it as it is, or chunked")
        return headers


def _refuse_twins(given: list[tuple[bytes, bytes]]) -> None:
    for name, count in Counter(name for name, _ in given).items():
        if count > 1 and name in _ONCE:
            raise Problem(400, f"the header {name.decode()} is there {count} times", fix="send it once")
