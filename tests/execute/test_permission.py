"""Permission: who may see and use which tool, with which arguments."""

import asyncio
import time
from contextlib import suppress

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way, hear, kind_of
from tests.execute.wiping import make_tools
from toolhaft import Deadline, Principal, ToolCall, ToolContext, ToolExecutor, tool
from toolhaft.errors import ToolAuthorizationError
from toolhaft.execute.approval import Decision

PATIENCE_S = 30.0


# --- lists ---


@each_way
def test_a_tool_that_is_not_on_the_list_is_not_allowed(run):
    wipe, look, ran = make_tools()
    executor = ToolExecutor([wipe, look], allow=["look"])
    refused = run(executor, call("wipe", path="/"))
    assert kind_of(refused) == "not_allowed"
    assert "wipe is not allowed: it is not on the list of allowed tools" in refused.message
    assert refused.failure.outcome == "nothing_happened"
    assert run(executor, call("look")).success
    assert ran == [("look", ".")]


@both_ways
def test_an_empty_list_allows_nothing(run):
    wipe, look, ran = make_tools()
    for executor, bounds in (
        (ToolExecutor([wipe, look], allow=[]), {}),
        (ToolExecutor([wipe, look]), {"principal": Principal(id="a", allow=[])}),
        (ToolExecutor([wipe, look], principal=Principal(id="a", allow=[])), {}),
    ):
        assert kind_of(run(executor, call("look"), **bounds)) == "not_allowed"
    assert ran == []


@both_ways
def test_no_list_allows_everything(run):
    wipe, look, _ = make_tools()
    assert run(ToolExecutor([wipe, look], allow=None), call("look")).success


def test_an_allow_list_that_is_a_text_is_refused():
    """Its letters would be taken for names."""
    wipe, _, _ = make_tools()
    with pytest.raises(TypeError, match=r"not the text 'wipe'; write \['wipe'\]"):
        ToolExecutor([wipe], allow="wipe")
    with pytest.raises(TypeError, match="scopes is a list of names"):
        Principal(scopes="admin")


@both_ways
def test_a_call_may_be_narrower_than_its_executor_but_not_wider(run):
    wipe, look, _ = make_tools()
    executor = ToolExecutor([wipe, look], allow=["look"])
    wide = Principal(id="root", allow=["look", "wipe"])
    assert kind_of(run(executor, call("wipe", path="/"), principal=wide)) == "not_allowed"
    assert run(executor, call("look"), principal=wide).success
    assert kind_of(run(executor, call("look"), principal=Principal(id="x", allow=["wipe"]))) == "not_allowed"


# --- principals ---


@each_way
def test_a_tool_that_a_principal_may_not_see_reads_as_unknown(run):
    """A tool that this principal may not see reads as unknown."""
    wipe, look, ran = make_tools()
    executor = ToolExecutor([wipe, look])
    alice = Principal(id="alice", sees=["look"])
    hidden = run(executor, call("wipe", path="/"), principal=alice)
    unknown = run(executor, call("wype", path="/"), principal=alice)
    assert kind_of(hidden) == kind_of(unknown) == "unknown_tool"
    assert hidden.message == unknown.message.replace("wype", "wipe")
    assert "wipe" not in unknown.message.replace("'wype'", "")
    assert ran == []


@both_ways
def test_a_tool_that_a_principal_may_see_but_not_use_is_not_allowed(run):
    """One that it may see but not use is `not_allowed`."""
    wipe, look, _ = make_tools()
    executor = ToolExecutor([wipe, look])
    alice = Principal(id="alice", sees=["wipe", "look"], allow=["look"])
    assert kind_of(run(executor, call("wipe", path="/"), principal=alice)) == "not_allowed"
    assert run(executor, call("look"), principal=alice).success


@both_ways
def test_a_principal_who_sees_nothing_reads_no_tool_names(run):
    wipe, look, _ = make_tools()
    refused = run(ToolExecutor([wipe, look], principal=Principal(id="x", sees=[])), call("look"))
    assert refused.message == "no tool is called 'look'. There are no tools."


