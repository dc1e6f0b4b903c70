"""The OpenAPI 3.1 document of the platform: its fixed paths, and one path per tool that the caller sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias, cast

from toolhaft import schema
from toolhaft.catalog.published import PublishedTool
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import DefinitionError
from toolhaft.serve.call_responses import RESULT_MEDIA_TYPE
from toolhaft.serve.callers import Caller
from toolhaft.serve.limits import BoundedCache
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
    arguments, value = _reference(f"{tool.name}.arguments"), _reference(f"{tool.name}.value")
    schemas = {f"{tool.name}.arguments": _rebase_references(tool.input_schema, arguments["$ref"])}
    if tool.output_schema is not None:
        schemas[f"{tool.name}.value"] = _rebase_references(tool.output_schema, value["$ref"])
    operation = {
        "operationId": f"run_{tool.name}",
        "summary": tool.title or tool.name,
        "description": tool.description,
        "tags": list(tool.tags),
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in HEADERS],
        "requestBody": {"required": True, "content": _content(arguments)},
        "responses": {
            "200": {
                "description": "The value, or the whole result if the Accept header requests it.",
                "content": _content(value if tool.output_schema is not None else {})
                | _content(_reference("Result"), RESULT_MEDIA_TYPE.decode()),
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


HEADERS: Final = ("IdempotencyKey",)
"""Parameters of every run."""


def _reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _content(schema: dict[str, Any], media_type: str = "application/json") -> dict[str, Any]:
    return {media_type: {"schema": schema}}


_TOOL: Final = _content(_reference("Tool")) | _content({"type": "string"}, "application/yaml")
_ETAG: Final = {"ETag": {"description": "The version of the tool.", "schema": {"type": "string"}}}


def problem_responses(*statuses: int) -> dict[str, Any]:
    """Responses that are problem documents."""
    return {
        str(status): {
            "description": HTTPStatus(status).phrase,
            "content": _content(_reference("Problem"), "application/problem+json"),
        }
        for status in statuses
    }


def _query(name: str, description: str, **keywords: object) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": {"type": "string", **keywords}}


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
                _query("after", "The last id of the previous page."),
                {
                    "name": "limit",
                    "in": "query",
                    "description": "The maximum number of tools.",
                    "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
                },
            ],
            "responses": {
                "200": {"description": "A page of tools.", "content": _content(_reference("Tools"))},
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
            "parameters": [_IF_MATCH, _IF_NEW],
            "requestBody": {"required": True, "content": _TOOL},
            "responses": {
                "200": {"description": "Replaced.", "headers": _ETAG, "content": _TOOL},
                "201": {"description": "Created.", "headers": _ETAG, "content": _TOOL},
                **problem_responses(400, 401, 403, 404, 408, 409, 412, 413, 415, 421, 422, 429, 503),
            },
        },
        "delete": {
            "operationId": "delete_tool",
            "summary": "Remove a tool.",
            "parameters": [_IF_MATCH],
            "responses": {
                "204": {"description": "Removed."},
                **problem_responses(400, 401, 403, 404, 412, 421, 429, 503),
            },
        },
    },
    "/openapi.json": {
        "get": {
            "operationId": "describe",
            "summary": "This document, for the tools that the key may see.",
            "responses": {
                "200": {"description": "OpenAPI 3.1.", "content": _content({"type": "object"})},
                **problem_responses(401, 403, 421, 429, 503),
            },
        }
    },
}

_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_FIELDS: Final = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "type": {"enum": ["string", "number", "boolean", "array", "object"]},
        "required": {"type": "boolean"},
        "description": _TEXT,
    },
    "required": ["name", "type", "description"],
}
COMPONENTS: Final[dict[str, Any]] = {
    "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}},
    "parameters": {
        "IdempotencyKey": _header(
            "Idempotency-Key",
            "A repeated call with the same key returns the first result; the tool does not run again.",
            "^[!-~]{1,200}$",
        ),
    },
    "schemas": {
        "Problem": {
            "type": "object",
            "description": "A problem document (RFC 9457).",
            "properties": {
                "type": _TEXT,
                "title": _TEXT,
                "status": {"type": "integer"},
                "detail": _TEXT,
                "fix": {"type": "string", "description": "What to do next."},
                "problems": _TEXTS,
                "kind": {"type": "string", "description": "Why a call failed."},
                "outcome": {"type": "string", "description": "What a failed call may have changed."},
                "current": {"type": ["string", "null"], "description": "The current version."},
            },
            "required": ["type", "title", "status", "detail"],
        },
        "Tool": {
            "type": "object",
            "properties": {
                "id": _TEXT,
                "name": _TEXT,
                "description": _TEXT,
                "owner": _TEXT,
                "share": {"enum": ["private", "org", "public"]},
                "tags": _TEXTS,
                "created_at": _TEXT,
                "updated_at": _TEXT,
                "is_active": {"type": "boolean"},
                "endpoint": _TEXT,
                "parameters": {"type": "array", "items": _FIELDS},
                "returns": {"type": "array", "items": _FIELDS},
                "run": {"type": "object"},
            },
            "required": ["id", "name", "description"],
        },
        "Tools": {
            "type": "object",
            "properties": {
                "tools": {"type": "array", "items": _reference("Tool")},
                "next": {"type": ["string", "null"], "description": "The `after` of the next page."},
            },
            "required": ["tools", "next"],
        },
        "Result": {
            "type": "object",
            "properties": {
                "success": {"type": "boolean"},
                "message": _TEXT,
                "value": {},
                "failure": {
                    "type": ["object", "null"],
                    "properties": {"kind": _TEXT, "problems": _TEXTS, "advice": _TEXT, "outcome": _TEXT},
                },
                "untrusted": {"type": "boolean"},
            },
            "required": ["success", "message", "value", "failure", "untrusted"],
        },
    },
}
