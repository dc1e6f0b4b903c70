"""Published tools in a database: who may see and change them, and conflict checks between publishers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import EllipsisType
from typing import Final, cast

from toolhaft.catalog.addresses import replace_endpoint, tool_id_at
from toolhaft.catalog.installed import is_installed
from toolhaft.catalog.published import (
    COLUMNS,
    MIGRATIONS,
    AnyYamlTool,
    PlatformUser,
    PublishedTool,
    RemovedTool,
    find_removed,
    read_row,
    remove_row,
    save_row,
    store_fields,
)
from toolhaft.catalog.tool_versions import (
    StoredVersion,
    ToolVersion,
    describe_change,
    read_version,
    read_versions,
    save_version,
)
from toolhaft.core.ports import Clock
from toolhaft.define.running.platform_settings import DEFAULT_URL, RUN_PATH
from toolhaft.define.yaml import parse_tool, tool_fields, write_tool
from toolhaft.errors import (
    ConflictError,
    DefinitionError,
    ForbiddenError,
    UnknownToolError,
    UnknownVersionError,
)
from toolhaft.resources.clock import SystemClock
from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.nearest import nearest
from toolhaft.storage import Database, Row, SqlValue, is_storable

_VISIBLE: Final = """
    (? = 1 OR share = 'public' OR (owner = ? AND owner <> '') OR (share = 'org' AND org = ? AND org <> ''))
"""
_IDS: Final = f"SELECT id FROM toolhaft_tools WHERE {_VISIBLE} ORDER BY id"  # noqa: S608 -- only constants
_ONE: Final = f"SELECT {COLUMNS} FROM toolhaft_tools WHERE id = ?"  # noqa: S608 -- only constants
_CHANGED: Final = f"SELECT {COLUMNS} FROM toolhaft_tools WHERE revision > ? ORDER BY id"  # noqa: S608 -- only constants
_MAX_MARKS: Final = 500
_FILTERED: Final = f"""
    FROM toolhaft_tools
    WHERE {_VISIBLE} AND id > ? AND (? = 0 OR owner = ?) AND (? = 0 OR share = ?)
        AND (? = 0 OR id IN (SELECT id FROM toolhaft_tool_tags WHERE tag = ?))
