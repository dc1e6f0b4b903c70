"""A `run` block: exactly one way to run a tool, read and checked.

Knows the ways by name; how each is run is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from toolhaft.define.running.argv_plan import ARGV_KEYS, ArgvPlan, read_argv
from toolhaft.define.running.faults import Faults, unknown
from toolhaft.define.running.http_plan import HttpPlan, read_http
from toolhaft.define.running.parameters import Parameters
from toolhaft.define.running.python_plan import PythonPlan, read_python
from toolhaft.define.running.template import names_in
from toolhaft.schema.json_value import JSONObject, JSONValue

RunKind: TypeAlias = Literal["http", "argv", "python"]
Plan: TypeAlias = HttpPlan | ArgvPlan | PythonPlan

_READERS: Final[Mapping[str, Callable[[JSONObject, Parameters, Faults], Plan | None]]] = {
    "http": read_http,
    "argv": read_argv,
    "python": read_python,
}
_KEYS: Final = {"http": ("http",), "argv": ARGV_KEYS, "python": ("python",)}
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
    used = set(names_in(cast("JSONValue", [value[key] for key in value])))
    if kind != "python":
        for name in parameters.names:
            if name not in used:
                fix = f"write ${{{name}}} where its value belongs, or take the parameter out"
                faults.warn((), f"the parameter {name!r:.80} is used nowhere in run", fix)
    return None if plan is None or faults.has_errors else RunSpec(kind=kind, fields=value, plan=plan)
