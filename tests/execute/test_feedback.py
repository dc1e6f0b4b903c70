"""Providers of feedback are asked after each call of the model; what they say is added to its result."""

import asyncio
import threading

import pytest

from tests.cases import each_case
from tests.execute import process_tools
from tests.execute.calls import PATIENCE_S, both_ways, call, each_way, hear, in_threads, kind_of
from tests.execute.prompt_kit import BarePrompt, Words
from toolhaft import Deadline, Session, ToolContext, ToolExecutor, ToolResult, tool
from toolhaft.core.prompt_hooks import FeedbackProvider
from toolhaft.core.result import Feedback
from toolhaft.errors import PromptEvaluationError, PromptValidationError, ReadOnlyError
from toolhaft.execute.feedback_counts import FeedbackGiven, PromptCalls
from toolhaft.resources import Clock, FakeClock, Filesystem, MemoryFilesystem
from toolhaft.session import append_all
from toolhaft.toolbox import read_file


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool
def fail() -> str:
    """Fail."""
    raise ValueError("no")


def advised(*tools, by, name="bare", **options):
    """An executor whose prompt has this feedback."""
    return ToolExecutor(prompt=BarePrompt(tools=tools, feedback=tuple(by), name=name), **options)


def every(count):
    """Feedback after so many calls, that says which one it is."""

    def provide(context):
        since = context.calls if context.calls_since is None else context.calls_since
        return f"call {context.calls}" if since >= count else None

    return provide


def always(text):
    return lambda _: text


# --- what the model reads ---


@each_way
def test_feedback_is_below_the_result(run):
    executor = advised(add, by=[Words(always("one"), "first"), Words(always("two\nlines"), "second")])
    result = run(executor, call("add", a=1, b=2))
    assert result.feedback == (Feedback("first", "one"), Feedback("second", "two\nlines"))
    assert (result.value, result.message, result.success) == (3, "", True)
    assert result.render() == (
        '3\n\n<feedback provider="first">\none\n</feedback>\n'
        '<feedback provider="second">\ntwo\nlines\n</feedback>'
    )


@each_way
def test_failures_and_unknown_names_have_feedback_too(run):
    executor = advised(fail, by=[Words(always("try another way"))])
    for name, kind in (("fail", "failed"), ("nobody", "unknown_tool")):
        result = run(executor, call(name))
        assert kind_of(result) == kind
        assert result.render().endswith('\n\n<feedback provider="words">\ntry another way\n</feedback>')


@both_ways
def test_feedback_survives_the_cut_of_a_long_result(run):
    @tool
    def much() -> str:
        """Give much."""
        return "x" * 1000

    result = run(advised(much, by=[Words(always("f" * 200))], max_output_chars=100), call("much"))
    assert result.render().startswith("x" * 100 + "\n[cut: 100 of 1,000 characters shown]\n\n<feedback ")
    assert "f" * 200 in result.render()


@both_ways
def test_without_feedback_a_result_is_unchanged(run):
    for given in ((), [Words(always(None))], [Words(always(""))], [Words(always(" \n"))]):
        result = run(advised(add, by=given), call("add", a=1, b=2))
        assert result == ToolResult(value=3)
        assert (result.feedback, result.render()) == ((), "3")


@both_ways
def test_feedback_of_the_handler_comes_first(run):
    @tool
    def speak() -> ToolResult[str]:
        """Speak."""
        return ToolResult(value="x", feedback=(Feedback("own", "mine"),))

    result = run(advised(speak, by=[Words(always("other"))]), call("speak"))
    assert [one.text for one in result.feedback] == ["mine", "other"]


def test_events_have_no_feedback():
    executor = advised(add, by=[Words(always("hm"))])
    events = hear(executor)
    assert executor.execute(call("add", a=1, b=2)).feedback
    assert [one.message for one in events] == [""]


def test_a_replayed_result_gets_new_feedback():
    executor = advised(add, by=[Words(every(1))])
    first, second = (executor.execute(call("add", a=1, b=2), idempotency_key="k") for _ in range(2))
    assert [one.text for one in first.feedback] == ["call 1"]
    assert [one.text for one in second.feedback] == ["call 2"]


def test_an_exception_raised_to_the_caller_gets_no_feedback():
    @tool
    def stop() -> str:
        """Stop."""
        raise PromptEvaluationError("no more")

    words = Words(always("hm"))
    with pytest.raises(PromptEvaluationError):
        advised(stop, by=[words]).execute(call("stop"))
    assert words.contexts == []


# --- what a provider sees ---


@both_ways
def test_the_context_has_the_call_its_result_and_the_time(run):
    words = Words(always(None))
    deadline = Deadline.after(60)
    executor = advised(add, by=[words], deadline=deadline)
    one = call("add", a=1, b=2)
    result = run(executor, one)
    (context,) = words.contexts
    assert (context.prompt, context.deadline, context.call) == (executor.prompt, deadline, one)
    assert context.result == result
    assert (context.calls, context.seconds) == (1, 0.0)
    assert (context.calls_since, context.seconds_since) == (None, None)


