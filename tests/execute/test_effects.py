"""What each effect permits: retries, caches, parallel calls, and the text after a timeout."""

import asyncio
import threading
import time
from dataclasses import dataclass

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call, kind_of
from toolhaft import Effect, RetryPolicy, Session, ToolContext, ToolExecutor, tool
from toolhaft.errors import DefinitionError, ReadOnlyError
from toolhaft.resources import Filesystem, MemoryFilesystem

PATIENCE_S = 30.0
EFFECTS = list(Effect)


@dataclass(frozen=True)
class Note:
    text: str


def test_the_default_effect_is_irreversible():

    @tool
    def act() -> None:
        """Act."""

    assert act.effect is Effect.IRREVERSIBLE


# --- auto-retry ---


@both_ways
@each_case(("effect", "tries"), [("read", 3), ("idempotent", 3), ("reversible", 3), ("irreversible", 1)])
def test_automatic_repeats_follow_the_effect(run, effect, tries):
    ran = []

    @tool(effect=effect)
    def flaky() -> None:
        """Fail."""
        ran.append(1)
        raise ConnectionError("no line")

    result = run(ToolExecutor([flaky], retry=RetryPolicy(max_attempts=3, backoff_s=0)), call("flaky"))
    assert kind_of(result) == "failed"
    assert len(ran) == tries


@both_ways
@each_case("effect", EFFECTS)
def test_without_a_retry_policy_nothing_is_retried(run, effect):
    """Automatic repeats only where `effect` allows and `RetryPolicy` asks."""
    ran = []

    @tool(effect=effect)
    def flaky() -> None:
        """Fail."""
        ran.append(1)
        raise ConnectionError("no line")

    run(ToolExecutor([flaky]), call("flaky"))
    assert len(ran) == 1


@both_ways
def test_a_reversible_tool_is_retried_after_its_rollback(run):
    seen = []

    @tool(effect="reversible")
    def flaky(context: ToolContext) -> None:
        """Write, and fail the first time."""
        seen.append((len(context.session[Note]), context.filesystem.exists("a.txt")))
        context.session[Note].append(Note("tried"))
        context.filesystem.write("a.txt", "tried")
        if len(seen) == 1:
            raise ConnectionError("no line")

    session, files = Session(), MemoryFilesystem()
    executor = ToolExecutor(
        [flaky], session=session, resources={Filesystem: files}, retry=RetryPolicy(backoff_s=0)
    )
    assert run(executor, call("flaky")).success
    assert seen == [(0, False), (0, False)]
    assert session[Note].all() == (Note("tried"),)
    assert files.read("a.txt").content == "tried"


# --- cache ---


@both_ways
def test_a_reading_tool_may_be_cached(run):
    ran = []

    @tool(effect="read", cache_s=60)
    def look(key: str) -> int:
        """Look something up."""
        ran.append(key)
        return len(ran)

    executor = ToolExecutor([look])
    assert [run(executor, call("look", key=key)).value for key in "aab"] == [1, 1, 2]
    assert ran == ["a", "b"]


@both_ways
@each_case("effect", EFFECTS)
def test_without_cache_s_nothing_is_cached(run, effect):
    ran = []

    @tool(effect=effect)
    def look() -> int:
        """Look something up."""
        ran.append(1)
        return len(ran)

    executor = ToolExecutor([look])
    assert [run(executor, call("look")).value for _ in range(2)] == [1, 2]


@each_case("effect", ["idempotent", "reversible", "irreversible"])
def test_a_tool_that_changes_something_cannot_be_cached(effect):

    @tool(effect=effect, cache_s=60)
    def act() -> None:
        """Act."""

    with pytest.raises(DefinitionError, match="cannot be cached"):
        ToolExecutor([act])


@both_ways
def test_a_failure_is_not_cached(run):
    ran = []

    @tool(effect="read", cache_s=60)
    def look() -> int:
        """Look something up."""
        ran.append(1)
        if len(ran) == 1:
            raise ConnectionError("no line")
        return len(ran)

    executor = ToolExecutor([look])
    assert [run(executor, call("look")).value for _ in range(3)] == [None, 2, 2]


# --- beside others ---


