"""Tells a log that something of a user's failed beside a call, without words that may hold a secret.

Knows exceptions and answers; does not know what they are about.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Final

_LOG: Final = logging.getLogger("toolhaft")


def log_failure(error: Exception, said: str, *args: object, is_secret: bool) -> None:
    """Log what happened and the whole exception; only its type where a call takes secrets."""
    if is_secret:  # a traceback ends with what the exception says, and so perhaps with an argument
        _LOG.error(f"{said} (%s)", *args, type(error).__name__)
    else:
        _LOG.error(said, *args, exc_info=error)


def shown(thing: object, longest: int, *, is_secret: bool) -> str:
    """A thing that somebody should have a look at; only its type where a call takes secrets."""
    if not is_secret:
        with suppress(Exception):  # of a thing that cannot show itself
            return repr(thing)[:longest]
    return f"a {type(thing).__name__}"
