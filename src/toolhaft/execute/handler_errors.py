"""Logs the exceptions that a handler did not raise on purpose, with secrets masked."""

from __future__ import annotations

import logging
import traceback
from contextlib import suppress
from types import TracebackType
from typing import Final

from toolhaft.core.conversion import AnyTool
from toolhaft.core.masking import argument_mask
from toolhaft.execute.active_call import ActiveCall, secrets_of
from toolhaft.execute.failures import is_unexpected

LONGEST_TRACE: Final = 20_000
"""Characters of a traceback, if it is written as text."""
_LOG: Final = logging.getLogger("toolhaft")


def log_error(tool: AnyTool, active: ActiveCall, error: BaseException) -> None:
    """Write one record with the traceback of an exception, unless it is one that the model was meant to read.

    If the tool takes secrets, the record has the masked text of the traceback instead of the exception, whose
    attributes and local variables may contain them.
    """
    if not is_unexpected(error):
        return
    with suppress(Exception):  # the application's own log handler failed: the call goes on
        name = type(error).__name__
        which = f" (call {str(active.call.id)[:128]!r})" if active.call.id else ""
        mask = argument_mask(tool)
        if mask is None:
            found = (type(error), error, _handlers_part(error))
            _LOG.error("%s raised %s%s", tool.name, name, which, exc_info=found)
            return
        secrets = secrets_of(tool, active, mask)
        # without JSON it is not known which part of the text is secret
        trace = "" if secrets is None else secrets.text(trace_of(error))[:LONGEST_TRACE]
        active.masked_trace = trace
        _LOG.error("%s raised %s%s\n%s", tool.name, name, which, trace)


def _handlers_part(error: BaseException) -> TracebackType | None:
    """The traceback from the handler on, without the steps that called it."""
    part = error.__traceback__
    while part is not None and str(part.tb_frame.f_globals.get("__name__")).startswith("toolhaft."):
        part = part.tb_next
    return part or error.__traceback__  # a handler of this package, or an error of a step


def trace_of(error: BaseException) -> str:
    """The traceback of an exception as text; empty if it cannot be written."""
    try:
        return "".join(traceback.format_exception(type(error), error, _handlers_part(error)))
    except Exception:  # noqa: BLE001 -- a user's exception class can do anything
        return ""
