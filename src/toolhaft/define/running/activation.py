"""Decides whether a YAML tool is active: the runtime, lists, commands and the platform use this answer."""

from __future__ import annotations

from collections.abc import Mapping


def is_active(fields: Mapping[str, object]) -> bool:
    """True if something runs the tool, its `run` or its `endpoint`, and `is_active: false` is not there."""
    return fields.get("is_active") is not False and bool(fields.get("run") or fields.get("endpoint"))


def why_inactive(tool: object) -> str:
    """Why a tool is not active; for a tool that was not made from YAML, that it has no handler."""
    if getattr(tool, "is_active_in_file", None) is False:
        return "its file says is_active: false"
    if getattr(tool, "endpoint", None):
        return f"no active tool is published or installed at its endpoint {getattr(tool, 'endpoint', '')}"
    return "it has neither run nor endpoint" if hasattr(tool, "endpoint") else "it has no handler"
