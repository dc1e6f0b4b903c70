"""Reads `run: {http: {...}}`: a request with places for parameters.

Knows what the block may say; sends nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from toolhaft.define.running.body import Body, read_body
from toolhaft.define.running.faults import Faults, Place, unknown
from toolhaft.define.running.parameters import Parameters
from toolhaft.define.running.shape import Shape, read_result, shape_of
from toolhaft.define.running.template import Template, as_text
from toolhaft.define.running.tokens import check_header_secret, is_secret_in_query
from toolhaft.define.running.trail import HEADER
from toolhaft.define.running.url_plan import UrlPlan, read_url_plan
from toolhaft.errors import HttpRefusedError
from toolhaft.resources.http.outgoing import read_headers
from toolhaft.schema.json_value import JSONObject, JSONValue

HTTP_KEYS: Final = ("method", "url", "headers", "query", "body", "result")
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
WITHOUT_BODY: Final = ("GET", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPlan:
    """A request whose places are still to be filled."""

    method: str
    url: UrlPlan
    headers: tuple[tuple[str, Template], ...]
    query: tuple[tuple[str, Template], ...]
    body: Body | None
    shape: Shape | None


def read_http(fields: JSONObject, parameters: Parameters, faults: Faults) -> HttpPlan | None:
    """The plan, or None where it cannot be sent."""
    said = fields["http"]
    if not isinstance(said, dict):
        faults.add(("http",), "http is not a mapping", 'write http: {method: GET, url: "https://..."}')
        return None
    for key in said:
        if key not in HTTP_KEYS:
            fix = unknown(key, HTTP_KEYS, f"take it out; the keys are {', '.join(HTTP_KEYS)}")
            faults.add(("http", key), f"http: unknown key {key!r:.80}", fix)
    method = _method(said, faults)
    url = read_url_plan(said.get("url"), parameters, faults)
    headers = _headers(said.get("headers"), parameters, faults)
    query = _query(said.get("query"), parameters, faults)
    body = read_body(said.get("body"), parameters, faults)
    shape = shape_of(parameters, read_result(said.get("result"), parameters, faults))
    if said.get("body") is not None and method in WITHOUT_BODY:
        fix = "send POST, PUT or PATCH, or put the values into query"
        faults.add(("http", "body"), f"a {method} has no body", fix)
    _warn(method, url, parameters, faults)
    if url is None or faults.has_errors:
        return None
    return HttpPlan(method=method, url=url, headers=headers, query=query, body=body, shape=shape)


def _warn(method: str, url: UrlPlan | None, parameters: Parameters, faults: Faults) -> None:
    if method in WITHOUT_BODY and parameters.effect is None:
        what = f"a {method} mostly changes nothing, and no effect is said: it counts as irreversible"
        faults.warn(("http",), what, "say effect: read, so that it may be repeated and cached")
    if url is not None and url.scheme == "http" and not url.is_loopback:
        what = "http:// sends everything readable for all on the way"
        faults.warn(("http", "url"), what, "use https://, unless the host has none")


def _method(said: JSONObject, faults: Faults) -> str:
    method = said.get("method", "GET" if said.get("body") is None else "POST")
    if isinstance(method, str) and method in METHODS:
        return method
    close = unknown(str(method).upper(), METHODS, f"use one of {', '.join(METHODS)}")
    faults.add(
        ("http", "method"), f"method {as_text(method)!r:.40} is not one of {', '.join(METHODS)}", close
    )
    return "POST"


def _headers(value: JSONValue, parameters: Parameters, faults: Faults) -> tuple[tuple[str, Template], ...]:
    found: list[tuple[str, Template]] = []
    seen: set[str] = set()
    for name, text in _entries("headers", value, faults):
        place = ("http", "headers", name)
        problem = _header_problem(name, text, seen)
        if problem:
            faults.add(place, *problem)
            continue
        seen.add(name.lower())
        made = parameters.template(as_text(text), place, faults, env=True)
        if made is None or not _can_be_sent(name, made, place, faults):
            continue
        check_header_secret(name, made, place, faults)
        if made.whole is None:
            parameters.needs_sure(made, place, faults, "inside a longer header")
        found.append((name, made))
    return tuple(found)


def _header_problem(name: str, text: JSONValue, seen: set[str]) -> tuple[str, str] | None:
    """What is wrong with a header before its places are looked at; its value is never told."""
    if isinstance(text, list | dict) or text is None:
        return f"the header {name!r:.80} is not text", "write it on one line"
    if name.lower() in seen:
        return f"the header {name!r:.80} is given twice", "keep one of the two"
    if name.lower() == HEADER.lower():
        return f"the header {name!r:.80} is set by toolhaft itself", "take it out"
    return None


def _can_be_sent(name: str, made: Template, place: Place, faults: Faults) -> bool:
    """True for a header that may be sent, whatever fills its places."""
    text = made.fill(dict.fromkeys(made.names, "x"), lambda _: "x")
    try:
        read_headers({name: text})
    except HttpRefusedError as error:
        faults.add(place, str(error), "correct the header, or take it out")
        return False
    return True


def _query(value: JSONValue, parameters: Parameters, faults: Faults) -> tuple[tuple[str, Template], ...]:
    found: list[tuple[str, Template]] = []
    for name, item in _entries("query", value, faults):
        place = ("http", "query", name)
        texts = item if isinstance(item, list) else [item]
        if isinstance(item, dict) or None in texts:
            faults.add(place, f"query: {name!r:.80} is not text", "write one text, or a list of them")
            continue
        for text in texts:
            made = parameters.template(as_text(text), place, faults)
            if made is None:
                continue
            if is_secret_in_query(name, made.literal):
                fix = "send it in a header: put it in the environment or .env, write ${env:NAME}"
                faults.add(place, f"literal secret in the query, {name!r:.80}", fix)
            if made.whole is None:
                parameters.needs_sure(made, place, faults, "inside a longer text")
            found.append((name, made))
    return tuple(found)


def _entries(key: str, value: JSONValue, faults: Faults) -> list[tuple[str, JSONValue]]:
    if value is None:
        return []
    if not isinstance(value, dict):
        faults.add(("http", key), f"{key} is not a mapping", f'write {key}: {{name: "value"}}')
        return []
    entries: list[tuple[str, JSONValue]] = []
    for name, item in value.items():
        if "${" in name or not name:
            fix = "parameters stand in values only"
            faults.add(("http", key, name), f"{key}: the name {name!r:.80} cannot be filled", fix)
        else:
            entries.append((name, item))
    return entries
