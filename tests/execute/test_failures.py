"""Failure semantics: seed 003's table of exceptions, seed 004's four errors, DESIGN's table of failure kinds.

One test a row. Threats: an error for a model is at most 2 KB, names the field or path, and holds no traceback,
no host path and no secret.
"""

import asyncio
import os
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from toolhaft import (
    Budget,
    Deadline,
    Session,
    ToolCall,
    ToolContext,
    ToolExecutor,
    ToolResult,
    tool,
)
from toolhaft.core.failure import FailureKind
from toolhaft.errors import (
    BudgetExceededError,
    DeadlineExceededError,
    PromptEvaluationError,
    PromptValidationError,
    ToolAuthorizationError,
    ToolExecutionError,
    ToolTimeoutError,
    ToolValidationError,
    VisibilityExpansionRequired,
)
from toolhaft.execute.ledger import CircuitBreaker
from toolhaft.resources import Filesystem, MemoryFilesystem

PATIENCE_S = 5.0
LONGEST_BYTES = 2048


@dataclass(frozen=True)
class Note:
    text: str


def raising(error, *, is_async=False, isolation=None, effect="irreversible"):
    """A tool that writes to session and files, and raises."""

    def act(context: ToolContext) -> str:
        context.session[Note].append(Note("lost"))
        context.filesystem.write("lost.txt", "lost")
        raise error

    async def aact(context: ToolContext) -> str:
        act(context)

    options = {} if is_async else {"isolation": isolation}
    return tool(aact if is_async else act, name="act", description="Act.", effect=effect, **options)


def world(*tools, **options):
    """An executor with state that a failed call must leave alone."""
    return ToolExecutor(tools, session=Session(), resources={Filesystem: MemoryFilesystem()}, **options)


def assert_untouched(executor):
    """Seed 003: all failure paths restore session and resource state before returning."""
    assert executor.session[Note].all() == ()
    assert executor.resources.get(Filesystem).list() == []


HOWS = pytest.mark.parametrize(
    "how", [{}, {"isolation": "inline"}, {"is_async": True}], ids=["thread", "inline", "loop"]
)


# --- seed 003's table of exceptions ---


@each_way
@HOWS
def test_a_tool_validation_error_is_wrapped(run, how):
    """Seed 003: `ToolValidationError` | Wrap as `ToolResult(success=False)`."""
    executor = world(raising(ToolValidationError("Missing city"), **how))
    result = run(executor, call("act"))
    assert (result.success, result.value, kind_of(result)) == (False, None, "invalid_arguments")
    assert result.message.startswith("Missing city")
    assert_untouched(executor)


@each_way
@HOWS
@pytest.mark.parametrize("error", [VisibilityExpansionRequired, PromptEvaluationError])
def test_signals_of_the_prompt_are_re_raised(run, how, error):
    """Seed 003: `VisibilityExpansionRequired`, `PromptEvaluationError` | Re-raise."""
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
    """Seed 003: `DeadlineExceededError` | Convert to `PromptEvaluationError`."""
    cause = DeadlineExceededError("no time left")
    executor = world(raising(cause, **how))
    with pytest.raises(PromptEvaluationError, match="no time left") as caught:
        run(executor, call("act"))
    assert caught.value.__cause__ is cause
    assert_untouched(executor)


@each_way
@HOWS
def test_a_type_error_is_wrapped_with_a_descriptive_message(run, how):
    """Seed 003: `TypeError` | Wrap with descriptive message."""
    executor = world(raising(TypeError("unsupported operand"), **how))
    result = run(executor, call("act"))
    assert kind_of(result) == "failed"
    assert "act failed: TypeError: unsupported operand" in result.message
    assert "the handler did not take the arguments, or worked on a wrong type" in result.message
    assert_untouched(executor)


@both_ways
def test_a_handler_that_does_not_take_its_arguments_is_a_failed_result(run):
    """Seed 003, *Handler Validation*: TypeErrors converted to failed results."""
    made = tool(lambda a: a, name="act", description="Act.").replace(handler=lambda: 1)
    result = run(ToolExecutor([made]), call("act", a=1))
    assert kind_of(result) == "failed"
    assert "TypeError" in result.message


class Odd(Exception):  # noqa: N818 -- a stranger's exception
    pass


