"""Class tools and their run-time values."""

import asyncio

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, kind_of
from toolhaft import (
    BaseTool,
    Principal,
    RetryPolicy,
    ToolExecutor,
    Toolkit,
    ToolParam,
    ToolResponse,
    ToolReturn,
    ToolSpec,
    tool,
)


def spec(name, *inputs, returns="object"):
    return ToolSpec(
        name=name,
        description="Does something.",
        when_to_use="Use it.",
        inputs=inputs or [ToolParam(name="text", type="string", description="Some text")],
        returns=ToolReturn(type=returns, description="What came of it"),
    )


class Echo(BaseTool):
    """The seed's own example."""

    spec = spec("echo", returns="string")

    def __call__(self, *, text, **kwargs):
        return ToolResponse(final_answer=True, observation=text)


class See(BaseTool):
    """Gives back every run-time value that it was handed."""

    spec = spec("see")

    def __call__(self, *, text, **kwargs):
        return ToolResponse(observation=kwargs)


class AsyncSee(BaseTool):
    spec = spec("asee")

    async def __call__(self, *, text, **kwargs):
        await asyncio.sleep(0)
        return ToolResponse(observation=kwargs)


class Leave(BaseTool):
    """Leaves extras for the next call."""

    spec = spec("leave")

    def __call__(self, *, text, **kwargs):
        return ToolResponse(observation={}, extras={"note": text})


class Narrow(BaseTool):
    """Takes one of the run-time values, by name."""

    spec = spec("narrow", returns="string")

    def __call__(self, *, text, user="nobody"):
        return ToolResponse(observation=f"{user}: {text}")


@tool
def plain(text: str) -> str:
    """Do something."""
    return text


# --- run-time values ---


@each_way
@each_case("name", ["see", "asee"])
def test_a_class_tool_gets_the_runtime_values(run, name):
    executor = ToolExecutor([See(), AsyncSee()], runtime={"user": "alice", "depth": 2})
    assert run(executor, call(name, text="x")).value == {"user": "alice", "depth": 2}


@each_way
def test_without_a_runtime_a_class_tool_gets_only_its_inputs(run):
    assert run(ToolExecutor([See()]), call("see", text="x")).value == {}


@both_ways
def test_a_tool_gets_only_the_runtime_values_that_it_takes(run):
    executor = ToolExecutor([Narrow()], runtime={"user": "alice", "db": object()})
    assert run(executor, call("narrow", text="hi")).value == "alice: hi"
    assert run(ToolExecutor([Narrow()]), call("narrow", text="hi")).value == "nobody: hi"


@both_ways
def test_the_model_cannot_give_run_time_values(run):
    """Threats, *validation*: extra keys named `context`, ...; injected context always wins."""
    executor = ToolExecutor([See(), Narrow()], runtime={"user": "alice"})
    for name in ("see", "narrow"):
        assert kind_of(run(executor, call(name, text="x", user="mallory"))) == "invalid_arguments"


class Hidden(BaseTool):
    """An input that the host gives and the model never sees."""

    spec = spec(
        "hidden",
        ToolParam(name="text", type="string", description="Some text"),
        ToolParam(name="user", type="string", description="Who asks", llm=False),
    )

    def __call__(self, *, text, user, **kwargs):
        return ToolResponse(observation={"text": text, "user": user})


@both_ways
def test_a_parameter_hidden_from_the_model_comes_from_the_runtime(run):
    """`ToolParam(..., llm=True)`; what the host injects wins over what a model says."""
    executor = ToolExecutor([Hidden()], runtime={"user": "alice"})
    assert run(executor, call("hidden", text="x")).value == {"text": "x", "user": "alice"}
    assert kind_of(run(executor, call("hidden", text="x", user="mallory"))) == "invalid_arguments"


def test_a_missing_run_time_value_is_a_failed_call():
    result = ToolExecutor([Hidden()]).execute(call("hidden", text="x"))
    assert kind_of(result) == "failed"
    assert "user" in result.message


def test_the_runtime_is_read_when_the_executor_is_made():
    runtime = {"user": "alice"}
    executor = ToolExecutor([See()], runtime=runtime)
    runtime["user"] = "mallory"
    assert executor.execute(call("see", text="x")).value == {"user": "alice"}


# --- extras ---


@each_way
def test_extras_are_handed_to_the_next_call(run):
    """`extras` handed to the next call only."""
    executor = ToolExecutor([Leave(), See()], runtime={"user": "alice"})
    run(executor, call("leave", text="hello"))
    assert run(executor, call("see", text="x")).value == {"user": "alice", "note": "hello"}
    assert run(executor, call("see", text="x")).value == {"user": "alice"}


@both_ways
def test_extras_are_gone_after_the_next_call_whatever_it_is(run):
    """... to the next call *only*."""
    executor = ToolExecutor([Leave(), See(), plain])
    run(executor, call("leave", text="hello"))
    run(executor, call("plain", text="x"))
    assert run(executor, call("see", text="x")).value == {}


