"""A `run` block: exactly one way to run a tool, read and checked.

Knows the ways by name; how each is run is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from toolhaft.define.running.argv_plan import ARGV_KEYS, ArgvPlan, read_argv
from toolhaft.define.running.faults import Faults, Place, unknown
from toolhaft.define.running.http_plan import HttpPlan, read_http
from toolhaft.define.running.parameters import Parameters
from toolhaft.define.running.python_plan import PythonPlan, read_python
from toolhaft.define.running.template import names_in
from toolhaft.define.running.tokens import has_token
from toolhaft.schema.json_value import JSONObject, JSONValue

RunKind: TypeAlias = Literal["http", "argv", "python"]
Plan: TypeAlias = HttpPlan | ArgvPlan | PythonPlan

_READERS: Final[Mapping[str, Callable[[JSONObject, Parameters, Faults], Plan | None]]] = {
    "http": read_http,
    "argv": read_argv,
    "python": read_python,
}
_KEYS: Final = {"http": ("http",), "argv": ARGV_KEYS, "python": ("python",)}
_CHECKED: Final = frozenset((("http", "url"), ("http", "headers"), ("http", "query")))
_FIXES: Final[Mapping[str, str]] = {
    "http": "send it in a header: put it in the environment or .env, write ${env:NAME}",
    "argv": "put it in the environment or .env, and name the variable in env: the program reads it there",
    "python": "let the function read it from the environment",
}
_ONE: Final = "write one of http: {...}, argv: [...] and python: module:function"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """How a tool is run: its `kind`, the block's `fields` as they stand in the file, and what they mean."""

    kind: RunKind
    fields: JSONObject
    plan: Plan


def read_run(value: JSONValue, parameters: Parameters, faults: Faults) -> RunSpec | None:
    """The block, or None where it cannot be run; places of faults begin inside the block."""
    if not isinstance(value, dict):
        faults.add((), "run is not a mapping", _ONE)
        return None
    kinds = [key for key in value if key in _READERS]
    if len(kinds) != 1:
        told = f"run has both {kinds[0]} and {kinds[1]}" if kinds else "run has none of http, argv and python"
        faults.add((kinds[1],) if kinds else (), told, _ONE)
        return None
    kind = cast("RunKind", kinds[0])
    for key in value:
        if key not in _KEYS[kind]:
            allowed = ", ".join(_KEYS[kind])
            fix = unknown(key, _KEYS[kind], f"take it out; beside {kind} stand {allowed}")
            faults.add((key,), f"run: unknown key {key!r:.80}", fix)
    plan = _READERS[kind](value, parameters, faults)
    for place in _tokens(value, ()):
        faults.add(place, f"literal secret in {_told(place)}", _FIXES[kind])
    if kind != "python":
        _warn_unused(value, parameters, faults)
    return None if plan is None or faults.has_errors else RunSpec(kind=kind, fields=value, plan=plan)


def _warn_unused(fields: JSONObject, parameters: Parameters, faults: Faults) -> None:
    used = set(names_in(cast("JSONValue", [fields[key] for key in fields])))
    for name in parameters.names:
        if name not in used:
            fix = f"write ${{{name}}} where its value belongs, or take the parameter out"
            faults.warn((), f"the parameter {name!r:.80} is used nowhere in run", fix)


def _tokens(value: JSONValue, place: Place) -> Iterator[Place]:
    """Where texts stand that hold a token of a known kind; those of the request line are looked at there."""
    if isinstance(value, str) and has_token(value):
        yield place
    if not isinstance(value, list | dict):
        return
    for step, item in enumerate(value) if isinstance(value, list) else value.items():
        if (*place, step) not in _CHECKED:
            yield from _tokens(item, (*place, step))
            if isinstance(step, str):
                yield from _tokens(step, place)


def _told(place: Place) -> str:
    """A place in words; keys below the first ones may hold anything, and are not told."""
    return ".".join(str(step) for step in place[:2]) or "run"
