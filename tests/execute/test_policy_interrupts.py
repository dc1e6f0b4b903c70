"""A policy hears of calls that were cut off, and its denials read well and use nothing up."""

import asyncio
import signal
import threading

import pytest

from tests.cases import each_case
from tests.execute.calls import PATIENCE_S, both_ways, call, each_way, kind_of
from tests.execute.prompt_kit import BarePrompt, Heard, Rule, heard
from toolhaft import RetryPolicy, ToolContext, ToolExecutor, tool
from toolhaft.core.prompt_hooks import PolicyDecision
from toolhaft.errors import PromptEvaluationError
from toolhaft.execute.attempts import CircuitBreaker, Circuits
from toolhaft.resources import FakeClock

SENT_ONCE = "it was sent already"


def governed(*tools, by, **options):
    return ToolExecutor(prompt=BarePrompt(tools=tools, policies={"*": by}), **options)


def send_once():
    """Allows a tool as long as nobody has heard of it."""
    return Rule(allows=lambda _tool, _params, context: not len(context.session[Heard]), deny=SENT_ONCE)


# --- cut off ---


def sending(ran, *, takes_context, is_async, go_on, over):
    """A tool that does its work, and then waits until its caller has gone away."""

    def work(context):
        ran.append("sent")
        return context

    if is_async and takes_context:

        @tool(name="send", effect="irreversible")
        async def send(context: ToolContext) -> str:
            """Send."""
            work(context)
            go_on()
            await asyncio.sleep(PATIENCE_S)
            return "done"

    elif is_async:

        @tool(name="send", effect="irreversible")
        async def send() -> str:
            """Send."""
            work(None)
            go_on()
            await asyncio.sleep(PATIENCE_S)
            return "done"

    else:

        @tool(name="send", effect="irreversible")
        def send() -> str:
            """Send."""
            work(None)
            go_on()
            over.wait(PATIENCE_S)
            return "done"

    return send


@each_case(
    ("is_async", "takes_context"),
    [(True, True), (True, False), (False, False)],
    ids=["forks", "loop", "thread"],
)
def test_a_policy_gets_the_result_of_a_cancelled_call(is_async, takes_context):
    ran, over = [], threading.Event()

    async def main():
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        send = sending(
            ran,
            is_async=is_async,
            takes_context=takes_context,
            go_on=lambda: loop.call_soon_threadsafe(begun.set),
            over=over,
        )
        executor = governed(send, by=[rule])
        task = asyncio.create_task(executor.aexecute(call("send")))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return executor, await executor.aexecute(call("send"))

    rule = send_once()
    executor, again = asyncio.run(main())
    over.set()
    assert again.message == f"send is not allowed now: {SENT_ONCE}."
    assert ran == ["sent"]
    ((name, _params, result, _context),) = rule.told
    assert (name, result.success, kind_of(result), result.failure.outcome) == (
        "send",
        False,
        "cancelled",
        "unknown",
    )
    assert heard(executor) == [("rule", "send", False)]


def test_a_policy_gets_no_result_of_a_call_that_did_not_begin():
    begun, release = threading.Event(), threading.Event()

    @tool(effect="reversible")
    def slow() -> str:
        """Take a turn."""
        begun.set()
        release.wait(PATIENCE_S)
        return "done"

    async def main():
        executor = governed(slow, by=[rule])
        first = asyncio.create_task(executor.aexecute(call("slow")))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        second = asyncio.create_task(executor.aexecute(call("slow")))
        await asyncio.sleep(0.01)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        release.set()
        return await first

    rule = Rule()
    assert asyncio.run(main()).value == "done"
    assert [result.success for _, _, result, _ in rule.told] == [True]


@each_case("isolation", [None, "inline"])
@both_ways
def test_a_policy_gets_a_cancelled_result_after_an_interrupt(run, isolation):
    @tool(isolation=isolation)
    def leave() -> str:
        """Leave."""
        raise KeyboardInterrupt

    rule = Rule()
    with pytest.raises(KeyboardInterrupt):
        run(governed(leave, by=[rule]), call("leave"))
    assert [kind_of(result) for _, _, result, _ in rule.told] == ["cancelled"]


@each_way
def test_a_policy_gets_a_failed_result_after_a_prompt_error(run):
    @tool
    def leave() -> str:
        """Leave."""
        raise PromptEvaluationError("over")

    rule = Rule()
    with pytest.raises(PromptEvaluationError, match="over"):
        run(governed(leave, by=[rule]), call("leave"))
    assert [kind_of(result) for _, _, result, _ in rule.told] == ["failed"]


def test_a_policy_gets_an_interrupt_once_even_after_a_retry():
    tries = []

    @tool(effect="read")
    def fetch() -> str:
        """Fail, then be interrupted."""
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("no line")
        signal.raise_signal(signal.SIGINT)
        return "done"

    rule = Rule()
    executor = governed(
        fetch.replace(isolation="inline"), by=[rule], retry=RetryPolicy(max_attempts=3, backoff_s=0)
    )
    with pytest.raises(KeyboardInterrupt):
        executor.execute(call("fetch"))
    assert [kind_of(result) for _, _, result, _ in rule.told] == ["cancelled"]
    assert len(tries) == 2


