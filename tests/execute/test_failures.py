"""Which exceptions of a handler become failed results, and which are raised again."""

import asyncio
import threading

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from tests.execute.defined_tools import add
from tests.execute.state_kit import (
    Note,
    assert_untouched,
    raising,
    scribble,
    world,
)
from toolhaft import (
    ToolContext,
    ToolExecutor,
    ToolResult,
    tool,
)
from toolhaft.errors import (
    DeadlineExceededError,
    PromptEvaluationError,
    PromptValidationError,
    ToolAuthorizationError,
    ToolExecutionError,
    ToolTimeoutError,
    ToolValidationError,
    VisibilityExpansionRequired,
)
from toolhaft.resources import Filesystem, MemoryFilesystem

PATIENCE_S = 30.0


HOWS = each_case("how", [{}, {"isolation": "inline"}, {"is_async": True}], ids=["thread", "inline", "loop"])


# --- by exception ---


@each_way
@HOWS
def test_a_tool_validation_error_is_wrapped(run, how):
    executor = world(raising(ToolValidationError("Missing city"), **how))
    result = run(executor, call("act"))
    assert (result.success, result.value, kind_of(result)) == (False, None, "invalid_arguments")
    assert result.message.startswith("Missing city")
    assert_untouched(executor)


@each_way
@HOWS
@each_case("error", [VisibilityExpansionRequired, PromptEvaluationError])
def test_prompt_exceptions_are_raised_again(run, how, error):
    raised = error("show me more")
    executor = world(raising(raised, **how))
    events = hear(executor)
    with pytest.raises(error) as caught:
        run(executor, call("act"))
    assert caught.value is raised
    assert_untouched(executor)
    assert [(event.success, event.message) for event in events] == [(False, error.__name__)]


@each_way
@HOWS
def test_a_deadline_exceeded_error_is_converted(run, how):
    cause = DeadlineExceededError("no time left")
    executor = world(raising(cause, **how))
    with pytest.raises(PromptEvaluationError, match="no time left") as caught:
        run(executor, call("act"))
    assert caught.value.__cause__ is cause
    assert_untouched(executor)


@each_way
@HOWS
def test_a_type_error_inside_the_handler_is_not_blamed_on_the_arguments(run, how):
    executor = world(raising(TypeError("unsupported operand"), **how))
    result = run(executor, call("act"))
    assert kind_of(result) == "failed"
    assert "act failed: TypeError: unsupported operand" in result.message
    assert "did not take the arguments" not in result.message
    assert_untouched(executor)


@each_case("isolation", ["inline", "thread", None])
@each_case("use", ["call of a missing thing", "resources()", "nested call", "wrong call of a resource"])
def test_a_wrong_use_inside_the_handler_is_not_blamed_on_the_arguments(isolation, use):
    class Store:
        def put(self, key: str) -> None: ...

    @tool(isolation=isolation)
    def act(context: ToolContext) -> None:
        """Act."""
        match use:
            case "call of a missing thing":
                context.call()
            case "resources()":
                context.resources(Store)
            case "nested call":
                executor.execute("act")
            case _:
                context.resources[Store].put()

    executor = ToolExecutor([act], resources={Store: Store()})
    result = executor.execute(call("act"))
    assert result.message.startswith("act failed: TypeError: ")
    assert "did not take the arguments" not in result.message


@both_ways
def test_a_handler_that_does_not_take_its_arguments_is_a_failed_result(run):
    made = tool(lambda a: a, name="act", description="Act.").replace(handler=lambda: 1)
    result = run(ToolExecutor([made]), call("act", a=1))
    assert kind_of(result) == "failed"
    assert "; the handler did not take the arguments" in result.message
    for isolation in ("inline", "thread"):
        again = run(ToolExecutor([made.replace(isolation=isolation)]), call("act", a=1))
        assert again.message == result.message
    assert "TypeError" in result.message


class Odd(Exception):  # noqa: N818 -- a stranger's exception
    pass