class Meeting:
    """Says how many of the calls of a turn were inside at once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.inside = 0
        self.most = 0
        self.order = []

    def visit(self, name, hold_s=0.01):
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.order.append(name)
        time.sleep(hold_s)
        with self.lock:
            self.inside -= 1


def turn(executor, calls, is_async):
    return asyncio.run(executor.aexecute_all(calls)) if is_async else executor.execute_all(calls)


sync_and_async = each_case("is_async", [False, True], ids=["sync", "async"])


@sync_and_async
@each_case("takes_context", [False, True])
def test_read_only_calls_run_in_parallel(is_async, takes_context):
    barrier = threading.Barrier(3, timeout=PATIENCE_S)  # breaks unless three handlers run at once

    @tool(effect="read")
    def meet(n: int) -> int:
        """Meet the others."""
        barrier.wait()
        return n

    @tool(effect="read", name="meet")
    def meet_with_context(n: int, context: ToolContext) -> int:
        """Meet the others."""
        barrier.wait()
        return n

    executor = ToolExecutor([meet_with_context if takes_context else meet])
    assert [r.value for r in turn(executor, [call("meet", n=n) for n in range(3)], is_async)] == [0, 1, 2]


@sync_and_async
def test_idempotent_calls_with_different_keys_run_in_parallel(is_async):
    barrier = threading.Barrier(3, timeout=PATIENCE_S)

    @tool(effect="idempotent")
    def put(n: int) -> int:
        """Meet the others."""
        barrier.wait()
        return n

    executor = ToolExecutor([put])
    assert [r.value for r in turn(executor, [call("put", n=n) for n in range(3)], is_async)] == [0, 1, 2]


@sync_and_async
@each_case("names", [(), ("key",)], ids=["all arguments", "declared names"])
def test_idempotent_calls_with_one_key_run_one_at_a_time(is_async, names):
    meeting = Meeting()

    @tool(effect="idempotent", idempotency=names)
    def put(key: str, n: int) -> int:
        """Put it there."""
        meeting.visit(key)
        return n

    executor = ToolExecutor([put])
    turn(executor, [call("put", key="k", n=1 if not names else n) for n in range(3)], is_async)
    assert meeting.most == 1


@sync_and_async
@each_case("effect", ["reversible", "irreversible"])
def test_calls_that_change_state_run_one_at_a_time_in_the_models_order(is_async, effect):
    """`reversible` and `irreversible` with a context, one at a time."""
    meeting = Meeting()

    @tool(effect=effect)
    def slow(n: int, context: ToolContext) -> int:
        """Take a while."""
        meeting.visit(n)
        return n

    @tool(effect=effect)
    async def aslow(n: int, context: ToolContext) -> int:
        """Take a while."""
        await asyncio.to_thread(meeting.visit, n)
        return n

    executor = ToolExecutor([slow, aslow])
    calls = [call("slow" if n % 2 else "aslow", n=n) for n in range(6)]
    assert [r.value for r in turn(executor, calls, is_async)] == list(range(6))
    assert (meeting.most, meeting.order) == (1, list(range(6)))


@sync_and_async
def test_irreversible_calls_without_a_context_run_in_parallel(is_async):
    """`irreversible` one at a time *if it takes a context*."""
    barrier = threading.Barrier(3, timeout=PATIENCE_S)

    @tool
    def act(n: int) -> int:
        """Meet the others."""
        barrier.wait()
        return n

    executor = ToolExecutor([act])
    assert [r.value for r in turn(executor, [call("act", n=n) for n in range(3)], is_async)] == [0, 1, 2]


@sync_and_async
def test_a_call_that_is_refused_does_not_hold_up_the_queue(is_async):
    """Each call yields one result, whatever happens to its siblings."""
    order = []

    @tool(effect="reversible")
    def step(n: int, context: ToolContext) -> int:
        """Note the order."""
        order.append(n)
        return n

    executor = ToolExecutor([step])
    calls = [call("step", n="x"), call("step", n=1), call("step"), call("stop"), call("step", n=4)]
    kinds = [kind_of(result) for result in turn(executor, calls, is_async)]
    assert kinds == ["invalid_arguments", None, "invalid_arguments", "unknown_tool", None]
    assert order == [1, 4]


@sync_and_async
@each_case("cap", [{"max_parallel": 1}, {"idempotency": ("key",)}], ids=["max_parallel", "key"])
def test_calls_keep_the_models_order_when_the_first_is_allowed_last(is_async, cap):
    """One at a time, in the model's order; a slower permission does not tangle the queues."""
    order = []

    @tool(effect="reversible", timeout_s=1, **cap)
    def step(n: int, context: ToolContext, key: str = "k") -> int:
        """Note the order."""
        order.append(n)
        return n

    async def first_last(request):
        await asyncio.sleep(0.05 if request.arguments["n"] == 0 else 0)
        return True

    executor = ToolExecutor([step], policy=first_last)
    results = turn(executor, [call("step", n=n) for n in range(2)], is_async)
    assert [kind_of(result) for result in results] == [None, None]
    assert order in ([0, 1], [0])


