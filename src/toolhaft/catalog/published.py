"""A published tool, the database rows that store it, and the users who may see or change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias

from toolhaft.define.yaml import YamlTool, parse_tool
from toolhaft.storage import Row, Transaction

MIGRATIONS: Final = (
    """
    CREATE TABLE toolhaft_tools (
        id TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        org TEXT NOT NULL,
        share TEXT NOT NULL,
        text TEXT NOT NULL,
        upstream TEXT,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        is_operators INTEGER NOT NULL,
        url TEXT NOT NULL,
        revision BIGINT NOT NULL
    );
    CREATE TABLE toolhaft_tool_tags (
        id TEXT COLLATE "binary" NOT NULL REFERENCES toolhaft_tools (id) ON DELETE CASCADE,
        tag TEXT NOT NULL,
        PRIMARY KEY (id, tag)
    );
    """,
)
COLUMNS: Final = "id, owner, org, share, text, upstream, created_at, updated_at, is_operators, url, revision"
_NAMES: Final = COLUMNS.split(", ")
_SAVE: Final = (
    f"INSERT INTO toolhaft_tools ({COLUMNS}) VALUES ({', '.join('?' * len(_NAMES))}) "  # noqa: S608 -- only constants
    f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _NAMES)}"
)

AnyYamlTool: TypeAlias = YamlTool[dict[str, object], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformUser:
    """A user of a platform; the default is anonymous and sees only public tools."""

    owner: str = ""
    org: str = ""
    scopes: frozenset[str] = frozenset()
    is_operator: bool = False

    def may_see(self, owner: str, org: str, share: str) -> bool:
        """True for public tools, the user's own, and those shared with the user's organisation.

        An operator sees all tools.
        """
        if self.is_operator or share == "public":
            return True
        if self.owner and self.owner == owner:
            return True
        return share == "org" and bool(self.org) and self.org == org

    def may_change(self, owner: str) -> bool:
        """True for the user's own tools; an operator may change all."""
        return self.is_operator or (bool(self.owner) and self.owner == owner)


@dataclass(frozen=True, kw_only=True)
class PublishedTool:
    """A tool as the platform stores it."""

    id: str
    owner: str
    org: str
    share: str
    text: str
    upstream: str | None
    """The endpoint that the author gave, if it is not this tool's own on the platform."""
    created_at: str
    updated_at: str
    is_operators: bool = False
    """True if the platform's operator published it."""
    url: str = ""
    """The platform's address in the text."""
    revision: int

    @cached_property
    def tool(self) -> AnyYamlTool:
        """The tool that the text defines.

        Raises:
            DefinitionError: if this version cannot read the text.
        """
        return parse_tool(self.text, f"{self.id}.yaml")

    @property
    def etag(self) -> str:
        """The version as an HTTP entity tag."""
        return f'"{self.updated_at}"'

    def is_visible_to(self, user: PlatformUser) -> bool:
        """True if the user may see the tool."""
        return user.may_see(self.owner, self.org, self.share)


def read_row(row: Row) -> PublishedTool:
    """The tool of a row with the COLUMNS."""
    fields: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    fields["is_operators"] = bool(fields["is_operators"])
    return PublishedTool(**fields)


def save_row(transaction: Transaction, published: PublishedTool, tags: Sequence[str]) -> None:
    """Insert a tool, or replace the one with its id."""
    transaction.execute(_SAVE, [getattr(published, name) for name in _NAMES])
    transaction.execute("DELETE FROM toolhaft_tool_tags WHERE id = ?", [published.id])
    for tag in dict.fromkeys(tags):
        transaction.execute("INSERT INTO toolhaft_tool_tags (id, tag) VALUES (?, ?)", [published.id, tag])