@both_ways
def test_a_policy_gets_a_failed_result_after_an_exit(run):
    @tool
    def leave() -> str:
        """Leave."""
        raise SystemExit(3)

    rule = Rule()
    assert kind_of(run(governed(leave, by=[rule]), call("leave"))) == "failed"
    assert [kind_of(result) for _, _, result, _ in rule.told] == ["failed"]


def test_a_policy_that_fails_on_an_interrupt_does_not_stop_it(caplog):
    @tool
    def leave() -> str:
        """Leave."""
        raise KeyboardInterrupt("3")

    class Broken(Rule):
        def on_result(self, *_, **__):
            raise ValueError("no")

    with pytest.raises(KeyboardInterrupt, match="3"):
        governed(leave, by=[Broken()]).execute(call("leave"))
    assert "the policy rule failed on the result of leave" in caplog.text


# --- the words of a denial ---


@each_case(
    ("reason", "words"),
    [
        ("Why?", "Why?"),
        ("No!", "No!"),
        ("read it first", "read it first."),
        (" read it first. ", "read it first."),
        (".env is not for you", ".env is not for you."),
        ("  ", "the policy 'rule' forbids it."),
        ("...", "the policy 'rule' forbids it."),
        (None, "the policy 'rule' forbids it."),
        (7, "7."),
    ],
)
@both_ways
def test_a_denial_is_a_sentence(run, reason, words):
    @tool
    def act() -> str:
        """Act."""
        return "done"

    result = run(governed(act, by=[Rule(allows=lambda *_: False, deny=reason)]), call("act"))
    assert result.message == f"act is not allowed now: {words}"


def test_a_reason_that_cannot_be_read_is_a_policy_that_fails():
    class Mute:
        def __str__(self):
            raise ValueError("no")

    @tool
    def act() -> str:
        """Act."""
        return "done"

    result = governed(act, by=[Rule(allows=lambda *_: False, deny=Mute())]).execute(call("act"))
    assert result.message == "act is not allowed now: the policy 'rule' failed (ValueError)."


# --- a denial uses nothing up ---


def test_a_denied_trial_call_allows_another():
    clock, down, allowed = FakeClock(), [True], [True]

    @tool(max_attempts=99)
    def flaky(count: int = 1) -> str:
        """Fail."""
        if down[0]:
            raise ConnectionError("no line")
        return "up"

    rule = Rule(allows=lambda *_: allowed[0])
    executor = governed(flaky, by=[rule], breaker=CircuitBreaker(failures=1, cooldown_s=30))
    executor._setup.limits.circuits._clock = clock.monotonic  # noqa: SLF001 -- a clock that is turned by hand

    def kinds(*calls):
        return [kind_of(executor.execute(one)) for one in calls]

    assert kinds(call("flaky"), call("flaky")) == ["failed", "circuit_open"]
    clock.advance(31)
    down[0] = allowed[0] = False
    assert kinds(call("flaky"), call("flaky", count="many"), call("flaky")) == [
        "not_allowed",
        "invalid_arguments",
        "not_allowed",
    ]
    allowed[0], down[0] = True, True
    assert kinds(call("flaky"), call("flaky")) == ["failed", "circuit_open"]
    clock.advance(31)
    down[0] = False
    assert kinds(call("flaky"), call("flaky")) == [None, None]


def test_only_the_trial_call_itself_allows_another():
    asking, denied = threading.Event(), threading.Event()
    clock = FakeClock()

    @tool(max_attempts=99, effect="read")
    def flaky() -> str:
        """Fail."""
        raise ConnectionError("no line")

    class Slow:
        name = "slow"

        def check(self, tool, params, *, context):
            if context.call.id != "early":
                return PolicyDecision.allow()
            asking.set()
            denied.wait(PATIENCE_S)
            return PolicyDecision.deny("too early")

        def on_result(self, tool, params, result, *, context):
            pass

    executor = governed(flaky, by=[Slow()], breaker=CircuitBreaker(failures=1, cooldown_s=30))
    executor._setup.limits.circuits._clock = clock.monotonic  # noqa: SLF001 -- a clock that is turned by hand
    early = []
    thread = threading.Thread(target=lambda: early.append(executor.execute(call("flaky", id="early"))))
    thread.start()
    assert asking.wait(PATIENCE_S)
    assert kind_of(executor.execute(call("flaky"))) == "failed"
    denied.set()
    thread.join(PATIENCE_S)
    assert kind_of(early[0]) == "not_allowed"
    assert kind_of(executor.execute(call("flaky"))) == "circuit_open"


def test_after_a_trial_call_was_given_back_only_one_call_gets_it():
    clock = FakeClock()
    circuits = Circuits(CircuitBreaker(failures=1, cooldown_s=30), clock.monotonic)
    circuits.failed("flaky")
    clock.advance(31)
    first = circuits.admit("flaky")
    clock.advance(1)
    circuits.give_back("flaky", first)
    second = circuits.admit("flaky")
    assert second == first + 1
    circuits.give_back("flaky", first)  # late: it is another's by now
    assert kind_of(circuits.admit("flaky")) == "circuit_open"
    circuits.succeeded("flaky")
    circuits.give_back("flaky", second)
    assert circuits.admit("flaky") == 0.0