"""  # noqa: S608 -- only constants
_LIST: Final = f"SELECT {COLUMNS} {_FILTERED} ORDER BY id LIMIT ?"
_COUNT: Final = f"SELECT COUNT(*) {_FILTERED}"
_NO_LIMIT: Final = 1_000_000_000
_MAX_SHOWN: Final = 80


class PublishedStore:
    """The published tools in a database.

    Args:
        database: holds the tools; missing tables are created.
        url: the address of the platform, without a trailing slash.
        clock: gives the time of publication.
        keeps_created_at: use the `created_at` of a new document; only if all publishers are operators.
        assigns_owners: an operator may publish for another owner.
    """

    def __init__(
        self,
        database: Database,
        *,
        url: str,
        clock: Clock | None = None,
        keeps_created_at: bool = False,
        assigns_owners: bool = True,
    ) -> None:
        self._database = database
        self._keeps_created_at = keeps_created_at
        self._assigns_owners = assigns_owners
        self._url = url.rstrip("/")
        self._clock = clock or SystemClock()
        database.migrate("shelf", MIGRATIONS)  # the name that existing databases use for these tables

    def list(
        self,
        user: PlatformUser,
        *,
        tag: str | None = None,
        owner: str | None = None,
        share: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[PublishedTool]:
        """The tools that the user may see, by id; `after` is the last id of the previous page."""
        values = _filter_values(user, (owner, share, tag), after)
        if values is None:
            return []
        values.append(_NO_LIMIT if limit is None else min(max(limit, 0), _NO_LIMIT))
        return [self._with_current_url(read_row(row)) for row in self._database.read(_LIST, values)]

    def count(
        self,
        user: PlatformUser,
        *,
        tag: str | None = None,
        owner: str | None = None,
        share: str | None = None,
    ) -> int:
        """How many tools `list` returns without a limit."""
        values = _filter_values(user, (owner, share, tag))
        return 0 if values is None else cast("int", self._database.read(_COUNT, values)[0][0])

    def get(self, id: str, user: PlatformUser) -> PublishedTool:
        """The tool with that id.

        Raises:
            UnknownToolError: if the user sees no such tool; names the nearest one.
        """
        rows = self._database.read(_ONE, [id]) if is_storable(id) else []
        if rows and (found := read_row(rows[0])).is_visible_to(user):
            return self._with_current_url(found)
        raise self.unknown(id, self.ids(user))

    def find(self, ids: Collection[str], user: PlatformUser) -> list[PublishedTool]:
        """Those of some tools that the user may see."""
        rows = self._read_ids(COLUMNS, ids)
        found = (self._with_current_url(read_row(row)) for row in rows)
        return [one for one in found if one.is_visible_to(user)]

    def changed_since(self, revision: int) -> Iterator[PublishedTool]:
        """All tools that were published after a revision, visible or not; read now, and made one by one."""
        rows = self._database.read(_CHANGED, [revision])
        return (self._with_current_url(read_row(row)) for row in rows)

    def ids(self, user: PlatformUser) -> Sequence[str]:
        """The ids of the tools that the user may see."""
        return _ids(self._database.read(_IDS, _user_values(user)))

    def taken(self, ids: Collection[str]) -> frozenset[str]:
        """Which of these ids are published, visible or not."""
        return frozenset(_ids(self._read_ids("id", ids)))

    def _read_ids(self, columns: str, ids: Collection[str]) -> list[Row]:
        wanted = [id for id in ids if is_storable(id)]
        rows: list[Row] = []
        for start in range(0, len(wanted), _MAX_MARKS):
            part = wanted[start : start + _MAX_MARKS]
            marks = ", ".join("?" * len(part))
            rows += self._database.read(f"SELECT {columns} FROM toolhaft_tools WHERE id IN ({marks})", part)  # noqa: S608 -- constants and question marks
        return rows

    def unknown(self, id: str, names: Sequence[str]) -> UnknownToolError:
        """The error if a user sees no tool with that id; it suggests the nearest of the names."""
        close = nearest(id, names)
        hint = f"; did you mean {close!r}?" if close else ""
        return UnknownToolError(f"no tool {id!r:.{_MAX_SHOWN}} on the platform {self._url}{hint}")

    def put(
        self,
        text: str,
        user: PlatformUser,
        *,
        base: str | EllipsisType | None,
        tool: AnyYamlTool | None = None,
        dry_run: bool = False,
    ) -> PublishedTool:
        """Publish the tool that a YAML text defines; return it with its new `updated_at` and endpoint.

        Args:
            text: the definition; comments are kept.
            user: the new owner.
            base: the `updated_at` of the version that was changed; None if the tool must be new; `...` to
                overwrite any version. A tool that does not exist is created, whatever the base.
            tool: the parsed text, if the caller has it.
            dry_run: check everything, but store nothing.

        Raises:
            DefinitionError: with all problems of the text.
            ConflictError: if another version was published since; nothing was changed.
            ForbiddenError: if the id belongs to somebody else, who has or had a tool under it, or the text
                names another owner.
        """
        tool = parse_tool(text) if tool is None else tool
        _check_storable(tool)
        return self._save(tool, user, base, dry_run=dry_run)

    def _save(
        self,
        tool: AnyYamlTool,
        user: PlatformUser,
        base: str | EllipsisType | None,
        *,
        restored: StoredVersion | None = None,
        dry_run: bool = False,
    ) -> PublishedTool:
        """Store a new version, made from a document or `restored` from an older version."""
        seen = self._before(self._database.read, tool.name)
        # before the transaction: writing YAML is slow
        published = self._build(tool, user, seen, base, restored)
        if dry_run:
            return published
        with self._database.transaction() as transaction:
            before = self._before(transaction.execute, tool.name)
            if before != seen:
                published = self._build(tool, user, before, base, restored)
            published = replace(published, revision=transaction.advance())
            save_row(transaction, published, tool.tags)
            save_version(transaction, published, tool.version)
        return published

    def versions(self, id: str, user: PlatformUser) -> list[ToolVersion]:
        """The last versions of a tool, the newest first; the user sees those that were the user's own.

        Raises:
            UnknownToolError: if the user sees no such tool.
            ForbiddenError: if it belongs to somebody else: older versions may have been private.
        """
        current = self.get(id, user)
        if not user.may_change(current.owner):
            raise ForbiddenError(
                f"the tool {id!r} belongs to somebody else; only its owner may see its versions"
            )
        return read_versions(self._database.read, current, owner=None if user.is_operator else user.owner)

    def rollback(
        self,
        id: str,
        user: PlatformUser,
        *,
        to: int | None = None,
        base: str | EllipsisType = ...,
        dry_run: bool = False,
    ) -> PublishedTool:
        """Publish an older version again, as a new version.

        Args:
            id: the tool.
            user: its owner, or an operator; the tool keeps its owner.
            to: the number of the version; None for the one before the current one.
            base: the `updated_at` of the version that it replaces; `...` for any.
            dry_run: check everything, but store nothing.

        Raises:
            UnknownToolError: if the user sees no such tool.
            UnknownVersionError: if that version is not kept, or there is none before the current one.
            ConflictError: if the tool was published again after `base`; nothing was changed.
            ForbiddenError: if it belongs to somebody else.
            DefinitionError: if this version of Toolhaft cannot read the document.
        """
        versions = self.versions(id, user)
        older = next((one.number for one in versions if not one.is_current), None)
        number = older if to is None else to
        is_kept = any(number == one.number for one in versions)
        stored = read_version(self._database.read, id, number) if number is not None and is_kept else None
        if stored is None:
            raise _unknown_version(id, to, versions)
        # it stays with its owner, also if the version is from a time when another one had it
        tool = parse_tool(stored.text, f"{id}.yaml").replace(owner=None)
        return self._save(tool, user, base, restored=stored, dry_run=dry_run)

    @staticmethod
    def _before(
        run: Callable[[str, Sequence[SqlValue]], list[Row]], id: str
    ) -> PublishedTool | RemovedTool | None:
        """The current version of a tool, or what remains of a removed one."""
        rows = run(_ONE, [id])
        return read_row(rows[0]) if rows else find_removed(run, id)

    def _build(
        self,
        tool: AnyYamlTool,
        user: PlatformUser,
        last: PublishedTool | RemovedTool | None,
        base: str | EllipsisType | None,
        restored: StoredVersion | None = None,
    ) -> PublishedTool:
        """The new version of a tool, without its revision."""
        owner = _choose_owner(tool, user, last, may_assign=self._assigns_owners)
        before = last if isinstance(last, PublishedTool) else None
        if restored is not None and before is None:  # removed since its versions were read
            raise self.unknown(tool.name, ())
        _check_base(tool.name, before, base)
        updated_at = self._later_than(last)
        created_at = tool.created_at if self._keeps_created_at else None
        upstream = self._upstream(tool, before) if restored is None else restored.upstream
        is_run = tool.run is not None or upstream is not None or is_installed(tool.name)
        dated = tool.replace(
            owner=owner or None,
            created_at=before.created_at if before else created_at or updated_at,
            updated_at=updated_at,
            # an endpoint only where something runs the tool: it is what makes a tool active
            is_active=False if tool.is_active_in_file is False else is_run or None,
            endpoint=self._endpoint(tool.name) if is_run else None,
        )
        published = PublishedTool(
            id=tool.name,
            owner=owner,
            org=before.org if before and user.is_operator else user.org,
            share=tool.share,
            text=write_tool(dated),
            upstream=upstream,
            created_at=cast("str", dated.created_at),
            updated_at=updated_at,
            # an operator who restores the version of another author does not vouch for what it runs
            is_operators=user.is_operator and (restored is None or restored.is_operators),
            url=self._url,
            revision=0,
            published_by=user.owner or "operator",
        )
        fields = tool_fields(dated)
        return replace(store_fields(published, fields), change=_describe(before, owner, fields, restored))

    def remove(
        self, id: str, user: PlatformUser, *, base: str | EllipsisType = ..., dry_run: bool = False
    ) -> None:
        """Delete a tool with its versions; its id stays reserved for its owner. A `dry_run` only checks.

        Raises:
            UnknownToolError: if the user sees no such tool.
            ConflictError: if it was published again after `base`; nothing was changed.
            ForbiddenError: if it belongs to somebody else.
        """
        with self._database.transaction() as transaction:
            rows = transaction.execute(_ONE, [id]) if is_storable(id) else []
            if not rows or not (before := read_row(rows[0])).is_visible_to(user):
                raise self.unknown(id, _ids(transaction.execute(_IDS, _user_values(user))))
            if not user.may_change(before.owner):
                raise ForbiddenError(
                    f"the tool {id!r} belongs to somebody else; only its owner may remove it"
                )
            _check_base(id, before, base)
            if not dry_run:
                remove_row(transaction, before)
                transaction.advance()

    def revision(self) -> int:
        """A number that grows with every change of tools or keys; one cheap read."""
        return self._database.revision()

    def _endpoint(self, id: str) -> str:
        return f"{self._url}{RUN_PATH}{id}"

    def _with_current_url(self, published: PublishedTool) -> PublishedTool:
        """A tool with the platform's current address: one database may be served at several."""
        if published.url == self._url:
            return published
        text = replace_endpoint(published.text, published.id, old_url=published.url, new_url=self._url)
        if text is None:
            if published.tool.endpoint is None:  # nothing runs it
                return published
            text = write_tool(published.tool.replace(endpoint=self._endpoint(published.id)))
        return published.moved(text=text, url=self._url, endpoint=self._endpoint(published.id))

    def _upstream(self, tool: AnyYamlTool, before: PublishedTool | None) -> str | None:
        """The endpoint that the author gave; None if the document holds one that a platform returned."""
        # a tool that an embedded platform published arrives here with the default address
        urls = (self._url, DEFAULT_URL, *([before.url] if before and before.url else []))
        id = next(filter(None, (tool_id_at(url, tool.endpoint) for url in urls)), None)
        if id is None:
            return tool.endpoint
        if id == tool.name:
            return before.upstream if before else None
        return f"{RUN_PATH}{id}"

    def _later_than(self, before: PublishedTool | RemovedTool | None) -> str:
        """The current time, but always after the previous version: a clock may be set back."""
        now = datetime.fromtimestamp(self._clock.time(), UTC)
        if before is not None:
            now = max(now, datetime.fromisoformat(before.updated_at) + timedelta(microseconds=1))
        return f"{now.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _user_values(user: PlatformUser) -> list[SqlValue]:
    return [int(user.is_operator), user.owner, user.org]


