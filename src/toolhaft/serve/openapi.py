"""The OpenAPI 3.1 document of the platform: its fixed paths, and one path per tool that the caller sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias, cast

from toolhaft import schema
from toolhaft.catalog.published import PublishedTool
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import DefinitionError
from toolhaft.formats.registry import FORMATS
from toolhaft.serve.call_responses import RESULT_MEDIA_TYPE
from toolhaft.serve.callers import Caller
from toolhaft.serve.limits import BoundedCache
from toolhaft.serve.openapi_components import COMPONENTS, reference
from toolhaft.serve.tool_cache import ToolCache

ToolOperation: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
_MAX_DOCUMENTS: Final = 16
_MAX_TOOLS: Final = 1_000
_MAX_OPERATIONS: Final = 2_000
_REFERENCES: Final = ("$ref", "$dynamicRef")
_VALUE_KEYWORDS: Final = ("const", "default", "enum", "examples")
_MAP_KEYWORDS: Final = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


class OpenApiDocuments:
    """The documents that were requested last, one per caller identity."""

    def __init__(self, tool_cache: ToolCache, url: str) -> None:
        self._tool_cache = tool_cache
        self._url = url
        self._documents: BoundedCache[str, tuple[int, bytes]] = BoundedCache(_MAX_DOCUMENTS)
        self._operations: BoundedCache[tuple[str, int], ToolOperation] = BoundedCache(_MAX_OPERATIONS)

    def read(self, caller: Caller, revision: int) -> bytes:
        """The document for a caller, as JSON.

        Raises:
            StorageError: if the database cannot be read.
        """
        cached = self._documents.get(caller.identity)
        if cached is not None and cached[0] == revision:
            return cached[1]
        visible = self._tool_cache.visible_tools(caller.viewer)
        body = schema.to_json_text(describe_platform(visible, self._url, self._operation)).encode()
        self._documents[caller.identity] = (revision, body)
        return body

    def _operation(self, published: PublishedTool) -> ToolOperation:
        """The operation of one tool, cached until it is published again: YAML is slow to parse."""
        key = (published.id, published.revision)
        operation = self._operations.get(key)
        if operation is None:
            operation = describe_tool(self._tool_cache.tool_to_describe(published))
            self._operations[key] = operation
        return operation


def describe_platform(
    published: list[PublishedTool], url: str, operation_of: Callable[[PublishedTool], ToolOperation]
) -> dict[str, Any]:
    """The document; it omits tools beyond the first thousand, and its description says so."""
    paths: dict[str, Any] = dict(FIXED_PATHS)
    schemas: dict[str, Any] = dict(COMPONENTS["schemas"])
    for row in published[:_MAX_TOOLS]:
        try:
            operation, own = operation_of(row)
        except DefinitionError:
            continue  # stored by another version; lists omit it as well
        paths[f"/v3/tool/{row.id}"] = {"post": operation}
        schemas |= own
    left = len(published) - _MAX_TOOLS
    more = f" {left} more tools are omitted here; GET /v3/tools lists them." if left > 0 else ""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Toolhaft platform",
            "version": "3",
            "description": f"Publish, find and run tools.{more}",
        },
        "servers": [{"url": url}],
        "security": [{"key": []}],
        "paths": paths,
        "components": {**COMPONENTS, "schemas": schemas},
    }


def describe_tool(tool: AnyTool) -> ToolOperation:
    """The OpenAPI operation of a tool, and the schemas that it refers to."""
    arguments, value = reference(f"{tool.name}.arguments"), reference(f"{tool.name}.value")
    schemas = {f"{tool.name}.arguments": _rebase_references(tool.input_schema, arguments["$ref"])}
    if tool.output_schema is not None:
        schemas[f"{tool.name}.value"] = _rebase_references(tool.output_schema, value["$ref"])
    operation = {
        "operationId": f"run_{tool.name}",
        "summary": tool.title or tool.name,
        "description": tool.description,
        "tags": list(tool.tags),
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in RUN_PARAMETERS],
        "requestBody": {"required": True, "content": _content(arguments)},
        "responses": {
            "200": {
                "description": "The value; the whole result if the Accept header requests it; or a dry run.",
                "content": _content(_value_schema(value if tool.output_schema is not None else {}))
                | _content(reference("Result"), RESULT_MEDIA_TYPE.decode()),
            },
            **problem_responses(400, 401, 403, 404, 408, 409, 413, 415, 421, 422, 424, 429, 503),
        },
    }
    return operation, schemas


def _rebase_references(part: object, root: str, *, is_map: bool = False) -> Any:  # noqa: ANN401 -- JSON
    """A schema with its references adjusted to its place in the document; values such as `const` stay.

    `is_map` is True for an object whose keys are names chosen by the author, such as `properties`.
    """
    if isinstance(part, list):
        return [_rebase_references(member, root) for member in cast("list[object]", part)]
    if not isinstance(part, Mapping):
        return part
    result: dict[str, Any] = {}
    for name, value in cast("Mapping[str, object]", part).items():
        if not is_map and name in _REFERENCES and isinstance(value, str) and value.startswith("#"):
            result[name] = root + value[1:]
        elif not is_map and name in _VALUE_KEYWORDS:
            result[name] = value
        else:
            result[name] = _rebase_references(value, root, is_map=not is_map and name in _MAP_KEYWORDS)
    return result


RUN_PARAMETERS: Final = ("DryRun", "IdempotencyKey")
"""Parameters of every run."""


def _content(schema: dict[str, Any], media_type: str = "application/json") -> dict[str, Any]:
    return {media_type: {"schema": schema}}


def _value_schema(value: dict[str, Any]) -> dict[str, Any]:
    """The value of a run, or what a dry run says."""
    return {"anyOf": [value, reference("DryRun")]} if value else {}


_YAML: Final = _content({"type": "string"}, "application/yaml")
_TOOL: Final = _content(reference("Tool")) | _YAML
_DOCUMENT: Final = _content(reference("Document")) | _YAML
_CHANGED: Final = _content({"anyOf": [reference("Tool"), reference("DryRun")]}) | _YAML
_ETAG: Final = {"ETag": {"description": "The version of the tool.", "schema": {"type": "string"}}}


def problem_responses(*statuses: int) -> dict[str, Any]:
    """Responses that are problem documents."""
    return {
        str(status): {
            "description": HTTPStatus(status).phrase,
            "content": _content(reference("Problem"), "application/problem+json"),
        }
        for status in statuses
    }


def _query(name: str, description: str, **keywords: object) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": {"type": "string", **keywords}}


def _whole_number(name: str, description: str, least: int, most: int, **keywords: object) -> dict[str, Any]:
    return _query(name, description, **{"type": "integer", "minimum": least, "maximum": most, **keywords})


def _header(name: str, description: str, pattern: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "description": description,
        "schema": {"type": "string", "pattern": pattern},
    }


_ID: Final[dict[str, Any]] = {
    "name": "id",
    "in": "path",
    "required": True,
    "description": "The id of the tool.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9_-]{1,50}$"},
}
_DRY_RUN: Final[dict[str, Any]] = {"$ref": "#/components/parameters/DryRun"}
_HEALTH: Final = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]}
_VERSION: Final = r'^(\*|"[!#-~]*")$'
_IF_MATCH: Final = _header("If-Match", "The version to change, or * for any.", _VERSION)
_IF_NEW: Final = _header("If-None-Match", "With *, the tool is only created, not replaced.", r"^\*$")
_IF_CHANGED: Final = _header(
    "If-None-Match", "The version that the client has; 304 if it is current.", _VERSION
)

FIXED_PATHS: Final[dict[str, Any]] = {
    "/healthz": {
        "get": {
            "operationId": "tell_health",
            "summary": "Check whether the platform works; needs no key.",
            "security": [],
            "responses": {
                "200": {"description": "The platform works.", "content": _content(_HEALTH)},
                **problem_responses(503),
            },
        }
    },
    "/v3/tools": {
        "get": {
            "operationId": "list_tools",
            "summary": "List the tools that the key may see, sorted by id, or the best matches of `q`.",
            "parameters": [
                _query("tag", "Only tools with this tag."),
                _query("owner", "Only tools of this owner."),
                _query("share", "Only tools with this sharing level.", enum=["private", "org", "public"]),
                _query("q", "Search text."),
                _query("after", "The `next` of the previous page; with `q`, a number."),
                _whole_number("limit", "The maximum number of tools.", 1, 1000, default=100),
            ],
            "responses": {
                "200": {"description": "A page of tools.", "content": _content(reference("Tools"))},
                **problem_responses(400, 401, 403, 421, 429, 503),
            },
        }
    },
    "/v3/tools/{id}": {
        "parameters": [_ID],
        "get": {
            "operationId": "get_tool",
            "summary": "Read one tool.",
            "parameters": [_IF_CHANGED],
            "responses": {
                "200": {"description": "The tool.", "headers": _ETAG, "content": _TOOL},
                "304": {"description": "The client has the current version."},
                **problem_responses(400, 401, 403, 404, 421, 424, 429, 503),
            },
        },
        "put": {
            "operationId": "put_tool",
            "summary": "Publish a tool over the version that it is based on.",
            "parameters": [_DRY_RUN, _IF_MATCH, _IF_NEW],
            "requestBody": {"required": True, "content": _DOCUMENT},
            "responses": {
                "200": {"description": "Replaced, or a dry run.", "headers": _ETAG, "content": _CHANGED},
                "201": {"description": "Created.", "headers": _ETAG, "content": _TOOL},
                **problem_responses(400, 401, 403, 404, 408, 409, 412, 413, 415, 421, 422, 429, 503),
            },
        },
        "delete": {
            "operationId": "delete_tool",
            "summary": "Remove a tool.",
            "parameters": [_DRY_RUN, _IF_MATCH],
            "responses": {
                "200": {"description": "A dry run.", "content": _content(reference("DryRun"))},
                "204": {"description": "Removed."},
                **problem_responses(400, 401, 403, 404, 412, 421, 429, 503),
            },
        },
    },
    "/v3/tools/{id}/schema": {
        "parameters": [_ID],
        "get": {
            "operationId": "export_tool",
            "summary": "Read a tool in a provider's format, with everything that the format loses.",
            "parameters": [{**_query("format", "The format.", enum=list(FORMATS)), "required": True}],
            "responses": {
                "200": {"description": "The exported tool.", "content": _content(reference("Export"))},
                **problem_responses(400, 401, 403, 404, 421, 424, 429, 503),
            },
        },
    },
    "/v3/tools/{id}/versions": {
        "parameters": [_ID],
        "get": {
            "operationId": "list_versions",
            "summary": "List the last versions of a tool, the newest first; for its owner.",
            "responses": {
                "200": {"description": "The versions.", "content": _content(reference("Versions"))},
                **problem_responses(400, 401, 403, 404, 421, 429, 503),
            },
        },
    },
    "/v3/tools/{id}/rollback": {
        "parameters": [_ID],
        "post": {
            "operationId": "roll_back",
            "summary": "Publish an older version of a tool again, as a new version.",
            "parameters": [
                _whole_number("to", "The version; the one before the current one by default.", 1, 10**9),
                _DRY_RUN,
                _IF_MATCH,
            ],
            "responses": {
                "200": {"description": "Restored, or a dry run.", "headers": _ETAG, "content": _CHANGED},
                **problem_responses(400, 401, 403, 404, 412, 421, 422, 429, 503),
            },
        },
    },
    "/v3/check": {
        "post": {
            "operationId": "check_document",
            "summary": "List every problem of a document, without publishing it.",
            "requestBody": {
                "required": True,
                "content": _content({}, "application/yaml") | _content({}),
            },
            "responses": {
                "200": {"description": "What was found.", "content": _content(reference("Check"))},
                **problem_responses(400, 401, 403, 408, 413, 415, 421, 429, 503),
            },
        }
    },
    "/v3/me": {
        "get": {
            "operationId": "tell_caller",
            "summary": "Who the key belongs to, and what it may do.",
            "responses": {
                "200": {"description": "The caller.", "content": _content(reference("Caller"))},
                **problem_responses(400, 401, 421, 429, 503),
            },
        }
    },
    "/openapi.json": {
        "get": {
            "operationId": "describe",
            "summary": "This document, for the tools that the key may see.",
            "responses": {
                "200": {"description": "OpenAPI 3.1.", "content": _content({"type": "object"})},
                **problem_responses(400, 401, 403, 421, 429, 503),
            },
        }
    },
}
