"""An exception that a handler did not raise on purpose is logged once, with its traceback and without secrets."""

import asyncio
import logging
from typing import Annotated

import pytest

from tests.cases import each_case
from tests.execute.calls import call, each_way
from tests.execute.secret_kit import CREDENTIALS, TOKEN
from toolhaft import RetryPolicy, Secret, ToolContext, ToolExecutor, ToolResult, tool
from toolhaft.errors import (
    BudgetExceededError,
    FileMissingError,
    HttpError,
    PromptEvaluationError,
    ToolAuthorizationError,
    ToolError,
    ToolExecutionError,
    ToolValidationError,
)


class BugError(Exception):
    """Of the user's own; in a process it has no class that is sent."""


class OwnToolError(ToolError):
    """Raised on purpose."""


def spill(token):
    """Quote the secret in every text that an exception can have."""
    error = BugError(f"cannot use {token}", {"token": token})
    error.add_note(f"the token was {token}")
    error.token = token
    raise error from KeyError(token)


def _run(n: int) -> int:
    """Fail for a reason that nobody thought of."""
    raise BugError(f"no luck with {n}")


async def _arun(n: int) -> int:
    """Fail on the loop."""
    await asyncio.sleep(0)
    raise BugError(f"no luck with {n}")


def _login(user: str, token: Annotated[str, Secret]) -> str:
    """Log in."""
    return spill(token)


async def _alogin(user: str, token: Annotated[str, Secret]) -> str:
    """Log in on the loop."""
    await asyncio.sleep(0)
    return spill(token)


INLINE = [tool(_run, name="run", isolation="inline"), tool(_login, name="login", isolation="inline")]
THREAD = [tool(_run, name="run"), tool(_login, name="login")]
LOOP = [tool(_arun, name="run"), tool(_alogin, name="login")]
PROCESS = [tool(_run, name="run", isolation="process"), tool(_login, name="login", isolation="process")]


@pytest.fixture(scope="module", params=["inline", "thread", "loop", "process"])
def executor(request):
    tools = {"inline": INLINE, "thread": THREAD, "loop": LOOP, "process": PROCESS}[request.param]
    with ToolExecutor(tools, max_processes=1) as made:
        yield made


@each_way
def test_an_unexpected_exception_is_logged_once_with_its_traceback(run, executor, caplog):
    caplog.clear()
    executor.new_run()
    result = run(executor, call("run", id="c1", n=7))
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("toolhaft", logging.ERROR)
    kind = type(result.failure.error).__name__
    assert kind == ("WorkerError" if executor.tools["run"].isolation == "process" else "BugError")
    assert record.getMessage() == f"run raised {kind} (call 'c1')"
    assert record.exc_info[1] is result.failure.error
    assert f"in {executor.tools['run'].handler.__name__}" in caplog.text
    assert "BugError: no luck with 7" in caplog.text


@each_way
def test_secrets_are_masked_in_the_record_and_its_traceback(run, executor, caplog):
    caplog.clear()
    executor.new_run()
    result = run(executor, call("login", id="c1", **CREDENTIALS))
    (record,) = caplog.records
    assert TOKEN not in caplog.text + repr(vars(record)) + repr(result) + repr(result.failure)
    assert record.exc_info is None  # an exception leads to the local variables of its frames
    assert "in spill" in caplog.text
    assert "BugError: ('cannot use ***', {'token': '***'})" in caplog.text
    assert "KeyError: '***'" in caplog.text
    assert isinstance(result.failure.error, ToolExecutionError)
    with pytest.raises(ToolExecutionError) as caught:
        result.unwrap()
    assert TOKEN not in repr(caught.value)


@each_case(
    "error",
    [
        ToolExecutionError("no such city"),
        ToolValidationError("the date is in the past"),
        ToolAuthorizationError("not yours"),
        OwnToolError("told"),
        FileMissingError("a.txt: missing"),
        HttpError("no answer"),
        BudgetExceededError("no tokens left"),
    ],
    ids=repr,
)
@each_case("isolation", ["inline", "thread"])
def test_what_a_handler_tells_the_model_is_not_logged(error, isolation, caplog):
    @tool(isolation=isolation)
    def act() -> str:
        """Say what is wrong."""
        raise error

    assert not ToolExecutor([act]).execute(call("act")).success
    assert caplog.records == []


