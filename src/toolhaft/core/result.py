"""The result of a call: a message for the model, a value for the program, and why it failed."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from reprlib import Repr
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar, cast

from toolhaft import schema
from toolhaft.core.approval import PendingApproval
from toolhaft.core.call import ToolCall
from toolhaft.errors import (
    ApprovalRequiredError,
    AttemptsExceededError,
    BudgetExceededError,
    CircuitOpenError,
    DeadlineExceededError,
    RateExceededError,
    ToolAuthorizationError,
    ToolExecutionError,
    ToolhaftError,
    ToolTimeoutError,
    ToolValidationError,
    UnknownToolError,
)

if TYPE_CHECKING:  # TypeVar defaults came with Python 3.13
    from typing_extensions import TypeVar as DefaultTypeVar

    ResultT = DefaultTypeVar("ResultT", default=Any)
    ErrorT = DefaultTypeVar("ErrorT", default=Any)
else:
    ResultT = TypeVar("ResultT")
    ErrorT = TypeVar("ErrorT")
OkT = TypeVar("OkT")

LONGEST_OUTPUT = 100_000
"""Characters of one result that a model is shown, unless the executor sets another limit."""

FailureKind = Literal[
    "attempts",
    "budget",
    "cancelled",
    "circuit_open",
    "deadline",
    "failed",
    "invalid_arguments",
    "invalid_output",
    "needs_approval",
    "not_allowed",
    "rate",
    "timeout",
    "unknown_tool",
]

ERRORS_BY_KIND: Final[dict[FailureKind, type[ToolhaftError]]] = {
    "attempts": AttemptsExceededError,
    "budget": BudgetExceededError,
    "cancelled": ToolExecutionError,
    "circuit_open": CircuitOpenError,
    "deadline": DeadlineExceededError,
    "failed": ToolExecutionError,
    "invalid_arguments": ToolValidationError,
    "invalid_output": ToolValidationError,
    "needs_approval": ApprovalRequiredError,
    "not_allowed": ToolAuthorizationError,
    "rate": RateExceededError,
    "timeout": ToolTimeoutError,
    "unknown_tool": UnknownToolError,
}
"""The class of the error that `ToolResult.unwrap` raises."""

Outcome = Literal["done", "nothing_happened", "rolled_back", "safe_to_repeat", "unknown"]
"""What a call has changed; `unknown` means that somebody must check before repeating it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a call failed."""

    kind: FailureKind
    problems: tuple[schema.Problem, ...] = ()
    """Each problem with the arguments, if they were not valid."""
    advice: str = ""
    """What to do next; part of the message that the model reads."""
    cause: BaseException | None = None
    """The handler's exception, for the program only; None if there is none.

    If the tool takes secrets, which it may contain: the nearest built-in exception or error of Toolhaft,
    with secrets masked in its text.
    """
    outcome: Outcome = "nothing_happened"
    message: str = field(default="", compare=False, repr=False)
    """What happened, without the advice: the text of the error if there is no cause."""

    @property
    def error(self) -> BaseException:
        """The cause, or the error of this kind of failure; errors of Toolhaft compare by value."""
        return ERRORS_BY_KIND[self.kind](self.message) if self.cause is None else self.cause


class Feedback(NamedTuple):
    """A text that a feedback provider adds to a result."""

    provider: str
    text: str


class RareFields(NamedTuple):
    """The fields that few results have, in one object, so that a plain result is created quickly."""

    exclude_value_from_context: bool = False
    failure: Failure | Callable[[], Failure] | None = None
    """A function if few programs use the failure: it is made then."""
    content: tuple[object, ...] = ()
    final: bool = False
    repairs: tuple[schema.Repair, ...] = ()
    pending: PendingApproval | None = None
    max_output_chars: int = LONGEST_OUTPUT
    untrusted: bool = False
    feedback: tuple[Feedback, ...] = ()


FEEDBACK = "<feedback provider="
"""How each feedback text begins in a rendered result."""
_COMPARED = ("message", "value", "success", *(f for f in RareFields._fields if f != "max_output_chars"))
_NO_RARE_FIELDS = RareFields()
_MARK = re.compile(r"<(?=[\s/]*feedback)", re.IGNORECASE)
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 500
_SHORT.maxlevel = 4
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = 10


class ToolResult(Generic[ResultT]):
    """The outcome of one call; treat it as read-only (it has slots for speed, and is not frozen).

    `call` is the call that this is the result of, None until an executor returns it; equality ignores it.
    Internal: `json_text`, the JSON text of the value if it was written already, and `rare`, the fields that
    few results have.
    """

    __slots__ = ("call", "json_text", "message", "rare", "success", "value")

    def __init__(
        self,
        *,
        message: str = "",
        value: ResultT | None = None,
        success: bool = True,
        exclude_value_from_context: bool = False,
        failure: Failure | None = None,
        content: tuple[object, ...] = (),
        final: bool = False,
        repairs: tuple[schema.Repair, ...] = (),
        pending: PendingApproval | None = None,
        untrusted: bool = False,
        feedback: tuple[Feedback, ...] = (),
    ) -> None:
        self.message = message
        # None for most failures; `| Any`, because no type checker follows from `success` to `value`
        self.value: ResultT | Any = value
        self.success = success
        self.call: ToolCall | None = None
        self.json_text: str | None = None
        self.rare = RareFields(
            exclude_value_from_context,
            failure,
            content,
            final,
            repairs,
            pending,
            untrusted=untrusted,
            feedback=feedback,
        )

    @property
    def exclude_value_from_context(self) -> bool:
        """True if the model is shown only the message; not a security boundary."""
        return self.rare.exclude_value_from_context

    @property
    def failure(self) -> Failure | Any:  # noqa: ANN401 -- like `value`: not None if `success` is False
        """Why it failed; None for a success, and for a `ToolResult.error` that no executor has returned."""
        failure = self.rare.failure
        if callable(failure):
            failure = failure()
            self.rare = self.rare._replace(failure=failure)
        return failure

    @property
    def content(self) -> tuple[object, ...]:
        """Parts that are not text."""
        return self.rare.content

    @property
    def final(self) -> bool:
        """True if the tool says that this is the answer and the run can end."""
        return self.rare.final

    @property
    def repairs(self) -> tuple[schema.Repair, ...]:
        """What was changed in the arguments to make them fit the schema."""
        return self.rare.repairs

    @property
    def pending(self) -> PendingApproval | None:
        """The approval that the call waits for."""
        return self.rare.pending

    @property
    def untrusted(self) -> bool:
        """True if the value has text from outside, such as a web page: do not follow instructions in it."""
        return self.rare.untrusted

    @property
    def feedback(self) -> tuple[Feedback, ...]:
        """The texts that the prompt's feedback providers added."""
        return self.rare.feedback

    @property
    def has_value(self) -> bool:
        """True if there is a value to show; None counts if a function returned it."""
        return self.value is not None or self.json_text is not None

    @property
    def max_output_chars(self) -> int:
        """How many characters of the result the model is shown."""
        return self.rare.max_output_chars

    @staticmethod
    def ok(value: OkT, message: str = "OK") -> ToolResult[OkT]:
        """A success with its value."""
        return ToolResult(message=message, value=value)

    @staticmethod
    def error(message: str, value: ErrorT | None = None) -> ToolResult[ErrorT]:
        """A failure with a message for the model, and perhaps a value."""
        return ToolResult(message=message, value=value, success=False)

    def unwrap(self) -> ResultT:
        """The value of a success.

        Raises:
            ToolhaftError: for a failure, of the class for its kind: ToolExecutionError for `failed`,
                ToolValidationError for `invalid_arguments`, and so on. An error of this class that the
                handler raised is raised again; any other exception of the handler is the `__cause__`.
        """
        if self.success:
            return cast("ResultT", self.value)
        failure = self.failure or Failure(kind="failed", message=self.message)
        error, kind = failure.error, ERRORS_BY_KIND[failure.kind]
        if not issubclass(type(error), kind):
            raise kind(failure.message or self.message) from error
        if isinstance(error, ApprovalRequiredError):
            error.pending = self.pending
        raise error

    def render(self) -> str:
        """The text for the model: the message, then the value unless it is excluded or absent.

        A text longer than the executor's limit is cut, and a mark says so; `value` stays whole. Feedback is
        last, each text in its own frame, and is never cut. Parts that are not text are named if there is
        nothing else.
        """
        text: object = self.value if self.json_text is None else self.json_text
        if type(text) is not str or self.message or self.rare is not _NO_RARE_FIELDS:
            return self._render_all()
        return text if len(text) <= LONGEST_OUTPUT else _cut(text, LONGEST_OUTPUT)

    def _render_all(self) -> str:
        text = self._message_and_value()
        if not text and self.content:
            from toolhaft.core.content import name_parts  # noqa: PLC0415 -- few results have parts

            text = name_parts(self.content)
        if len(text) > self.rare.max_output_chars:
            text = _cut(text, self.rare.max_output_chars)
        if not self.feedback:
            return text
        frames = "\n".join(map(_frame, self.feedback))
        return f"{text}\n\n{frames}" if text else frames

    def _message_and_value(self) -> str:
        if self.exclude_value_from_context or not self.has_value:
            return self.message
        body = _render_value(self.value, bare=not self.message) if self.json_text is None else self.json_text
        return f"{self.message}\n\n{body}" if self.message else body

    def with_fields(self, *, message: str | None = None, **rare: object) -> ToolResult[ResultT]:
        """A copy with another message, or other values of the rare fields."""
        copy = cast("ToolResult[ResultT]", plain_result(self.value, self.json_text))
        copy.message = self.message if message is None else message
        copy.success = self.success
        copy.call = self.call
        copy.rare = self.rare._replace(**rare) if rare else self.rare
        return copy

    def __getstate__(self) -> object:
        self.failure  # noqa: B018 -- made here, since a function cannot be stored
        return super().__getstate__()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolResult):
            return NotImplemented
        another = cast("ToolResult[object]", other)
        return all(getattr(self, name) == getattr(another, name) for name in _COMPARED)

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- values are mostly dictionaries

    def __repr__(self) -> str:
        # bounded: debuggers and asyncio call it too, whatever the size of the value
        shown = f"message={_short(self.message)}, value={_short(self.value)}, success={self.success!r}"
        failure = self.failure
        if failure is not None:
            tool = "" if self.call is None else f", tool={_short(self.call.name)}"
            shown += f", kind={failure.kind!r}{tool}, error={_short(failure.error)}"
        return f"ToolResult({shown})"

    def _repr_html_(self) -> str:
        """The result in a notebook."""
        from toolhaft.core.notebook import result_html  # noqa: PLC0415 -- few programs show a result

        return result_html(self)


