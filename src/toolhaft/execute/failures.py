"""Creates failed results, with messages that tell a model what happened and what to do next."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from contextlib import suppress
from traceback import walk_tb
from typing import Final, TypeGuard, TypeVar

from toolhaft.backends.process_channel import describe_exit
from toolhaft.backends.process_errors import WorkerError
from toolhaft.core.approval import PendingApproval
from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.effect import Effect
from toolhaft.core.result import Failure, FailureKind, Outcome, ToolResult, failed_result
from toolhaft.errors import (
    ApprovalRequiredError,
    AttemptsExceededError,
    BudgetExceededError,
    CircuitOpenError,
    DeadlineExceededError,
    FilesystemError,
    HttpError,
    PromptEvaluationError,
    RateExceededError,
    ToolAuthorizationError,
    ToolError,
    ToolhaftError,
    ToolTimeoutError,
    ToolValidationError,
    UnknownToolError,
    VisibilityExpansionRequired,
)
from toolhaft.schema.problems import Problem

ErrorT = TypeVar("ErrorT", bound=BaseException)

LONGEST_MESSAGE: Final = 1800
"""Bytes of an error message that a model gets; with the advice it stays below 2 KB."""

_MOST_CAUSES: Final = 5
_LONGEST_CAUSE: Final = 300
_LONGEST_READ: Final = 8000  # the rest of an exception's text is ignored

_CALLERS: Final = ("toolhaft.execute.", "toolhaft.define.", "toolhaft.backends.threads")
"""The modules that are between the executor and a handler."""

OUTCOME_BY_EFFECT: Final[dict[Effect, tuple[Outcome, str]]] = {
    Effect.READ: ("nothing_happened", "Nothing happened: it may be called again."),
    Effect.IDEMPOTENT: ("safe_to_repeat", "It may be repeated safely."),
    Effect.REVERSIBLE: ("rolled_back", "Rolled back: nothing happened."),
    Effect.IRREVERSIBLE: ("unknown", "Outcome unknown: check before repeating."),
}
"""The outcome and the advice of a call that ran and failed, by the tool's effect."""

_WITHOUT_REPEAT: Final = {
    "Nothing happened: it may be called again.": "Nothing happened.",
    "It may be repeated safely.": "It may have taken effect.",
    "Outcome unknown: check before repeating.": "Outcome unknown: check what happened.",
}
"""What to say instead of an advice if the same call cannot be made again."""
_FINAL_KINDS: Final[frozenset[FailureKind]] = frozenset(("budget", "deadline"))
"""Failures after which no call is run any more."""

_KINDS: Final[tuple[tuple[type[BaseException], FailureKind], ...]] = (
    (ToolValidationError, "invalid_arguments"),
    (ToolAuthorizationError, "not_allowed"),
    (ToolTimeoutError, "timeout"),
    (BudgetExceededError, "budget"),
    (asyncio.CancelledError, "cancelled"),
)

_EXPECTED: Final = (
    ToolError,
    ApprovalRequiredError,
    AttemptsExceededError,
    BudgetExceededError,
    CircuitOpenError,
    FilesystemError,
    HttpError,
    RateExceededError,
    UnknownToolError,
)
"""Errors whose text is for the model: nothing is wrong with the handler."""


def refused(
    kind: FailureKind,
    message: str,
    *,
    advice: str = "",
    problems: tuple[Problem, ...] = (),
    pending: PendingApproval | None = None,
    outcome: Outcome = "nothing_happened",
) -> AnyResult:
    """The failed result of a call whose handler was not started."""
    text = f"{message} {advice}" if advice else message
    text = clip(text)
    failure = Failure(kind=kind, problems=problems, advice=advice, outcome=outcome, message=text)
    result = failed_result(text, failure)
    return result if pending is None else result.with_fields(pending=pending)


def after_running(
    tool: AnyTool,
    kind: FailureKind,
    message: str,
    *,
    error: BaseException | None = None,
    value: object = None,
) -> AnyResult:
    """The failed result of a call whose handler was started; the message says what it may have changed.

    The value is for the program only: the model reads only the message.
    """
    outcome, advice = OUTCOME_BY_EFFECT[_actual_effect(tool, error)]
    if kind in _FINAL_KINDS:
        advice = without_repeat(advice)
    message = clip(message)
    return ToolResult(
        exclude_value_from_context=True,
        message=f"{sentence(message)} {advice}",
        value=value,
        success=False,
        failure=Failure(kind=kind, advice=advice, cause=error, outcome=outcome, message=message),
        untrusted=is_a(error, ToolError) and _is_untrusted(error),
    )


def without_repeat(advice: str) -> str:
    """The advice without what it says about another call, for a call that cannot be made again."""
    for text, instead in _WITHOUT_REPEAT.items():
        if advice.endswith(text):
            return advice.removesuffix(text) + instead
    return advice


def is_a(error: object, kind: type[ErrorT]) -> TypeGuard[ErrorT]:
    """Like `isinstance`, which also calls the `__class__` of the error: a user's class can do anything."""
    return issubclass(type(error), kind)


def _actual_effect(tool: AnyTool, error: BaseException | None) -> Effect:
    """The effect of this call: `read` if the handler marks its error as raised before anything happened."""
    if not is_a(error, ToolError):
        return tool.effect
    try:
        if error.nothing_happened is not True:
            return tool.effect
        # valid for this call only: the same exception may be raised again later
        error.nothing_happened = False
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 -- a user's exception class can do anything
        return tool.effect
    return Effect.READ if tool.effect is Effect.IRREVERSIBLE else tool.effect


