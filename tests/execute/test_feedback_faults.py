"""Whose prompt a call's feedback comes from, and what feedback needs that may be missing."""

import asyncio
import threading
from typing import Any, get_type_hints

import pytest

from tests.cases import each_case
from tests.execute.calls import PATIENCE_S, both_ways, by_aexecute, by_execute, call
from tests.execute.prompt_kit import BarePrompt, Words
from toolhaft import Principal, Session, ToolContext, ToolExecutor, tool
from toolhaft.core.ports import Clock
from toolhaft.errors import PromptValidationError
from toolhaft.execute.feedback_counts import FeedbackGiven, PromptCalls, claim_feedback, count_call
from toolhaft.prompt import StaticFeedback
from toolhaft.resources import ResourceRegistry
from toolhaft.session import Append


@tool
def leaf() -> str:
    """A leaf."""
    return "leaf"


def always(name="words"):
    return Words(lambda context: f"call {context.calls}", name)


def advised(*tools, by=(), **options):
    return ToolExecutor(prompt=BarePrompt(tools=tools, feedback=by or (always(),)), **options)


def said(result):
    return [one.text for one in result.feedback]


# --- calls within calls ---


def delegating(inner, kind, told):
    """A tool whose handler calls `leaf` through another executor, in each way that handlers run."""

    def work():
        told.append(said(inner().execute(call("leaf"))))
        return "done"

    if kind == "async":

        @tool(name="delegate")
        async def delegate() -> str:
            """Have another do it."""
            told.append(said(await inner().aexecute(call("leaf"))))
            return "done"

    elif kind == "context":

        @tool(name="delegate")
        def delegate(context: ToolContext) -> str:
            """Have another do it."""
            return work()

    else:

        @tool(name="delegate", isolation="inline" if kind == "inline" else None)
        def delegate() -> str:
            """Have another do it."""
            return work()

    return delegate


each_kind = each_case("kind", ["thread", "inline", "context", "async"])


@each_kind
@each_case("has_feedback", [False, True])
@both_ways
def test_a_call_in_another_session_has_the_feedback_of_its_own_prompt(run, kind, has_feedback):
    told = []
    sub = advised(leaf)
    delegate = delegating(lambda: sub, kind, told)
    main = advised(delegate) if has_feedback else ToolExecutor([delegate])
    results = [run(main, call("delegate")) for _ in range(2)]
    assert [one.value for one in results] == ["done", "done"]
    assert told == [["call 1"], ["call 2"]]
    assert [said(one) for one in results] == ([["call 1"], ["call 2"]] if has_feedback else [[], []])


@each_kind
@both_ways
def test_a_call_through_another_executor_of_the_same_session_has_none(run, kind):
    told, session = [], Session()
    sub = advised(leaf, session=session)
    main = ToolExecutor([delegating(lambda: sub, kind, told)], session=session)
    run(main, call("delegate"))
    assert told == [[]]
    assert said(run(sub, call("leaf"))) == ["call 1"]


@each_kind
@both_ways
def test_a_call_through_another_executor_of_a_session_that_was_made_for_the_first_has_none(run, kind):
    told = []
    main = ToolExecutor([delegating(lambda: sub, kind, told)])
    sub = advised(leaf, session=main.session)
    run(main, call("delegate"))
    assert told == [[]]


@each_case(("run", "kind"), [(by_execute, "thread"), (by_aexecute, "async")])
def test_a_call_that_comes_back_to_its_first_executor_has_none(run, kind):
    """The model of the first one does not read it, however many others are between."""
    between, told = [], []
    sub = advised(delegating(lambda: main, kind, told))

    @tool(name="delegate")
    async def first() -> str:
        """Have another have the first do it."""
        between.append(said(await sub.aexecute(call("delegate"))))
        return "done"

    main = advised(leaf, first)
    assert said(run(main, call("delegate"))) == ["call 1"]
    assert (between, told) == ([["call 1"]], [[]])