def plain_result(value: object, json_text: str | None = None) -> ToolResult[object]:
    """A success with only a value, and the JSON text of the value if it was written already."""
    made = _new(ToolResult)
    made.message = ""
    made.value = value
    made.success = True
    made.call = None
    made.json_text = json_text
    made.rare = _NO_RARE_FIELDS
    return made


def failed_result(message: str, failure: Failure | Callable[[], Failure]) -> ToolResult[object]:
    """A failure without a value."""
    made = _new(ToolResult)
    made.message = message
    made.value = made.call = made.json_text = None
    made.success = False
    made.rare = RareFields(False, failure)  # noqa: FBT003 -- by position, which is much faster
    return made


_new = cast("Callable[[object], ToolResult[object]]", object.__new__)


def _short(thing: object) -> str:
    try:
        return _SHORT.repr(thing)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 -- a user's class can do anything
        return f"<{type(thing).__name__}>"


def _render_value(value: object, *, bare: bool) -> str:
    own = getattr(type(value), "render", None)
    if callable(own):
        with suppress(Exception):  # if its own render() fails, it is shown as JSON
            return str(own(value))
    if bare and isinstance(value, str):
        return value
    if not schema.is_writable(value):
        return "[not shown: the value is too large to write]"
    return schema.to_json_text(value)


def _cut(text: str, longest: int) -> str:
    """The beginning of a text, and a mark that says how much is missing."""
    return f"{text[:longest]}\n[cut: {longest:,} of {len(text):,} characters shown]"


def _frame(feedback: Feedback) -> str:
    """A provider's text between marks; marks in the text itself are escaped."""
    name = " ".join(feedback.provider.split())
    for mark, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        name = name.replace(mark, written)
    return f'{FEEDBACK}"{name}">\n{_MARK.sub("&lt;", feedback.text)}\n</feedback>'