@each_way
@HOWS
@pytest.mark.parametrize(
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
    """Seed 003: Other | Wrap as `ToolResult(success=False)`."""
    executor = world(raising(error, **how))
    result = run(executor, call("act"))
    assert (result.success, kind_of(result)) == (False, "failed")
    assert result.failure.error is error
    assert_untouched(executor)


@both_ways
@HOWS
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_exits_go_through_and_roll_back(run, how, error):
    """Issue 3, *Bad input and faults*: SystemExit and KeyboardInterrupt aside."""
    executor = world(raising(error("bye"), **how))
    with pytest.raises(error):
        run(executor, call("act"))
    assert_untouched(executor)


@each_way
def test_an_error_result_is_a_failure_with_its_payload(run):
    """Seed 003, *ToolResult Contract*: `value=None` unless error payload."""

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


# --- what seed 003 re-raises, among siblings ---


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("error", [VisibilityExpansionRequired, PromptEvaluationError, DeadlineExceededError])
def test_siblings_finish_before_an_exception_goes_through_with_all_results(is_async, error):
    """DESIGN: the siblings finish first and the exception carries `.results`."""
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
    assert error.__name__ in results[1].message or expected.__name__ in results[1].message
    assert len(events) == 4


def test_of_two_exceptions_the_first_in_order_goes_through():
    @tool
    def stop(why: str) -> None:
        """End the run."""
        raise PromptEvaluationError(why)

    executor = ToolExecutor([stop])
    with pytest.raises(PromptEvaluationError, match="one") as caught:
        executor.execute_all([call("stop", why="one"), call("stop", why="two")])
    assert [result.success for result in caught.value.results] == [False, False]


# --- seed 004's four errors ---


@each_way
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ToolExecutionError("Database connection failed. Check DB_URL environment variable."), "failed"),
        (ToolTimeoutError("too slow"), "timeout"),
        (ToolValidationError("Missing city"), "invalid_arguments"),
        (ToolAuthorizationError("not authorized"), "not_allowed"),
    ],
    ids=["ToolExecutionError", "ToolTimeoutError", "ToolValidationError", "ToolAuthorizationError"],
)
def test_the_four_errors_of_a_handler_become_their_kinds(run, error, kind):
    """Seed 004, *Error Types*; DESIGN, *A result's failure, by cause*."""
    executor = world(raising(error))
    result = run(executor, call("act"))
    assert kind_of(result) == kind
    assert result.message.startswith(str(error).rstrip("."))
    assert result.failure.error is error
    assert_untouched(executor)


def test_the_words_of_a_tool_error_reach_the_model_without_a_class_name():
    """Seed 004, *Best Practices*: specific, actionable errors are the author's own words."""
    result = ToolExecutor(
        [raising(ToolExecutionError("Check DB_URL."))], resources={Filesystem: MemoryFilesystem()}
    )
    assert result.execute(call("act")).message.startswith("Check DB_URL. ")


# --- DESIGN's table of failure kinds, one test a row ---


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
def search(query: str) -> str:
    """Search."""
    return query


@each_way
def test_unknown_tool_names_the_nearest(run):
    """DESIGN: `unknown_tool` | no such name; seed 003.1."""
    result = run(ToolExecutor([add, search]), call("serch", query="x"))
    assert kind_of(result) == "unknown_tool"
    assert result.message == "no tool is called 'serch'. Did you mean 'search'?"
    assert result.failure.advice == "Did you mean 'search'?"


@both_ways
def test_a_name_like_no_other_is_told_which_tools_there_are(run):
    assert run(ToolExecutor([search, add]), call("weather")).message == (
        "no tool is called 'weather'. The tools are: add, search."
    )
    assert (
        run(ToolExecutor([]), call("weather")).message == "no tool is called 'weather'. There are no tools."
    )


@pytest.mark.parametrize(
    "name", ["x" * 100_000, "é" * 10_000, "\x00\x1b[2J", "", None, 5, ["add"], {"a": 1}], ids=str
)
def test_a_name_of_any_kind_is_an_unknown_tool(name):
    """Issue 3: unknown tool is a failed result too."""
    name = name[:100_000] if isinstance(name, str) else name
    result = ToolExecutor([add]).execute(ToolCall(name=name))
    assert kind_of(result) == "unknown_tool"
    assert len(result.message.encode()) <= LONGEST_BYTES
    assert "\x1b" not in result.message


def test_a_thousand_tools_are_not_all_told():
    tools = [add.replace(name=f"tool{n:04}") for n in range(1000)]
    assert len(ToolExecutor(tools).execute(call("weather")).message) < 500


