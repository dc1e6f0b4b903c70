"""API keys of the platform; the database holds only their digests."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final, cast

from toolhaft.catalog.published import PlatformUser
from toolhaft.core.ports import Clock
from toolhaft.resources.clock import SystemClock
from toolhaft.schema.nearest import nearest
from toolhaft.storage import Database, Row, Transaction, is_storable

OPERATOR: Final = "operator"
"""The scope that allows everything."""
PLATFORM_SCOPES: Final = ("tools:read", "tools:run", "tools:write", OPERATOR)
"""The scopes that the platform itself knows; all others are required by tools."""

_MIGRATIONS: Final = (
    """
    CREATE TABLE toolhaft_keys (
        id TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
        digest TEXT NOT NULL,
        owner TEXT NOT NULL,
        org TEXT NOT NULL,
        scopes TEXT NOT NULL,
        name TEXT NOT NULL,
        created_at TEXT COLLATE "binary" NOT NULL,
        expires_at TEXT
    )
    """,
    "ALTER TABLE toolhaft_keys ADD COLUMN revoked_at TEXT",
)
_COLUMNS: Final = "id, owner, org, scopes, name, created_at, expires_at"
_SELECT: Final = f"SELECT {_COLUMNS}, digest FROM toolhaft_keys"  # noqa: S608 -- columns of this file
_KEY: Final = re.compile(r"th_([0-9a-f]{8})_[A-Za-z0-9_-]{43}", re.ASCII)
_SECRET_BYTES: Final = 32
_MAX_CHARS: Final = 200
_SCOPE: Final = re.compile(r"[!-+\--~]{1,200}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyInfo:
    """What the database knows of a key; the key itself is known only to its holder."""

    id: str
    owner: str
    org: str = ""
    scopes: frozenset[str] = frozenset()
    created_at: str = ""
    expires_at: str | None = None
    name: str = ""

    @property
    def viewer(self) -> PlatformUser:
        """The holder of the key, as a viewer of tools."""
        return PlatformUser(
            owner=self.owner, org=self.org, scopes=self.scopes, is_operator=OPERATOR in self.scopes
        )

    def is_expired(self, now_s: float) -> bool:
        """True if the key has expired at `now_s`, in seconds since the epoch."""
        return self.expires_at is not None and datetime.fromisoformat(self.expires_at).timestamp() <= now_s


class Keys:
    """The keys of a platform, in its database."""

    def __init__(self, database: Database, *, clock: Clock | None = None) -> None:
        self._database = database
        self._clock = clock or SystemClock()
        database.migrate("keys", _MIGRATIONS)

    def create(
        self,
        *,
        owner: str,
        org: str = "",
        scopes: Iterable[str] = (),
        expires_at: datetime | str | None = None,
        name: str = "",
    ) -> tuple[KeyInfo, str]:
        """Create a key; returns its description and its text, which cannot be read again.

        Args:
            owner: the owner of the tools that its holder publishes, and whose private tools they see.
            org: the organisation that shares tools with its holder.
            scopes: tools:read, tools:write, tools:run, operator, and scopes that tools require.
            expires_at: when it expires, with a time zone; None for never.
            name: a note on what it is for, which lists of keys show.

        Raises:
            ValueError: if one of these is not valid.
        """
        for what, text in (("owner", owner), ("org", org), ("name", name)):
            _check_text(what, text)
        if not owner:
            raise ValueError("a key needs an owner; give owner='...'")
        expires = _timestamp(expires_at)
        now = _iso(datetime.fromtimestamp(self._clock.time(), UTC))
        with self._database.transaction() as transaction:
            info = KeyInfo(
                id=_free_id(transaction),
                owner=owner,
                org=org,
                scopes=_check_scopes(scopes),
                created_at=now,
                expires_at=expires,
                name=name,
            )
            text = f"th_{info.id}_{secrets.token_urlsafe(_SECRET_BYTES)}"
            transaction.execute(
                f"INSERT INTO toolhaft_keys ({_COLUMNS}, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 -- columns of this file
                [info.id, owner, org, json.dumps(sorted(info.scopes)), name, now, expires, _digest(text)],
            )
            transaction.advance()
        return info, text

    def find(self, text: str) -> KeyInfo | None:
        """The description of a key; None if it is unknown, revoked or expired."""
        found = _KEY.fullmatch(text)
        if found is None:
            return None
        rows = self._database.read(f"{_SELECT} WHERE id = ? AND revoked_at IS NULL", [found[1]])
        if not rows or not compare_digest(cast("str", rows[0][-1]), _digest(text)):
            return None
        info = _info(rows[0])
        return None if info.is_expired(self._clock.time()) else info

    def list(self) -> list[KeyInfo]:
        """All keys that are not revoked, the oldest first, including expired ones."""
        rows = self._database.read(f"{_SELECT} WHERE revoked_at IS NULL ORDER BY created_at, id")
        return [_info(row) for row in rows]

    @property
    def was_used(self) -> bool:
        """True once a key was stored, even if all were revoked since."""
        return bool(self._database.read("SELECT id FROM toolhaft_keys LIMIT 1"))

    def revoke(self, id: str) -> bool:
        """Revoke a key at once; False if there is none with that id."""
        if not is_storable(id):
            return False
        now = _iso(datetime.fromtimestamp(self._clock.time(), UTC))
        with self._database.transaction() as transaction:
            # the row stays, to show that a key was stored; without a digest no text fits it
            transaction.execute(
                "UPDATE toolhaft_keys SET revoked_at = ?, digest = '' WHERE id = ? AND revoked_at IS NULL",
                [now, id],
            )
            if not transaction.changed:
                return False
            transaction.advance()
        return True


def _digest(text: str) -> str:
    # 256 random bits need no slow hash: there is nothing to guess
    return sha256(text.encode()).hexdigest()


def _free_id(transaction: Transaction) -> str:
    while True:
        id = secrets.token_hex(4)
        if not transaction.execute("SELECT id FROM toolhaft_keys WHERE id = ?", [id]):
            return id


def _info(row: Row) -> KeyInfo:
    fields: dict[str, Any] = dict(zip(_COLUMNS.split(", "), row[:-1], strict=True))
    fields["scopes"] = frozenset(json.loads(fields["scopes"]))
    return KeyInfo(**fields)


def _check_text(what: str, text: str) -> None:
    if len(text) > _MAX_CHARS or not text.isprintable() or text.strip() != text:
        raise ValueError(f"the {what} of a key is 1 to {_MAX_CHARS} visible characters, not {text!r:.80}")


def _check_scopes(scopes: Iterable[str]) -> frozenset[str]:
    if isinstance(scopes, str):
        raise ValueError(f"scopes is a list of strings, not one string: write [{scopes!r:.80}]")  # noqa: TRY004 -- every invalid value is a ValueError here
    words = frozenset(scopes)
    for word in sorted(words):
        if not _SCOPE.fullmatch(word):
            raise ValueError(f"a scope is one word without a comma, such as tools:read, not {word!r:.80}")
        if word not in PLATFORM_SCOPES:
            _refuse_misspelled(word)
    return words


def _refuse_misspelled(word: str) -> None:
    """Refuse a scope that is meant to be one of the platform's: a key with it would do nothing."""
    meant = f"tools:{word}" if f"tools:{word}" in PLATFORM_SCOPES else nearest(word, PLATFORM_SCOPES)
    if meant is not None:
        raise ValueError(f"there is no scope {word!r:.80}; did you mean {meant!r}?")
    if word.startswith("tools:"):
        raise ValueError(f"there is no scope {word!r:.80}; the platform's are {', '.join(PLATFORM_SCOPES)}")


def _timestamp(moment: datetime | str | None) -> str | None:
    if moment is None:
        return None
    try:
        read = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    except ValueError:
        raise ValueError(
            f"expires_at {moment!r:.80} is not a time; write it as 2027-01-31T09:30:00Z"
        ) from None
    if read.tzinfo is None:
        raise ValueError("expires_at has no time zone; write it as 2027-01-31T09:30:00Z")
    return _iso(read.astimezone(UTC))


def _iso(moment: datetime) -> str:
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
