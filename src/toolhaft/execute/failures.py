"""Failed results, worded so that a model knows what happened and what to do next.

Knows effects and kinds of failure; does not know the steps that find them.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from contextlib import suppress
from typing import Final

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.failure import Failure, FailureKind, Outcome
from toolhaft.core.result import ToolResult
from toolhaft.errors import (
    BudgetExceededError,
    DeadlineExceededError,
    PromptEvaluationError,
    ToolAuthorizationError,
    ToolError,
    ToolhaftError,
    ToolTimeoutError,
    ToolValidationError,
    VisibilityExpansionRequired,
)

LONGEST_MESSAGE: Final = 1800
"""Bytes of an error that a model is told; what to do next still fits into 2 KB beside it."""

_LONGEST_READ: Final = 8000  # more is not even looked at

AFTERMATH: Final[dict[Effect, tuple[Outcome, str]]] = {
    Effect.READ: ("nothing_happened", "Nothing happened: it may be called again."),
    Effect.IDEMPOTENT: ("safe_to_repeat", "It may be repeated safely."),
    Effect.REVERSIBLE: ("rolled_back", "Rolled back: nothing happened."),
    Effect.IRREVERSIBLE: ("unknown", "Outcome unknown: check before repeating."),
}
"""What a call that ran and did not succeed has left behind, by the tool's effect."""

_KINDS: Final[tuple[tuple[type[BaseException], FailureKind], ...]] = (
    (ToolValidationError, "invalid_arguments"),
    (ToolAuthorizationError, "not_allowed"),
    (ToolTimeoutError, "timeout"),
    (BudgetExceededError, "budget"),
    (asyncio.CancelledError, "cancelled"),
)


def refused(
    kind: FailureKind,
    message: str,
    *,
    advice: str = "",
    problems: tuple[object, ...] = (),
    pending: object = None,
    outcome: Outcome = "nothing_happened",
) -> AnyResult:
    """The result of a call whose handler was not run."""
    text = f"{message} {advice}" if advice else message
    return ToolResult(
        message=clip(text),
        success=False,
        failure=Failure(kind=kind, problems=problems, advice=advice, outcome=outcome),
        pending=pending,
    )


def after_running(
    tool: AnyTool,
    kind: FailureKind,
    message: str,
    *,
    error: BaseException | None = None,
    value: object = None,
) -> AnyResult:
    """The result of a call whose handler was begun: says what it has left behind.

    A value is for the program alone: what a model is told of a failure stays short.
    """
    outcome, advice = AFTERMATH[_left_by(tool, error)]
    return ToolResult(
        exclude_value_from_context=True,
        message=f"{sentence(clip(message))} {advice}",
        value=value,
        success=False,
        failure=Failure(kind=kind, advice=advice, error=error, outcome=outcome),
        untrusted=isinstance(error, ToolError) and _quotes(error),
    )


def _left_by(tool: AnyTool, error: BaseException | None) -> Effect:
    """The effect that a call had: none, where the handler says of its error that nothing had happened yet."""
    if not isinstance(error, ToolError):
        return tool.effect
    try:
        if error.nothing_happened is not True:
            return tool.effect
        # said of this call only: whoever raises the error again may have done something by then
        error.nothing_happened = False
    except Exception:  # noqa: BLE001 -- an error of the user's own making
        return tool.effect
    return Effect.READ if tool.effect is Effect.IRREVERSIBLE else tool.effect


def _quotes(error: ToolError) -> bool:
    try:
        return error.untrusted is True
    except Exception:  # noqa: BLE001 -- an error of the user's own making
        return True


def from_error(tool: AnyTool, error: BaseException, given: str) -> AnyResult:
    """What a handler raised, as a result: seed 003's table of exceptions, but for those that it re-raises.

    `given` are the arguments: a path that stands in them is no secret of the host's.
    """
    words = _words(tool, error, given)
    for cause, kind in _KINDS:
        if isinstance(error, cause):
            return after_running(tool, kind, words, error=error)
    return after_running(tool, "failed", words, error=error)


