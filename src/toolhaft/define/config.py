"""Defines tools from raw JSON Schema: `create_tool(ToolConfig(...))`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from toolhaft.core.conversion import to_tool
from toolhaft.core.definition import RawHandler
from toolhaft.core.effect import Effect
from toolhaft.core.options import (
    DEFAULT_TIMEOUT_S,
    METADATA_OPTIONS,
    Isolation,
    refuse_unknown_keywords,
)
from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError
from toolhaft.schema.problems import InvalidArguments

_OWN = frozenset(("name", "description", "input_schema", "output_schema", "execute"))


@refuse_unknown_keywords
@dataclass(frozen=True, slots=True, kw_only=True)
class ToolConfig:
    """A tool defined by raw JSON Schema.

    `execute(input)` takes the checked arguments as a dict and returns a value that matches
    `output_schema`; it may be async, and may raise a `toolhaft.errors.ToolError`.
    """

    name: str
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object] | bool | None = None
    execute: RawHandler | None = None
    timeout_s: float | None = DEFAULT_TIMEOUT_S
    stall_s: float | None = None
    retryable: bool = True
    effect: Effect | str = Effect.IRREVERSIBLE
    max_attempts: int = 3
    isolation: Isolation | None = None
    requires: Iterable[str] = ()
    idempotency: Iterable[str] = ()
    rate: str | None = None
    max_parallel: int | None = None
    cache_s: float | None = None
    title: str | None = None
    when_to_use: str | None = None
    examples: Iterable[object] = ()
    metadata: Mapping[str, object] | None = None
    tags: Iterable[str] = ()
    version: str | None = None
    accepts_overrides: bool = True

    @property
    def tool(self) -> Tool[dict[str, object], object]:
        """The tool, made again on each access; raises as `create_tool` does."""
        return create_tool(self)


def create_tool(config: ToolConfig) -> Tool[dict[str, object], object]:
    """Make a tool from a config.

    Raises:
        DefinitionError: if a schema is not valid, bounded and self-contained, or an option is not valid.
    """
    if not isinstance(config.input_schema, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
        raise DefinitionError(
            f"the schema {config.input_schema!r:.80} is not an object",
            tool=config.name,
            place="input_schema",
            fix='give {"type": "object", "properties": {...}}',
        )
    if config.execute is not None and not callable(config.execute):
        raise DefinitionError(
            f"{config.execute!r:.80} cannot be called",
            tool=config.name,
            place="execute",
            fix="give a function",
        )
    options = {field.name: getattr(config, field.name) for field in fields(config) if field.name not in _OWN}
    if options["metadata"] is None:
        options["metadata"] = {}
    for name in METADATA_OPTIONS:
        if not options[name]:  # not given: the metadata may have it
            del options[name]
    made: Tool[Any, Any] = Tool(
        name=config.name,
        description=config.description,
        input_schema=config.input_schema,
        output_schema=config.output_schema,
        handler=cast("Any", config.execute),  # called with a dict, not as a typed handler
        **options,
    )
    return made


def validate_tool_input(tool: object, value: object) -> str | None:
    """Return None for valid input of a tool, defined in any way, else the message that a model would get."""
    result = to_tool(tool).validate(value)
    return result.message if isinstance(result, InvalidArguments) else None


def validate_tool_output(tool: object, value: object) -> str | None:
    """Return None for valid output of a tool, defined in any way, else what is wrong with it."""
    return to_tool(tool).check_output(value)
