"""Who sends a request: the key that it brings, looked up once and kept until keys change.

Knows keys; does not know what is asked for.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from secrets import compare_digest, token_urlsafe
from typing import Final

from toolhaft.catalog.viewer import Viewer
from toolhaft.serve.keys import Keys
from toolhaft.serve.lines import Line
from toolhaft.serve.problems import Problem, wait_first
from toolhaft.serve.rates import Rates
from toolhaft.serve.waits import read_soon

READ: Final = "tools:read"
WRITE: Final = "tools:write"
RUN: Final = "tools:run"
_MOST_KNOWN: Final = 10_000
_BEARER: Final = b"bearer "
_LONGEST_KEY: Final = 200
WRONG_KEYS: Final = "60/min"
"""How many of one address are looked at."""
_ASK: Final = {"www-authenticate": 'Bearer realm="toolhaft"'}


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever holds a key."""

    key_id: str
    viewer: Viewer
    expires_at: float | None = None
    """Seconds since the epoch."""
    identity: str = ""
    """One text for each owner and set of scopes: who have the same may share what was made for one."""

    @property
    def is_one_time(self) -> bool:
        """True for the key that was printed at the start, which is of whoever runs the platform."""
        return not self.key_id

    def need(self, scope: str) -> None:
        """Go on only where the key has a scope.

        Raises:
            Problem: 403 where it has not.
        """
        viewer = self.viewer
        if not viewer.is_operator and scope not in viewer.scopes:
            raise Problem(
                403,
                f"this key does not have the scope {scope}",
                fix=f"use a key that has it: toolhaft key new --owner NAME --scope {scope}",
            )


class Visit:
    """A request that was let in (slots by hand: it is made on every request)."""

    __slots__ = ("caller", "headers", "line", "revision")

    def __init__(
        self, headers: dict[bytes, bytes], caller: Caller, revision: int, line: Line | None = None
    ) -> None:
        self.headers = headers
        self.caller = caller
        self.revision = revision
        self.line = line
        """What the request came over, where the server keeps it."""


class Callers:
    """The callers of the keys that were used last."""

    __slots__ = ("_keys", "_known", "_once", "_revision", "_wrong")

    def __init__(self, keys: Keys, one_time_key: str | None) -> None:
        self._keys = keys
        self._known: OrderedDict[bytes, Caller] = OrderedDict()
        self._once = None if one_time_key is None else sha256(one_time_key.encode()).digest()
        self._revision = -1
        self._wrong = Rates(WRONG_KEYS)

    def known(self, headers: Mapping[bytes, bytes], revision: int) -> Caller | None:
        """The caller of a request, where the key was seen at this revision before."""
        if revision != self._revision:
            self._known.clear()
            self._revision = revision
        given = headers.get(b"authorization", b"")
        caller = self._known.get(sha256(given[7:]).digest()) if given[:7] == b"Bearer " else None
        return caller if caller is not None and caller.expires_at is None else None

    async def find(self, headers: Mapping[bytes, bytes], revision: int, address: str = "") -> Caller:
        """The caller of a request, looked up where it is not known.

        Wrong keys are counted by `address`. A right one is let in whatever others have sent from there:
        behind a proxy all come from one address, and who knows no key must not be able to lock it.

        Raises:
            Problem: 401 where there is no key, or none that is valid; 429 where too many were wrong.
            StorageError: where the keys cannot be read.
        """
        given = headers.get(b"authorization", b"")
        if given[:7].lower() != _BEARER or len(given) > _LONGEST_KEY:
            raise Problem(
                401, "there is no key", fix="send the header Authorization: Bearer KEY", headers=_ASK
            )
        key = given[7:].strip()
        digest = sha256(key).digest()  # no key is kept in memory
        caller = self._known.get(digest) or await self._look_up(key, digest, revision)
        if caller is None or (caller.expires_at is not None and time.time() >= caller.expires_at):
            left_s = self._wrong.ask(address)
            if left_s:
                raise wait_first(429, f"at most {WRONG_KEYS} wrong keys are looked at", left_s, kind="rate")
            raise _unknown()
        return caller

    async def _look_up(self, key: bytes, digest: bytes, revision: int) -> Caller | None:
        if self._once is not None and compare_digest(digest, self._once):
            caller = Caller(key_id="", viewer=Viewer(is_operator=True), identity="operator\0*")
        else:
            caller = await read_soon(self._read, key)
        # else it may have been revoked while it was looked up
        if caller is not None and revision == self._revision:
            self._known[digest] = caller
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        return caller

    def _read(self, key: bytes) -> Caller | None:
        try:
            found = self._keys.find(key.decode("ascii"))
        except UnicodeDecodeError:
            found = None
        if found is None:
            return None
        viewer = found.viewer
        scopes = "\0".join(sorted(viewer.scopes))
        return Caller(
            key_id=found.id,
            viewer=viewer,
            expires_at=None if found.expires_at is None else _seconds(found.expires_at),
            identity=f"{viewer.owner}\0{viewer.org}\0{viewer.is_operator}\0{scopes}",
        )


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()


def make_one_time_key() -> str:
    """A key that is valid until the process ends."""
    return f"th_once_{token_urlsafe(32)}"


def _unknown() -> Problem:
    return Problem(
        401,
        "this key is not valid: unknown, revoked or expired",
        fix="use another key; an operator makes one with: toolhaft key new --owner NAME",
        headers={**_ASK, "www-authenticate": 'Bearer realm="toolhaft", error="invalid_token"'},
    )
