"""What a section says about itself: once and for all, or by a function that is asked at each rendering.

Knows how such functions may be written; does not know what they decide.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from toolhaft.prompt.troubles import Path, invalid, unevaluated

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Generic[AnswerT]):
    """A decision, or who makes it."""

    answer: AnswerT | None
    """What was said once; None where a function says it."""
    function: Callable[..., object] | None = None
    read: Callable[[object], AnswerT]
    name: str
    takes_params: bool = False
    takes_session: bool = False

    def of(self, params: object, session: object, path: Path) -> AnswerT:
        """The decision for these params and this session.

        Raises:
            PromptEvaluationError: where the function fails, or answers with something else.
        """
        if self.function is None:
            return cast("AnswerT", self.answer)
        given = (params,) if self.takes_params else ()
        beside = {"session": session} if self.takes_session else {}
        for taken, there, fix in (
            (self.takes_params, params, "write MarkdownSection[Params](...), so that there are params"),
            (self.takes_session, session, "write prompt.render(session=...), or ToolExecutor(session=...)"),
        ):
            if taken and there is None:
                raise unevaluated(f"its {self.name} asks for what is not there", path=path, fix=fix)
        try:
            return self.read(self.function(*given, **beside))
        except Exception as error:
            problem = f"its {self.name} could not be told: {type(error).__name__}: {error}"
            raise unevaluated(problem, path=path) from error


def ask(name: str, given: object, read: Callable[[object], AnswerT], key: str) -> Asked[AnswerT]:
    """What was given for a section's `enabled` or `visibility`.

    Raises:
        PromptValidationError: for neither a value nor a function that can be asked.
    """
    if not callable(given):
        try:
            return Asked(answer=read(given), read=read, name=name)
        except ValueError as error:
            fix = f"give {name} a value, or a function of the params"
            raise invalid(f"its {name} is not right: {error}", path=(key,), fix=fix) from None
    if inspect.iscoroutinefunction(given) or inspect.iscoroutinefunction(getattr(given, "__call__", None)):  # noqa: B004 -- its kind is wanted, not whether it can be called
        raise invalid(
            f"its {name} is async, and a rendering cannot wait", path=(key,), fix="write it with `def`"
        )
    takes_params, takes_session = _manner(name, given, key)
    return Asked(
        answer=None,
        function=given,
        read=read,
        name=name,
        takes_params=takes_params,
        takes_session=takes_session,
    )


def _manner(name: str, function: Callable[..., object], key: str) -> tuple[bool, bool]:
    """Whether a function takes the params, and whether it takes the session."""
    try:
        parameters = dict(inspect.signature(function).parameters)
    except ValueError:  # a builtin that does not tell its signature
        return True, False
    session = parameters.get("session")
    takes_session = session is not None and session.kind is not session.POSITIONAL_ONLY
    if takes_session:
        del parameters["session"]
    positional = [
        parameter
        for parameter in parameters.values()
        if parameter.kind
        in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    wanted = [one for one in positional if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]
    named = [one for one in parameters.values() if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    if len(wanted) > 1 or named:
        raise invalid(
            f"its {name} cannot be called: it takes {', '.join(parameters)}",
            path=(key,),
            fix=f"write {name}=lambda params: ..., with `*, session` where it needs the session",
        )
    return bool(positional), takes_session
