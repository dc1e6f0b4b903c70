"""`failure.error`, `unwrap` and `repr`: what a program and its developer learn about a failed call."""

import asyncio
import pickle
import traceback
from typing import Annotated

import pytest

from tests.cases import each_case, in_case
from tests.execute.calls import PATIENCE_S, both_ways, call
from tests.execute.secret_kit import TOKEN
from toolhaft import (
    Budget,
    Deadline,
    Principal,
    RetryPolicy,
    Secret,
    ToolCall,
    ToolExecutor,
    ToolResult,
    tool,
)
from toolhaft.core.result import ERRORS_BY_KIND, Failure
from toolhaft.errors import (
    ApprovalRequiredError,
    AttemptsExceededError,
    BudgetExceededError,
    CircuitOpenError,
    DeadlineExceededError,
    FileMissingError,
    RateExceededError,
    ToolAuthorizationError,
    ToolError,
    ToolExecutionError,
    ToolhaftError,
    ToolTimeoutError,
    ToolValidationError,
    UnknownToolError,
)
from toolhaft.execute.attempts import CircuitBreaker


@tool(effect="read", isolation="inline")
def look(n: int) -> int:
    """Look."""
    if n < 0:
        raise ValueError("below zero")
    return n


LOOK = call("look", n=1)
FAIL = call("look", n=-1)


def refusals():
    """An executor for each kind of failure that it decides itself, the calls before, and the call that fails."""
    return {
        "unknown_tool": (ToolExecutor([look]), [], call("lok")),
        "invalid_arguments": (ToolExecutor([look]), [], call("look", n="x")),
        "not_allowed": (ToolExecutor([look.replace(requires=("x",))], principal=Principal(id="a")), [], LOOK),
        "needs_approval": (ToolExecutor([look], policy=lambda _: "ask"), [], LOOK),
        "deadline": (ToolExecutor([look], deadline=Deadline.after(-1)), [], LOOK),
        "budget": (ToolExecutor([look], budget=Budget(max_calls=1)), [LOOK], LOOK),
        "attempts": (ToolExecutor([look.replace(max_attempts=1)]), [FAIL], LOOK),
        "rate": (ToolExecutor([look.replace(rate="1/min")]), [LOOK], LOOK),
        "circuit_open": (ToolExecutor([look], breaker=CircuitBreaker(failures=1)), [FAIL], LOOK),
        "invalid_output": (ToolExecutor([odd]), [], call("odd")),
        "timeout": (ToolExecutor([slow_tool]), [], call("slow")),
        "failed": (ToolExecutor([sorry]), [], call("sorry")),
    }


@tool(effect="read", isolation="inline")
def odd() -> int:
    """Return what does not fit."""
    return "x"


@tool(name="slow", timeout_s=0.01)
async def slow_tool() -> int:
    """Take too long."""
    await asyncio.sleep(PATIENCE_S)
    return 1


@tool(isolation="inline")
def sorry():
    """Return an error result."""
    return ToolResult.error("sorry")


CLASSES = {
    "unknown_tool": UnknownToolError,
    "invalid_arguments": ToolValidationError,
    "not_allowed": ToolAuthorizationError,
    "needs_approval": ApprovalRequiredError,
    "deadline": DeadlineExceededError,
    "budget": BudgetExceededError,
    "attempts": AttemptsExceededError,
    "rate": RateExceededError,
    "circuit_open": CircuitOpenError,
    "invalid_output": ToolValidationError,
    "timeout": ToolTimeoutError,
    "failed": ToolExecutionError,
    "cancelled": ToolExecutionError,
}


def test_every_kind_of_failure_has_the_class_of_its_error():
    assert ERRORS_BY_KIND == CLASSES


@both_ways
def test_failures_that_the_executor_decides_have_their_error_too(run):
    for kind, (executor, before, one) in refusals().items():
        with in_case(kind):
            for earlier in before:
                run(executor, earlier)
            result = run(executor, one)
            failure = result.failure
            assert (failure.kind, type(failure.error)) == (kind, CLASSES[kind])
            assert str(failure.error)
            assert result.message.startswith(str(failure.error))
            assert hash(failure.error) == hash(failure.error)  # made anew each time
            with pytest.raises(ToolhaftError) as caught:
                result.unwrap()
            assert type(caught.value) is CLASSES[kind]
            assert str(caught.value) == str(failure.error)
            again = pickle.loads(pickle.dumps(result))  # noqa: S301 -- written here
            assert again == result
            assert again.failure.error == failure.error


def test_an_approval_that_is_required_can_be_given_from_the_error():
    executor = ToolExecutor([look], policy=lambda _: "ask")
    with pytest.raises(ApprovalRequiredError) as caught:
        executor.execute(LOOK).unwrap()
    assert executor.resume(caught.value.pending, True).unwrap() == 1


def test_unwrap_returns_the_value_of_a_success():
    assert ToolExecutor([look]).execute(LOOK).unwrap() == 1
    assert ToolResult.ok(None).unwrap() is None


