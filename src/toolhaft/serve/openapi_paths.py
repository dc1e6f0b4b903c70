"""What OpenAPI says of the platform's own paths, the same for every caller.

Knows the words of the routes; does not know tools.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

HEADERS: Final = ("IdempotencyKey",)
"""Parameters that every run takes."""
_TOOL_JSON: Final = {"schema": {"$ref": "#/components/schemas/Tool"}}
_TOOL_YAML: Final = {"schema": {"type": "string"}}
_TOOL: Final = {"application/json": _TOOL_JSON, "application/yaml": _TOOL_YAML}
_ETAG: Final = {"ETag": {"description": "This version of the tool.", "schema": {"type": "string"}}}


def refusals(*statuses: int) -> dict[str, Any]:
    """Answers that are problems."""
    return {
        str(status): {
            "description": HTTPStatus(status).phrase,
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def _query(name: str, description: str, **words: object) -> dict[str, Any]:
    return {"name": name, "in": "query", "description": description, "schema": {"type": "string", **words}}


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
_VERSION: Final = r'^(\*|"[!#-~]*")$'
_IF_MATCH: Final = _header("If-Match", "The version that is changed, or *.", _VERSION)
_IF_NEW: Final = _header("If-None-Match", "With * only a new tool is made.", r"^\*$")
_IF_CHANGED: Final = _header("If-None-Match", "The version that the client has.", _VERSION)

FIXED_PATHS: Final[dict[str, Any]] = {
    "/healthz": {
        "get": {
            "operationId": "tell_health",
            "summary": "Whether the platform works; needs no key.",
            "security": [],
            "responses": {
                "200": {
                    "description": "It works.",
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {"status": {"const": "ok"}},
                                "required": ["status"],
                            }
                        }
                    },
                },
                **refusals(503),
            },
        }
    },
    "/v3/tools": {
        "get": {
            "operationId": "list_tools",
            "summary": "The tools that the key may see, by id, or those that fit `q` best.",
            "parameters": [
                _query("tag", "Only tools with this tag."),
                _query("owner", "Only tools of this owner."),
                _query("share", "Only tools shared like this.", enum=["private", "org", "public"]),
                _query("q", "Words to search for."),
                _query("after", "The last id of the page before."),
                {
                    "name": "limit",
                    "in": "query",
                    "description": "How many.",
                    "schema": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
                },
            ],
            "responses": {
                "200": {
                    "description": "A page of tools.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tools"}}},
                },
                **refusals(400, 401, 403, 421, 429, 503),
            },
        }
    },
    "/v3/tools/{id}": {
        "parameters": [_ID],
        "get": {
            "operationId": "get_tool",
            "summary": "One tool.",
            "parameters": [_IF_CHANGED],
            "responses": {
                "200": {"description": "The tool.", "headers": _ETAG, "content": _TOOL},
                "304": {"description": "The client has this version."},
                **refusals(400, 401, 403, 404, 421, 424, 429, 503),
            },
        },
        "put": {
            "operationId": "put_tool",
            "summary": "Publish a tool over the version that it was made from.",
            "parameters": [_IF_MATCH, _IF_NEW],
            "requestBody": {"required": True, "content": _TOOL},
            "responses": {
                "200": {"description": "Published again.", "headers": _ETAG, "content": _TOOL},
                "201": {"description": "Published.", "headers": _ETAG, "content": _TOOL},
                **refusals(400, 401, 403, 404, 408, 409, 412, 413, 415, 421, 422, 429, 503),
            },
        },
        "delete": {
            "operationId": "delete_tool",
            "summary": "Take a tool away.",
            "parameters": [_IF_MATCH],
            "responses": {
                "204": {"description": "It is gone."},
                **refusals(400, 401, 403, 404, 412, 421, 429, 503),
            },
        },
    },
    "/openapi.json": {
        "get": {
            "operationId": "describe",
            "summary": "This document, for the tools that the key may see.",
            "responses": {
                "200": {
                    "description": "OpenAPI 3.1.",
                    "content": {"application/json": {"schema": {"type": "object"}}},
                },
                **refusals(401, 403, 421, 429, 503),
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
            "A call with a key that was seen before is answered, not run again.",
            "^[!-~]{1,200}$",
        ),
    },
    "schemas": {
        "Problem": {
            "type": "object",
            "description": "RFC 9457.",
            "properties": {
                "type": _TEXT,
                "title": _TEXT,
                "status": {"type": "integer"},
                "detail": _TEXT,
                "fix": {"type": "string", "description": "What to do next."},
                "problems": _TEXTS,
                "kind": {"type": "string", "description": "Why a call failed."},
                "outcome": {"type": "string", "description": "What a failed call has left behind."},
                "current": {"type": ["string", "null"], "description": "The version that is there now."},
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
                "tools": {"type": "array", "items": {"$ref": "#/components/schemas/Tool"}},
                "next": {"type": ["string", "null"], "description": "What to give as `after`."},
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