@both_ways
def test_a_tool_requires_its_scopes(run):
    wipe, look, _ = make_tools()
    executor = ToolExecutor([wipe.replace(requires=["disk:write", "disk:wipe"]), look])
    for principal in (None, Principal(id="a"), Principal(id="a", scopes=["disk:write"])):
        refused = run(executor, call("wipe", path="/"), principal=principal)
        assert kind_of(refused) == "not_allowed"
        assert "disk:wipe" in refused.message
    holder = Principal(id="a", scopes=["disk:write", "disk:wipe", "more"])
    assert run(executor, call("wipe", path="/"), principal=holder).success
    assert run(executor, call("look")).success


@both_ways
def test_an_expired_principal_may_use_nothing(run):
    """Threats, *authorization*: expired principal."""
    wipe, look, ran = make_tools()
    executor = ToolExecutor([wipe, look])
    refused = run(executor, call("look"), principal=Principal(id="a", expires_at=time.time() - 1))
    assert kind_of(refused) == "not_allowed"
    assert "expired" in refused.message
    assert run(executor, call("look"), principal=Principal(id="a", expires_at=time.time() + 60)).success
    assert len(ran) == 1


def test_a_principal_may_expire_between_two_calls():
    wipe, look, _ = make_tools()
    principal = Principal(id="a", expires_at=time.time() + 0.1)
    executor = ToolExecutor([wipe, look], principal=principal)
    assert executor.execute(call("look")).success
    time.sleep(0.12)
    assert kind_of(executor.execute(call("look"))) == "not_allowed"


@each_way
def test_the_handler_and_the_record_know_who_called(run):
    @tool
    def who(context: ToolContext) -> str:
        """Say who calls."""
        return context.principal.id

    executor = ToolExecutor([who], principal=Principal(id="house"))
    events = hear(executor)
    assert run(executor, call("who")).value == "house"
    assert run(executor, call("who"), principal=Principal(id="guest")).value == "guest"
    assert [event.principal for event in events] == ["house", "guest"]


@each_case("outer_name", ["outer", "bare"])
def test_a_nested_call_is_made_for_the_caller_of_the_call_around_it(outer_name):
    """The same permission gate for every source and every caller."""
    wipe, look, ran = make_tools()
    wipe = wipe.replace(requires=["admin"])

    @tool
    def outer(context: ToolContext) -> str:
        """Have another tool do it."""
        return kind_of(executor.execute(call("wipe", path="/"))) or "wiped"

    @tool
    def bare() -> str:
        """Have another tool do it."""
        return kind_of(executor.execute(call("wipe", path="/"))) or "wiped"

    executor = ToolExecutor([wipe, look, outer, bare], principal=Principal(id="root", scopes=["admin"]))
    assert executor.execute(call(outer_name), principal=Principal(id="bob")).value == "not_allowed"
    assert ran == []
    assert executor.execute(call(outer_name)).value == "wiped"


@both_ways
def test_a_handler_may_refuse_for_itself(run):

    @tool
    def guarded() -> None:
        """Refuse."""
        raise ToolAuthorizationError("only on Mondays")

    refused = run(ToolExecutor([guarded]), call("guarded"))
    assert kind_of(refused) == "not_allowed"
    assert "only on Mondays" in refused.message


def test_permission_is_asked_before_arguments_are_read():
    """A caller who may not use a tool learns nothing of its parameters."""
    wipe, _, _ = make_tools()
    refused = ToolExecutor([wipe], allow=[]).execute(call("wipe", pth=1))
    assert kind_of(refused) == "not_allowed"
    assert "path" not in refused.message


# --- the policy ---


@each_way
def test_a_policy_sees_the_final_arguments(run):
    """A policy hook that sees canonical final arguments: defaults and repairs in, as they will run."""
    wipe, look, _ = make_tools()
    seen = []

    def policy(request):
        seen.append((request.tool.name, dict(request.arguments), request.principal, request.call.id))
        return True

    executor = ToolExecutor([wipe, look], policy=policy)
    assert run(executor, ToolCall(id="7", name="wipe", arguments='{"path": "a", "force": "true"}')).success
    assert seen == [("wipe", {"path": "a", "force": True}, None, "7")]
    assert run(executor, call("look")).success
    assert seen[1][1] == {"path": "."}


