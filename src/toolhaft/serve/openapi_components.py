"""The components of the OpenAPI document: the parameters and schemas that its paths refer to."""

from __future__ import annotations

from typing import Any, Final


def reference(name: str) -> dict[str, Any]:
    """A reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


_TEXT: Final = {"type": "string"}
_TEXT_OR_NULL: Final = {"type": ["string", "null"]}
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
_TOOL: Final = {
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
}
_VERSION: Final = {
    "number": {"type": "integer"},
    "updated_at": _TEXT,
    "published_by": _TEXT_OR_NULL,
    "version": {"type": ["string", "null"], "description": "The `version` field of the document."},
    "change": {"type": "string", "description": "What it changed, in one line."},
    "is_current": {"type": "boolean"},
}
_CALLER: Final = {
    "user": _TEXT_OR_NULL,
    "org": _TEXT_OR_NULL,
    "scopes": _TEXTS,
    "is_operator": {"type": "boolean"},
    "key": {"type": "string", "description": "The beginning of the key, without its secret part."},
    "expires_at": _TEXT_OR_NULL,
}
_EXPORT: Final = {
    "format": _TEXT,
    "payload": {},
    "losses": {"type": "array", "items": {"type": "object"}},
    "refused": {"type": "array", "items": {"type": "object"}},
    "names": {"type": "object", "description": "The tool's own name by its name as sent."},
}
COMPONENTS: Final[dict[str, Any]] = {
    "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}},
    "parameters": {
        "DryRun": {
            "name": "dry_run",
            "in": "query",
            "description": "With true, everything is checked as usual, but nothing is changed or run.",
            "schema": {"type": "boolean"},
        },
        "IdempotencyKey": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "A repeated call with the same key returns the first result, without a run.",
            "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
        },
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
                "problems": {"type": "array", "minItems": 1, "items": reference("ProblemEntry")},
                "kind": {"type": "string", "description": "Why a call failed."},
                "outcome": {"type": "string", "description": "What a failed call may have changed."},
                "current": {"type": ["string", "null"], "description": "The current version."},
            },
            "required": ["type", "title", "status", "detail", "problems"],
        },
        "ProblemEntry": {
            "type": "object",
            "description": "One thing that is wrong in a document, arguments, a parameter or a body.",
            "properties": {
                "in": {"enum": ["arguments", "body", "document", "header", "query", "request", "tool"]},
                "path": {
                    "type": "string",
                    "description": "The argument, field, header or parameter; empty for the whole.",
                },
                "line": {"type": ["integer", "null"], "description": "The line of a document."},
                "problem": _TEXT,
                "expected": {"type": "string", "description": "What would be valid there, if it is known."},
                "fix": {"type": "string", "description": "What to do, if it is known."},
                "level": {"enum": ["error", "warning"]},
            },
            "required": ["in", "path", "line", "problem", "expected", "fix", "level"],
        },
        "Document": {"type": "object", "properties": _TOOL, "required": ["id", "name", "description"]},
        "Tool": {
            "type": "object",
            "properties": _TOOL,
            "required": ["id", "name", "description", "share", "tags", "is_active"],
        },
        "Tools": {
            "type": "object",
            "properties": {
                "tools": {"type": "array", "items": reference("Tool")},
                "total": {"type": "integer", "description": "How many tools all pages have."},
                "next": {"type": ["string", "null"], "description": "The `after` of the next page."},
            },
            "required": ["tools", "total", "next"],
        },
        "DryRun": {
            "type": "object",
            "description": "What a request would do.",
            "properties": {
                "dry_run": {"const": True},
                "would": {"enum": ["create", "replace", "remove", "restore", "run"]},
                "message": _TEXT,
                "tool": reference("Tool"),
                "effect": _TEXT,
                "arguments": {"type": "object", "description": "As the tool would receive them."},
                "repairs": _TEXTS,
            },
            "required": ["dry_run", "would", "message"],
        },
        "Versions": {
            "type": "object",
            "properties": {"versions": {"type": "array", "items": reference("Version")}},
            "required": ["versions"],
        },
        "Version": {"type": "object", "properties": _VERSION, "required": list(_VERSION)},
        "Export": {"type": "object", "properties": _EXPORT, "required": list(_EXPORT)},
        "Check": {
            "type": "object",
            "properties": {
                "valid": {"type": "boolean"},
                "id": _TEXT_OR_NULL,
                "problems": {"type": "array", "items": reference("ProblemEntry")},
            },
            "required": ["valid", "id", "problems"],
        },
        "Caller": {"type": "object", "properties": _CALLER, "required": list(_CALLER)},
        "Result": {
            "type": "object",
            "properties": {
                "success": {"type": "boolean"},
                "message": _TEXT,
                "value": {},
                "failure": {
                    "type": ["object", "null"],
                    "properties": {
                        "kind": _TEXT,
                        "problems": {"type": "array", "items": reference("ProblemEntry")},
                        "advice": _TEXT,
                        "outcome": _TEXT,
                    },
                },
                "untrusted": {"type": "boolean"},
            },
            "required": ["success", "message", "value", "failure", "untrusted"],
        },
    },
}
