"""Defines tools as classes with a `ToolSpec`: BaseTool, ToolResponse, and Toolkit, a collection of them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, cast

from toolhaft.core.effect import Effect
from toolhaft.core.example import ToolExample
from toolhaft.core.options import Isolation
from toolhaft.core.tool import OPTION_NAMES, Tool
from toolhaft.define.spec import ToolParam, ToolReturn, ToolSpec
from toolhaft.errors import DefinitionError

__all__ = ["BaseTool", "ToolParam", "ToolResponse", "ToolReturn", "ToolSpec", "Toolkit"]

_put = object.__setattr__


@dataclass(frozen=True, slots=True, init=False)
class ToolResponse:
    """What a class tool returns: the observation for the model, and whether it ends the run.

    `observation` (or `results`, its other name) is text, JSON, or a generator of chunks; `extras` are
    passed to the next call.

    Raises:
        TypeError: if there is no observation, or one under each name, or the extras are not a mapping.
    """

    final_answer: bool
    observation: object
    extras: dict[str, object]

    def __init__(
        self,
        *,
        final_answer: bool = False,
        observation: object = ...,
        extras: Mapping[str, object] | None = None,
        results: object = ...,
    ) -> None:
        if (observation is ...) == (results is ...):
            problem = (
                "no observation" if results is ... else "both observation and results, which are the same"
            )
            raise TypeError(f"ToolResponse got {problem}; give observation=...")
        if extras is not None and not isinstance(extras, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise TypeError(f"the extras of a ToolResponse are a mapping, not {extras!r:.80}")
        _put(self, "final_answer", final_answer)
        _put(self, "observation", results if observation is ... else observation)
        _put(self, "extras", dict(extras or {}))

    @property
    def results(self) -> object:
        """Another name for the observation."""
        return self.observation


class BaseTool:
    """A tool written as a class: `spec` describes it, `__call__` runs it.

    Every option of a Tool can be a class attribute, such as `effect = Effect.READ`.

    Raises:
        TypeError: if the class has no ToolSpec, or no `__call__`.
        DefinitionError: if the spec is not valid; it is a ValueError.
    """

    spec: ClassVar[ToolSpec]
    effect: ClassVar[Effect | Literal["read", "idempotent", "reversible", "irreversible"]]
    timeout_s: ClassVar[float | None]
    stall_s: ClassVar[float | None]
    retryable: ClassVar[bool]
    max_attempts: ClassVar[int]
    isolation: ClassVar[Isolation | None]
    requires: ClassVar[Iterable[str]]
    idempotency: ClassVar[Iterable[str]]
    rate: ClassVar[str | None]
    max_parallel: ClassVar[int | None]
    cache_s: ClassVar[float | None]
    title: ClassVar[str | None]
    examples: ClassVar[Iterable[ToolExample[Any, Any] | Mapping[str, object]]]
    metadata: ClassVar[Mapping[str, object]]
    tags: ClassVar[Iterable[str]]
    version: ClassVar[str | None]
    accepts_overrides: ClassVar[bool]

    def __init__(self) -> None:
        _ = _read_spec(self)

    def __call__(self, *args: Any, **kwargs: Any) -> ToolResponse | Awaitable[ToolResponse]:  # noqa: ANN401 -- a subclass declares its parameters
        """Run the tool; inputs and run-time values are passed as keywords. It may be async."""
        raise NotImplementedError(f"{type(self).__qualname__} has no __call__")

    @cached_property
    def tool(self) -> Tool[dict[str, object], object]:
        """The frozen Tool of this object, made at the first access.

        Raises:
            DefinitionError: if an option declared on the class is not valid.
        """
        spec = _read_spec(self)  # again: a subclass's __init__ may not have called ours
        kind = type(self)
        made: Tool[dict[str, object], object] = Tool(
            name=spec.name,
            description=spec.description,
            input_schema=_input_schema(spec),
            output_schema={"type": spec.returns.type, "description": spec.returns.description},
            handler=cast("Callable[..., Any]", self),
            when_to_use=spec.when_to_use,
            **_read_options(kind, spec),
        )
        _put(made, "takes", "runtime")
        _put(made, "source", f"class {kind.__module__}.{kind.__qualname__}")
        return made

    def __getstate__(self) -> object:
        # without the cached Tool: its handler is this object, and a Tool cannot be pickled
        state: object = super().__getstate__()
        if isinstance(state, tuple):  # a subclass with slots
            own, slots = cast("tuple[dict[str, object] | None, dict[str, object]]", state)
            return _without_tool(own), slots
        return _without_tool(cast("dict[str, object] | None", state))


class Toolkit:
    """Class tools by name, with their documentation."""

    registry: dict[str, BaseTool]

    def __init__(self, tools: Iterable[BaseTool] = ()) -> None:
        self.registry = {}
        self.register_tools(tools)

    @property
    def specs(self) -> dict[str, ToolSpec]:
        """The spec of each tool, by name."""
        return {name: tool.spec for name, tool in self.registry.items()}

    def register_tool(self, tool: BaseTool) -> None:
        """Add one tool.

        Raises:
            TypeError: for anything but an instance of a BaseTool.
            DefinitionError: if the name is taken, or the tool is not valid; it is a ValueError.
        """
        self._register({"tool": tool})

    def register_tools(self, tools: Iterable[BaseTool]) -> None:
        """Add all tools, or none if one of them cannot be added; raises as `register_tool` does."""
        self._register({f"tools[{index}]": tool for index, tool in enumerate(tools)})

    def get_tools_description(self) -> str:
        """Return the documentation of all tools in Markdown."""
        return "\n\n".join(_describe(tool.spec) for tool in self.registry.values())

    def __iter__(self) -> Iterator[BaseTool]:
        return iter(self.registry.values())

    def __len__(self) -> int:
        return len(self.registry)

    def _register(self, tools: Mapping[str, BaseTool]) -> None:
        added: dict[str, BaseTool] = {}
        for place, tool in tools.items():
            made = _check_tool(tool, place).tool
            for taken in (self.registry, added):
                if made.name in taken:
                    raise DefinitionError(
                        f"the name is taken by {taken[made.name].tool.source}; it is wanted by {made.source}",
                        tool=made.name,
                        place=place,
                        fix="give each tool a different name",
                    )
            added[made.name] = tool
        self.registry.update(added)


def _check_tool(tool: object, place: str) -> BaseTool:
    if isinstance(tool, BaseTool):
        return tool
    is_class = isinstance(tool, type) and issubclass(tool, BaseTool)
    advice = "call the class to make one" if is_class else "give an instance of a BaseTool"
    raise TypeError(f"{place}: {tool!r:.80} is not a tool; {advice}")


def _read_spec(tool: BaseTool) -> ToolSpec:
    """Return the validated spec of a tool whose class has `__call__`."""
    name = type(tool).__qualname__
    spec: object = getattr(tool, "spec", None)
    if not isinstance(spec, ToolSpec):
        found = "no spec" if spec is None else f"spec = {spec!r:.80}"
        raise TypeError(f"class {name} declares {found}; write spec = ToolSpec(...) in its body")
    spec.validate()
    if type(tool).__call__ is BaseTool.__call__:
        raise TypeError(
            f"class {name} has no __call__; write def __call__(self, *, ..., **kwargs) -> ToolResponse"
        )
    return spec


def _read_options(kind: type[BaseTool], spec: ToolSpec) -> dict[str, Any]:
    options = {name: getattr(kind, name) for name in OPTION_NAMES if hasattr(kind, name)}
    if "when_to_use" in options:
        raise DefinitionError(
            "both the class and its spec declare it",
            tool=spec.name,
            place="when_to_use",
            fix="declare it in the spec only",
        )
    return options


def _input_schema(spec: ToolSpec) -> dict[str, object]:
    visible = [param for param in spec.inputs if param.llm]
    return {
        "type": "object",
        "properties": {
            param.name: {"type": param.type, "description": param.description} for param in visible
        },
        "required": [param.name for param in visible if param.required],
    }


def _without_tool(state: dict[str, object] | None) -> dict[str, object] | None:
    return None if state is None else {name: value for name, value in state.items() if name != "tool"}


def _describe(spec: ToolSpec) -> str:
    rows = [_row(param) for param in spec.inputs if param.llm]
    table = ["| Input | Type | Required | Description |", "| --- | --- | --- | --- |", *rows]
    parts = [
        f"## {spec.name}",
        f"**What it does:** {_one_line(spec.description)}",
        f"**When to use:** {_one_line(spec.when_to_use)}",
        "\n".join(table) if rows else "**Inputs:** none",
        f"**Returns** ({spec.returns.type}): {_one_line(spec.returns.description)}",
    ]
    return "\n\n".join(parts)


def _row(param: ToolParam) -> str:
    required = "yes" if param.required else "no"
    return f"| `{_cell(param.name)}` | {param.type} | {required} | {_cell(param.description)} |"


def _one_line(text: str) -> str:
    """Remove line breaks: a description must not add headings or rows."""
    return " ".join(text.split())


def _cell(text: str) -> str:
    """Escape the pipes of a table cell, and double the backslashes before them."""
    return re.sub(r"(\\*)\|", r"\1\1\\|", _one_line(text))
