"""Measures calls of tools with many kinds of parameters, each compared with its own least work.

`shapes.json` has the parameters and the arguments of each function; all return what the medium workload does.
The least work is that of `benchmarks.call`: one strict validation of the raw text by pydantic-core, the
function, one `to_json`.
"""

import datetime as dt
import decimal
import json
import typing
import uuid
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pydantic

from benchmarks import shape_types
from benchmarks.call import least_work, rendered
from benchmarks.measure import Case, Figure, measure
from benchmarks.workloads import search
from toolhaft import Tool, ToolCall, ToolConfig, ToolExecutor, create_tool, tool

_MOST = 2.2
"""The ratio that each case may reach."""
_MEDIAN = 1.8
"""The ratio that the median of all cases may reach."""
_LEAST_BYTES = 200
_ROUNDS = 60
_NAMES = {
    name: value
    for module in (dt, decimal, uuid, typing, pydantic, shape_types)
    for name, value in ((name, getattr(module, name)) for name in dir(module))
}


def run() -> list[Figure]:
    """All figures of this group: one for each kind of parameters, then their median."""
    figures = measure(cases(), _ROUNDS)
    middle = median(figure.ratio for figure in figures)
    return [*figures, Figure("median_of_shapes", middle, 1.0, middle, _MEDIAN)]


def cases() -> list[Case]:
    """The functions of `shapes.json`, and some of them defined by JSON Schemas."""
    listed = shapes()
    found = [
        _compared(name, tool(function, isolation="inline"), function, text) for name, function, text in listed
    ]
    return found + [
        _compared(f"{name}_raw", _raw(function), function, text)
        for name, function, text in listed
        if name in ("scalars", "optional_model_in_model", "list_of_models", "dict_of_texts")
    ]


def shapes() -> list[tuple[str, Callable[..., object], str]]:
    """The name, the function and the arguments of each kind of parameters."""
    listed = json.loads(Path(__file__).with_name("shapes.json").read_text(encoding="utf-8"))
    return [
        (name, _function(name, parameters), json.dumps(arguments))
        for name, (parameters, arguments) in listed.items()
    ]


def _function(name: str, parameters: str) -> Callable[..., object]:
    """Make a function with these parameters."""
    scope = {**_NAMES, "search": search}
    body = f"    'Take {name}.'\n    return search('quarterly revenue')"
    exec(f"def {name}({parameters}) -> dict[str, object]:\n{body}", scope)  # noqa: S102 -- our own text
    return scope[name]


def _raw(function: Callable[..., object]) -> Tool[Any, Any]:
    """Make a tool from the JSON Schemas of a function."""
    made = tool(function)
    return create_tool(
        ToolConfig(
            name=made.name,
            description=made.description,
            input_schema=made.input_schema,
            output_schema=made.output_schema,
            execute=lambda given: function(**given),
            isolation="inline",
        )
    )


def _compared(name: str, made: Tool[Any, Any], function: Callable[..., object], text: str) -> Case:
    assert len(text) >= _LEAST_BYTES, name
    executor = ToolExecutor([made])
    call = ToolCall(id="1", name=made.name, arguments=text)
    limit = least_work(function, text)
    assert executor.execute(call).render() == limit().decode(), executor.execute(call).render()
    return Case(name, rendered(executor, call), limit, _MOST)