def reraised(error: BaseException) -> BaseException | None:
    """What goes through to the caller in place of a result: seed 003's two, a deadline as one, exits."""
    if isinstance(error, DeadlineExceededError):
        made = PromptEvaluationError(f"the deadline passed inside a tool: {error}")
        made.__cause__ = error
        return made
    passes = (VisibilityExpansionRequired, PromptEvaluationError, KeyboardInterrupt, SystemExit)
    return error if isinstance(error, passes) else None


def failed_error_result(tool: AnyTool, result: AnyResult) -> AnyResult:
    """An error result that a handler gave back: its message stays, the cause is told beside it."""
    outcome, advice = AFTERMATH[tool.effect]
    own = result.failure  # of a call that the handler made: its cause is no cause of this one
    failure = Failure(kind="failed", advice=advice, outcome=outcome, error=None if own is None else own.error)
    return result.with_rest(failure=failure, pending=None)


def text_of(error: BaseException, given: str) -> str:
    """What an exception says, bounded and without the host's folders; `given` are the call's arguments."""
    try:
        said = str(error)[:_LONGEST_READ]
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 -- an exception whose own text fails is still only an exception
        return ""
    said = hide_host(said, given)
    if isinstance(error, OSError) and not isinstance(error, ToolhaftError):
        said = _hide_name(said, error.filename, given)
    return said


def _words(tool: AnyTool, error: BaseException, given: str) -> str:
    said = text_of(error, given)
    if isinstance(error, ToolError | ToolhaftError) and said:
        return said
    name = type(error).__name__
    if isinstance(error, asyncio.CancelledError):
        return f"{tool.name} was cancelled from within"
    hint = (
        "; the handler did not take the arguments, or worked on a wrong type"
        if isinstance(error, TypeError)
        else ""
    )
    return f"{tool.name} failed: {name}: {said}{hint}" if said else f"{tool.name} failed: {name}{hint}"


def hide_host(text: str, given: str) -> str:
    """The text without the host's own folders, but for those that the caller named."""
    if "/" not in text and "\\" not in text:
        return text
    for folder, name in _folders():

        def shown(found: re.Match[str], folder: str = folder, name: str = name) -> str:
            path = found.group()
            # a sentence goes on after a path, and what the caller named does not end with that
            return path if path.rstrip(".,:;)") in given else name + path.removeprefix(folder)

        text = re.sub(r"(?<![\w.-])" + re.escape(folder) + r"(?![\w.-])[^\s'\"]*", shown, text)
    return text


def _hide_name(text: str, path: object, given: str) -> str:
    """An operating system's message with the last part of a path in place of the whole."""
    if not isinstance(path, str) or not os.path.isabs(path) or path in given:  # noqa: PTH117 -- text for text
        return text
    return text.replace(path, os.path.basename(path))  # noqa: PTH119 -- text for text


def _folders() -> list[tuple[str, str]]:
    """The host's folders, the longest first, and what is shown in their place."""
    found = {
        tempfile.gettempdir(): "<tmp>",
        os.path.expanduser("~"): "~",  # noqa: PTH111 -- text for text
        sys.prefix: "<python>",
        sys.base_prefix: "<python>",
    }
    with suppress(OSError):  # it was removed
        found[os.getcwd()] = "."  # noqa: PTH109 -- text for text
    return sorted(
        ((folder, name) for folder, name in found.items() if len(folder) > 1), key=lambda pair: -len(pair[0])
    )


def sentence(text: str) -> str:
    """The text with a mark at its end."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def clip(text: str) -> str:
    """The text, cut where a model has had enough of it."""
    if len(text) * 4 <= LONGEST_MESSAGE:
        return text
    written = text.encode(errors="replace")
    if len(written) <= LONGEST_MESSAGE:
        return text
    return f"{written[: LONGEST_MESSAGE - 20].decode(errors='ignore')} [cut]"
