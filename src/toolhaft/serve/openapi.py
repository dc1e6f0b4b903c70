"""Describes the platform in OpenAPI 3.1: its own paths, and one for each tool that the caller may see.

Knows tools and their schemas; what the fixed paths say is in `openapi_paths`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final, TypeAlias, cast

from toolhaft import schema
from toolhaft.catalog.shelf import Published
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import DefinitionError
from toolhaft.serve.callers import Caller
from toolhaft.serve.openapi_paths import COMPONENTS, FIXED_PATHS, HEADERS, refusals
from toolhaft.serve.outcomes import WHOLE
from toolhaft.serve.stock import Stock

Part: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
_MOST_KEPT: Final = 16
_MOST_TOOLS: Final = 1_000
_REFERENCES: Final = ("$ref", "$dynamicRef")
_VALUES: Final = ("const", "default", "enum", "examples")
_NAMED: Final = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


class Descriptions:
    """The documents that were asked for last."""

    def __init__(self, stock: Stock, url: str) -> None:
        self._stock = stock
        self._url = url
        self._kept: OrderedDict[str, tuple[int, bytes]] = OrderedDict()
        self._parts: OrderedDict[tuple[str, int], Part] = OrderedDict()
        self._lock = Lock()

    def read(self, caller: Caller, revision: int) -> bytes:
        """The document of what a caller may ask for, as JSON.

        Raises:
            StorageError: where the database cannot be read.
        """
        kept = self._kept.get(caller.identity)
        if kept is not None and kept[0] == revision:
            return kept[1]
        listed = self._stock.listed(caller.viewer)
        body = schema.to_json_text(describe(listed, self._url, self._part)).encode()
        with self._lock:
            self._kept[caller.identity] = (revision, body)
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return body

    def _part(self, published: Published) -> Part:
        """What is said of one tool, kept until it is published again: YAML takes long to read."""
        key = (published.id, published.revision)
        part = self._parts.get(key)
        if part is None:
            part = part_of(self._stock.described(published))
            with self._lock:
                self._parts[key] = part
                if len(self._parts) > 2 * _MOST_TOOLS:
                    self._parts.popitem(last=False)
        return part


def describe(published: list[Published], url: str, said_of: Callable[[Published], Part]) -> dict[str, Any]:
    """The document; beyond a thousand tools the rest is left out, which its description says."""
    paths: dict[str, Any] = dict(FIXED_PATHS)
    schemas: dict[str, Any] = dict(COMPONENTS["schemas"])
    for one in published[:_MOST_TOOLS]:
        try:
            operation, own = said_of(one)
        except DefinitionError:
            continue  # of another version; the list leaves it out as well
        paths[f"/v3/tool/{one.id}"] = {"post": operation}
        schemas |= own
    left = len(published) - _MOST_TOOLS
    more = f" {left} more tools are left out here; GET /v3/tools lists them." if left > 0 else ""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Toolhaft platform",
            "version": "3",
            "description": f"Tools published, found and run.{more}",
        },
        "servers": [{"url": url}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {**COMPONENTS, "schemas": schemas},
    }


def part_of(tool: AnyTool) -> Part:
    """The operation of a tool, and the schemas that it refers to."""
    schemas: dict[str, Any] = {}
    taken, given = f"{tool.name}.arguments", f"{tool.name}.value"
    schemas[taken] = _moved(tool.input_schema, f"#/components/schemas/{taken}")
    value: dict[str, Any] = {}
    if tool.output_schema is not None:
        schemas[given] = _moved(tool.output_schema, f"#/components/schemas/{given}")
        value = {"$ref": f"#/components/schemas/{given}"}
    operation = {
        "operationId": f"run_{tool.name}",
        "summary": tool.title or tool.name,
        "description": tool.description,
        "tags": list(tool.tags),
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in HEADERS],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{taken}"}}},
        },
        "responses": {
            "200": {
                "description": "The value, or the whole result where that is asked for.",
                "content": {
                    "application/json": {"schema": value},
                    WHOLE.decode(): {"schema": {"$ref": "#/components/schemas/Result"}},
                },
            },
            **refusals(400, 401, 403, 404, 408, 409, 413, 415, 421, 422, 424, 429, 503),
        },
    }
    return operation, schemas


def _moved(part: object, root: str, *, is_named: bool = False) -> Any:  # noqa: ANN401 -- JSON
    """A schema whose references lead to where it stands now; values such as `const` are left alone.

    `is_named` for an object whose names are the author's own, such as `properties`.
    """
    if isinstance(part, list):
        return [_moved(member, root) for member in cast("list[object]", part)]
    if not isinstance(part, Mapping):
        return part
    moved: dict[str, Any] = {}
    for name, value in cast("Mapping[str, object]", part).items():
        if not is_named and name in _REFERENCES and isinstance(value, str) and value.startswith("#"):
            moved[name] = root + value[1:]
        elif not is_named and name in _VALUES:
            moved[name] = value
        else:
            moved[name] = _moved(value, root, is_named=not is_named and name in _NAMED)
    return moved
