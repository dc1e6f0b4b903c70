"""What a tool gives back: a message for the model, a value for the program, and whether it worked.

Does not know how a call is run or which wire the result goes out on.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from reprlib import Repr
from typing import Generic, NamedTuple, TypeVar, cast

from toolhaft import schema
from toolhaft.core.call import ToolCall
from toolhaft.core.failure import Failure

ResultT = TypeVar("ResultT")

LONGEST_OUTPUT = 100_000
"""Characters that a model is shown of one result, where nobody says otherwise."""
_FIELDS = (
    "message",
    "value",
    "success",
    "exclude_value_from_context",
    "failure",
    "content",
    "final",
    "repairs",
    "pending",
    "untrusted",
    "feedback",
)


class Feedback(NamedTuple):
    """What a provider of feedback tells the model beside a result."""

    provider: str
    text: str


class Rest(NamedTuple):
    """The fields that few results have, kept apart so that a plain one is made quickly."""

    exclude_value_from_context: bool = False
    failure: Failure | None = None
    content: tuple[object, ...] = ()
    final: bool = False
    repairs: tuple[object, ...] = ()
    pending: object = None
    longest: int = LONGEST_OUTPUT
    untrusted: bool = False
    feedback: tuple[Feedback, ...] = ()


FEEDBACK = "<feedback provider="
"""How what a provider of feedback says begins, below everything else that a model is shown of a result."""
_PLAIN = Rest()
_MARK = re.compile(r"<(?=[\s/]*feedback)", re.IGNORECASE)
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 500
_SHORT.maxlevel = 4
_SHORT.maxdict = _SHORT.maxlist = _SHORT.maxtuple = 10


class ToolResult(Generic[ResultT]):
    """One call's outcome; read-only by contract (slots by hand: it is made on every call).

    `call` is the call that it answers, None where no executor has given it back; results are equal whatever
    they answer.
    """

    __slots__ = ("_rest", "_text", "call", "message", "success", "value")

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
        repairs: tuple[object, ...] = (),
        pending: object = None,
        untrusted: bool = False,
        feedback: tuple[Feedback, ...] = (),
    ) -> None:
        self.message = message
        self.value = value
        self.success = success
        self.call: ToolCall | None = None
        self._text: str | None = None
        self._rest = Rest(
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
        """True if the model is shown the message alone; no security boundary."""
        return self._rest.exclude_value_from_context

    @property
    def failure(self) -> Failure | None:
        """Why it failed; None for a success, and for an error result that no executor has seen."""
        return self._rest.failure

    @property
    def content(self) -> tuple[object, ...]:
        """Parts that are not text."""
        return self._rest.content

    @property
    def final(self) -> bool:
        """True if the tool says that this is the answer and the run can end."""
        return self._rest.final

    @property
    def repairs(self) -> tuple[object, ...]:
        """What was read other than the model wrote it."""
        return self._rest.repairs

    @property
    def pending(self) -> object:
        """The approval that the call waits for."""
        return self._rest.pending

    @property
    def untrusted(self) -> bool:
        """True if the value holds text from outside, such as a web page: data, whatever it asks for."""
        return self._rest.untrusted

    @property
    def feedback(self) -> tuple[Feedback, ...]:
        """What the model is told beside the result, by the providers of the prompt."""
        return self._rest.feedback

    @staticmethod
    def ok(value: ResultT, message: str = "OK") -> ToolResult[ResultT]:
        """A success with its value."""
        return ToolResult(message=message, value=value)

    @staticmethod
    def error(message: str, value: ResultT | None = None) -> ToolResult[ResultT]:
        """A failure that the model is told about, with a payload where there is one."""
        return ToolResult(message=message, value=value, success=False)

    def render(self) -> str:
        """The text for the model: the message, then the value unless it is excluded or absent.

        What is longer than the executor's limit is cut at a mark; `value` stays whole. Feedback comes last,
        each in a frame of its own, and is never cut.
        """
        text = self._text
        if text is None or self.message or self._rest is not _PLAIN:
            return self._show()
        return text if len(text) <= LONGEST_OUTPUT else _cut(text, LONGEST_OUTPUT)

    def _show(self) -> str:
        rest, text = self._rest, self._write()
        if len(text) > rest.longest:
            text = _cut(text, rest.longest)
        if not rest.feedback:
            return text
        frames = "\n".join(map(_frame, rest.feedback))
        return f"{text}\n\n{frames}" if text else frames

    def _write(self) -> str:
        if self._rest.exclude_value_from_context or (self.value is None and self._text is None):
            return self.message
        body = _render_value(self.value, bare=not self.message) if self._text is None else self._text
        return f"{self.message}\n\n{body}" if self.message else body

    def with_rest(self, **changes: object) -> ToolResult[ResultT]:
        """The same result with other rare fields."""
        copy = cast("ToolResult[ResultT]", plain_result(self.value))
        copy.message = self.message
        copy.success = self.success
        copy.call = self.call
        copy._text = self._text  # noqa: SLF001 -- its own class
        copy._rest = self._rest._replace(**changes) if changes else self._rest  # noqa: SLF001 -- its own class
        return copy

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ToolResult):
            return NotImplemented
        twin = cast("ToolResult[object]", other)
        return all(getattr(self, name) == getattr(twin, name) for name in _FIELDS)

    __hash__ = None  # pyright: ignore[reportAssignmentType] -- values are mostly dictionaries

    def __repr__(self) -> str:
        # bounded: debuggers and asyncio itself ask for it behind everybody's back
        value, message = _SHORT.repr(self.value), _SHORT.repr(self.message)
        return f"ToolResult(message={message}, value={value}, success={self.success!r})"


def plain_result(value: object, text: str | None = None) -> ToolResult[object]:
    """A success with nothing but its value, and the value's JSON text where it is known already."""
    made = _new(ToolResult)
    made.message = ""
    made.value = value
    made.success = True
    made.call = None
    made._text = text  # noqa: SLF001 -- its own class # pyright: ignore[reportPrivateUsage] -- the same
    made._rest = _PLAIN  # noqa: SLF001 -- its own class # pyright: ignore[reportPrivateUsage] -- the same
    return made


_new = cast("Callable[[object], ToolResult[object]]", object.__new__)


def _render_value(value: object, *, bare: bool) -> str:
    own = getattr(type(value), "render", None)
    if callable(own):
        with suppress(Exception):  # a value that cannot show itself is shown as JSON
            return str(own(value))
    if bare and isinstance(value, str):
        return value
    if not schema.is_writable(value):
        return "[not shown: the value is too large to write]"
    return schema.to_json_text(value)


def _cut(text: str, longest: int) -> str:
    """The beginning of a text and a mark that says how much is missing."""
    return f"{text[:longest]}\n[cut: {longest:,} of {len(text):,} characters shown]"


def _frame(feedback: Feedback) -> str:
    """A provider's words between marks that they cannot end or begin themselves."""
    name = " ".join(feedback.provider.split())
    for mark, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        name = name.replace(mark, written)
    return f'{FEEDBACK}"{name}">\n{_MARK.sub("&lt;", feedback.text)}\n</feedback>'