@each_way
@HOWS
@each_case(
    "error",
    [
        ValueError("no"),
        KeyError("no"),
        Odd("no"),
        ZeroDivisionError(),
        OSError(5, "no"),
        PromptValidationError("no"),
    ],
    ids=repr,
)
def test_any_other_exception_is_wrapped(run, how, error):
    executor = world(raising(error, **how))
    result = run(executor, call("act"))
    assert (result.success, kind_of(result)) == (False, "failed")
    assert result.failure.error is error
    assert_untouched(executor)


@each_way
@HOWS
def test_an_interrupt_is_raised_to_the_caller_and_rolls_back(run, how):
    executor = world(raising(KeyboardInterrupt("bye"), **how))
    with pytest.raises(KeyboardInterrupt):
        run(executor, call("act"))
    assert_untouched(executor)


@each_way
@HOWS
def test_an_exit_is_a_failed_result_and_rolls_back(run, how):
    executor = world(raising(SystemExit(3), **how))
    result = run(executor, call("act"))
    assert (kind_of(result), type(result.failure.error)) == ("failed", SystemExit)
    assert result.message.startswith("act failed: the handler called sys.exit(3).")
    assert_untouched(executor)


@HOWS
def test_an_exit_of_a_call_that_was_approved_is_a_failed_result(how):
    executor = world(raising(SystemExit(3), **how), policy=lambda _: "ask")
    pending = executor.execute(call("act")).pending
    assert kind_of(executor.resume(pending, True)) == "failed"
    assert kind_of(asyncio.run(executor.aresume(pending, True))) == "failed"
    assert_untouched(executor)


@each_way
def test_an_error_result_is_a_failure_with_its_payload(run):

    @tool
    def act(context: ToolContext):
        """Give back an error."""
        context.session[Note].append(Note("lost"))
        return ToolResult.error("no luck", value={"code": 7})

    executor = world(act)
    result = run(executor, call("act"))
    assert (result.success, result.message, result.value) == (False, "no luck", {"code": 7})
    assert kind_of(result) == "failed"
    assert result.render() == 'no luck\n\n{"code":7}'
    assert_untouched(executor)


@each_way
@each_case("message", [None, 5, b"bytes", ["a"]], ids=repr)
@each_case("success", [True, False])
def test_a_message_that_is_not_a_text_becomes_one(run, message, success):

    @tool
    def act():
        """Say something odd."""
        return ToolResult(message=message, value=1, success=success)

    executor = ToolExecutor([act])
    events = hear(executor)
    result = run(executor, call("act"))
    assert isinstance(result.message, str)
    assert isinstance(result.render(), str)
    assert len(events) == 1


@both_ways
def test_a_returned_failed_result_of_a_nested_call_is_a_failure_of_this_call(run):

    @tool(effect="read", max_attempts=9)
    def inner() -> None:
        """Fail."""
        raise ValueError("inner trouble")

    @tool(max_attempts=9)
    def outer(name: str):
        """Give back what another call gave back."""
        return executor.execute(call(name))

    executor = ToolExecutor(
        [inner, outer, add], policy=lambda request: "ask" if request.tool is add else "allow"
    )
    for name, words in (("inner", "inner trouble"), ("nobody", "no tool is called"), ("add", "")):
        result = run(executor, call("outer", name=name))
        assert (kind_of(result), result.failure.outcome) == ("failed", "unknown")
        assert words in result.message
        assert result.pending is None
        assert result.message.count("This was attempt") <= 2


# --- exceptions that are raised again, among siblings ---


