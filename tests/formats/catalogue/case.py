"""One tool of the catalogue, with valid and invalid arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from toolhaft import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A tool, two to four objects that it takes, one to three that it refuses."""

    tool: Tool[Any, Any]
    valid: tuple[dict[str, Any], ...]
    invalid: tuple[dict[str, Any], ...]

    @property
    def name(self) -> str:
        """The tool's own name; no two cases share one."""
        return self.tool.name


def raw(
    name: str,
    schema: dict[str, Any],
    *,
    valid: list[dict[str, Any]],
    invalid: list[dict[str, Any]],
    **options: Any,
) -> Case:
    """A case whose tool is a raw JSON Schema; `type: object` is put in front where it does not say so."""
    options.setdefault("description", f"Takes {name.replace('_', ' ')}.")
    tool: Tool[Any, Any] = Tool(name=name, input_schema={"type": "object", **schema}, **options)
    return Case(tool=tool, valid=tuple(valid), invalid=tuple(invalid))


def one(
    name: str,
    schema: object,
    *,
    valid: list[object],
    invalid: list[object],
    required: bool = True,
    **more: Any,
) -> Case:
    """A case whose tool has one parameter `x` of the given schema."""
    root = {"properties": {"x": schema}, "required": ["x"] if required else [], **more}
    if not required:
        del root["required"]
    return raw(
        name, root, valid=[{"x": value} for value in valid], invalid=[{"x": value} for value in invalid]
    )