# --- what is refused or made up for ---


@each_case("name", [None, 3, ["a"], "", "  "])
def test_a_provider_name_must_be_a_text(name):
    with pytest.raises(PromptValidationError, match="a feedback provider is called"):
        advised(leaf, by=(Words(lambda _: "well", name),))


@both_ways
def test_a_clock_that_cannot_be_created_is_only_logged(run, caplog):
    def broken():
        raise OSError("no clock")

    registry = ResourceRegistry()
    registry.provide(Clock, broken)
    result = run(advised(leaf, resources=registry), call("leaf"))
    assert (result.value, said(result)) == ("leaf", ["call 1"])
    assert "feedback uses the system clock" in caplog.text


def test_without_a_clock_nothing_is_logged(caplog):
    assert said(advised(leaf).execute(call("leaf"))) == ["call 1"]
    assert caplog.text == ""


# --- the logs of a session ---


def test_a_snapshot_with_logs_can_be_restored_before_the_first_call():
    def started():
        return advised(leaf, by=[StaticFeedback("once")])

    before = started()
    assert said(before.execute(call("leaf"))) == ["once"]
    after = started()
    after.session.restore(before.session.snapshot(include_logs=True))
    assert said(after.execute(call("leaf"))) == []
    assert [one.calls for one in after.session[PromptCalls]] == [2]


def test_change_prompt_registers_the_logs_of_the_new_prompt():
    executor = ToolExecutor([leaf])
    assert not executor.session.has_listener(FeedbackGiven)
    executor.change_prompt(BarePrompt(feedback=(always(),)))
    assert executor.session.has_listener(FeedbackGiven)


def interrupted(kind, act):
    """What `act` gives two threads, of which the second begins amid the writing of the first."""
    session, answers, writing = Session(), [], threading.Event()

    def keep(view, item):
        if not writing.is_set():
            writing.set()
            second.start()
            second.join(0.2)  # where it waits as it should, it is done only after this one
        return Append(item)

    session[kind].register(kind, keep, log=True)
    second = threading.Thread(target=lambda: answers.append(act(session)))
    answers.append(act(session))
    second.join(PATIENCE_S)
    return answers


def test_two_calls_counted_at_the_same_time_get_different_numbers():
    counted = interrupted(PromptCalls, lambda session: count_call(session, "p", 1.0).calls)
    assert sorted(counted) == [1, 2]


def test_two_calls_cannot_both_get_the_same_feedback():
    given = FeedbackGiven(prompt="p", provider="words", call=1, at=1.0)
    taken = interrupted(FeedbackGiven, lambda session: claim_feedback(session, None, given))
    assert sorted(taken) == [False, True]


# --- a prompt that is changed amid a call's beginning ---


def test_a_nested_call_keeps_its_caller_if_the_prompt_changes_as_the_call_begins():
    principals = []

    @tool(effect="read")
    def who(context: ToolContext) -> str:
        """Say whose call it is."""
        principals.append(context.principal)
        return "said"

    @tool(effect="read")
    async def ask() -> str:
        """Ask whose call it is."""
        return (await executor.aexecute(call("who"))).value

    class Meddler(Principal):
        """Has another prompt brought while the call begins."""

        def __ne__(self, other):
            executor.change_prompt(BarePrompt(tools=(ask, who)))
            return True

    executor = ToolExecutor(prompt=BarePrompt(tools=(ask, who)))
    caller = Meddler(id="ada")
    assert asyncio.run(executor.aexecute(call("ask"), principal=caller)).value == "said"
    assert [one.id for one in principals] == ["ada"]


# --- types ---


def test_type_checkers_see_the_methods_of_executor_prompt():
    """`executor.rendered_prompt.text` and `executor.prompt.with_visibility(...)` are documented."""
    for name in ("prompt", "rendered_prompt"):
        assert get_type_hints(getattr(ToolExecutor, name).fget)["return"] is Any
