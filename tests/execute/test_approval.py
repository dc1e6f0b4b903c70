"""Calls that wait for approval: stored as JSON, resumed anywhere, run exactly as they were approved."""

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import Enum
from math import inf
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.execute.calls import call, each_way, hear, in_threads, kind_of
from tests.execute.wiping import make_tools
from toolhaft import Principal, ToolExecutor, tool
from toolhaft.execute.approval import Approval, Decision, PendingApproval

PATIENCE_S = 30.0


def asking(*tools, **options):
    return ToolExecutor(tools, policy=lambda request: Decision(verdict="ask", reason="it wipes"), **options)


@each_way
def test_a_policy_that_asks_suspends_the_call(run):
    """*ask* suspends the call as a value (`result.pending`)."""
    wipe, _, ran = make_tools()
    result = run(asking(wipe), call("wipe", id="c1", path="/"))
    assert kind_of(result) == "needs_approval"
    assert result.message.startswith("wipe waits for approval: it wipes.")
    pending = result.pending
    assert (pending.tool, pending.call_id, pending.reason) == ("wipe", "c1", "it wipes")
    assert pending.arguments == {"path": "/", "force": False}
    assert ran == []


def resume(executor, is_async, pending, approval, **rest):
    if is_async:
        return asyncio.run(executor.aresume(pending, approval, **rest))
    return executor.resume(pending, approval, **rest)


sync_and_async = each_case("is_async", [False, True], ids=["sync", "async"])


@sync_and_async
def test_an_approved_call_runs_exactly_as_it_was_asked(is_async):
    """What is approved is what runs."""
    wipe, _, ran = make_tools()
    executor = asking(wipe)
    events = hear(executor)
    pending = executor.execute(call("wipe", id="c1", path="/")).pending
    result = resume(executor, is_async, pending, True)
    assert (result.success, result.value) == (True, "wiped /")
    assert ran == [("wipe", "/", False)]
    assert [(event.call_id, event.kind) for event in events] == [("c1", "needs_approval"), ("c1", None)]


@sync_and_async
def test_a_denied_call_does_not_run(is_async):
    wipe, _, ran = make_tools()
    executor = asking(wipe)
    pending = executor.execute(call("wipe", path="/")).pending
    refused = resume(executor, is_async, pending, Approval(approved=False, reason="not today"))
    assert kind_of(refused) == "not_allowed"
    assert "wipe was not approved: not today" in refused.message
    assert kind_of(resume(executor, is_async, pending, False)) == "not_allowed"
    assert ran == []


@sync_and_async
def test_an_approval_is_plain_json(is_async):
    wipe, _, ran = make_tools()
    executor = asking(wipe)
    pending = executor.execute(call("wipe", path="/")).pending
    text = pending.to_json()
    assert PendingApproval.from_json(text) == pending
    assert PendingApproval.from_json(text.encode()) == pending
    assert resume(executor, is_async, json.loads(text), True).success
    assert ran == [("wipe", "/", False)]


@sync_and_async
def test_an_approval_used_twice_runs_once(is_async):
    """An approval is for one call."""
    wipe, _, ran = make_tools()
    executor = asking(wipe)
    text = executor.execute(call("wipe", path="/")).pending.to_json()
    first, second = (resume(executor, is_async, text, True) for _ in range(2))
    assert first.value == second.value == "wiped /"
    assert len(ran) == 1


def test_an_approval_used_by_two_at_once_runs_once():
    ran = []

    @tool
    def slow() -> int:
        """Take a while."""
        ran.append(1)
        time.sleep(0.05)
        return len(ran)

    executor = asking(slow)
    pending = executor.execute(call("slow")).pending
    values = []
    in_threads([lambda: values.append(executor.resume(pending, True).value)] * 3)
    assert (values, len(ran)) == ([1, 1, 1], 1)


TAMPERED = {
    "arguments": {"path": "/home", "force": False},
    "tool": "look",
    "principal": "root",
    "call_id": "other",
    "id": "0" * 16,
    "tool_digest": "0" * 64,
    "digest": "0" * 64,
}


@sync_and_async
@each_case("field", TAMPERED)
def test_an_approval_that_was_changed_is_refused(is_async, field):
    wipe, look, ran = make_tools()
    executor = asking(wipe, look)
    events = hear(executor)
    pending = executor.execute(call("wipe", path="/")).pending
    forged = {**json.loads(pending.to_json()), field: TAMPERED[field]}
    refused = resume(executor, is_async, json.dumps(forged), True)
    assert kind_of(refused) == "not_allowed"
    assert ran == []
    assert len(events) == 2, "a forged approval belongs in the log"
    assert events[1].kind == "not_allowed"


def test_an_approval_with_a_digest_is_valid_only_for_that_digest():
    """`Approval.digest` is of what the approver saw."""
    wipe, _, ran = make_tools()
    executor = asking(wipe)
    pending = executor.execute(call("wipe", path="/")).pending
    other = executor.execute(call("wipe", path="/home")).pending
    refused = executor.resume(pending, Approval(approved=True, digest=other.digest))
    assert kind_of(refused) == "not_allowed"
    assert ran == []
    assert executor.resume(pending, Approval(approved=True, digest=pending.digest, by="carol")).success


@each_case(
    "change",
    [{"description": "Wipe everything."}, {"version": "2"}, {"effect": "reversible"}],
    ids=lambda change: next(iter(change)),
)
def test_a_tool_that_has_changed_since_needs_a_new_approval(change):
    """Threats, *names*: the digest is pinned and a change needs a new approval."""
    wipe, _, ran = make_tools()
    pending = asking(wipe).execute(call("wipe", path="/")).pending
    refused = asking(wipe.replace(**change)).resume(pending, True)
    assert kind_of(refused) == "not_allowed"
    assert "has changed since" in refused.message
    assert ran == []


