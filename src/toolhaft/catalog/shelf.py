"""Published tools, kept in a database: who may see them, who may change them, and that no change is lost.

Knows the YAML text of a tool and whose it is; does not run tools, and knows neither HTTP nor commands.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import EllipsisType
from typing import Final, cast

from toolhaft.catalog.addresses import RUN_PATH, id_at, moved
from toolhaft.catalog.published import COLUMNS, STEPS, Published, published_in, store
from toolhaft.catalog.viewer import Viewer
from toolhaft.core.ports import Clock
from toolhaft.define.running.settings import DEFAULT_URL
from toolhaft.define.yaml import YamlTool, parse_tool, write_tool
from toolhaft.errors import ConflictError, DefinitionError, ForbiddenError, UnknownToolError
from toolhaft.resources.clock import SystemClock
from toolhaft.schema.nearest import nearest
from toolhaft.storage import Database, Row, Value, is_storable

_VISIBLE: Final = """
    (? = 1 OR share = 'public' OR (owner = ? AND owner <> '') OR (share = 'org' AND org = ? AND org <> ''))
"""
_IDS: Final = f"SELECT id FROM toolhaft_tools WHERE {_VISIBLE} ORDER BY id"  # noqa: S608 -- parts of this file
_ONE: Final = f"SELECT {COLUMNS} FROM toolhaft_tools WHERE id = ?"  # noqa: S608 -- parts of this file
_LIST: Final = f"""
    SELECT {COLUMNS} FROM toolhaft_tools
    WHERE {_VISIBLE} AND id > ? AND (? = 0 OR owner = ?) AND (? = 0 OR share = ?)
        AND (? = 0 OR id IN (SELECT id FROM toolhaft_tool_tags WHERE tag = ?))
    ORDER BY id LIMIT ?