@each_way
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ('{"a": 1} and more', "not valid JSON"),
        ("[1]", "expected an object"),
        ("null", "expected an object"),
        ('{"a": "x"}', "a: got"),
        ('{"a": true}', "a: got true"),
        ('{"b": 1}', "a: missing"),
        ('{"a": 1, "B": 2}', "B: unknown argument; did you mean 'b'?"),
        ('{"a": 1, "a": 2}', "a"),
        ('{"a": NaN}', "not"),
        (b'{"a": 1}', ""),
        (5, ""),
    ],
    ids=repr,
)
def test_invalid_arguments_are_told_with_every_problem(run, arguments, words):
    """DESIGN: `invalid_arguments` | not JSON, or not what the schema wants; seed 003.2."""
    result = run(ToolExecutor([add]), ToolCall(name="add", arguments=arguments))
    if isinstance(arguments, bytes) and result.success:
        return
    assert kind_of(result) == "invalid_arguments"
    assert words in result.message
    assert result.failure.outcome == "nothing_happened"
    assert result.failure.problems


def test_all_problems_are_told_at_once():
    """DESIGN, step `parse`: all problems reported at once."""
    result = ToolExecutor([add]).execute(ToolCall(name="add", arguments='{"a": "x", "b": [], "c": 1}'))
    assert len(result.failure.problems) == 3


@each_way
def test_not_allowed_is_a_visible_tool_that_may_not_be_used(run):
    """DESIGN: `not_allowed` | the tool exists and is visible, but not allowed to this caller."""
    assert kind_of(run(ToolExecutor([add], allow=[]), call("add", a=1))) == "not_allowed"


@each_way
def test_needs_approval_is_where_the_policy_asks(run):
    """DESIGN: `needs_approval` | the policy asks; `result.pending` can be stored and resumed."""
    result = run(ToolExecutor([add], policy=lambda request: "ask"), call("add", a=1))
    assert kind_of(result) == "needs_approval"
    assert result.pending.to_json()


@each_way
@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
def test_timeout_is_the_limit_of_the_tool(run, is_async):
    """DESIGN: `timeout` | the limit of that name; seed 004: on timeout return ToolTimeoutError."""
    over = threading.Event()

    @tool(timeout_s=0.05, name="slow")
    def slow(context: ToolContext) -> None:
        """Take too long."""
        context.session[Note].append(Note("lost"))
        over.wait(PATIENCE_S)

    @tool(timeout_s=0.05, name="slow")
    async def aslow(context: ToolContext) -> None:
        """Take too long."""
        context.session[Note].append(Note("lost"))
        await asyncio.sleep(PATIENCE_S)

    executor = world(aslow if is_async else slow)
    result = run(executor, call("slow"))
    over.set()
    assert kind_of(result) == "timeout"
    assert isinstance(result.failure.error, ToolTimeoutError)
    assert_untouched(executor)


@each_way
def test_deadline_is_the_overall_limit(run):
    """DESIGN: a deadline that the executor itself finds passed is a failed result."""
    result = run(ToolExecutor([add]), call("add", a=1), deadline=Deadline.after(0))
    assert kind_of(result) == "deadline"
    assert result.message == "the deadline has passed: add was not run."


@each_way
def test_budget_is_the_limit_of_what_may_be_used(run):
    """DESIGN: `budget` | the limit of that name."""
    executor = ToolExecutor([add], budget=Budget(max_calls=1))
    assert run(executor, call("add", a=1)).success
    result = run(executor, call("add", a=1))
    assert kind_of(result) == "budget"
    assert "the budget of calls is used up: 1 of 1" in result.message


@each_way
def test_a_budget_that_a_handler_finds_used_up_is_a_budget_failure(run):
    executor = world(raising(BudgetExceededError("the budget of tokens is used up")))
    assert kind_of(run(executor, call("act"))) == "budget"
    assert_untouched(executor)


@each_way
def test_attempts_is_the_limit_of_failures_in_a_row(run):
    """DESIGN: `attempts` | the limit of that name."""
    executor = world(raising(ValueError("no")).replace(max_attempts=1))
    assert kind_of(run(executor, call("act"))) == "failed"
    assert kind_of(run(executor, call("act"))) == "attempts"


@each_way
def test_rate_is_the_limit_of_calls_in_time(run):
    """DESIGN: `rate` | the limit of that name."""
    executor = ToolExecutor([add.replace(rate="1/h")])
    assert run(executor, call("add", a=1)).success
    assert kind_of(run(executor, call("add", a=1))) == "rate"


@each_way
def test_circuit_open_is_too_many_failures_lately(run):
    """DESIGN: `circuit_open` | too many failures lately."""
    executor = world(raising(ValueError("no")).replace(max_attempts=9), breaker=CircuitBreaker(failures=2))
    assert [kind_of(run(executor, call("act"))) for _ in range(3)] == ["failed", "failed", "circuit_open"]


