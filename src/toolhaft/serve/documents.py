"""Reads and writes tools in requests and responses: as YAML, as JSON, and as pages of a list."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final

from toolhaft import schema
from toolhaft.catalog.published import AnyYamlTool, PlatformUser, PublishedTool
from toolhaft.define.running.activation import is_active
from toolhaft.define.yaml import parse_tool, tool_fields
from toolhaft.define.yaml.emitter import write_mapping
from toolhaft.errors import DefinitionError
from toolhaft.schema.json_text import repeated_keys
from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.problems import render_path
from toolhaft.serve.limits import BoundedCache
from toolhaft.serve.responses import JSON, HttpProblem, document_problems
from toolhaft.serve.search import SearchIndexes
from toolhaft.serve.tool_cache import ToolCache

YAML: Final = b"application/yaml"
_YAMLS: Final = frozenset((YAML, b"application/x-yaml"))


def is_yaml(media_type: bytes) -> bool:
    """True for the media types of YAML."""
    return media_type in _YAMLS


def wants_yaml(headers: Mapping[bytes, bytes], *, sent: bytes = JSON) -> bool:
    """True if the response is YAML: it was requested, or it was sent and JSON was not requested."""
    accepted = headers.get(b"accept", b"").lower()
    if b"yaml" in accepted:
        return True
    return is_yaml(sent) and JSON not in accepted


def read_tool_text(body: bytes, media_type: bytes) -> tuple[str, AnyYamlTool]:
    """The YAML text of a body, and the tool that it defines.

    Raises:
        HttpProblem: 400 if it is not UTF-8, or not JSON although its type says so.
        DefinitionError: with every problem of the definition.
    """
    text = decode_body(body)
    if not is_yaml(media_type):
        return _from_json(text)
    return text, parse_tool(text)


def decode_body(body: bytes) -> str:
    """The text of a body.

    Raises:
        HttpProblem: 400 if it is not UTF-8.
    """
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise HttpProblem(400, "the body is not UTF-8", fix="send it as UTF-8", where="body") from None


def published_fields(published: PublishedTool) -> JSONObject:
    """The fields of a published tool, as JSON; `share`, `tags` and `is_active` also where it has none.

    Raises:
        HttpProblem: 424 if this version cannot read its row.
    """
    try:
        fields = published.fields
    except DefinitionError as error:
        raise unreadable_tool(published, error) from error
    return {
        **fields,
        "share": published.share,
        "tags": fields.get("tags", []),
        "is_active": is_active(fields),
    }


def unreadable_tool(published: PublishedTool, error: DefinitionError) -> HttpProblem:
    """The problem of a row that this version cannot read."""
    return HttpProblem(
        424,
        f"the tool {published.id!r} was stored by another version and cannot be read by this one",
        fix="publish it again",
        problems=document_problems(error),
    )


def read_json_fields(text: str) -> JSONObject:
    """The fields of a tool that were sent as JSON.

    Raises:
        HttpProblem: 400 if it is not one JSON object, or has a name twice.
    """
    try:
        value, repeated = schema.read_json(text), repeated_keys(text)
    except (ValueError, RecursionError) as error:
        raise HttpProblem(
            400,
            f"the body is not valid JSON: {error!s:.200}",
            fix="send the fields as one JSON object",
            where="body",
        ) from None
    if repeated:
        what = f"the name {repeated[0][-1]!r:.80} appears twice"
        raise HttpProblem(400, what, fix="write it once", where="body", path=render_path(repeated[0]))
    if not isinstance(value, dict):
        raise HttpProblem(
            400,
            "the body is not a JSON object",
            fix="send the fields of the tool as one JSON object",
            where="body",
        )
    return value


def _from_json(text: str) -> tuple[str, AnyYamlTool]:
    value = read_json_fields(text)
    tool = parse_tool(json.dumps(value, ensure_ascii=False, indent=1), "tool.json")
    return write_mapping(tool_fields(tool)), tool


_LOG: Final = logging.getLogger("toolhaft")
_MAX_CACHED_FIELDS: Final = 10_000
_MAX_CACHED_TOTALS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolQuery:
    """Which tools a page lists."""

    filters: dict[str, str | None]
    """The wanted `tag`, `owner` and `share`."""
    limit: int
    text: str | None = None
    """The text that is searched; None to list all, by id."""
    after: str | None = None
    """The last id of the previous page of a list."""
    offset: int = 0
    """How many matches the previous pages of a search had."""


class ToolPages:
    """Pages of tools as JSON; the fields of a tool are cached until it is published again."""

    def __init__(self, tool_cache: ToolCache, searches: SearchIndexes) -> None:
        self._tool_cache = tool_cache
        self._searches = searches
        self._fields: BoundedCache[tuple[str, int], JSONObject | None] = BoundedCache(_MAX_CACHED_FIELDS)
        self._totals: BoundedCache[tuple[object, ...], int] = BoundedCache(_MAX_CACHED_TOTALS)
        self._lock = Lock()

    def read(self, viewer: PlatformUser, query: ToolQuery, revision: int) -> bytes:
        """A page of the tools that the viewer may see, or of the matches of `q`, the best first, as JSON.

        Raises:
            StorageError: if the database cannot be read.
        """
        limit = query.limit
        if query.text is not None:
            offset = query.offset
            best, total = self._searches.best_page(query.text, viewer, limit, offset=offset, **query.filters)
            rows = self._tool_cache.find_rows(best, viewer)
            following = str(offset + limit) if offset + limit < total else None
        else:
            rows = self._tool_cache.visible_tools(viewer, after=query.after, limit=limit + 1, **query.filters)
            total = self._total(viewer, query, revision)
            following = rows[limit - 1].id if len(rows) > limit else None
        tools = [fields for row in rows[:limit] if (fields := self.fields(row))]
        return schema.to_json_text({"tools": tools, "total": total, "next": following}).encode()

    def _total(self, viewer: PlatformUser, query: ToolQuery, revision: int) -> int:
        """How many tools all pages have; counted once per revision, since it takes as long as a page."""
        key = (revision, viewer.owner, viewer.org, viewer.is_operator, *query.filters.values())
        with self._lock:
            total = self._totals.get(key)
        if total is None:
            total = self._tool_cache.count_visible(viewer, **query.filters)
            with self._lock:
                self._totals[key] = total
        return total

    def fields(self, published: PublishedTool) -> JSONObject | None:
        """The fields of a tool; None if this version cannot read it, so that lists leave it out."""
        key = (published.id, published.revision)
        with self._lock:
            if key in self._fields:
                self._fields.move_to_end(key)
                return self._fields[key]
        try:
            fields = published_fields(published)
        except HttpProblem as problem:
            _LOG.warning("%s: %s", problem.detail, problem.problems)
            fields = None
        with self._lock:
            self._fields[key] = fields
        return fields