def _is_untrusted(error: ToolError) -> bool:
    try:
        return error.untrusted is True
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 -- a user's exception class can do anything
        return True


def from_error(tool: AnyTool, error: BaseException, given: str) -> AnyResult:
    """The failed result for a handler's exception.

    `given` is the text of the arguments: a path that is in them is not hidden in the message.
    """
    message = _message(tool, error, given)
    for cause, kind in _KINDS:
        if issubclass(type(error), cause):
            return after_running(tool, kind, message, error=error)
    return after_running(tool, "failed", message, error=error)


def reraised(error: BaseException) -> BaseException | None:
    """What the caller gets instead of a result: exceptions of prompts, a passed deadline, an interrupt."""
    if is_a(error, DeadlineExceededError):
        made = PromptEvaluationError(f"the deadline passed inside a tool: {text_of(error, '')}")
        made.__cause__ = error
        return made
    passes = (VisibilityExpansionRequired, PromptEvaluationError, KeyboardInterrupt)
    return error if issubclass(type(error), passes) else None


def is_unexpected(error: BaseException) -> bool:
    """True for an exception that a handler did not raise to tell the model something, such as a bug in it."""
    return not issubclass(type(error), _EXPECTED) or is_a(error, WorkerError)


def from_error_result(tool: AnyTool, result: AnyResult) -> AnyResult:
    """An error result that a handler returned, with a failure added; its message stays."""
    outcome, advice = OUTCOME_BY_EFFECT[tool.effect]
    own = result.failure  # of a nested call, perhaps: its kind is not the kind of this failure
    failure = Failure(
        kind="failed",
        advice=advice,
        outcome=outcome,
        cause=None if own is None else own.cause,
        message=clip(result.message),
    )
    return result.with_fields(failure=failure, pending=None)


def text_of(error: BaseException, given: str) -> str:
    """The shortened text of an exception, without the host's folders; `given` are the arguments as text."""
    try:
        text = describe_exit(error) if is_a(error, SystemExit) else str(error)[:_LONGEST_READ]
        if is_a(error, BaseExceptionGroup):
            text = f"{text}: {_name_causes(error)}"[:_LONGEST_READ]
        text = hide_host(text, given)
        if is_a(error, OSError) and not is_a(error, ToolhaftError):
            text = _hide_name(text, error.filename, given)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 -- a user's exception class can do anything
        return ""
    return text


def _name_causes(group: BaseExceptionGroup[BaseException]) -> str:
    """The exceptions of a group, such as that of an asyncio.TaskGroup: it says itself only how many."""
    return "; ".join(
        f"{type(one).__name__}: {one}"[:_LONGEST_CAUSE] for one in group.exceptions[:_MOST_CAUSES]
    )


def _message(tool: AnyTool, error: BaseException, given: str) -> str:
    text = text_of(error, given)
    if text and issubclass(type(error), (SystemExit, WorkerError)):
        return f"{tool.name} failed: {text}"
    if text and is_a(error, ToolhaftError):
        return text
    name = type(error).__name__
    if is_a(error, asyncio.CancelledError):
        return f"{tool.name} was cancelled from within"
    hint = "; the handler did not take the arguments" if _is_refused_call(error) else ""
    return f"{tool.name} failed: {name}: {text}{hint}" if text else f"{tool.name} failed: {name}{hint}"


def _is_refused_call(error: BaseException) -> bool:
    """True for a TypeError that the call of the handler raised, before any code of the handler ran."""
    if not is_a(error, TypeError) or error.__traceback__ is None:
        return False
    modules = [str(frame.f_globals.get("__name__")) for frame, _ in walk_tb(error.__traceback__)]
    return all(module.startswith(_CALLERS) for module in modules)


def hide_host(text: str, given: str) -> str:
    """The text without the host's folders, except for paths that the caller named."""
    if "/" not in text and "\\" not in text:
        return text
    for folder, name in _folders():

        def shown(found: re.Match[str], folder: str = folder, name: str = name) -> str:
            path = found.group()
            # punctuation after a path belongs to the sentence
            return path if path.rstrip(".,:;)") in given else name + path.removeprefix(folder)

        text = re.sub(r"(?<![\w.-])" + re.escape(folder) + r"(?![\w.-])[^\s'\"]*", shown, text)
    return text


def _hide_name(text: str, path: object, given: str) -> str:
    """The message of an OSError with only the last part of its path."""
    if not isinstance(path, str) or not os.path.isabs(path) or path in given:  # noqa: PTH117 -- the path is plain text
        return text
    return text.replace(path, os.path.basename(path))  # noqa: PTH119 -- the path is plain text


def _folders() -> list[tuple[str, str]]:
    """The host's folders, longest first, and what replaces them."""
    found = {
        tempfile.gettempdir(): "<tmp>",
        os.path.expanduser("~"): "~",  # noqa: PTH111 -- the path is plain text
        sys.prefix: "<python>",
        sys.base_prefix: "<python>",
    }
    with suppress(OSError):  # it was removed
        found[os.getcwd()] = "."  # noqa: PTH109 -- the path is plain text
    return sorted(
        ((folder, name) for folder, name in found.items() if len(folder) > 1), key=lambda pair: -len(pair[0])
    )


def sentence(text: str) -> str:
    """The text with a full stop, unless it ends with a punctuation mark."""
    text = text.rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def clip(text: str) -> str:
    """The text, cut at the limit for messages."""
    if len(text) * 4 <= LONGEST_MESSAGE:
        return text
    written = text.encode(errors="replace")
    if len(written) <= LONGEST_MESSAGE:
        return text
    return f"{written[: LONGEST_MESSAGE - 20].decode(errors='ignore')} [cut]"
