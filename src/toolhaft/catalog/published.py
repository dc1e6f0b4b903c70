"""A published tool, the database rows that store it, and the users who may see or change it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import Any, Final, TypeAlias, cast

from toolhaft.catalog.installed import InstalledTools
from toolhaft.define.yaml import YamlTool, parse_tool, quick_fields, tool_fields
from toolhaft.define.yaml.document import plain_value, read_document
from toolhaft.schema.json_value import JSONObject
from toolhaft.storage import Row, SqlValue, Transaction

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
    """
    CREATE TABLE toolhaft_removed_tools (
        id TEXT COLLATE "binary" NOT NULL PRIMARY KEY,
        owner TEXT NOT NULL,
        updated_at TEXT NOT NULL
    );
    ALTER TABLE toolhaft_tools ADD COLUMN fields_text TEXT;
    CREATE INDEX toolhaft_tools_by_revision ON toolhaft_tools (revision);
    """,
    """
    CREATE TABLE toolhaft_tool_versions (
        id TEXT COLLATE "binary" NOT NULL,
        number BIGINT NOT NULL,
        owner TEXT NOT NULL,
        published_by TEXT NOT NULL,
        is_operators INTEGER NOT NULL,
        version TEXT,
        change TEXT NOT NULL,
        text TEXT NOT NULL,
        upstream TEXT,
        url TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        PRIMARY KEY (id, number)
    );
    INSERT INTO toolhaft_tool_versions
        (id, number, owner, published_by, is_operators, version, change, text, upstream, url, updated_at)
        SELECT id, 1, owner, '', is_operators, NULL, '', text, upstream, url, updated_at FROM toolhaft_tools;
    """,
)
COLUMNS: Final = (
    "id, owner, org, share, text, upstream, created_at, updated_at, is_operators, url, revision, fields_text"
)
_FIELDS_FORMAT: Final = "2"
"""The kind of stored fields; other kinds are not used. Change it when documents are checked differently."""
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
    fields_text: str | None = field(default=None, repr=False, compare=False)
    """What `store_fields` made of the document's fields; None if they were not stored."""
    published_by: str = field(default="", compare=False)
    """Who publishes it: the owner of the key, or `operator`; only of a tool that `put` returns."""
    change: str = field(default="", repr=False, compare=False)
    """What it changes, in one line; only of a tool that `put` returns."""

    @cached_property
    def fields(self) -> JSONObject:
        """The fields of the document; if they are stored, the document is not parsed.

        Raises:
            DefinitionError: if this version cannot read the text.
        """
        stored = self._stored_fields()
        if stored is not None:
            return stored
        quick = None if "tool" in vars(self) else quick_fields(self.text)
        return self._without_useless_endpoint(tool_fields(self.tool) if quick is None else quick)

    def unchecked_fields(self) -> Mapping[str, object]:
        """The fields of the document, for search; a document without stored fields is parsed, not checked."""
        stored = vars(self).get("fields") or self._stored_fields()
        if stored is not None:
            return stored
        root, _ = read_document(self.text)
        value = None if root is None else plain_value(root)
        return value if isinstance(value, dict) else {}

    def _without_useless_endpoint(self, fields: JSONObject) -> JSONObject:
        """The fields as this version stores them: earlier ones gave an endpoint also to what nothing runs."""
        if fields.get("run") or self.upstream or self.id in _installed_ids(tuple(sys.path)):
            return fields
        return {
            name: value
            for name, value in fields.items()
            if name != "endpoint" and (name, value) != ("is_active", True)
        }

    def _stored_fields(self) -> JSONObject | None:
        """The stored fields, if they belong to this text."""
        kind, _, rest = (self.fields_text or "").partition(" ")
        digest, _, text = rest.partition(" ")
        if kind != _FIELDS_FORMAT or digest != _digest(self.text):
            return None
        return cast("JSONObject", json.loads(text))

    def moved(self, *, text: str, url: str, endpoint: str) -> PublishedTool:
        """The same tool with another address of the platform."""
        fields = vars(self).get("fields") or self._stored_fields()
        copy = replace(self, text=text, url=url, fields_text=None)
        if fields is not None:
            vars(copy)["fields"] = {**fields, "endpoint": endpoint}
        return copy

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


@lru_cache(maxsize=1)
def _installed_ids(path: tuple[str, ...]) -> frozenset[str]:  # noqa: ARG001 -- the key of the cache
    """The ids of the installed tools; cached, since a list may need them for every tool."""
    return frozenset(entry.id for entry in InstalledTools().entry_points)


def store_fields(published: PublishedTool, fields: JSONObject) -> PublishedTool:
    """The tool with its fields as text for the database: lists and search need not parse the document.

    They are used only with the text that they belong to: another version may replace the text alone.
    """
    text = f"{_FIELDS_FORMAT} {_digest(published.text)} {json.dumps(fields, separators=(',', ':'))}"
    return replace(published, fields_text=text)


def _digest(text: str) -> str:
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:32]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedTool:
    """A tool that was removed; its id stays reserved for its owner, whose callers may still use it."""

    owner: str
    updated_at: str


def read_row(row: Row) -> PublishedTool:
    """The tool of a row with the COLUMNS."""
    fields: dict[str, Any] = dict(zip(_NAMES, row, strict=True))
    fields["is_operators"] = bool(fields["is_operators"])
    return PublishedTool(**fields)


def save_row(transaction: Transaction, published: PublishedTool, tags: Sequence[str]) -> None:
    """Insert a tool, or replace the one with its id."""
    transaction.execute("DELETE FROM toolhaft_removed_tools WHERE id = ?", [published.id])
    transaction.execute(_SAVE, [getattr(published, name) for name in _NAMES])
    transaction.execute("DELETE FROM toolhaft_tool_tags WHERE id = ?", [published.id])
    for tag in dict.fromkeys(tags):
        transaction.execute("INSERT INTO toolhaft_tool_tags (id, tag) VALUES (?, ?)", [published.id, tag])


_REMOVED: Final = "SELECT owner, updated_at FROM toolhaft_removed_tools WHERE id = ?"
_SAVE_REMOVED: Final = "INSERT INTO toolhaft_removed_tools (id, owner, updated_at) VALUES (?, ?, ?)"


def find_removed(run: Callable[[str, Sequence[SqlValue]], list[Row]], id: str) -> RemovedTool | None:
    """The removed tool that had an id; None if the id was never used, or is in use."""
    rows = cast("list[tuple[str, str]]", run(_REMOVED, [id]))
    return RemovedTool(owner=rows[0][0], updated_at=rows[0][1]) if rows else None


def remove_row(transaction: Transaction, published: PublishedTool) -> None:
    """Delete a tool with all its versions, and reserve its id for its owner."""
    for table in ("toolhaft_tool_tags", "toolhaft_tool_versions", "toolhaft_tools"):
        transaction.execute(f"DELETE FROM {table} WHERE id = ?", [published.id])  # noqa: S608 -- only constants
    transaction.execute(_SAVE_REMOVED, [published.id, published.owner, published.updated_at])