def test_a_policy_is_not_asked_about_arguments_that_are_not_valid():
    wipe, _, _ = make_tools()
    asked = []
    executor = ToolExecutor([wipe], policy=lambda request: asked.append(request) or True)
    assert kind_of(executor.execute(call("wipe", path=5))) == "invalid_arguments"
    assert asked == []


ALLOWING = [True, "allow", Decision(verdict="allow")]
DENYING = [False, "deny", Decision(verdict="deny"), Decision(verdict="deny", reason="not on my watch")]


@each_way
@each_case("is_async", [False, True], ids=["sync", "async"])
@each_case("answer", [*ALLOWING, *DENYING], ids=repr)
def test_a_policy_allows_or_denies(run, is_async, answer):
    _, look, ran = make_tools()

    async def apolicy(request):
        await asyncio.sleep(0)
        return answer

    executor = ToolExecutor([look], policy=apolicy if is_async else lambda request: answer)
    result = run(executor, call("look"))
    if answer in ALLOWING:
        assert result.success
        return
    assert kind_of(result) == "not_allowed"
    assert "look is not allowed with these arguments" in result.message
    assert getattr(answer, "reason", "") in result.message
    assert ran == []


@both_ways
@each_case(
    "answer",
    [None, "yes", "", 1, object(), Decision(verdict="maybe"), []],
    ids=lambda answer: type(answer).__name__,
)
def test_an_invalid_answer_of_a_policy_denies(run, answer):
    """Threats, *authorization*: deny by default."""
    _, look, ran = make_tools()
    result = run(ToolExecutor([look], policy=lambda request: answer), call("look"))
    assert kind_of(result) == "not_allowed"
    assert ran == []


@both_ways
@each_case("is_async", [False, True], ids=["sync", "async"])
def test_a_policy_that_raises_denies(run, is_async):
    """A policy that fails allows nothing; and a call never raises."""
    _, look, ran = make_tools()

    def policy(request):
        raise RuntimeError("secret details of the policy")

    async def apolicy(request):
        await asyncio.sleep(0)
        policy(request)

    result = run(ToolExecutor([look], policy=apolicy if is_async else policy), call("look"))
    assert kind_of(result) == "not_allowed"
    assert "the policy failed" in result.message
    assert "secret details" not in result.message
    assert ran == []


@both_ways
@each_case("is_async", [False, True], ids=["sync", "async"])
def test_a_policy_that_outlasts_the_deadline_lets_nothing_run(run, is_async):
    _, look, ran = make_tools()

    def policy(request):
        time.sleep(0.08)
        return True

    async def apolicy(request):
        await asyncio.sleep(PATIENCE_S)
        return True

    executor = ToolExecutor([look.replace(isolation="inline")], policy=apolicy if is_async else policy)
    result = run(executor, call("look"), deadline=Deadline.after(0.05))
    assert kind_of(result) == "deadline"
    assert result.failure.outcome == "nothing_happened"
    assert "not run" in result.message
    assert ran == []


@both_ways
def test_a_policy_that_never_answers_denies_within_the_tools_time(run):
    _, look, ran = make_tools()

    async def policy(request):
        await asyncio.sleep(PATIENCE_S)

    result = run(ToolExecutor([look.replace(timeout_s=0.05)], policy=policy), call("look"))
    assert "the policy failed (TimeIsUpError)" in result.message
    assert result.failure.outcome == "nothing_happened"
    assert ran == []


def test_a_policy_gets_a_copy_of_the_arguments():
    """Threats, *check-then-use*: what is judged is what runs."""
    wipe, _, ran = make_tools()

    def policy(request):
        with suppress(TypeError):
            request.arguments["path"] = "/harmless"
        return "ask"

    executor = ToolExecutor([wipe], policy=policy)
    pending = executor.execute(call("wipe", path="/")).pending
    assert pending.arguments["path"] == "/"
    executor.resume(pending, True)
    assert ran == [("wipe", "/", False)]
