"""Reads `run: {http: {...}}` and fills its request with the values of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Final, cast

from toolhaft.define.running.body_template import BodyTemplate, read_body
from toolhaft.define.running.literal_secrets import check_header_secret, is_secret_in_query
from toolhaft.define.running.parameters import (
    Parameters,
    ResultFields,
    RunProblems,
    read_result,
    result_fields,
    suggest,
)
from toolhaft.define.running.platform_access import HOPS_HEADER
from toolhaft.define.running.platform_keys import is_encrypted
from toolhaft.define.running.template import StringTemplate, as_text
from toolhaft.define.running.url_template import UrlTemplate, encode_value, read_url_template
from toolhaft.errors import HttpRefusedError, ToolExecutionError, ToolValidationError
from toolhaft.resources.http.request import check_headers
from toolhaft.schema.json_value import JSONObject, JSONValue, ValuePath

HTTP_KEYS: Final = ("method", "url", "headers", "query", "body", "result")
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
WITHOUT_BODY: Final = ("GET", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPlan:
    """A request with placeholders."""

    method: str
    url: UrlTemplate
    headers: tuple[tuple[str, StringTemplate], ...]
    query: tuple[tuple[str, StringTemplate], ...]
    body: BodyTemplate | None
    returns: ResultFields | None


def read_http(fields: JSONObject, parameters: Parameters, problems: RunProblems) -> HttpPlan | None:
    """Parse the block; None if it has errors."""
    block = fields["http"]
    if not isinstance(block, dict):
        problems.add(("http",), "http is not a mapping", 'write http: {method: GET, url: "https://..."}')
        return None
    for key in block:
        if key not in HTTP_KEYS:
            fix = suggest(key, HTTP_KEYS, f"take it out; the keys are {', '.join(HTTP_KEYS)}")
            problems.add(("http", key), f"http: unknown key {key!r:.80}", fix)
    method = _read_method(block, problems)
    url = read_url_template(block.get("url"), parameters, problems)
    headers = _read_headers(block.get("headers"), parameters, problems)
    query = _read_query(block.get("query"), parameters, problems)
    body = read_body(block.get("body"), parameters, problems)
    returns = result_fields(parameters, read_result(block.get("result"), parameters, problems))
    if block.get("body") is not None and method in WITHOUT_BODY:
        fix = "send POST, PUT or PATCH, or put the values into query"
        problems.add(("http", "body"), f"a {method} has no body", fix)
    _add_warnings(method, url, parameters, problems)
    if url is None or problems.has_errors:
        return None
    return HttpPlan(method=method, url=url, headers=headers, query=query, body=body, returns=returns)


def _add_warnings(
    method: str, url: UrlTemplate | None, parameters: Parameters, problems: RunProblems
) -> None:
    if method in WITHOUT_BODY and parameters.effect is None:
        what = f"a {method} usually changes nothing, but without an effect it counts as irreversible"
        problems.warn(("http",), what, "add effect: read, so that it may be retried and cached")
    if url is not None and not is_encrypted(url.origin):
        what = "http:// sends everything unencrypted"
        problems.warn(("http", "url"), what, "use https:// if the host supports it")


def _read_method(block: JSONObject, problems: RunProblems) -> str:
    method = block.get("method", "GET" if block.get("body") is None else "POST")
    if isinstance(method, str) and method in METHODS:
        return method
    close = suggest(str(method).upper(), METHODS, f"use one of {', '.join(METHODS)}")
    problems.add(
        ("http", "method"), f"method {as_text(method)!r:.40} is not one of {', '.join(METHODS)}", close
    )
    return "POST"


def _read_headers(
    value: JSONValue, parameters: Parameters, problems: RunProblems
) -> tuple[tuple[str, StringTemplate], ...]:
    found: list[tuple[str, StringTemplate]] = []
    seen: set[str] = set()
    for name, text in _entries("headers", value, problems):
        place = ("http", "headers", name)
        problem = _header_problem(name, text, seen)
        if problem:
            problems.add(place, *problem)
            continue
        seen.add(name.lower())
        made = parameters.template(as_text(text), place, problems, env=True)
        if made is None or not _is_valid_header(name, made, place, problems):
            continue
        check_header_secret(name, made, place, problems)
        if made.whole is None:
            parameters.require_value(made, place, problems, "inside a longer header")
        found.append((name, made))
    return tuple(found)


def _header_problem(name: str, text: JSONValue, seen: set[str]) -> tuple[str, str] | None:
    """Return the problem of a header and its fix; the value of the header is never quoted."""
    if isinstance(text, list | dict) or text is None:
        return f"the header {name!r:.80} is not text", "write it on one line"
    if name.lower() in seen:
        return f"the header {name!r:.80} is given twice", "keep one of the two"
    if name.lower() == HOPS_HEADER.lower():
        return f"the header {name!r:.80} is set by toolhaft itself", "take it out"
    return None


def _is_valid_header(name: str, made: StringTemplate, place: ValuePath, problems: RunProblems) -> bool:
    """True if the header can be sent with its placeholders filled."""
    text = made.fill(dict.fromkeys(made.names, "x"), lambda _: "x")
    try:
        check_headers({name: text})
    except HttpRefusedError as error:
        problems.add(place, str(error), "correct the header, or take it out")
        return False
    return True


def _read_query(
    value: JSONValue, parameters: Parameters, problems: RunProblems
) -> tuple[tuple[str, StringTemplate], ...]:
    found: list[tuple[str, StringTemplate]] = []
    for name, item in _entries("query", value, problems):
        place = ("http", "query", name)
        texts = item if isinstance(item, list) else [item]
        if isinstance(item, dict) or None in texts:
            problems.add(place, f"query: {name!r:.80} is not text", "write one text, or a list of them")
            continue
        for text in texts:
            made = parameters.template(as_text(text), place, problems)
            if made is None:
                continue
            if is_secret_in_query(name, made.literal):
                fix = "send it in a header: put it in the environment or .env, write ${env:NAME}"
                problems.add(place, f"literal secret in the query, {name!r:.80}", fix)
            if made.whole is None:
                parameters.require_value(made, place, problems, "inside a longer text")
            found.append((name, made))
    return tuple(found)


def _entries(key: str, value: JSONValue, problems: RunProblems) -> list[tuple[str, JSONValue]]:
    if value is None:
        return []
    if not isinstance(value, dict):
        problems.add(("http", key), f"{key} is not a mapping", f'write {key}: {{name: "value"}}')
        return []
    entries: list[tuple[str, JSONValue]] = []
    for name, item in value.items():
        if "${" in name or not name:
            fix = "use parameters in values only"
            problems.add(("http", key, name), f"{key}: the name {name!r:.80} cannot be filled", fix)
        else:
            entries.append((name, item))
    return entries


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledRequest:
    """A request that is ready to be sent."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    query: tuple[tuple[str, str], ...]
    """The pairs of `query`, which the URL already contains."""
    body: JSONValue | EllipsisType


