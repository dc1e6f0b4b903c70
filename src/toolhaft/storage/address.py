"""Reads the address of a database, and shows it without its password.

Knows URLs; opens nothing.
"""

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
class Address:
    """Where a database is; `target` is a path (empty: in memory) or a URL that may hold a password."""

    dialect: Dialect
    target: str
    shown: str
    """For messages: no password, no options."""

    def __repr__(self) -> str:
        return f"Address({self.shown})"


def read_address(url: str) -> Address:
    """The address in a URL.

    Raises:
        StorageAddressError: where it is none that a database has; the message does not repeat it.
    """
    scheme, mark, rest = url.partition("://")
    kind = _KINDS.get(scheme.lower())
    if not mark or kind is None:
        # not even the scheme is quoted: whoever forgets it may begin with the password
        raise StorageAddressError(f"the database URL has no scheme that is known here; {_FORMS}")
    if kind == "sqlite":
        return _sqlite(rest)
    plain = _PLAIN.fullmatch(rest)
    if plain is None:
        raise not_an_address()  # whatever it is taken for may be half a password, and stand in a message
    return Address(dialect=kind, target=f"postgresql://{rest}", shown=f"postgresql://{plain[1]}{plain[2]}")


def not_an_address() -> StorageAddressError:
    """The error for a PostgreSQL URL that cannot be read."""
    return StorageAddressError(
        "the PostgreSQL URL cannot be read; write postgresql://user:password@host:5432/name, "
        "and in the password %40 for @, %2F for /, %3A for :, %3F for ?, %23 for #, %25 for %"
    )


def _sqlite(rest: str) -> Address:
    if not rest:
        return Address(dialect="sqlite", target="", shown="sqlite:// (in memory)")
    path = unquote(rest)
    if not path.startswith("/") or path.endswith("/"):
        raise StorageAddressError(f"the SQLite URL does not name a file by its absolute path; {_FORMS}")
    if "\0" in path or "?" in rest or "#" in rest:
        raise StorageAddressError(
            "the SQLite URL has options or odd characters; write '?' as %3F and '#' as %23"
        )
    path = f"/{path.lstrip('/')}"  # some write four slashes
    return Address(dialect="sqlite", target=path, shown=path)
