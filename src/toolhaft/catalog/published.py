"""A published tool, the database rows that store it, and the users who may see or change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

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
    def tool(self) -> YamlTool[dict[str, object], object]:
        """The tool that the text defines.

        Raises:
            DefinitionError: if this version cannot read the text.
        """
        return parse_tool(self.text, f"{self.id}.yaml")

    @property
    def etag(self) -> str:
        """The version as an HTTP entity tag."""
        return f'"{self.updated_at}"'


def read_row(row: Row) -> PublishedTool:
    """The tool of a row with the COLUMNS."""
    id, owner, org, share, text, upstream, created_at, updated_at, is_operators, url, revision = row
    return PublishedTool(
        id=cast("str", id),
        owner=cast("str", owner),
        org=cast("str", org),
        share=cast("str", share),
        text=cast("str", text),
        upstream=cast("str | None", upstream),
        created_at=cast("str", created_at),
        updated_at=cast("str", updated_at),
        is_operators=bool(is_operators),
        url=cast("str", url),
        revision=cast("int", revision),
    )


def save_row(transaction: Transaction, published: PublishedTool, tags: Sequence[str]) -> None:
    """Insert a tool, or replace the one with its id."""
    transaction.execute(
        "INSERT INTO toolhaft_tools (id, owner, org, share, text, upstream, created_at, updated_at, "
        "is_operators, url, revision) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, org = excluded.org, share = excluded.share, "
        "text = excluded.text, upstream = excluded.upstream, created_at = excluded.created_at, "
        "updated_at = excluded.updated_at, "
        "is_operators = excluded.is_operators, url = excluded.url, revision = excluded.revision",
        (
            published.id,
            published.owner,
            published.org,
            published.share,
            published.text,
            published.upstream,
            published.created_at,
            published.updated_at,
            int(published.is_operators),
            published.url,
            published.revision,
        ),
    )
    transaction.execute("DELETE FROM toolhaft_tool_tags WHERE id = ?", [published.id])
    for tag in dict.fromkeys(tags):
        transaction.execute("INSERT INTO toolhaft_tool_tags (id, tag) VALUES (?, ?)", [published.id, tag])