def fill_request(
    plan: HttpPlan, given: Mapping[str, object], variable: Callable[[str], str]
) -> FilledRequest:
    """Fill a request; `variable` returns the values of environment variables.

    Raises:
        ToolValidationError: for a value that cannot be sent in its place.
        ToolExecutionError: for a variable that is missing, or cannot be sent.
    """
    query = tuple(_fill_query(plan, given))
    more = "&".join(f"{encode_value(name)}={encode_value(text)}" for name, text in query)
    return FilledRequest(
        method=plan.method,
        url=plan.url.fill(given, more),
        headers=dict(_fill_headers(plan, given, variable)),
        query=query,
        body=... if plan.body is None else plan.body.fill(given),
    )


def _fill_query(plan: HttpPlan, given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, template in plan.query:
        if template.lacks(given):
            continue
        whole = given[template.whole] if template.whole is not None else None
        if isinstance(whole, list):
            yield from ((name, as_text(item)) for item in cast("list[object]", whole))
        else:
            yield name, template.fill(given, str)


def _fill_headers(
    plan: HttpPlan, given: Mapping[str, object], variable: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    for name, template in plan.headers:
        if template.lacks(given):
            continue
        text = template.fill(given, variable)
        try:
            check_headers({name: text})
        except HttpRefusedError as error:
            if template.names:
                raise ToolValidationError(f"{', '.join(template.names)}: {error}") from None
            # from None: the text is a secret, and the frames of the cause would contain it
            raise ToolExecutionError(f"{error}; correct {', '.join(template.variables)}") from None
        yield name, text