@sync_and_async
def test_separate_callers_take_turns_too(is_async):
    meeting = Meeting()

    @tool(effect="reversible")
    def step(n: int, context: ToolContext) -> int:
        """Take a while."""
        meeting.visit(n)
        return n

    executor = ToolExecutor([step])
    if is_async:

        async def main():
            await asyncio.gather(*(executor.aexecute(call("step", n=n)) for n in range(4)))

        asyncio.run(main())
    else:
        threads = [threading.Thread(target=executor.execute, args=(call("step", n=n),)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert (meeting.most, len(meeting.order)) == (1, 4)


# --- what the model is told on a timeout ---


@both_ways
@each_case("is_async", [False, True], ids=["thread", "loop"])
@each_case(
    ("effect", "words", "outcome"),
    [
        ("read", "Nothing happened", "nothing_happened"),
        ("idempotent", "may be repeated safely", "safe_to_repeat"),
        ("reversible", "Rolled back: nothing happened", "rolled_back"),
        ("irreversible", "Outcome unknown: check before repeating", "unknown"),
    ],
)
def test_the_message_after_a_timeout_depends_on_the_effect(run, is_async, effect, words, outcome):
    is_over = threading.Event()

    @tool(effect=effect, timeout_s=0.05)
    def slow() -> None:
        """Take too long."""
        is_over.wait(PATIENCE_S)

    @tool(effect=effect, timeout_s=0.01, name="slow")
    async def aslow() -> None:
        """Take too long."""
        await asyncio.sleep(PATIENCE_S)

    result = run(ToolExecutor([aslow if is_async else slow]), call("slow"))
    is_over.set()
    assert kind_of(result) == "timeout"
    assert f"slow exceeded its time limit of {0.01 if is_async else 0.05} s" in result.message
    assert words in result.message
    assert result.failure.outcome == outcome


@both_ways
@each_case(
    ("effect", "outcome"),
    [
        ("read", "nothing_happened"),
        ("idempotent", "safe_to_repeat"),
        ("reversible", "rolled_back"),
        ("irreversible", "unknown"),
    ],
)
def test_every_failure_of_a_started_handler_reports_its_outcome(run, effect, outcome):
    """The failed result says what a model needs."""

    @tool(effect=effect)
    def broken() -> None:
        """Fail."""
        raise ConnectionError("no line")

    @tool(effect=effect)
    def wrong() -> int:
        """Give back the wrong type."""
        return "five"

    executor = ToolExecutor([broken, wrong])
    assert run(executor, call("broken")).failure.outcome == outcome
    assert run(executor, call("wrong")).failure.outcome == outcome


# --- a reader's fork is read-only ---


@both_ways
@each_case("what", ["session", "dispatch", "filesystem"])
def test_the_fork_of_a_reading_tool_is_read_only(run, what):
    raised = []

    @tool(effect="read")
    def sneak(context: ToolContext) -> None:
        """Try to write."""
        try:
            match what:
                case "session":
                    context.session[Note].append(Note("x"))
                case "dispatch":
                    context.session.dispatch(Note("x"))
                case _:
                    context.filesystem.write("a.txt", "x")
        except Exception as error:
            raised.append(error)
            raise

    session, files = Session(), MemoryFilesystem()
    result = run(ToolExecutor([sneak], session=session, resources={Filesystem: files}), call("sneak"))
    assert kind_of(result) == "failed"
    assert isinstance(raised[0], ReadOnlyError)
    assert session[Note].all() == ()
    assert not files.exists("a.txt")


@both_ways
def test_a_reading_tool_reads(run):
    @tool(effect="read")
    def look(context: ToolContext) -> list[str]:
        """Read session and files."""
        return [context.session[Note].latest().text, context.filesystem.read("a.txt").content]

    session = Session()
    session[Note].append(Note("kept"))
    executor = ToolExecutor(
        [look], session=session, resources={Filesystem: MemoryFilesystem({"a.txt": "file"})}
    )
    assert run(executor, call("look")).value == ["kept", "file"]


@both_ways
def test_calls_nested_in_a_read_only_tool_cannot_write(run):
    """A nested call forks the fork; nothing in a reader's fork can be written."""

    @tool(effect="reversible")
    def write(context: ToolContext) -> None:
        """Write."""
        context.session[Note].append(Note("x"))

    @tool(effect="read")
    def outer(context: ToolContext) -> str:
        """Have another tool write."""
        return kind_of(executor.execute(call("write"))) or "written"

    executor = ToolExecutor([write, outer], session=Session())
    assert run(executor, call("outer")).value == "failed"
    assert executor.session[Note].all() == ()