def test_without_a_deadline_the_context_has_none():
    words = Words(always(None))
    advised(add, by=[words]).execute(call("add", a=1, b=2))
    assert words.contexts[0].deadline is None


def test_the_session_can_be_read_and_not_written():
    tried = []

    def provide(context):
        tried.append(len(context.session[Feedback]))
        with pytest.raises(ReadOnlyError, match="feedback may only read"):
            context.session[Feedback].append(Feedback("a", "b"))

    executor = advised(add, by=[Words(provide)])
    assert executor.execute(call("add", a=1, b=2)).success
    assert tried == [0]


@both_ways
def test_calls_and_seconds_are_counted_since_the_last_feedback(run):
    clock = FakeClock()
    words = Words(lambda context: "now" if context.calls in (2, 4) else None)
    executor = advised(add, by=[words], resources={Clock: clock})
    for _ in range(5):
        run(executor, call("add", a=1, b=2))
        clock.advance(10)
    seen = [(one.calls, one.seconds, one.calls_since, one.seconds_since) for one in words.contexts]
    assert seen == [
        (1, 0.0, None, None),
        (2, 10.0, None, None),
        (3, 20.0, 1, 10.0),
        (4, 30.0, 2, 20.0),
        (5, 40.0, 1, 10.0),
    ]


def test_calls_are_counted_per_provider():
    executor = advised(add, by=[Words(every(2), "two"), Words(every(3), "three")])
    said = [[one.provider for one in executor.execute(call("add", a=1, b=2)).feedback] for _ in range(6)]
    assert said == [[], ["two"], ["three"], ["two"], [], ["two", "three"]]


def test_calls_are_counted_per_prompt_and_session():
    session = Session()
    one, same = (advised(add, by=[Words(every(2))], session=session) for _ in range(2))
    other = advised(add, by=[Words(every(2))], session=session, name="other")
    apart = advised(add, by=[Words(every(2))])

    def says(executor):
        return [said.text for said in executor.execute(call("add", a=1, b=2)).feedback]

    assert [says(one), says(other), says(apart)] == [[], [], []]
    assert [says(same), says(other), says(apart)] == [["call 2"], ["call 2"], ["call 2"]]
    assert {(item.prompt, item.calls) for item in session[PromptCalls]} == {("bare", 2), ("other", 2)}
    assert len(session[FeedbackGiven]) == 2


def test_the_counts_are_not_rolled_back_and_not_in_a_snapshot():
    executor = advised(add, fail, by=[Words(every(2))])
    executor.execute(call("fail"))
    assert [one.text for one in executor.execute(call("fail")).feedback] == ["call 2"]
    session = executor.session
    assert session[PromptCalls].is_log
    assert session[FeedbackGiven].is_log
    assert session.snapshot()["slices"] == []
    fresh = advised(add, by=[Words(every(3))], session=Session())
    fresh.execute(call("add", a=1, b=2))
    fresh.session.restore(session.snapshot(include_logs=True))
    assert [one.text for one in fresh.execute(call("add", a=1, b=2)).feedback] == []
    assert [one.text for one in fresh.execute(call("add", a=1, b=2)).feedback] == []
    assert [one.text for one in fresh.execute(call("add", a=1, b=2)).feedback] == ["call 5"]


def test_a_reducer_that_the_session_already_has_is_kept():
    session = Session()
    session[PromptCalls].register(append_all)
    session.dispatcher.subscribe(object, lambda _: None)
    executor = advised(add, by=[Words(every(1))], session=session)
    executor.execute(call("add", a=1, b=2))
    assert not session[PromptCalls].is_log
    assert session[FeedbackGiven].is_log


# --- whose calls are counted ---


@each_case("isolation", [None, "inline"])
@each_case("takes_context", [False, True])
@each_way
def test_calls_that_a_handler_makes_have_no_feedback_and_are_not_counted(run, isolation, takes_context):
    inner = []

    def nest() -> int:
        inner.append(executor.execute(call("add", a=1, b=2)))
        return inner[-1].value

    def nest_with(context: ToolContext) -> int:
        return nest()

    outer = tool(nest_with if takes_context else nest, name="outer", description="Nest.", isolation=isolation)
    words = Words(every(1))
    executor = advised(add, outer, by=[words])
    result = run(executor, call("outer"))
    assert result.render() == '3\n\n<feedback provider="words">\ncall 1\n</feedback>'
    assert [one.feedback for one in inner] == [()]
    assert len(words.contexts) == 1


@both_ways
def test_calls_that_an_async_handler_makes_are_not_counted(run):
    @tool
    async def outer() -> int:
        """Nest."""
        return (await executor.aexecute(call("add", a=1, b=2))).value

    executor = advised(add, outer, by=[Words(every(1))])
    assert [one.text for one in run(executor, call("outer")).feedback] == ["call 1"]
    assert [one.text for one in run(executor, call("outer")).feedback] == ["call 2"]