"""  # noqa: S608 -- parts of this file
_MOST: Final = 1_000_000_000
_LONGEST_SHOWN: Final = 80


class Shelf:
    """The published tools in a database.

    Args:
        database: where they are kept; its tables are made where they are missing.
        url: the address of the platform, without a slash at its end.
        clock: tells when a tool was published.
    """

    def __init__(self, database: Database, *, url: str, clock: Clock | None = None) -> None:
        self._database = database
        self._url = url.rstrip("/")
        self._clock = clock or SystemClock()
        database.migrate("shelf", STEPS)

    def list(
        self,
        viewer: Viewer,
        *,
        tag: str | None = None,
        owner: str | None = None,
        share: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Published]:
        """The tools that the viewer may see, by id; `after` is the last id of the page before."""
        filters = (owner, share, tag)
        if not all(is_storable(text or "") for text in (*filters, after)):
            return []  # nothing is kept under such a word
        values: list[Value] = [*_viewing(viewer), after or ""]
        for wanted in filters:
            values += [int(wanted is not None), wanted or ""]
        values.append(_MOST if limit is None else min(max(limit, 0), _MOST))
        return [self._here(published_in(row)) for row in self._database.read(_LIST, values)]

    def get(self, id: str, viewer: Viewer) -> Published:
        """The tool of that id.

        Raises:
            UnknownToolError: where there is none that the viewer may see; names the nearest one.
        """
        rows = self._database.read(_ONE, [id]) if is_storable(id) else []
        if rows and _sees(viewer, found := published_in(rows[0])):
            return self._here(found)
        raise self.unknown(id, self.ids(viewer))

    def ids(self, viewer: Viewer) -> Sequence[str]:
        """The ids of the tools that the viewer may see."""
        return _ids(self._database.read(_IDS, _viewing(viewer)))

    def taken(self, ids: Collection[str]) -> frozenset[str]:
        """Those of some ids that are published, whoever may see them."""
        kept = [id for id in ids if is_storable(id)]
        if not kept:
            return frozenset()
        marks = ", ".join("?" * len(kept))
        found = self._database.read(f"SELECT id FROM toolhaft_tools WHERE id IN ({marks})", kept)  # noqa: S608 -- marks alone
        return frozenset(_ids(found))

    def unknown(self, id: str, names: Sequence[str]) -> UnknownToolError:
        """What somebody is told of an id that they see no tool of, with the nearest name that they see."""
        close = nearest(id, names)
        hint = f"; did you mean {close!r}?" if close else ""
        return UnknownToolError(f"no tool {id!r:.{_LONGEST_SHOWN}} on the platform {self._url}{hint}")

    def put(
        self,
        text: str,
        viewer: Viewer,
        *,
        base: str | EllipsisType | None,
        tool: YamlTool[dict[str, object], object] | None = None,
    ) -> Published:
        """Publish what a YAML text defines, and give it back with its new `updated_at` and endpoint.

        Args:
            text: the definition; comments are kept.
            viewer: whose it will be; an operator may publish in another owner's name.
            base: the `updated_at` that the change was made from; None where the tool must be new; `...` to
                overwrite whatever is there. A tool that is not there is made, whatever the base.
            tool: what the text defines, where it was read already.

        Raises:
            DefinitionError: with all that is wrong with the text.
            ConflictError: where somebody else has published since; nothing was changed.
            ForbiddenError: where the tool, or the owner it names, is somebody else.
        """
        tool = parse_tool(text) if tool is None else tool
        _check_storable(tool)
        seen = self._database.read(_ONE, [tool.name])
        made = self._make(tool, viewer, seen, base)  # not in there: writing YAML takes long
        with self._database.transaction() as transaction:
            rows = transaction.execute(_ONE, [tool.name])
            if rows != seen:
                made = self._make(tool, viewer, rows, base)
            published = replace(made, revision=transaction.advance())
            store(transaction, published, tool.tags)
        return published

    def _make(
        self,
        tool: YamlTool[dict[str, object], object],
        viewer: Viewer,
        rows: Sequence[Row],
        base: str | EllipsisType | None,
    ) -> Published:
        """What is stored over what is there, but for its revision."""
        before = published_in(rows[0]) if rows else None
        owner = _settle_owner(tool, viewer, before)
        _check_base(tool.name, before, base)
        updated_at = self._later_than(before)
        dated = tool.replace(
            owner=owner or None,
            created_at=before.created_at if before else tool.created_at or updated_at,
            updated_at=updated_at,
            is_active=True,
            endpoint=self._address(tool.name),
        )
        return Published(
            id=tool.name,
            owner=owner,
            org=before.org if before and viewer.is_operator else viewer.org,
            share=tool.share,
            text=write_tool(dated),
            upstream=self._upstream(tool, before),
            created_at=cast("str", dated.created_at),
            updated_at=updated_at,
            is_operators=viewer.is_operator,
            url=self._url,
            revision=0,
        )

    def remove(self, id: str, viewer: Viewer, *, base: str | EllipsisType = ...) -> None:
        """Take a tool from the shelf.

        Raises:
            UnknownToolError: where there is none that the viewer may see.
            ConflictError: where it was published again after `base`; nothing was changed.
            ForbiddenError: where it is somebody else's.
        """
        with self._database.transaction() as transaction:
            rows = transaction.execute(_ONE, [id]) if is_storable(id) else []
            if not rows or not _sees(viewer, before := published_in(rows[0])):
                raise self.unknown(id, _ids(transaction.execute(_IDS, _viewing(viewer))))
            if not viewer.may_change(before.owner):
                raise ForbiddenError(
                    f"the tool {id!r} belongs to somebody else; only its owner may remove it"
                )
            _check_base(id, before, base)
            transaction.execute("DELETE FROM toolhaft_tool_tags WHERE id = ?", [id])
            transaction.execute("DELETE FROM toolhaft_tools WHERE id = ?", [id])
            transaction.advance()

    def revision(self) -> int:
        """A number that grows with every change of tools or keys; one cheap read."""
        return self._database.revision()

    def _address(self, id: str) -> str:
        return f"{self._url}{RUN_PATH}{id}"

    def _here(self, published: Published) -> Published:
        """A tool as it is where the platform stands now: a database may be served at several addresses."""
        if published.url == self._url:
            return published
        text = moved(published.text, published.id, old_url=published.url, new_url=self._url)
        if text is None:
            text = write_tool(published.tool.replace(endpoint=self._address(published.id)))
        return replace(published, text=text, url=self._url)

    def _upstream(self, tool: YamlTool[dict[str, object], object], before: Published | None) -> str | None:
        # what was published in a project comes here with the address that every project's platform has
        id = id_at(self._url, tool.endpoint) or id_at(DEFAULT_URL, tool.endpoint)
        if id is None:
            return tool.endpoint
        if id == tool.name:
            return before.upstream if before else None
        return f"{RUN_PATH}{id}"

    def _later_than(self, before: Published | None) -> str:
        """Now, but always after the time that stands there: clocks are turned back."""
        now = datetime.fromtimestamp(self._clock.time(), UTC)
        if before is not None:
            now = max(now, datetime.fromisoformat(before.updated_at) + timedelta(microseconds=1))
        return f"{now.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def _viewing(viewer: Viewer) -> list[Value]:
    return [int(viewer.is_operator), viewer.owner, viewer.org]


def _ids(rows: Sequence[Row]) -> list[str]:
    return [cast("str", row[0]) for row in rows]


def _sees(viewer: Viewer, published: Published) -> bool:
    return viewer.may_see(published.owner, published.org, published.share)


def _check_storable(tool: YamlTool[dict[str, object], object]) -> None:
    for place, words in (("owner", [tool.owner or ""]), ("tags", tool.tags)):
        if not all(is_storable(word) for word in words):
            fix = "take the control character out"
            raise DefinitionError(f"{place} holds a NUL", tool=tool.name, place=place, fix=fix)


def _settle_owner(tool: YamlTool[dict[str, object], object], viewer: Viewer, before: Published | None) -> str:
    """Whose the tool will be; a text that names nobody leaves it whose it is."""
    if before is not None and not viewer.may_change(before.owner):
        raise ForbiddenError(f"the id {tool.name!r} belongs to somebody else; publish under another id")
    if viewer.is_operator:
        return tool.owner or (before.owner if before else viewer.owner)
    if not viewer.owner:
        raise ForbiddenError("nobody in particular cannot publish; use a key that has an owner")
    if tool.owner not in (None, viewer.owner):
        raise ForbiddenError(
            f"the tool names another owner than {viewer.owner!r}; take owner out, or use that owner's key"
        )
    return viewer.owner


def _check_base(id: str, before: Published | None, base: str | EllipsisType | None) -> None:
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
        f"{base!r:.{_LONGEST_SHOWN}}; get it, make your change again, then publish",
        current=before.updated_at,
    )
