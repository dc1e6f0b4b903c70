"""Parses the URL of a database, and displays it without its password."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote

from toolhaft.errors import StorageAddressError

Dialect: TypeAlias = Literal["sqlite", "postgresql"]

_KINDS: Final[dict[str, Dialect]] = {
    "sqlite": "sqlite",
    "postgresql": "postgresql",
    "postgres": "postgresql",
}
_HOST: Final = r"(?:\[[0-9A-Fa-f:.%]+\]|[\w.%-]*)(?::[0-9]{1,5})?"
_PLAIN: Final = re.compile(rf"(?:[^@/?#]*@)?({_HOST}(?:,{_HOST})*)((?:/[^?#@:]*)?)(?:\?[^@#]*)?", re.ASCII)
_FORMS: Final = (
    "write sqlite:///absolute/path.db, sqlite:// (in memory) or postgresql://user:password@host:5432/name"
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DatabaseAddress:
    """Where a database is; `target` is a path (empty: in memory) or a URL that may contain a password."""

    dialect: Dialect
    target: str
    display_name: str
    """For messages: without password and options."""

    def __repr__(self) -> str:
        return f"Address({self.display_name})"


def parse_address(url: str) -> DatabaseAddress:
    """Parse the URL of a database.

    Raises:
        StorageAddressError: if the URL is not valid; the message does not repeat it.
    """
    scheme, mark, rest = url.partition("://")
    kind = _KINDS.get(scheme.lower())
    if not mark or kind is None:
        # the message does not quote even the scheme: without one, the text may begin with the password
        raise StorageAddressError(f"the database URL has an unknown scheme; {_FORMS}")
    if kind == "sqlite":
        return _sqlite(rest)
    plain = _PLAIN.fullmatch(rest)
    if plain is None:
        raise unreadable_url()  # any part of it may be half a password, so a message quotes nothing
    return DatabaseAddress(
        dialect=kind, target=f"postgresql://{rest}", display_name=f"postgresql://{plain[1]}{plain[2]}"
    )


def unreadable_url() -> StorageAddressError:
    """The error for a PostgreSQL URL that cannot be read."""
    return StorageAddressError(
        "the PostgreSQL URL cannot be read; write postgresql://user:password@host:5432/name, "
        "and in the password %40 for @, %2F for /, %3A for :, %3F for ?, %23 for #, %25 for %"
    )


def _sqlite(rest: str) -> DatabaseAddress:
    if not rest:
        return DatabaseAddress(dialect="sqlite", target="", display_name="sqlite:// (in memory)")
    path = unquote(rest)
    if not path.startswith("/") or path.endswith("/"):
        raise StorageAddressError(f"the SQLite URL does not name a file by its absolute path; {_FORMS}")
    if "\0" in path or "?" in rest or "#" in rest:
        raise StorageAddressError(
            "the SQLite URL has options or odd characters; write '?' as %3F and '#' as %23"
        )
    path = f"/{path.lstrip('/')}"  # some people write four slashes
    return DatabaseAddress(dialect="sqlite", target=path, display_name=path)
