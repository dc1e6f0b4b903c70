"""Runs a test once for all cases of a table, where a case by itself would add nothing but to the count of tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import Any


def each(names: str | tuple[str, ...], cases: Iterable[Any], **_ids: object) -> Callable[[Any], Any]:
    """As `pytest.mark.parametrize`, in a loop; a failure has the case in a note."""
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = list(cases)

    def decorate(test: Any) -> Any:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            for case in table:
                values = (case,) if len(listed) == 1 else case
                try:
                    test(**dict(zip(listed, values, strict=True)), **fixtures)
                except BaseException as failure:
                    failure.add_note(f"case: {case!r:.300}")
                    raise

        whole = signature(test)
        left = [value for name, value in whole.parameters.items() if name not in listed]
        run.__signature__ = whole.replace(parameters=left)  # type: ignore[attr-defined]
        return run

    return decorate
