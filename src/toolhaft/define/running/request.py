"""A request that is filled and ready to be sent.

Knows plans and values; sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import EllipsisType
from typing import cast

from toolhaft.define.running.http_plan import HttpPlan
from toolhaft.define.running.template import as_text
from toolhaft.define.running.url_plan import encoded
from toolhaft.errors import HttpRefusedError, ToolExecutionError, ToolValidationError
from toolhaft.resources.http.outgoing import read_headers
from toolhaft.schema.json_value import JSONValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent."""

    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    query: tuple[tuple[str, str], ...]
    """What `query` adds; the URL has it already."""
    body: JSONValue | EllipsisType


def fill_request(plan: HttpPlan, given: Mapping[str, object], variable: Callable[[str], str]) -> Request:
    """The request of a plan; `variable` gives the values of the environment.

    Raises:
        ToolValidationError: where a value cannot stand in its place.
        ToolExecutionError: where a variable is missing, or cannot be sent.
    """
    query = tuple(_pairs(plan, given))
    more = "&".join(f"{encoded(name)}={encoded(text)}" for name, text in query)
    return Request(
        method=plan.method,
        url=plan.url.fill(given, more),
        headers=dict(_headers(plan, given, variable)),
        query=query,
        body=... if plan.body is None else plan.body.fill(given),
    )


def _pairs(plan: HttpPlan, given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, template in plan.query:
        if template.lacks(given):
            continue
        whole = given[template.whole] if template.whole is not None else None
        if isinstance(whole, list):
            yield from ((name, as_text(item)) for item in cast("list[object]", whole))
        else:
            yield name, template.fill(given, str)


def _headers(
    plan: HttpPlan, given: Mapping[str, object], variable: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    for name, template in plan.headers:
        if template.lacks(given):
            continue
        text = template.fill(given, variable)
        try:
            read_headers({name: text})
        except HttpRefusedError as error:
            if template.names:
                raise ToolValidationError(f"{', '.join(template.names)}: {error}") from None
            # from None: the text is a secret, and frames of the cause would hold it
            raise ToolExecutionError(f"{error}; correct {', '.join(template.variables)}") from None
        yield name, text