def _filter_values(
    user: PlatformUser, filters: tuple[str | None, ...], after: str | None = None
) -> list[SqlValue] | None:
    """The values of a filtered query; None if the database cannot hold one of the texts."""
    if not all(is_storable(text or "") for text in (*filters, after)):
        return None
    values: list[SqlValue] = [*_user_values(user), after or ""]
    for wanted in filters:
        values += [int(wanted is not None), wanted or ""]
    return values


def _ids(rows: Sequence[Row]) -> list[str]:
    return [cast("str", row[0]) for row in rows]


def _check_storable(tool: AnyYamlTool) -> None:
    for place, texts in (("owner", [tool.owner or ""]), ("tags", tool.tags)):
        if not all(map(is_storable, texts)):
            fix = "take the control character out"
            raise DefinitionError(f"{place} holds a NUL", tool=tool.name, place=place, fix=fix)


def _choose_owner(
    tool: AnyYamlTool, user: PlatformUser, before: PublishedTool | RemovedTool | None, *, may_assign: bool
) -> str:
    """The owner of the new version; a text without an owner keeps the previous one."""
    if before is not None and not user.may_change(before.owner):
        # the same words for a private tool as for a removed one: neither is shown to others
        raise ForbiddenError(
            f"the id {tool.name!r} belongs to somebody else, who has or had a tool under it; "
            "publish under another id"
        )
    if user.is_operator:
        last = before.owner if before else user.owner
        if not may_assign and tool.owner not in (None, last, user.owner):
            you = f"you are {user.owner!r:.{_MAX_SHOWN}}" if user.owner else "nothing says that this is you"
            raise ForbiddenError(
                f"the tool names the owner {tool.owner!r:.{_MAX_SHOWN}}, and {you}; take owner out, or, if "
                f'it is your own id, write owner = "{tool.owner:.{_MAX_SHOWN}}" into toolhaft.toml'
            )
        return tool.owner or last
    if not user.owner:
        raise ForbiddenError("an anonymous user cannot publish; use a key that has an owner")
    if tool.owner not in (None, user.owner):
        raise ForbiddenError(
            f"the tool names another owner than {user.owner!r}; take owner out, or use that owner's key"
        )
    return user.owner


