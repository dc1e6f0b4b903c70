"""A published tool, and the rows of the database that it is.

Knows the tables; does not know who may see or change what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

from toolhaft.define.yaml import YamlTool, parse_tool
from toolhaft.storage import Row, Transaction, Value

STEPS: Final = (
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
"""How the tables came to be what they are."""
COLUMNS: Final = "id, owner, org, share, text, upstream, created_at, updated_at, is_operators, url, revision"


@dataclass(frozen=True, kw_only=True)
class Published:
    """A tool as it is published; `upstream` is the endpoint elsewhere that its author gave, if any."""

    id: str
    owner: str
    org: str
    share: str
    text: str
    upstream: str | None
    created_at: str
    updated_at: str
    is_operators: bool = False
    """True if whoever runs the platform published it."""
    url: str = ""
    """Where the platform stood that the text names."""
    revision: int

    @cached_property
    def tool(self) -> YamlTool[dict[str, object], object]:
        """The tool that the text defines, read when it is first asked for.

        Raises:
            DefinitionError: where the row was spoilt, or says what this version no longer takes.
        """
        return parse_tool(self.text, f"{self.id}.yaml")

    @property
    def etag(self) -> str:
        """What HTTP compares."""
        return f'"{self.updated_at}"'


def published_in(row: Row) -> Published:
    """The tool of a row, which has its COLUMNS."""
    id, owner, org, share, text, upstream, created_at, updated_at, is_operators, url, revision = row
    return Published(
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


def store(transaction: Transaction, published: Published, tags: Sequence[str]) -> None:
    """Put a tool in the place of the one of its id, or beside the others."""
    row: tuple[Value, ...] = (
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
        published.id,
    )
    transaction.execute(
        "UPDATE toolhaft_tools SET owner = ?, org = ?, share = ?, text = ?, upstream = ?, created_at = ?, "
        "updated_at = ?, is_operators = ?, url = ?, revision = ? WHERE id = ?",
        row,
    )
    if not transaction.changed:
        transaction.execute(
            "INSERT INTO toolhaft_tools (owner, org, share, text, upstream, created_at, updated_at, "
            "is_operators, url, revision, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
    transaction.execute("DELETE FROM toolhaft_tool_tags WHERE id = ?", [published.id])
    for tag in dict.fromkeys(tags):
        transaction.execute("INSERT INTO toolhaft_tool_tags (id, tag) VALUES (?, ?)", [published.id, tag])
