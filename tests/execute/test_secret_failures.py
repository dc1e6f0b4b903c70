"""Ways to fail with a secret in hand: none of them tells it."""

import asyncio
import logging
from types import MappingProxyType
from typing import Annotated

import pytest
from pydantic import Field

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from tests.execute.secret_kit import (
    CREDENTIALS,
    TOKEN,
    assert_hidden,
    everything_said,
    nested,
    plain,
    scold,
)
from toolhaft import (
    RetryPolicy,
    Secret,
    ToolCall,
    ToolExecutor,
    ToolInvoked,
    ToolResult,
    tool,
)
from toolhaft.core.masking import mask_text
from toolhaft.errors import PromptEvaluationError, ToolExecutionError
from toolhaft.execute import active_call


@both_ways
@each_case(
    "arguments",
    [
        {"user": 5, "token": TOKEN},
        {"token": TOKEN},
        {"user": "u", "token": [TOKEN]},
        {"user": "u", "token": {"a": TOKEN}},
        {"user": "u", "token": TOKEN, "more": 1},
        {"user": "u", "tokn": TOKEN},
        {"user": TOKEN, "token": TOKEN, "more": 1},
        [TOKEN],
        TOKEN,
        f'{{"user": "u", "token": "{TOKEN}"',
        f'{{"user": "u", "token": "{TOKEN}", "token": "{TOKEN}"}}',
        f'{{"user": "u", "token": "{TOKEN}"}} x',
        MappingProxyType({"user": 5, "token": TOKEN}),
    ],
    ids=repr,
)
def test_arguments_that_are_not_valid_do_not_give_the_secret_away(run, arguments):
    result, _ = assert_hidden(ToolExecutor([plain]), ToolCall(name="plain", arguments=arguments), run=run)
    assert not result.success


@each_case("text", ["cut it short " * 60, "ä€😀" * 100, 'with "quotes" and \\ \n' * 30])
@each_case("kind", [int, Annotated[str, Field(max_length=5)]], ids=["wrong type", "too long"])
def test_a_long_secret_is_not_shown_in_part(kind, text):
    """A problem shows the beginning of a long value: never of a secret one."""
    secret = f"{TOKEN}{text}"

    def login(token):
        return token

    login.__annotations__ = {"token": Annotated[kind, Secret], "return": str}
    made = tool(login, name="login", description="Log in.")
    result, _ = assert_hidden(ToolExecutor([made]), call("login", token=secret), secret=TOKEN[:8])
    assert kind_of(result) == "invalid_arguments"


def test_a_number_can_be_a_secret():
    @tool
    def login(pin: Annotated[int, Secret]) -> str:
        """Log in."""
        return scold(pin)

    _, event = assert_hidden(ToolExecutor([login]), call("login", pin=90210417), secret="90210417")  # noqa: S106 -- made up
    assert event.arguments == '{"pin":"***"}'


@each_case("before", range(1960, 2000, 5))
def test_a_secret_across_the_cut_of_a_long_message_is_masked(before):
    """A message is cut after secrets were hidden, or a part of one would be left."""

    @tool
    def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        raise ToolExecutionError("x" * before + token)

    said, _, _ = everything_said(ToolExecutor([login]), call("login", token=TOKEN))
    assert TOKEN[:6] not in said


@each_way
@each_case(
    "make",
    [
        lambda token: ToolResult.error(f"bad {token}"),
        scold,
        lambda token: (_ for _ in ()).throw(KeyError(token)),
        lambda token: ["wrong type", token],
    ],
    ids=["error result", "tool error", "key error", "invalid output"],
)
def test_a_failed_call_does_not_tell_the_secret(run, make):
    @tool(name="login")
    def login(token: Annotated[str, Secret]) -> int:
        """Log in."""
        made = make(token)
        return next(made) if hasattr(made, "__next__") else made

    result, _ = assert_hidden(ToolExecutor([login]), call("login", token=TOKEN), run=run)
    assert not result.success


