"""Reads and writes tools in requests and responses: as YAML, as JSON, and as pages of a list."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from threading import Lock
from typing import Final

from toolhaft import schema
from toolhaft.catalog.published import AnyYamlTool, PlatformUser, PublishedTool
from toolhaft.define.yaml import parse_tool, tool_fields
from toolhaft.define.yaml.emitter import write_mapping
from toolhaft.errors import DefinitionError
from toolhaft.schema.json_text import repeated_keys
from toolhaft.schema.json_value import JSONObject
from toolhaft.serve.limits import BoundedCache
from toolhaft.serve.responses import JSON, HttpProblem
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
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise HttpProblem(400, "the body is not UTF-8", fix="save it as UTF-8") from None
    if not is_yaml(media_type):
        return _from_json(text)
    return text, parse_tool(text)


def published_fields(published: PublishedTool) -> JSONObject:
    """The fields of a published tool, as JSON.

    Raises:
        HttpProblem: 424 if this version cannot read its row.
    """
    try:
        return published.fields
    except DefinitionError as error:
        raise unreadable_tool(published, error) from error


def unreadable_tool(published: PublishedTool, error: DefinitionError) -> HttpProblem:
    """The problem of a row that this version cannot read."""
    return HttpProblem(
        424,
        f"the tool {published.id!r} was stored by another version and cannot be read by this one",
        fix="publish it again",
        problems=str(error).splitlines(),
    )


def _from_json(text: str) -> tuple[str, AnyYamlTool]:
    try:
        value, repeated = schema.read_json(text), repeated_keys(text)
    except (ValueError, RecursionError) as error:
        raise HttpProblem(
            400, f"the body is not valid JSON: {error!s:.200}", fix="send the fields as one JSON object"
        ) from None
    if repeated:
        raise HttpProblem(400, f"the name {repeated[0][-1]!r:.80} appears twice", fix="write it once")
    if not isinstance(value, dict):
        raise HttpProblem(
            400, "the body is not a JSON object", fix="send the fields of the tool as one JSON object"
        )
    tool = parse_tool(json.dumps(value, ensure_ascii=False, indent=1), "tool.json")
    return write_mapping(tool_fields(tool)), tool


_LOG: Final = logging.getLogger("toolhaft")
_MAX_CACHED_FIELDS: Final = 10_000


class ToolPages:
    """Pages of tools as JSON; the fields of a tool are cached until it is published again."""

    def __init__(self, tool_cache: ToolCache, searches: SearchIndexes) -> None:
        self._tool_cache = tool_cache
        self._searches = searches
        self._fields: BoundedCache[tuple[str, int], JSONObject | None] = BoundedCache(_MAX_CACHED_FIELDS)
        self._lock = Lock()

    def read(self, viewer: PlatformUser, query: Mapping[str, str], limit: int) -> bytes:
        """A page of the tools that the viewer may see, or the best matches of `q`, as JSON.

        Raises:
            StorageError: if the database cannot be read.
        """
        tag, owner, share = query.get("tag"), query.get("owner"), query.get("share")
        text = query.get("q")
        if text is not None:
            best = self._searches.best(text, viewer, limit, tag=tag, owner=owner, share=share)
            rows = self._tool_cache.find_rows(best, viewer)
            return _page([fields for row in rows if (fields := self.fields(row))], None)
        after = query.get("after")
        page = self._tool_cache.visible_tools(
            viewer, tag=tag, owner=owner, share=share, after=after, limit=limit + 1
        )
        next_after = page[limit - 1].id if len(page) > limit else None
        return _page([fields for row in page[:limit] if (fields := self.fields(row))], next_after)

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


def _page(tools: list[JSONObject], next_after: str | None) -> bytes:
    return schema.to_json_text({"tools": tools, "next": next_after}).encode()