@both_ways
def test_a_provider_cannot_call_tools(run):
    answers = []

    def provide(_):
        answers.append(executor.execute(call("add", a=1, b=2)))
        return "hm"

    executor = advised(add, by=[Words(provide)])
    assert [one.text for one in run(executor, call("add", a=1, b=2)).feedback] == ["hm"]
    assert [one.message for one in answers] == ["the call of add is over, and so add was not run."]


# --- providers that go wrong ---


def raising(_):
    raise KeyError("no")


async def later(_):
    return "later"


@each_case(
    ("provide", "said"),
    [
        (raising, "the feedback bad failed"),
        (always(3), "the feedback bad returned 3, not a text"),
        (later, "the feedback bad returned <coroutine"),
    ],
)
@each_way
def test_a_provider_without_a_text_is_skipped(run, provide, said, caplog):
    executor = advised(add, by=[Words(provide, "bad"), Words(always("well"), "good")])
    result = run(executor, call("add", a=1, b=2))
    assert (result.value, result.feedback) == (3, (Feedback("good", "well"),))
    assert said in caplog.text


def test_a_session_that_cannot_count_loses_the_feedback_but_not_the_result(caplog):
    def refuse(view, event):
        raise ValueError("no room")

    session = Session()
    session[PromptCalls].register(PromptCalls, refuse)
    result = advised(add, by=[Words(always("hm"))], session=session).execute(call("add", a=1, b=2))
    assert (result.value, result.feedback) == (3, ())
    assert "there is no feedback on the call of add" in caplog.text


def test_providers_need_different_names():
    with pytest.raises(PromptValidationError, match="two feedback providers are called 'words'"):
        advised(add, by=[Words(always("a")), Words(always("b"))])
    with pytest.raises(PromptValidationError, match="'a text' is not a feedback provider"):
        advised(add, by=["a text"])
    assert isinstance(Words(always("a")), FeedbackProvider)


# --- calls beside each other ---


def test_parallel_calls_get_different_numbers_and_feedback_is_given_once():
    numbers = Words(lambda context: f"{context.calls}" if context.calls_since != 0 else None, "numbers")
    once = Words(lambda context: "once" if context.calls_since is None else None, "once")
    executor = advised(add, by=[numbers, once])
    results = []
    in_threads([lambda: results.extend(executor.execute_all([call("add", a=1, b=2)] * 25))] * 4)
    assert sorted({one.calls for one in numbers.contexts}) == list(range(1, 101))
    said = [one for result in results for one in result.feedback if one.provider == "once"]
    assert len(said) == 1
    (count,) = executor.session[PromptCalls]
    assert count.calls == 100


def test_a_provider_that_was_overtaken_is_asked_again_with_new_counts():
    inside, go_on = threading.Event(), threading.Event()

    def provide(context):
        if context.call.id == "slow" and context.calls_since is None:
            inside.set()
            assert go_on.wait(PATIENCE_S)
        return f"after {context.calls_since}" if context.calls_since in (None, 0) else None

    words = Words(provide)
    executor = advised(add, by=[words])
    slow = []
    thread = threading.Thread(target=lambda: slow.append(executor.execute(call("add", id="slow", a=1, b=2))))
    thread.start()
    assert inside.wait(PATIENCE_S)
    quick = executor.execute(call("add", id="quick", a=1, b=2))
    go_on.set()
    thread.join(PATIENCE_S)
    assert [one.text for one in quick.feedback] == ["after None"]
    assert [(one.call.id, one.calls, one.calls_since) for one in words.contexts] == [
        ("slow", 1, None),
        ("quick", 2, None),
        ("slow", 1, 0),  # the quick one spoke at call 2
    ]
    assert [one.text for one in slow[0].feedback] == ["after 0"]


def test_a_provider_that_is_always_overtaken_gives_no_feedback():
    spoken = []

    def provide(context):
        if context.call.id == "slow":
            spoken.append(executor.session[FeedbackGiven].latest())
            last = executor.session[PromptCalls].latest().calls
            executor.session[FeedbackGiven].append(
                FeedbackGiven(prompt="bare", provider="words", call=last + len(spoken), at=0.0)
            )
        return "now"

    executor = advised(add, by=[Words(provide)])
    assert executor.execute(call("add", id="slow", a=1, b=2)).feedback == ()
    assert len(spoken) == 3


# --- wherever a tool is run ---


@each_way
def test_files_that_are_read_in_parallel_have_feedback(run):
    files = {Filesystem: MemoryFilesystem({"a.txt": "x"})}
    executor = advised(read_file, by=[Words(every(1))], resources=files)
    assert [one.text for one in run(executor, call("read_file", path="a.txt")).feedback] == ["call 1"]


@pytest.mark.external
def test_streams_and_processes_have_feedback_on_their_results():
    @tool
    def words(text: str):
        """Say the words one by one."""
        yield from text.split()

    async def items(executor):
        return [item async for item in executor.astream(call("words", text="a b"))]

    with advised(words, process_tools.add, by=[Words(every(1))], max_processes=1) as executor:
        *chunks, result = asyncio.run(items(executor))
        assert (len(chunks), [one.text for one in result.feedback]) == (2, ["call 1"])
        assert [one.text for one in executor.execute(call("add", a=1)).feedback] == ["call 2"]
