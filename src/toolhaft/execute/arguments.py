"""A call's arguments as plain JSON: for keys, digests, policies and records.

Does not know who reads them.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, cast

from pydantic_core import to_jsonable_python

from toolhaft.execute.run import Run
from toolhaft.schema.json_text import read_json
from toolhaft.schema.problems import UnreadArguments


def final_arguments(run: Run) -> dict[str, object]:
    """The checked arguments, defaults and repairs in, as JSON has them."""
    if run.cached_arguments is None:
        plain: object = to_jsonable_python(run.params, fallback=str, inf_nan_mode="constants", by_alias=True)
        members = cast("dict[str, object]", plain) if isinstance(plain, dict) else {}
        # a default that JSON cannot hold is left out: it comes back by itself
        run.cached_arguments = {name: value for name, value in members.items() if not _is_endless(value)}
    return run.cached_arguments


def _is_endless(value: object) -> bool:
    return isinstance(value, float) and not isfinite(value)


def raw_arguments(run: Run) -> Any:  # noqa: ANN401 -- JSON, or text that is none
    """The arguments as they came, read where they are JSON."""
    given = run.call.arguments
    raw = given.text if isinstance(given, UnreadArguments) else given
    try:
        if isinstance(raw, str):
            return read_json(raw)
        return to_jsonable_python(raw, inf_nan_mode="strings", serialize_unknown=True)
    except (ValueError, RecursionError):
        return raw if isinstance(raw, str) else "not JSON"