def _describe(
    before: PublishedTool | None, owner: str, fields: JSONObject, restored: StoredVersion | None
) -> str:
    """What a new version changes, in one line."""
    if before is None:
        return "created"
    if before.owner != owner:  # the new owner may not see what the previous one had
        return "given to another owner"
    try:
        change = describe_change(before.fields, fields)
    except DefinitionError:
        change = "all fields: another version of Toolhaft stored the previous document"
    return change if restored is None else f"restored version {restored.number}: {change}"


def _unknown_version(id: str, to: int | None, versions: Sequence[ToolVersion]) -> UnknownVersionError:
    kept = ", ".join(str(one.number) for one in reversed(versions)) or "none"
    if to is None:
        return UnknownVersionError(f"the tool {id!r} has no version before the current one")
    return UnknownVersionError(f"the tool {id!r} has no version {to}; the platform keeps: {kept}")


def _check_base(id: str, before: PublishedTool | None, base: str | EllipsisType | None) -> None:
    if before is None or isinstance(base, EllipsisType) or base == before.updated_at:
        return
    if base is None:
        raise ConflictError(
            f"the tool {id!r} exists, published at {before.updated_at}; get it and change that, "
            "or choose another id",
            current=before.updated_at,
        )
    raise ConflictError(
        f"the tool {id!r} was published again at {before.updated_at}, your change was made from "
        f"{base!r:.{_MAX_SHOWN}}; get it, make your change again, then publish",
        current=before.updated_at,
    )