def test_extras_do_not_replace_an_argument_that_a_policy_has_seen():
    class Override(BaseTool):
        spec = spec("override")

        def __call__(self, *, text, **kwargs):
            return ToolResponse(observation={}, extras={"text": "from another tool", "note": text})

    class Both(BaseTool):
        spec = spec("both")

        def __call__(self, *, text, **kwargs):
            return ToolResponse(observation={"text": text, **kwargs})

    executor = ToolExecutor(
        [Override(), Both()], policy=lambda request: request.arguments["text"] in ("a", "b")
    )
    executor.execute(call("override", text="a"))
    assert executor.execute(call("both", text="b")).value == {"text": "b", "note": "a"}


@both_ways
def test_extras_take_precedence_over_the_runtime(run):
    executor = ToolExecutor([Leave(), See()], runtime={"note": "from the host"})
    run(executor, call("leave", text="newer"))
    assert run(executor, call("see", text="x")).value == {"note": "newer"}


@both_ways
def test_an_automatic_repeat_is_handed_the_same_extras(run):
    """A repeat is the same call."""
    seen = []

    class Flaky(BaseTool):
        spec = spec("flaky")
        effect = "read"

        def __call__(self, *, text, **kwargs):
            seen.append(kwargs)
            if len(seen) == 1:
                raise ConnectionError("no line")
            return ToolResponse(observation={})

    executor = ToolExecutor([Leave(), Flaky()], retry=RetryPolicy(backoff_s=0))
    run(executor, call("leave", text="hello"))
    assert run(executor, call("flaky", text="x")).success
    assert seen == [{"note": "hello"}, {"note": "hello"}]


@both_ways
def test_a_failed_call_leaves_no_extras(run):
    """Every failure leaves state as before."""

    class Wrong(BaseTool):
        spec = spec("wrong", returns="integer")

        def __call__(self, *, text, **kwargs):
            return ToolResponse(observation="no integer", extras={"note": text})

    executor = ToolExecutor([Wrong(), See()])
    assert kind_of(run(executor, call("wrong", text="x"))) == "invalid_output"
    assert run(executor, call("see", text="x")).value == {}


def test_extras_that_are_changed_later_are_not_handed_on_changed():
    kept = {}

    class Share(BaseTool):
        spec = spec("share")

        def __call__(self, *, text, **kwargs):
            kept["note"] = "first"
            return ToolResponse(observation={}, extras=kept)

    executor = ToolExecutor([Share(), See()])
    executor.execute(call("share", text="x"))
    kept["note"] = "second"
    assert executor.execute(call("see", text="x")).value == {"note": "first"}


def test_extras_of_one_caller_are_not_handed_to_another():
    """What one principal's call left is not another one's to see."""
    executor = ToolExecutor([Leave(), See()])
    alice, bob = Principal(id="alice"), Principal(id="bob")
    executor.execute(call("leave", text="private"), principal=alice)
    assert executor.execute(call("see", text="x"), principal=bob).value == {}
    assert executor.execute(call("see", text="x"), principal=alice).value == {"note": "private"}


def test_a_new_run_is_handed_no_extras_of_the_old_one():
    executor = ToolExecutor([Leave(), See()])
    executor.execute(call("leave", text="old"))
    executor.new_run()
    assert executor.execute(call("see", text="x")).value == {}


# --- the answer ---


@each_way
def test_a_final_answer_is_carried_on_the_result(run):
    result = run(ToolExecutor([Echo()]), call("echo", text="hello"))
    assert (result.value, result.final, result.render()) == ("hello", True, "hello")


@each_way
def test_an_answer_that_is_not_final_says_so(run):
    assert run(ToolExecutor([See()]), call("see", text="x")).final is False


@both_ways
def test_a_failed_final_answer_is_not_final(run):
    """A run must not end on an answer that does not fit its schema."""

    class Wrong(BaseTool):
        spec = spec("wrong", returns="integer")

        def __call__(self, *, text, **kwargs):
            return ToolResponse(observation="no integer", final_answer=True)

    result = run(ToolExecutor([Wrong()]), call("wrong", text="x"))
    assert kind_of(result) == "invalid_output"
    assert result.final is False


@both_ways
def test_a_toolkit_runs_as_it_is(run):
    assert run(ToolExecutor(Toolkit([Echo(), See()])), call("echo", text="hello")).value == "hello"


@both_ways
def test_the_return_type_of_the_spec_is_checked(run):
    """`ToolReturn` becomes the output schema."""

    class Wrong(BaseTool):
        spec = spec("wrong", returns="array")

        def __call__(self, *, text, **kwargs):
            return ToolResponse(observation="no array")

    assert kind_of(run(ToolExecutor([Wrong()]), call("wrong", text="x"))) == "invalid_output"