@each_case("is_async", [False, True], ids=["sync", "async"])
@each_case("error", [VisibilityExpansionRequired, PromptEvaluationError, DeadlineExceededError])
def test_an_exception_is_raised_with_all_results_after_the_other_calls_end(is_async, error):
    """The siblings finish first and the exception carries `.results`."""
    raised, finished = threading.Event(), []

    @tool
    def stop() -> None:
        """End the run."""
        raised.set()
        raise error("stop")

    @tool
    def slow(n: int) -> int:
        """Finish after the other has raised."""
        assert raised.wait(PATIENCE_S)
        finished.append(n)
        return n

    @tool
    def bad() -> None:
        """Fail."""
        raise ValueError("bad")

    executor = ToolExecutor([stop, slow, bad])
    events = hear(executor)
    calls = [call("slow", n=1), call("stop"), call("bad"), call("slow", n=2)]
    expected = PromptEvaluationError if error is DeadlineExceededError else error
    with pytest.raises(expected) as caught:
        asyncio.run(executor.aexecute_all(calls)) if is_async else executor.execute_all(calls)
    results = caught.value.results
    assert sorted(finished) == [1, 2]
    assert [result.value for result in results] == [1, None, None, 2]
    assert [result.success for result in results] == [True, False, False, True]
    assert [kind_of(result) for result in results] == [None, "failed", "failed", None]
    assert results[1].message == (
        "stop: the sections are shown in full from the next message on."
        if error is VisibilityExpansionRequired
        else "stop was not finished: it ended the run."
    )
    assert len(events) == 4


def test_of_two_exceptions_the_first_in_order_is_raised():
    @tool
    def stop(why: str) -> None:
        """End the run."""
        raise PromptEvaluationError(why)

    executor = ToolExecutor([stop])
    with pytest.raises(PromptEvaluationError, match="one") as caught:
        executor.execute_all([call("stop", why="one"), call("stop", why="two")])
    assert [result.success for result in caught.value.results] == [False, False]


# --- the four error classes ---


@each_way
@each_case(
    ("error", "kind"),
    [
        (ToolExecutionError("Database connection failed. Check DB_URL environment variable."), "failed"),
        (ToolTimeoutError("too slow"), "timeout"),
        (ToolValidationError("Missing city"), "invalid_arguments"),
        (ToolAuthorizationError("not authorized"), "not_allowed"),
    ],
    ids=["ToolExecutionError", "ToolTimeoutError", "ToolValidationError", "ToolAuthorizationError"],
)
def test_each_tool_error_becomes_its_failure_kind(run, error, kind):
    executor = world(raising(error))
    result = run(executor, call("act"))
    assert kind_of(result) == kind
    assert result.message.startswith(str(error).rstrip("."))
    assert result.failure.error is error
    assert_untouched(executor)


def test_the_message_of_a_tool_error_has_no_class_name():
    result = ToolExecutor(
        [raising(ToolExecutionError("Check DB_URL."))], resources={Filesystem: MemoryFilesystem()}
    )
    assert result.execute(call("act")).message.startswith("Check DB_URL. ")


@each_way
@each_case(
    ("error", "kind"),
    [
        (ToolExecutionError("Database connection failed."), "failed"),
        (ToolTimeoutError("too slow"), "timeout"),
        (ToolValidationError("Missing city"), "invalid_arguments"),
        (ToolAuthorizationError("not authorized"), "not_allowed"),
    ],
    ids=["ToolExecutionError", "ToolTimeoutError", "ToolValidationError", "ToolAuthorizationError"],
)
def test_tool_errors_may_be_returned_too(run, error, kind):
    """An error may be returned as well as raised."""

    @tool
    def act(context: ToolContext):
        """Give back an error."""
        scribble(context)
        return error

    executor = world(act)
    result = run(executor, call("act"))
    assert (result.success, kind_of(result)) == (False, kind)
    assert result.message.startswith(str(error).rstrip("."))
    assert_untouched(executor)


class QuotingError(ToolExecutionError):
    """Says of itself that it quotes somebody."""

    untrusted = True


class BrokenError(ToolExecutionError):
    """Cannot even say that."""

    @property
    def untrusted(self):
        raise RuntimeError("no")


@each_case(
    ("error", "untrusted"),
    [(ToolExecutionError, False), (QuotingError, True), (BrokenError, True), (ValueError, False)],
)
def test_a_failure_with_untrusted_text_is_marked(error, untrusted):
    @tool(effect="read")
    def fail() -> str:
        """Fail."""
        raise error("they said: do it")

    result = ToolExecutor([fail]).execute(call("fail"))
    assert not result.success
    assert result.untrusted is untrusted
