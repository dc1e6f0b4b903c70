"""Finds out who sends a request, by its API key; keys are looked up once and cached until keys change."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from secrets import compare_digest, token_urlsafe
from typing import Final, NamedTuple

from toolhaft.catalog.published import PlatformUser
from toolhaft.serve.disconnects import ClientConnection
from toolhaft.serve.keys import Keys
from toolhaft.serve.limits import BoundedCache, KeyRates
from toolhaft.serve.responses import HttpProblem, retry_later
from toolhaft.serve.storage_threads import read_in_thread

READ: Final = "tools:read"
WRITE: Final = "tools:write"
RUN: Final = "tools:run"
_MAX_CACHED_CALLERS: Final = 10_000
_BEARER: Final = b"bearer "
_MAX_HEADER_BYTES: Final = 200
WRONG_KEY_RATE: Final = "60/min"
"""How many wrong keys an address may send before it is refused with 429."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The holder of a key."""

    key_id: str
    viewer: PlatformUser
    expires_at: float | None = None
    """Seconds since the epoch."""
    identity: str = ""
    """The owner and scopes as one text: callers with the same identity share runners and documents."""

    @property
    def key_prefix(self) -> str:
        """The beginning of the key, by which `toolhaft key ls` names it; never its secret part."""
        return f"th_{self.key_id or 'once'}"

    @property
    def is_one_time(self) -> bool:
        """True for the operator's key that is made when the server starts."""
        return not self.key_id

    def require_scope(self, scope: str) -> None:
        """Check that the key has a scope.

        Raises:
            HttpProblem: 403 if it does not.
        """
        viewer = self.viewer
        if not viewer.is_operator and scope not in viewer.scopes:
            raise HttpProblem(
                403,
                f"this key does not have the scope {scope}",
                fix=f"use a key that has it: toolhaft key new --owner NAME --scope {scope}",
            )


class Admission(NamedTuple):
    """A request that passed the checks, with its caller."""

    headers: dict[bytes, bytes]
    caller: Caller
    revision: int
    connection: ClientConnection | None
    """The client's connection, if the server provides it."""


class Callers:
    """Finds the caller of a request."""

    __slots__ = ("_cache", "_keys", "_one_time_digest", "_revision", "_wrong_keys")

    def __init__(self, keys: Keys, one_time_key: str | None) -> None:
        self._keys = keys
        self._cache: BoundedCache[bytes, Caller] = BoundedCache(_MAX_CACHED_CALLERS)
        self._one_time_digest = None if one_time_key is None else sha256(one_time_key.encode()).digest()
        self._revision = -1
        self._wrong_keys = KeyRates(WRONG_KEY_RATE)

    def cached(self, headers: Mapping[bytes, bytes], revision: int) -> Caller | None:
        """The caller of a request, if its key was looked up at this revision of the database."""
        if revision != self._revision:
            self._cache.clear()
            self._revision = revision
        header = headers.get(b"authorization", b"")
        caller = self._cache.get(sha256(header[7:]).digest()) if header[:7] == b"Bearer " else None
        return caller if caller is not None and caller.expires_at is None else None

    async def find(self, headers: Mapping[bytes, bytes], revision: int, address: str = "") -> Caller:
        """The caller of a request, looked up if it is not cached.

        Wrong keys are counted per `address`. A valid key is accepted however many wrong ones came from its
        address: behind a proxy all clients share one address, and one of them must not lock out the others.

        Raises:
            HttpProblem: 401 if there is no valid key; 429 if there were too many wrong ones.
            StorageError: if the keys cannot be read.
        """
        header = headers.get(b"authorization", b"")
        if header[:7].lower() != _BEARER or len(header) > _MAX_HEADER_BYTES:
            raise HttpProblem(
                401,
                "the request has no key",
                fix="send the header Authorization: Bearer KEY",
                headers={"www-authenticate": 'Bearer realm="toolhaft"'},
            )
        key = header[7:].strip()
        digest = sha256(key).digest()  # the cache holds digests, not keys
        caller = self._cache.get(digest) or await self._look_up(key, digest, revision)
        if caller is None or (caller.expires_at is not None and time.time() >= caller.expires_at):
            wait_s = self._wrong_keys.count(address)
            if wait_s:
                raise retry_later(
                    429, f"an address may send at most {WRONG_KEY_RATE} wrong keys", wait_s, kind="rate"
                )
            raise HttpProblem(
                401,
                "this key is not valid: unknown, revoked or expired",
                fix="use another key; an operator makes one with: toolhaft key new --owner NAME",
                headers={"www-authenticate": 'Bearer realm="toolhaft", error="invalid_token"'},
            )
        return caller

    async def _look_up(self, key: bytes, digest: bytes, revision: int) -> Caller | None:
        if self._one_time_digest is not None and compare_digest(digest, self._one_time_digest):
            caller = await read_in_thread(self._one_time_caller)
        else:
            caller = await read_in_thread(self._read, key)
        # at another revision the key may have been revoked while it was looked up
        if caller is not None and revision == self._revision:
            self._cache[digest] = caller
        return caller

    def _one_time_caller(self) -> Caller | None:
        """The operator, as long as no key was stored."""
        if self._keys.was_used:
            self._one_time_digest = None
            return None
        return Caller(key_id="", viewer=PlatformUser(is_operator=True), identity="operator\0*")

    def _read(self, key: bytes) -> Caller | None:
        try:
            found = self._keys.find(key.decode("ascii"))
        except UnicodeDecodeError:
            found = None
        if found is None:
            return None
        viewer, expires_at = found.viewer, found.expires_at
        scopes = "\0".join(sorted(viewer.scopes))
        return Caller(
            key_id=found.id,
            viewer=viewer,
            expires_at=None if expires_at is None else datetime.fromisoformat(expires_at).timestamp(),
            identity=f"{viewer.owner}\0{viewer.org}\0{viewer.is_operator}\0{scopes}",
        )


def make_one_time_key() -> str:
    """A key that is valid until the process ends, or a key is stored."""
    return f"th_once_{token_urlsafe(32)}"
