"""Ends what was made: by its `close`, or by leaving it as a context manager.

Knows nothing of why it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import cast

Closer = Callable[[], object]


def opened(made: object) -> tuple[object, Closer | None]:
    """What a provider made, ready for use, and how to end it.

    What has a `close` is taken as it is and closed. Any other context manager is entered, what it gives is
    used, and it is left at the end.
    """
    close = getattr(made, "close", None)
    if callable(close):
        return made, close
    if hasattr(type(made), "__enter__") and hasattr(type(made), "__exit__"):
        manager = cast("AbstractContextManager[object]", made)
        return manager.__enter__(), lambda: manager.__exit__(None, None, None)
    return made, None


def failures_of(steps: Iterable[Closer]) -> list[Exception]:
    """Take every step, also after one that fails, and say what went wrong."""
    failures: list[Exception] = []
    for step in steps:
        try:
            step()
        except Exception as error:  # noqa: BLE001 -- others wait for their turn; raised by the caller
            failures.append(error)
    return failures


def raise_all(what: str, failures: list[Exception]) -> None:
    """Raise what went wrong: itself where it is one, else all of it together."""
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise ExceptionGroup(what, failures)
