"""`astream`: every chunk and report of progress as it comes, then the result."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing

import pytest

from tests.cases import each_case
from tests.execute.calls import WAYS, call, each_way, hear, kind_of
from toolhaft import (
    BaseTool,
    Session,
    ToolConfig,
    ToolContext,
    ToolExecutor,
    ToolInvoked,
    ToolParam,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    create_tool,
    tool,
)
from toolhaft.core.events import Chunk, Progress
from toolhaft.errors import CallEndedError, PromptEvaluationError

PATIENCE_S = 30.0


@tool
def words(text: str):
    """Say the words one by one."""
    yield from text.split()


@tool
async def awords(text: str):
    """Say the words one by one, with a breath between."""
    for word in text.split():
        await asyncio.sleep(0)
        yield word


@tool(isolation="inline")
def inline_words(text: str):
    """Say the words one by one, where the caller is."""
    yield from text.split()


SPEC = ToolSpec(
    name="class_words",
    description="Says the words one by one.",
    when_to_use="Use to hear words.",
    inputs=[ToolParam(name="text", type="string", description="What to say")],
    returns=ToolReturn(type="string", description="All of them"),
)


class SyncWords(BaseTool):
    spec = SPEC

    def __call__(self, *, text, **kwargs):
        return ToolResponse(observation=(word for word in text.split()), final_answer=True)


class AsyncWords(BaseTool):
    spec = SPEC

    async def __call__(self, *, text, **kwargs):
        await asyncio.sleep(0)
        return ToolResponse(observation=(word for word in text.split()), final_answer=True)


class AsyncStreamWords(BaseTool):
    spec = SPEC

    async def __call__(self, *, text, **kwargs):
        return ToolResponse(observation=awords(text), final_answer=True)


class SyncAsyncStreamWords(BaseTool):
    spec = SPEC

    def __call__(self, *, text, **kwargs):
        return ToolResponse(observation=awords(text), final_answer=True)


CLASS_TOOLS = [SyncWords, AsyncWords, AsyncStreamWords, SyncAsyncStreamWords]


async def items_of(stream):
    return [item async for item in stream]


def stream(executor, one):
    return asyncio.run(items_of(executor.astream(one)))


# --- chunks ---


@each_case("made", [words, awords, inline_words], ids=lambda made: made.name)
def test_the_chunks_of_a_generator_come_first_and_the_whole_comes_last(made):
    *chunks, result = stream(ToolExecutor([made]), call(made.name, id="7", text="a b c"))
    assert chunks == [Chunk(call_id="7", value=word) for word in "abc"]
    assert (result.success, result.value, result.render()) == (True, "abc", "abc")


@each_case("made", CLASS_TOOLS)
def test_the_chunks_of_a_class_tools_observation_are_streamed(made):
    """The observation may be a generator of chunks."""
    *chunks, result = stream(ToolExecutor([made()]), call("class_words", text="a b"))
    assert [chunk.value for chunk in chunks] == ["a", "b"]
    assert (result.value, result.final) == ("ab", True)


@each_way
@each_case("made", [words, awords, inline_words, *(kind() for kind in CLASS_TOOLS)])
def test_a_stream_is_gathered_for_callers_who_do_not_stream(run, made):
    executor = ToolExecutor([made])
    (name,) = executor.tools
    assert run(executor, call(name, text="a b c")).value == "abc"


@each_way
def test_chunks_make_one_text_or_the_list_that_the_tool_declares(run):
    """One value, checked by its schema; without one, texts are joined."""

    @tool
    def count(n: int):
        """Count."""
        yield from range(n)

    @tool
    def said(n: int) -> Iterator[str]:
        """Count in one text."""
        yield from map(str, range(n))

    listed = create_tool(
        ToolConfig(
            name="listed",
            description="Count in texts.",
            input_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
            output_schema={"type": "array", "items": {"type": "string"}},
            execute=lambda given: (str(n) for n in range(given["n"])),
        )
    )
    executor = ToolExecutor([count, said, listed])
    assert run(executor, call("count", n=3)).value == [0, 1, 2]
    assert [run(executor, call("listed", n=n)).value for n in (0, 2)] == [[], ["0", "1"]]
    assert [run(executor, call("said", n=n)).value for n in (0, 2)] == ["", "01"]


@each_way
def test_a_function_that_gives_back_a_generator_is_a_stream_too(run):
    @tool
    def later(text: str):
        """Give back a generator."""
        return (word for word in text.split())

    @tool
    async def alater(text: str):
        """Give back an async generator."""
        return awords(text)

    executor = ToolExecutor([later, alater])
    assert run(executor, call("later", text="a b")).value == "ab"
    assert run(executor, call("alater", text="a b")).value == "ab"


def test_chunks_arrive_while_the_handler_still_runs():
    """Tools that yield chunks: each as it comes, not all at the end."""
    go_on = threading.Event()

    @tool
    def hold():
        """Wait between two chunks until the first was heard."""
        yield "a"
        assert go_on.wait(PATIENCE_S)
        yield "b"

    async def main():
        heard = []
        async for item in ToolExecutor([hold]).astream(call("hold")):
            heard.append(item)
            go_on.set()
        return heard

    first, second, result = asyncio.run(main())
    assert (first.value, second.value, result.value) == ("a", "b", "ab")


def test_a_tool_that_yields_nothing_streams_only_its_result():
    @tool
    def plain(a: int) -> int:
        """Add one."""
        return a + 1

    assert stream(ToolExecutor([plain]), call("plain", a=1)) == [ToolResult(value=2)]


@each_case("made", [words, awords], ids=lambda made: made.name)
def test_a_call_that_is_refused_streams_only_its_failure(made):
    (result,) = stream(ToolExecutor([made]), call(made.name))
    assert kind_of(result) == "invalid_arguments"
    (result,) = stream(ToolExecutor([made]), call("nobody"))
    assert kind_of(result) == "unknown_tool"


@each_case("is_async", [False, True])
def test_a_stream_that_fails_half_way_ends_with_the_failure(is_async):
    @tool
    def broken():
        """Fail after one chunk."""
        yield "a"
        raise ValueError("broken pipe")

    @tool
    async def abroken():
        """Fail after one chunk."""
        yield "a"
        raise ValueError("broken pipe")

    executor = ToolExecutor([broken, abroken])
    chunk, result = stream(executor, call("abroken" if is_async else "broken"))
    assert chunk.value == "a"
    assert kind_of(result) == "failed"
    assert "broken pipe" in result.message


def test_prompt_exceptions_are_raised_out_of_the_stream():
    @tool
    def broken():
        """Fail after one chunk."""
        yield "a"
        raise PromptEvaluationError("over")

    heard = []

    async def main():
        async for item in ToolExecutor([broken]).astream(call("broken")):
            heard.append(item.value)  # noqa: PERF401 -- what came before the exception is wanted too

    with pytest.raises(PromptEvaluationError, match="over"):
        asyncio.run(main())
    assert heard == ["a"]


# --- progress and beats ---


@tool
def climb(steps: int, context: ToolContext) -> int:
    """Report every step."""
    for step in range(steps):
        context.progress(step + 1, steps, f"step {step + 1}")
    return steps


@tool
async def aclimb(steps: int, context: ToolContext) -> int:
    """Report every step."""
    for step in range(steps):
        context.progress(step + 1, steps, f"step {step + 1}")
        await asyncio.sleep(0)
    return steps


@each_case("made", [climb, aclimb], ids=lambda made: made.name)
def test_progress_is_streamed_before_the_result(made):
    *reports, result = stream(ToolExecutor([made]), call(made.name, id="9", steps=2))
    assert reports == [
        Progress(call_id="9", done=1, total=2, message="step 1"),
        Progress(call_id="9", done=2, total=2, message="step 2"),
    ]
    assert result.value == 2


@each_case("run", WAYS[:4])
def test_progress_without_a_stream_is_ignored(run):
    assert run(ToolExecutor([climb, aclimb]), call("climb", steps=2)).value == 2
    assert run(ToolExecutor([climb, aclimb]), call("aclimb", steps=2)).value == 2


def test_beat_raises_after_the_call_has_ended():
    """ToolContext.beat: raises CallEndedError where the call timed out: whatever is still done is in vain."""
    timed_out, learned = threading.Event(), []

    @tool(timeout_s=0.05)
    def stubborn(context: ToolContext) -> str:
        """Go on after the end."""
        assert timed_out.wait(PATIENCE_S)
        for act in (context.beat, context.progress):
            try:
                act()
            except CallEndedError as error:
                learned.append(str(error))
        done.set()
        return "late"

    done = threading.Event()
    result = ToolExecutor([stubborn]).execute(call("stubborn"))
    timed_out.set()
    assert kind_of(result) == "timeout"
    assert done.wait(PATIENCE_S)
    assert len(learned) == 2
    assert "stubborn" in learned[0]


def test_a_stream_that_outlives_its_call_is_stopped_at_its_next_chunk():
    chunks, timed_out, stopped = [], threading.Event(), threading.Event()

    @tool(timeout_s=0.05)
    def endless():
        """Never stop."""
        try:
            while True:
                chunks.append(1)
                yield "a"
                timed_out.wait(PATIENCE_S)
        finally:
            stopped.set()

    assert kind_of(ToolExecutor([endless]).execute(call("endless"))) == "timeout"
    timed_out.set()
    assert stopped.wait(PATIENCE_S)
    assert len(chunks) == 2


# --- leaving early ---


def test_leaving_an_async_stream_cancels_the_call_before_it_is_closed():
    """`stream`: leaving early cancels the call; with aclosing() it is over when the block is left."""
    ended = []

    @tool
    async def endless():
        """Never stop."""
        try:
            while True:
                yield "a"
                await asyncio.sleep(0)
        finally:
            ended.append("handler")

    async def main():
        executor = ToolExecutor([endless])
        events = hear(executor)
        async with aclosing(executor.astream(call("endless"))) as items:
            async for _ in items:
                break
        assert ended == ["handler"]
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return events

    (event,) = asyncio.run(main())
    assert (event.kind, event.success) == ("cancelled", False)


def test_leaving_the_stream_of_a_thread_cuts_its_thread_off_and_rolls_back():
    left, refused = threading.Event(), []

    @tool
    def keep_writing(context: ToolContext):
        """Write, tell, and write again."""
        context.session[str].append("before")
        yield "a"
        assert left.wait(PATIENCE_S)
        try:
            context.session[str].append("after")
        except CallEndedError as error:
            refused.append(error)
        finally:
            done.set()

    done = threading.Event()
    session = Session()
    executor = ToolExecutor([keep_writing], session=session)

    async def main():
        async with aclosing(executor.astream(call("keep_writing"))) as items:
            async for _ in items:
                break

    asyncio.run(main())
    left.set()
    assert done.wait(PATIENCE_S)
    assert len(refused) == 1
    assert session[str].all() == ()
    assert executor.stats.abandoned_threads == 1
    assert session[ToolInvoked].latest().kind == "cancelled"


def test_a_stream_that_is_never_begun_runs_nothing():
    ran = []

    @tool
    def note() -> None:
        """Note that it ran."""
        ran.append(1)

    async def main():
        items = ToolExecutor([note]).astream(call("note"))
        await items.aclose()

    asyncio.run(main())
    assert ran == []
