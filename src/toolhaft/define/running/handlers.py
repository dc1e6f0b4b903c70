"""Which handler a tool from a file gets, and what a call of it would do.

Knows the kinds of handlers; how each works is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from toolhaft.define.running.argv_plan import ArgvPlan
from toolhaft.define.running.endpoint import EndpointHandler
from toolhaft.define.running.http_plan import HttpPlan
from toolhaft.define.running.parameters import Parameters
from toolhaft.define.running.program import ProgramHandler, arguments_of, stdin_of
from toolhaft.define.running.python_function import PythonHandler
from toolhaft.define.running.request import fill_request
from toolhaft.define.running.requesting import HttpHandler
from toolhaft.define.running.shape import shape_of
from toolhaft.define.running.spec import RunSpec
from toolhaft.define.running.template import shown_variable
from toolhaft.define.running.url_plan import authority_of
from toolhaft.schema.json_value import JSONObject, JSONValue

OWN_HANDLERS: Final = (HttpHandler, ProgramHandler, PythonHandler, EndpointHandler)
Handler: TypeAlias = HttpHandler | ProgramHandler | PythonHandler | EndpointHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a file asks for."""

    run: RunSpec | None
    endpoint: str | None
    is_off: bool
    folder: str | None
    parameters: Parameters


def handler_of(wanted: Wanted) -> Handler | None:
    """The handler, or None where there is nothing to run, or it is switched off."""
    if wanted.is_off:
        return None
    if wanted.run is None:
        if wanted.endpoint is None:
            return None
        shape = shape_of(wanted.parameters, None)
        return EndpointHandler(url=wanted.endpoint, folder=wanted.folder, shape=shape)
    match wanted.run.plan:
        case HttpPlan() as plan:
            return HttpHandler(plan=plan, folder=wanted.folder)
        case ArgvPlan() as plan:
            return ProgramHandler(plan=plan, folder=wanted.folder)
        case plan:
            return PythonHandler(plan=plan)


def hosts_of(wanted: Wanted) -> tuple[str, ...]:
    """The hosts that a call goes to, as far as the file tells."""
    if wanted.run is None:
        found = authority_of(wanted.endpoint) if wanted.endpoint is not None else ""
        return (found,) if found else ()
    plan = wanted.run.plan
    return (plan.url.host,) if isinstance(plan, HttpPlan) else ()


def preview_of(wanted: Wanted, given: Mapping[str, object]) -> JSONObject:
    """What a call would do, as JSON.

    Raises:
        ToolValidationError: where a value cannot stand in its place.
    """
    if wanted.run is None:
        return {"endpoint": wanted.endpoint, "arguments": cast("JSONObject", dict(given))}
    match wanted.run.plan:
        case HttpPlan() as plan:
            return {"http": _shown_request(plan, given)}
        case ArgvPlan() as plan:
            return _shown_program(plan, given)
        case plan:
            target = f"{plan.module}:{plan.function}"
            return {"python": target, "arguments": cast("JSONObject", dict(given))}


def _shown_request(plan: HttpPlan, given: Mapping[str, object]) -> JSONObject:
    request = fill_request(plan, given, shown_variable)
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


def _shown_program(plan: ArgvPlan, given: Mapping[str, object]) -> JSONObject:
    stdin = stdin_of(plan, given)
    shown: JSONObject = {
        "argv": cast("JSONValue", [plan.program, *arguments_of(plan, given)]),
        "cwd": plan.cwd or ".",
        "env": cast("JSONValue", list(plan.env)),
    }
    return shown if stdin is None else {**shown, "stdin": stdin}