def test_failures_that_the_executor_decides_are_not_logged(caplog):
    @tool(timeout_s=0.01, isolation="inline")
    def act(n: int) -> int:
        """Take too long, or return something odd."""
        if n == 1:
            return ToolResult.error("no luck")
        if n == 2:
            return "odd"
        asyncio.run(asyncio.sleep(0.02))
        return 1

    executor = ToolExecutor([act])
    results = [executor.execute(call("act", n=n)) for n in (1, 2, 3, "x")] + [executor.execute(call("other"))]
    assert [result.success for result in results] == [False] * 5
    assert caplog.records == []


@each_case("error", [PromptEvaluationError("over"), KeyboardInterrupt()], ids=repr)
def test_what_is_raised_to_the_caller_is_not_logged(error, caplog):
    @tool
    def act() -> str:
        """Leave."""
        raise error

    with pytest.raises(type(error)):
        ToolExecutor([act]).execute(call("act"))
    assert caplog.records == []


@each_way
def test_automatic_retries_are_logged_once_with_the_last_exception(run, caplog):
    tries = []

    @tool(effect="read")
    def act() -> str:
        """Fail differently each time."""
        tries.append(1)
        raise ConnectionError(f"try {len(tries)}")

    run(ToolExecutor([act], retry=RetryPolicy(max_attempts=3, backoff_s=0)), call("act"))
    (record,) = caplog.records
    assert str(record.exc_info[1]) == "try 3"
    caplog.clear()


def test_a_retry_that_succeeds_logs_nothing(caplog):
    tries = []

    @tool(effect="read")
    def act() -> str:
        """Fail once."""
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("no line")
        return "done"

    assert ToolExecutor([act], retry=RetryPolicy(max_attempts=3, backoff_s=0)).execute(call("act")).success
    assert caplog.records == []


def test_each_failed_call_of_a_nest_is_logged_once(caplog):
    @tool
    def inner(n: int) -> int:
        """Fail."""
        raise ValueError("inner")

    @tool
    def outer(how: str, context: ToolContext) -> object:
        """Call the inner tool."""
        result = executor.execute(call("inner", n=1))
        if how == "unwrap":
            return result.unwrap()
        if how == "return":
            return result
        raise RuntimeError("outer")

    executor = ToolExecutor([inner, outer])
    for how, logged in (("unwrap", ["inner"]), ("return", ["inner"]), ("own", ["inner", "outer"])):
        executor.new_run()
        caplog.clear()
        assert not executor.execute(call("outer", how=how)).success
        assert [str(record.exc_info[1]) for record in caplog.records] == logged


def test_a_replayed_failure_is_not_logged_again(caplog):
    @tool
    def pay() -> str:
        """Pay."""
        raise ValueError("lost")

    executor = ToolExecutor([pay])
    for _ in range(2):
        assert not executor.execute(call("pay", idempotency_key="k")).success
    assert len(caplog.records) == 1


def test_a_commit_that_fails_is_logged(caplog):
    class Disk:
        def fork(self, *, read_only=False):
            return self

        def commit(self):
            raise OSError("the disk is full")

        def discard(self): ...

    @tool(effect="reversible")
    def save(context: ToolContext) -> str:
        """Save."""
        context.resources.get(Disk)
        return "saved"

    assert not ToolExecutor([save], resources={Disk: Disk()}).execute(call("save")).success
    assert [str(record.exc_info[1]) for record in caplog.records] == ["the disk is full"]


def test_a_log_handler_that_fails_changes_no_result(caplog):
    class Broken(logging.Handler):
        def emit(self, record):
            raise RuntimeError("no disk")

    @tool
    def act() -> str:
        """Fail."""
        raise ValueError("no luck")

    logger, broken = logging.getLogger("toolhaft"), Broken()
    logger.addHandler(broken)
    try:
        assert ToolExecutor([act]).execute(call("act")).message.startswith("act failed: ValueError: no luck.")
    finally:
        logger.removeHandler(broken)