@each_way
def test_circuit_open_is_the_same_call_over_and_over(run):
    """DESIGN: `circuit_open` | ... or the same call over and over."""
    executor = ToolExecutor([add], max_repeats=2)
    assert [kind_of(run(executor, call("add", a=1))) for _ in range(3)] == [None, None, "circuit_open"]


@each_way
def test_failed_is_anything_else_that_a_handler_raised(run):
    """DESIGN: `failed` | the handler raised anything else, or returned `ToolResult.error`."""
    assert kind_of(run(world(raising(Odd("x"))), call("act"))) == "failed"


@each_way
def test_invalid_output_is_a_value_that_does_not_fit(run):
    """DESIGN: `invalid_output` | the value does not fit the output schema; seed 004 step 5."""

    @tool
    def wrong(context: ToolContext) -> int:
        """Give back the wrong type."""
        context.session[Note].append(Note("lost"))
        return "five"

    executor = world(wrong)
    result = run(executor, call("wrong"))
    assert kind_of(result) == "invalid_output"
    assert 'value: got "five"; expected an integer' in result.message
    assert_untouched(executor)


@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
def test_cancelled_is_told_where_the_caller_went_away(is_async):
    """DESIGN: `cancelled` | the caller went away; issue 3: cancellation discards."""
    over = threading.Event()

    @tool(name="slow")
    def slow(context: ToolContext) -> None:
        """Take long."""
        context.session[Note].append(Note("lost"))
        began.set()
        over.wait(PATIENCE_S)

    @tool(name="slow")
    async def aslow(context: ToolContext) -> None:
        """Take long."""
        context.session[Note].append(Note("lost"))
        began.set()
        await asyncio.sleep(PATIENCE_S)

    began = threading.Event()
    executor = world(aslow if is_async else slow)
    events = hear(executor)

    async def main():
        task = asyncio.create_task(executor.aexecute(call("slow")))
        await asyncio.to_thread(began.wait, PATIENCE_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    over.set()
    assert [(event.kind, event.success, event.outcome) for event in events] == [
        ("cancelled", False, "unknown")
    ]
    assert_untouched(executor)


@pytest.mark.parametrize(
    ("effect", "outcome"),
    [("read", "nothing_happened"), ("idempotent", "safe_to_repeat"), ("reversible", "rolled_back")],
)
def test_the_event_of_a_call_that_was_cut_off_says_what_the_effect_says(effect, outcome):
    """DESIGN's table of effects decides what a call has left behind, however it ended."""

    @tool(effect=effect, name="slow")
    async def slow() -> None:
        """Take long."""
        await asyncio.sleep(PATIENCE_S)

    @tool(effect=effect)
    def stop() -> None:
        """End the run."""
        raise PromptEvaluationError("over")

    executor = ToolExecutor([slow, stop])
    events = hear(executor)

    async def main():
        task = asyncio.create_task(executor.aexecute(call("slow")))
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())
    with pytest.raises(PromptEvaluationError):
        executor.execute(call("stop"))
    assert [event.outcome for event in events] == [outcome, outcome]


@each_way
def test_a_handler_that_cancels_itself_is_a_failed_result(run):
    """A cancellation that no caller asked for is the handler's own failure."""

    @tool
    async def quit_() -> None:
        """Cancel itself."""
        raise asyncio.CancelledError

    result = run(ToolExecutor([quit_]), call("quit_"))
    assert kind_of(result) == "cancelled"
    assert "cancelled from within" in result.message


def test_every_kind_of_failure_is_in_this_file():
    """DESIGN: the table of failure kinds has a test a row."""
    source = Path(__file__).read_text()
    missing = [kind for kind in FailureKind.__args__ if f'"{kind}"' not in source]
    assert missing == []


# --- the words ---


@both_ways
@pytest.mark.parametrize("text", ["x", "é", "😀", "\\n", "\x00"], ids=repr)
@pytest.mark.parametrize(
    "make", [ValueError, ToolExecutionError, ToolResult.error], ids=lambda make: make.__name__
)
def test_a_message_is_at_most_two_kilobytes(run, text, make):
    """Threats: an error for a model is at most 2 KB."""

    @tool(max_attempts=1, name="loud")
    def loud():
        """Say far too much."""
        made = make(text * 100_000)
        if isinstance(made, ToolResult):
            return made
        raise made

    executor = ToolExecutor([loud])
    events = hear(executor)
    result = run(executor, call("loud"))
    if make is not ToolResult.error:  # an error result is the author's own text, cut where all output is
        assert len(result.message.encode()) <= LONGEST_BYTES
        assert "[cut]" in result.message
        assert "Outcome unknown: check before repeating. This was attempt 1 of 1" in result.message
    assert len(events[0].message.encode()) <= LONGEST_BYTES


