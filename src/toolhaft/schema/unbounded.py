"""Checks values without a bound on the work, in a worker process that can be killed.

Only JSON texts go in and come out: objects between processes may not be nested as deep as JSON.
"""

import json
from functools import lru_cache
from typing import Final

from toolhaft.schema.contract import Contract, OutputContract
from toolhaft.schema.json_text import object_to_text, read_json
from toolhaft.schema.problems import InvalidArguments, Problem, Repair, ValidArguments
from toolhaft.schema.raw import compile_raw, compile_raw_output

_NO_LIMIT: Final = 10**16


@lru_cache(maxsize=8)
def _input(schema: str) -> Contract:
    return compile_raw(read_json(schema), max_steps=_NO_LIMIT)


@lru_cache(maxsize=8)
def _output(schema: str) -> OutputContract:
    return compile_raw_output(read_json(schema), max_steps=_NO_LIMIT)


def check_arguments(schema: str, arguments: str) -> str:
    """Check the JSON text of arguments against the JSON text of a schema; `verdict_of` reads the verdict."""
    verdict = _input(schema).validate(arguments)
    if isinstance(verdict, InvalidArguments):
        problems = [(problem.path, problem.what, problem.expected) for problem in verdict.problems]
        return object_to_text((None, None, (), problems))
    repairs = [(repair.path, repair.was, repair.now) for repair in verdict.repairs]
    return object_to_text((verdict.params, verdict.given, repairs, ()))


def verdict_of(checked: str, example: str | None) -> ValidArguments | InvalidArguments:
    """Return what `validate` would have returned."""
    # not by `read_json`: JSON that was in a string may be nested deeper in the repaired arguments
    params, given, listed, problems = json.loads(checked)
    if problems:
        return InvalidArguments([Problem(*problem) for problem in problems], example)
    repairs = tuple(Repair(path=path, was=was, now=now) for path, was, now in listed)
    return ValidArguments(params, repairs, given)


def check_value(schema: str, value: str) -> str | None:
    """Check the JSON text of a tool's output; returns the problem, None if there is none."""
    return _output(schema).check(read_json(value))