@both_ways
def test_a_success_that_mentions_the_secret_is_masked_in_the_event(run):
    """Never reaches an event; what the handler itself tells the model is the handler's."""

    @tool
    def login(token: Annotated[str, Secret]):
        """Log in."""
        return ToolResult.ok(1, f"in with {token}")

    executor = ToolExecutor([login])
    events = hear(executor)
    assert run(executor, call("login", token=TOKEN)).success
    assert TOKEN not in repr(events)


@both_ways
def test_automatic_repeats_do_not_tell_the_secret(run):
    """`ToolInvoked.repeats`: why each automatic try failed, secrets masked."""

    @tool(effect="read")
    def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        raise ConnectionError(f"no line for {token}")

    executor = ToolExecutor([login], retry=RetryPolicy(max_attempts=3, backoff_s=0))
    _, event = assert_hidden(executor, call("login", token=TOKEN), run=run)
    assert len(event.repeats) == 2
    assert "***" in event.repeats[0]


def test_what_changed_between_attempts_does_not_tell_the_secret():
    executor = ToolExecutor([plain])
    events = hear(executor)
    executor.execute(call("plain", user="u", token=TOKEN))
    executor.execute(call("plain", user="v", token=f"{TOKEN}2"))
    assert TOKEN not in repr(events)
    assert events[1].changed == (("user", '"u"', '"v"'),)


@each_case("error", [PromptEvaluationError, KeyboardInterrupt])
def test_what_goes_through_to_the_caller_does_not_tell_the_secret_to_listeners(error):
    @tool
    def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        raise error(f"bad {token}")

    executor = ToolExecutor([login])
    events = hear(executor)
    with pytest.raises(error):
        executor.execute(call("login", token=TOKEN))
    assert TOKEN not in repr(events)
    assert events[0].success is False


def test_a_cancelled_call_does_not_tell_the_secret():
    @tool
    async def login(token: Annotated[str, Secret]) -> str:
        """Log in."""
        await asyncio.sleep(5)

    executor = ToolExecutor([login])
    events = hear(executor)

    async def main():
        task = asyncio.create_task(executor.aexecute(call("login", token=TOKEN)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert events[0].kind == "cancelled"
    assert TOKEN not in repr(events)


def test_a_misspelt_name_does_not_tell_the_secret():
    """The model's own mistakes must not put a secret into a log."""
    for one in (
        call("plian", user="u", token=TOKEN),
        call("plain", user="u", tokne=TOKEN),
        call("nested", credentials={"user": "u", "tokne": TOKEN}),
        call("nested", credentails=CREDENTIALS),
    ):
        result, _ = assert_hidden(ToolExecutor([plain, nested]), one)
        assert not result.success


def test_nothing_of_a_secret_is_logged(caplog):
    caplog.set_level(logging.DEBUG)
    executor = ToolExecutor([plain])

    def broken(event):
        raise RuntimeError(repr(event))

    executor.session.dispatcher.subscribe(ToolInvoked, broken)
    executor.execute(call("plain", user="u", token=TOKEN))
    assert "RuntimeError" in caplog.text
    assert TOKEN not in caplog.text


def test_only_the_part_of_long_arguments_that_is_recorded_is_masked(monkeypatch):
    """Threats: no refusal takes more than a second; masking takes time for each secret and character."""
    lengths = []

    def measured(text, arguments, mask):
        lengths.append(len(text))
        return mask_text(text, arguments, mask)

    monkeypatch.setattr(active_call, "mask_text", measured)

    @tool
    def login(tokens: Annotated[list[str], Secret], text: str) -> str:
        """Log in."""
        return scold(tokens)

    tokens = [f"{TOKEN}-{n:06}" for n in range(5000)]
    executor = ToolExecutor([login])
    assert_hidden(executor, call("login", tokens=tokens, text="x" * 3_000_000))
    assert max(lengths) <= 20_000