@pytest.mark.parametrize(
    "arguments",
    [
        '{"a": "' + "x" * 100_000 + '"}',
        "{" + ", ".join(f'"k{n}": {n}' for n in range(5000)) + "}",
        '{"' + "k" * 100_000 + '": 1}',
        "[" * 50_000,
        '{"a": "' + "😀" * 50_000 + '"}',
    ],
    ids=["long value", "many keys", "long key", "deep", "wide letters"],
)
def test_a_message_about_arguments_is_at_most_two_kilobytes(arguments):
    result = ToolExecutor([add]).execute(ToolCall(name="add", arguments=arguments))
    assert kind_of(result) == "invalid_arguments"
    assert len(result.message.encode()) <= LONGEST_BYTES


def test_a_message_holds_no_traceback():
    def deep(n):
        if n:
            deep(n - 1)
        raise ValueError("deep down")

    @tool
    def act() -> None:
        """Fail deep down."""
        try:
            deep(5)
        except ValueError as error:
            raise RuntimeError("further up") from error

    message = ToolExecutor([act]).execute(call("act")).message
    assert "Traceback" not in message
    assert "deep down" not in message
    assert Path(__file__).name not in message
    assert message.startswith("act failed: RuntimeError: further up.")


@pytest.mark.parametrize(
    "folder",
    [
        tempfile.gettempdir(),
        str(Path("~").expanduser()),
        sys.prefix,
        str(Path.cwd()),
        "/srv/app/releases",
        "/etc",
    ],
)
def test_a_message_holds_no_path_of_the_host(folder):
    """Threats: an error holds no host path; the file's own name is enough to act on."""
    missing = str(Path(folder, "private", "data.txt"))

    @tool
    def act() -> str:
        """Open a file that is not there."""
        return Path(missing).read_text()

    message = ToolExecutor([act]).execute(call("act")).message
    assert folder not in message
    assert "FileNotFoundError" in message
    assert "data.txt" in message


@pytest.mark.parametrize("path", ["/tmp/data.txt", f"{Path.cwd()}/data.txt"])  # noqa: S108 -- the seed's own
def test_a_path_that_the_model_itself_gave_is_told_as_it_gave_it(path):
    """Seed 004: `ToolExecutionError "File not found: <path>"`, and its flow of a retry with /tmp/data.txt."""

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        raise ToolExecutionError(f"File not found: {path}")

    assert (
        ToolExecutor([read_file])
        .execute(call("read_file", path=path))
        .message.startswith(f"File not found: {path}")
    )


def test_addresses_and_fractions_are_not_taken_for_paths():
    text = "GET https://example.org/a/b?c=d gave 3/4 of application/json"

    @tool
    def act() -> None:
        """Fail with slashes."""
        raise ToolExecutionError(text)

    assert ToolExecutor([act]).execute(call("act")).message.startswith(text)


class Mute(Exception):  # noqa: N818 -- a stranger's exception
    def __str__(self):
        raise RuntimeError("not even this")


@both_ways
def test_an_exception_without_words_is_told_by_its_name(run):
    for error in (ValueError(), Mute()):
        result = run(world(raising(error)), call("act"))
        assert f"act failed: {type(error).__name__}" in result.message


def test_the_error_itself_is_kept_for_the_host():
    """`Failure.error`: what the handler raised; for the host alone."""
    error = ValueError("no")
    result = world(raising(error)).execute(call("act"))
    assert result.failure.error is error
    assert result.failure.error.__traceback__ is not None


def test_no_failure_takes_longer_than_a_second():
    """Threats: no refusal takes more than a second."""
    executor = ToolExecutor([add])
    began = time.monotonic()
    for arguments in ("[" * 1_000_000, '{"a":' * 200_000, '{"a": ' + "9" * 1_000_000 + "}", "x" * 5_000_000):
        assert kind_of(executor.execute(ToolCall(name="add", arguments=arguments))) in (
            "invalid_arguments",
            "attempts",
        )
        executor.new_run()
    assert time.monotonic() - began < 4


def test_the_environment_is_not_told():
    """Threats, *telemetry*: environment."""

    @tool
    def act() -> str:
        """Look for a variable."""
        return os.environ["NO_SUCH_VARIABLE_HERE"]

    assert "PATH" not in ToolExecutor([act]).execute(call("act")).message
