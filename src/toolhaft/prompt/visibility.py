"""Whether a section is part of a prompt and how much of it is shown: fixed, or decided by a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeAlias, TypeVar, cast

from toolhaft.prompt.problems import SectionPath, evaluation_failed, invalid
from toolhaft.session import Session


class SectionVisibility(StrEnum):
    """All of a section, or its summary; a summary hides the section's tools and children."""

    FULL = "full"
    SUMMARY = "summary"

    @classmethod
    def _missing_(cls, value: object) -> SectionVisibility | None:
        """Accept any case."""
        lowered = value.lower() if isinstance(value, str) else None
        return next((one for one in cls if one.value == lowered), None)


ParamsT = TypeVar("ParamsT")
ValueT = TypeVar("ValueT")
ValueT_co = TypeVar("ValueT_co", covariant=True)
ParamsT_contra = TypeVar("ParamsT_contra", contravariant=True)


class FromSession(Protocol[ValueT_co]):
    """A function of the session."""

    def __call__(self, *, session: Session) -> ValueT_co:
        """Decide."""
        ...


class FromParamsAndSession(Protocol[ParamsT_contra, ValueT_co]):
    """A function of the params and the session."""

    def __call__(self, params: ParamsT_contra, /, *, session: Session) -> ValueT_co:
        """Decide."""
        ...


EnabledOption: TypeAlias = (
    bool
    | Callable[[ParamsT], bool]
    | Callable[[], bool]
    | FromSession[bool]
    | FromParamsAndSession[ParamsT, bool]
)
"""Whether a section is enabled: a bool, or a function of the params, of `session=`, of both or of neither."""
_Visibility: TypeAlias = SectionVisibility | str
VisibilityOption: TypeAlias = (
    _Visibility
    | Callable[[ParamsT], _Visibility]
    | Callable[[], _Visibility]
    | FromSession[_Visibility]
    | FromParamsAndSession[ParamsT, _Visibility]
)
"""How much of a section is shown: a visibility, or a function with the arguments of EnabledOption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionSetting(Generic[ValueT]):
    """A fixed value, or a function that returns the value at each rendering."""

    value: ValueT | None
    """The fixed value; None if there is a function."""
    function: Callable[..., object] | None = None
    convert: Callable[[object], ValueT]
    name: str
    takes_params: bool = False
    takes_session: bool = False

    def evaluate(self, params: object, session: object, path: SectionPath) -> ValueT:
        """The value for these params and this session.

        Raises:
            PromptEvaluationError: if the function fails, or returns an invalid value.
        """
        if self.function is None:
            return cast("ValueT", self.value)
        if self.takes_params and params is None:
            fix = "write MarkdownSection[Params](...), so that there are params"
            raise evaluation_failed(f"its {self.name} needs params", path=path, fix=fix)
        if self.takes_session and session is None:
            fix = "write prompt.render(session=...), or ToolExecutor(session=...)"
            raise evaluation_failed(f"its {self.name} needs a session", path=path, fix=fix)
        positional = (params,) if self.takes_params else ()
        named = {"session": session} if self.takes_session else {}
        try:
            return self.convert(self.function(*positional, **named))
        except Exception as error:
            problem = f"its {self.name} could not be evaluated: {type(error).__name__}: {error}"
            raise evaluation_failed(problem, path=path) from error


def read_setting(
    name: str, given: object, convert: Callable[[object], ValueT], key: str
) -> SectionSetting[ValueT]:
    """The setting for a section's `enabled` or `visibility`.

    Raises:
        PromptValidationError: if it is neither a valid value nor a function that can be called.
    """
    if not callable(given):
        try:
            return SectionSetting(value=convert(given), convert=convert, name=name)
        except ValueError as error:
            fix = f"give {name} a value, or a function of the params"
            raise invalid(f"its {name} is invalid: {error}", path=(key,), fix=fix) from None
    if inspect.iscoroutinefunction(given) or inspect.iscoroutinefunction(getattr(given, "__call__", None)):  # noqa: B004 -- tests whether it is async, not whether it can be called
        raise invalid(
            f"its {name} is async, and rendering is synchronous", path=(key,), fix="write it with `def`"
        )
    takes_params, takes_session = _read_signature(name, given, key)
    return SectionSetting(
        value=None,
        function=given,
        convert=convert,
        name=name,
        takes_params=takes_params,
        takes_session=takes_session,
    )


def to_bool(value: object) -> bool:
    """A bool, for `enabled`.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(value, bool):
        return value
    raise ValueError(f"{value!r:.60} is neither True nor False")


def to_visibility(value: object) -> SectionVisibility:
    """A visibility, for `visibility`.

    Raises:
        ValueError: for anything else.
    """
    try:
        return SectionVisibility(cast("str", value))
    except ValueError:
        raise ValueError(f"{value!r:.60} is neither 'full' nor 'summary'") from None


def _read_signature(name: str, function: Callable[..., object], key: str) -> tuple[bool, bool]:
    """Whether a function takes the params, and whether it takes the session."""
    try:
        parameters = dict(inspect.signature(function).parameters)
    except ValueError:  # a builtin without a signature
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
    required = [one for one in positional if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]
    named = [one for one in parameters.values() if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    if len(required) > 1 or named:
        raise invalid(
            f"its {name} cannot be called: it takes {', '.join(parameters)}",
            path=(key,),
            fix=f"write {name}=lambda params: ..., with `*, session` where it needs the session",
        )
    return bool(positional), takes_session