def test_an_approval_of_a_tool_that_is_gone_is_refused():
    wipe, look, _ = make_tools()
    pending = asking(wipe).execute(call("wipe", path="/")).pending
    assert kind_of(asking(look).resume(pending, True)) == "unknown_tool"


def test_an_approved_call_still_needs_permission():
    """Threats, *check-then-use*: an approval answers the policy, and no other step."""
    wipe, _, ran = make_tools()
    pending = asking(wipe).execute(call("wipe", path="/")).pending
    assert kind_of(asking(wipe, allow=[]).resume(pending, True)) == "not_allowed"
    assert ran == []


def test_an_approval_is_for_the_caller_who_asked():
    wipe, _, ran = make_tools()
    alice, bob = Principal(id="alice"), Principal(id="bob")
    executor = asking(wipe)
    pending = executor.execute(call("wipe", path="/"), principal=alice).pending
    assert kind_of(executor.resume(pending, True)) == "not_allowed"
    assert kind_of(executor.resume(pending, True, principal=bob)) == "not_allowed"
    assert ran == []
    assert executor.resume(pending, True, principal=alice).success
    assert asking(wipe, principal=alice).resume(replace(pending), True).success


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


@each_case(
    ("kind", "given", "arrives"),
    [
        (date, "2024-01-02", date(2024, 1, 2)),
        (Decimal, "1.50", Decimal("1.50")),
        (Colour, "red", Colour.RED),
        (set[int], [2, 1], {1, 2}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (bytes, "abc", b"abc"),
        (Path, "a/b", Path("a/b")),
        (Point, {"x": 1}, Point(1)),
        (list[Point | int], [{"x": 1}, 5], [Point(1), 5]),
        (int | str, "5", "5"),
        (int, 5.0, 5),
        (float, 10**30, 1e30),
    ],
    ids=repr,
)
def test_a_resumed_call_gets_arguments_of_the_same_types(kind, given, arrives):
    """What is approved is what runs, also after a journey through JSON."""
    ran = []

    def act(value, limit=inf, note=None):
        ran.append((value, limit, note))

    act.__annotations__ = {"value": kind, "limit": float, "note": str | None}
    made = tool(act, description="Act.")
    stored = asking(made).execute(call("act", value=given)).pending.to_json()
    assert asking(made).resume(stored, True).success
    assert ran == [(arrives, inf, None)]
    assert type(ran[0][0]) is type(arrives)


def test_a_resumed_call_keeps_its_idempotency_key():
    """A caller's key makes a repeat return the recorded result and run nothing."""
    wipe, _, ran = make_tools()
    executor = asking(wipe)
    for _ in range(2):
        pending = executor.execute(call("wipe", path="/", idempotency_key="k")).pending
        assert executor.resume(pending.to_json(), True).value == "wiped /"
    assert len(ran) == 1


@each_case("stored", ["", "[]", "{}", "null", "{", b"\xff", '{"tool": "wipe"}', 5, None, []], ids=repr)
def test_an_invalid_stored_approval_is_refused(stored):
    wipe, _, _ = make_tools()
    with pytest.raises(ValueError, match="this is not a stored approval"):
        asking(wipe).resume(stored, True)


@each_case("field", ["id", "tool", "arguments", "digest", "principal"])
def test_a_stored_approval_with_a_field_of_the_wrong_type_is_refused(field):
    wipe, _, _ = make_tools()
    executor = asking(wipe)
    stored = json.loads(executor.execute(call("wipe", path="/")).pending.to_json())
    with pytest.raises(ValueError, match=f"this is not a stored approval: {field}"):
        executor.resume({**stored, field: ["x"]}, True)


@each_case("answer", ["yes", None, 1, {"approved": True}], ids=repr)
def test_an_answer_that_is_neither_yes_nor_no_is_refused(answer):
    wipe, _, ran = make_tools()
    executor = asking(wipe)
    pending = executor.execute(call("wipe", path="/")).pending
    with pytest.raises(TypeError, match="True, False or an Approval"):
        executor.resume(pending, answer)
    assert ran == []


def test_only_a_call_that_waits_for_approval_has_a_pending_result():
    wipe, look, _ = make_tools()
    executor = ToolExecutor(
        [wipe, look], policy=lambda request: "ask" if request.tool.name == "wipe" else "allow"
    )
    waits, ran = executor.execute_all([call("wipe", path="/"), call("look")])
    assert waits.pending is not None
    assert ran.pending is None


CHILD = """
import sys
from toolhaft import ToolExecutor, tool

@tool
def wipe(path: str, force: bool = False) -> str:
    "Wipe a disk."
    return f"wiped {path}"

executor = ToolExecutor([wipe], policy=lambda request: "ask")
if len(sys.argv) == 1:
    print(executor.execute(__import__("toolhaft").ToolCall(name="wipe", arguments={"path": "/"})).pending.to_json())
else:
    for line in sys.stdin:
        result = executor.resume(line, True)
        print(result.success, result.render(), result.failure and result.failure.kind)
"""


def child(*args, text=None):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *args],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.external
def test_an_approval_is_resumed_in_another_process():
    stored = child()
    forged = json.dumps({**json.loads(stored), "arguments": {"path": "/home", "force": False}})
    refused, resumed = child("resume", text=f"{forged}\n{stored}\n").splitlines()
    assert refused.endswith("not_allowed")
    assert resumed == "True wiped / None"
