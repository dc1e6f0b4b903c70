"""The `run` block of a YAML tool: reads it, and makes the handler, the hosts and the preview of a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from toolhaft.define.running.activation import is_active
from toolhaft.define.running.endpoint import EndpointHandler, InProcessEndpoint
from toolhaft.define.running.environment import project_of
from toolhaft.define.running.http_block import HttpPlan, fill_request, read_http
from toolhaft.define.running.http_handler import HttpHandler
from toolhaft.define.running.literal_secrets import has_token
from toolhaft.define.running.parameters import Parameters, RunProblems, result_fields, suggest
from toolhaft.define.running.program import (
    ARGV_KEYS,
    ArgvPlan,
    ProgramHandler,
    arguments_of,
    is_harmless,
    read_argv,
    stdin_of,
)
from toolhaft.define.running.python_function import PythonHandler, PythonPlan, read_python
from toolhaft.define.running.template import names_in, variable_reference
from toolhaft.define.running.url_template import authority_of
from toolhaft.define.running.variable_bindings import PROGRAM
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath

RunBlockKind: TypeAlias = Literal["http", "argv", "python"]
RunPlan: TypeAlias = HttpPlan | ArgvPlan | PythonPlan
RUN_HANDLERS: Final = (HttpHandler, ProgramHandler, PythonHandler, EndpointHandler, InProcessEndpoint)
RunHandler: TypeAlias = HttpHandler | ProgramHandler | PythonHandler | EndpointHandler

_READERS: Final[Mapping[str, Callable[[JSONObject, Parameters, RunProblems], RunPlan | None]]] = {
    "http": read_http,
    "argv": read_argv,
    "python": read_python,
}
_KEYS: Final = {"http": ("http",), "argv": ARGV_KEYS, "python": ("python",)}
_CHECKED_ELSEWHERE: Final = frozenset((("http", "url"), ("http", "headers"), ("http", "query")))
_FIXES: Final[Mapping[str, str]] = {
    "http": "send it in a header: put it in the environment or .env, write ${env:NAME}",
    "argv": "put it in the environment or .env, and name the variable in env: the program reads it there",
    "python": "let the function read it from the environment",
}
_ONE: Final = "write one of http: {...}, argv: [...] and python: module:function"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """How a tool is run: its `kind`, the `fields` of the block as in the file, and the parsed `plan`."""

    kind: RunBlockKind
    fields: JSONObject
    plan: RunPlan


def read_run(value: JSONValue, parameters: Parameters, problems: RunProblems) -> RunSpec | None:
    """Parse the block; None if it has errors. The paths of problems are relative to the block."""
    if not isinstance(value, dict):
        problems.add((), "run is not a mapping", _ONE)
        return None
    kinds = [key for key in value if key in _READERS]
    if len(kinds) != 1:
        what = f"run has both {kinds[0]} and {kinds[1]}" if kinds else "run has none of http, argv and python"
        problems.add((kinds[1],) if kinds else (), what, _ONE)
        return None
    kind = cast("RunBlockKind", kinds[0])
    for key in value:
        if key not in _KEYS[kind]:
            allowed = ", ".join(_KEYS[kind])
            fix = suggest(key, _KEYS[kind], f"take it out; the keys are {allowed}")
            problems.add((key,), f"run: unknown key {key!r:.80}", fix)
    plan = _READERS[kind](value, parameters, problems)
    for place in _tokens(value, ()):
        # deeper keys may contain anything and are not shown
        shown = ".".join(str(step) for step in place[:2]) or "run"
        problems.add(place, f"literal secret in {shown}", _FIXES[kind])
    if kind != "python":
        _warn_unused(value, parameters, problems)
    return None if plan is None or problems.has_errors else RunSpec(kind=kind, fields=value, plan=plan)


def _warn_unused(fields: JSONObject, parameters: Parameters, problems: RunProblems) -> None:
    used = set(names_in(fields))
    for name in parameters.names:
        if name not in used:
            fix = f"write ${{{name}}} where its value belongs, or take the parameter out"
            problems.warn((), f"the parameter {name!r:.80} is used nowhere in run", fix)


def _tokens(value: JSONValue, place: ValuePath) -> Iterator[ValuePath]:
    """Yield the paths of texts that contain a token of a known kind; URL, headers and query are skipped."""
    if isinstance(value, str) and has_token(value):
        yield place
    if not isinstance(value, list | dict):
        return
    for step, item in enumerate(value) if isinstance(value, list) else value.items():
        if (*place, step) not in _CHECKED_ELSEWHERE:
            yield from _tokens(item, (*place, step))
            if isinstance(step, str):
                yield from _tokens(step, place)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """Everything in a file that decides how its tool is run."""

    run: RunSpec | None
    endpoint: str | None
    is_off: bool
    folder: str | None
    parameters: Parameters


def handler_of(setup: RunSetup) -> RunHandler | None:
    """Return the handler; None if the tool is not active."""
    if not is_active({"run": setup.run, "endpoint": setup.endpoint, "is_active": not setup.is_off}):
        return None
    if setup.run is None:
        returns = result_fields(setup.parameters, None)
        return EndpointHandler(url=cast("str", setup.endpoint), folder=setup.folder, returns=returns)
    match setup.run.plan:
        case HttpPlan() as plan:
            return HttpHandler(plan=plan, folder=setup.folder)
        case ArgvPlan() as plan:
            return ProgramHandler(plan=plan, folder=setup.folder)
        case plan:
            return PythonHandler(
                plan=plan, project=None if setup.folder is None else project_of(setup.folder)
            )


def hosts_of(setup: RunSetup) -> tuple[str, ...]:
    """Return the hosts that a call connects to, as far as the file names them."""
    if setup.run is None:
        found = authority_of(setup.endpoint) if setup.endpoint is not None else ""
        return (found,) if found else ()
    plan = setup.run.plan
    return (plan.url.host,) if isinstance(plan, HttpPlan) else ()


def sends_of(run: RunSpec | None) -> tuple[tuple[str, str], ...]:
    """Return the variables that a call sends, each with its receiver: an origin, or `argv:PROGRAM`."""
    if run is None or isinstance(run.plan, PythonPlan):
        return ()
    if isinstance(run.plan, ArgvPlan):
        receiver, names = f"{PROGRAM}{run.plan.program}", list(run.plan.env)
        names = [name for name in names if not is_harmless(name)]
    else:
        receiver = run.plan.url.origin
        names = [name for _, template in run.plan.headers for name in template.variables]
    return tuple((name, receiver) for name in dict.fromkeys(names))


def preview_of(setup: RunSetup, arguments: Mapping[str, object]) -> JSONObject:
    """Describe what a call would do, as JSON.

    Raises:
        ToolValidationError: for a value that cannot be sent in its place.
    """
    if setup.run is None:
        return {"endpoint": setup.endpoint, "arguments": cast("JSONObject", dict(arguments))}
    match setup.run.plan:
        case HttpPlan() as plan:
            return {"http": _preview_request(plan, arguments)}
        case ArgvPlan() as plan:
            return _preview_program(plan, arguments)
        case plan:
            target = f"{plan.module}:{plan.function}"
            return {"python": target, "arguments": cast("JSONObject", dict(arguments))}


def _preview_request(plan: HttpPlan, arguments: Mapping[str, object]) -> JSONObject:
    request = fill_request(plan, arguments, variable_reference)
    query: JSONObject = {}
    for name, text in request.query:
        before = query.get(name)
        query[name] = text if before is None else [*(before if isinstance(before, list) else [before]), text]
    shown: JSONObject = {
        "method": request.method,
        "url": request.url,
        "headers": cast("JSONObject", dict(request.headers)),
        "query": query,
    }
    return shown if request.body is ... else {**shown, "body": request.body}


def _preview_program(plan: ArgvPlan, arguments: Mapping[str, object]) -> JSONObject:
    stdin = stdin_of(plan, arguments)
    shown: JSONObject = {
        "argv": cast("JSONValue", [plan.program, *arguments_of(plan, arguments)]),
        "cwd": plan.cwd or ".",
        "env": cast("JSONValue", list(plan.env)),
    }
    return shown if stdin is None else {**shown, "stdin": stdin}