def test_unwrap_of_an_error_result_that_no_executor_returned_raises_its_message():
    with pytest.raises(ToolExecutionError, match=r"^sorry$"):
        ToolResult.error("sorry").unwrap()


@each_case("isolation", ["inline", "thread"])
def test_unwrap_raises_a_typed_error_whose_cause_is_the_exception_of_the_handler(isolation):
    result = ToolExecutor([look.replace(isolation=isolation)]).execute(FAIL)
    with pytest.raises(ToolExecutionError, match=r"^look failed: ValueError: below zero$") as caught:
        result.unwrap()
    assert caught.value.__cause__ is result.failure.error
    assert "in look" in "".join(traceback.format_exception(caught.value))


class SoldOutError(ToolExecutionError):
    """Of the user's own."""


@each_case(
    ("error", "raised", "is_cause"),
    [
        (SoldOutError("none left"), SoldOutError, False),
        (ToolTimeoutError("too slow"), ToolTimeoutError, False),
        (ToolError("no"), ToolExecutionError, True),
        (FileMissingError("a.txt: missing"), ToolExecutionError, True),
        (asyncio.CancelledError(), ToolExecutionError, True),
        (SystemExit(3), ToolExecutionError, True),
    ],
    ids=repr,
)
def test_unwrap_raises_an_error_of_the_right_class_again(error, raised, is_cause):
    @tool
    def act() -> str:
        """Fail."""
        raise error

    result = ToolExecutor([act]).execute(call("act"))
    with pytest.raises(raised) as caught:
        result.unwrap()
    assert (caught.value.__cause__ if is_cause else caught.value) is error


def test_a_tool_with_secrets_has_an_error_of_the_nearest_class_with_masked_text():
    class OwnError(LookupError):
        pass

    failing = {}

    @tool(isolation="inline")
    def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        raise failing["now"]

    for error, kind, text in (
        (ValueError(f"bad {TOKEN}"), ValueError, "bad ***"),
        (OwnError(TOKEN), LookupError, "***"),
        (ToolAuthorizationError(TOKEN), ToolAuthorizationError, "***"),
        (SoldOutError(TOKEN), ToolExecutionError, "***"),
        (Exception(TOKEN), ToolExecutionError, "login failed: Exception: ***"),
        (UnicodeDecodeError("utf-8", TOKEN.encode(), 0, 1, TOKEN), UnicodeError, None),
    ):
        failing["now"] = error
        with in_case(error):
            result = ToolExecutor([login]).execute(call("login", token=TOKEN))
            assert type(result.failure.error) is kind
            assert text is None or str(result.failure.error) == text
            assert TOKEN not in repr(result) + repr(vars(result.failure.error)) + str(result.failure.error)
            assert result.failure.error.__cause__ is result.failure.error.__traceback__ is None


def test_a_tool_with_secrets_has_the_error_of_arguments_that_are_not_valid():
    @tool
    def login(token: Annotated[str, Secret], n: int) -> str:
        """Log in."""

    result = ToolExecutor([login]).execute(call("login", token=TOKEN, n=TOKEN))
    assert type(result.failure.error) is ToolValidationError
    assert TOKEN not in repr(result.failure.error)


def test_an_error_result_is_not_retried_although_it_has_an_error():
    ran = []

    @tool(effect="read")
    def act():
        """Return an error result."""
        ran.append(1)
        return ToolResult.error("no luck")

    ToolExecutor([act], retry=RetryPolicy(max_attempts=3, backoff_s=0)).execute(call("act"))
    assert ran == [1]


def test_repr_shows_the_kind_the_tool_and_the_error():
    result = ToolExecutor([look]).execute(FAIL)
    assert repr(result) == (
        "ToolResult(message='look failed: ValueError: below zero. Nothing happened: it may be called again. "
        "This was attempt 1 of 3.', value=None, success=False, kind='failed', tool='look', "
        "error=ValueError('below zero'))"
    )
    assert "kind='unknown_tool', tool='lok', error=UnknownToolError(" in repr(
        ToolExecutor([look]).execute(ToolCall(name="lok"))
    )
    assert repr(ToolResult.ok(1)) == "ToolResult(message='OK', value=1, success=True)"
    assert repr(ToolResult.error("no")) == "ToolResult(message='no', value=None, success=False)"


def test_repr_works_for_an_error_whose_own_repr_fails():
    class Shy(Exception):  # noqa: N818 -- a name for the text
        def __repr__(self):
            raise SystemExit(3)

    failure = Failure(kind="failed", cause=Shy())
    assert "error=<Shy>" in repr(ToolResult(message="no", success=False, failure=failure))


def test_repr_is_bounded():
    failure = Failure(kind="failed", cause=ValueError("x" * 100_000))
    assert len(repr(ToolResult(message="y" * 100_000, success=False, failure=failure))) < 2_000
