"""Reads the query parameters of a request; unknown, repeated and invalid ones are refused."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import parse_qsl

from toolhaft.schema.nearest import nearest
from toolhaft.serve.responses import HttpProblem, ProblemEntry

DRY_RUN: Final = "dry_run"
_FLAGS: Final = {"true": True, "false": False}
_MAX_SHOWN: Final = 80
_MAX_FIELDS: Final = 20
"""Each unknown name is compared with the known ones, while other requests wait."""


def read_query(query_string: bytes, known: Sequence[str] = ()) -> dict[str, str]:
    """The query parameters by name.

    Raises:
        HttpProblem: 400 with every parameter that is unknown or was sent twice.
    """
    query: dict[str, str] = {}
    problems: list[ProblemEntry] = []
    for name, value in _parse(query_string):
        if name not in known:
            problems.append(_entry(name, f"there is no parameter {name!r:.{_MAX_SHOWN}}", _hint(name, known)))
        elif name in query:
            problems.append(_entry(name, f"{name} was sent twice", "send it once"))
        query[name] = value
    if problems:
        first = problems[0]
        raise HttpProblem(400, first.problem, fix=first.fix, problems=problems)
    return query


def _parse(query_string: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        what, fix = f"there are more than {_MAX_FIELDS} query parameters", "send each parameter once"
        raise HttpProblem(400, what, fix=fix, where="query") from None


def read_flag(query: Mapping[str, str], name: str = DRY_RUN) -> bool:
    """The value of a parameter that is true or false; False if it is missing.

    Raises:
        HttpProblem: 400 if it is anything else.
    """
    value = query.get(name, "false")
    if value not in _FLAGS:
        raise wrong_value(name, value, "true or false")
    return _FLAGS[value]


def read_number(
    query: Mapping[str, str], name: str, *, least: int, most: int, expected: str = ""
) -> int | None:
    """The value of a parameter that is a whole number; None if it is missing.

    Raises:
        HttpProblem: 400 if it is anything else, or not within the bounds.
    """
    text = query.get(name)
    if text is None:
        return None
    if not re.fullmatch("[0-9]{1,15}", text) or not least <= int(text) <= most:
        raise wrong_value(name, text, expected or f"{least} to {most}")
    return int(text)


def wrong_value(name: str, value: str, expected: str, *, hint: str = "") -> HttpProblem:
    """The problem of a query parameter whose value is not valid."""
    what = f"{value!r:.{_MAX_SHOWN}} is not a value of {name}"
    fix = f"{hint}use {expected}"
    return HttpProblem(
        400,
        what,
        fix=fix,
        problems=[ProblemEntry(problem=what, where="query", path=name, expected=expected, fix=fix)],
    )


def _hint(name: str, known: Sequence[str]) -> str:
    if not known:
        return "this route takes no parameters"
    close = nearest(name[:_MAX_SHOWN], known)
    return f"{f'did you mean {close}? ' if close else ''}the parameters are: {', '.join(known)}"


def _entry(name: str, problem: str, fix: str) -> ProblemEntry:
    return ProblemEntry(problem=problem, where="query", path=name[:_MAX_SHOWN], fix=fix)
