"""Policies, approvals, keys and records are made from the checked JSON, never from the parameters written again."""

import itertools
import json
import uuid
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tests.cases import each_case, in_case
from tests.execute.calls import call, hear, kind_of
from tests.execute.hidden_models import (
    HIDDEN,
    SHOWN,
    Cat,
    Changed,
    Emptied,
    Hidden,
    Mixed,
    Odd,
    Part,
    Renamed,
    Walk,
    Wrapped,
)
from toolhaft import (
    BaseTool,
    RetryPolicy,
    Tool,
    ToolCall,
    ToolExecutor,
    ToolParam,
    ToolResponse,
    ToolResult,
    ToolReturn,
    ToolSpec,
    load_tool,
    tool,
)
from toolhaft.core.canonical_json import digest
from toolhaft.execute.approval import Approval, PendingApproval
from toolhaft.schema import UnreadArguments

_NUMBERS = itertools.count(1)


def new_id():
    return f"id-{next(_NUMBERS)}"


def typed(params_type, **options):
    """A typed tool, and the parameters with which its handler ran."""
    ran = []

    def handler(params: Any, *, context: Any) -> ToolResult[str]:
        ran.append(params)
        return ToolResult.ok(repr(params))

    made = Tool[params_type, str](name="t", description="Take it.", handler=handler, **options)
    return made, ran


def decided(made, arguments, verdict="allow", **options):
    """The result of a call, and what its policy saw."""
    seen = []

    def policy(request):
        seen.append(request)
        return verdict

    executor = ToolExecutor([made], policy=policy, **options)
    return executor.execute(ToolCall(id="1", name=made.name, arguments=arguments)), seen[0]


def resumed(made, pending, answer=True):
    return ToolExecutor([made], policy=lambda _: "deny").resume(pending, answer)


TYPED = [
    (Hidden, HIDDEN, HIDDEN),
    (Hidden, {}, SHOWN),
    (Emptied, {"one": HIDDEN}, {"one": HIDDEN, "more": [], "other": None}),
    (
        Emptied,
        {"one": {"amount": 3}, "more": [{"role": "x"}], "other": {}},
        {"one": {**SHOWN, "amount": 3}, "more": [{**SHOWN, "role": "x"}], "other": SHOWN},
    ),
    (Renamed, {}, {"A": 1, "B": 2, "deep": {"c": 3}, "d": 4}),
    (Renamed, {"a": 9, "B": 8}, {"a": 9, "B": 8, "deep": {"c": 3}, "d": 4}),
    (
        Odd,
        {},
        {
            "kind": "file",
            "price": "1.50",
            "data": "x",
            "day": "2024-01-02",
            "names": ["a", "b"],
            "items": [1],
            "hidden": {**SHOWN, "role": "guest"},
            "queue": [1],
        },
    ),
    (
        Walk,
        {"free": {"kind": "dog"}, "tagged": [{"kind": "cat"}]},
        {"free": {"kind": "dog", "owner": "none"}, "tagged": [{"kind": "cat", "lives": 9}]},
    ),
    (
        Mixed,
        {"part": {}, "checked": {"name": "n"}, "point": [1]},
        {"part": {"size": 2}, "checked": {"name": "n", "size": 3}, "point": [1, 5]},
    ),
    (Changed, {"amount": 2}, {"amount": 2, "more": 1}),
    (Wrapped, {"inner": {"amount": 2}}, {"inner": {"amount": 2, "more": 1}}),
    # repairs are in it
    (Changed, {"amount": "2", "more": 3.0}, {"amount": 2, "more": 3}),
    (Emptied, {"one": json.dumps(HIDDEN)}, {"one": HIDDEN, "more": [], "other": None}),
]


@each_case("params_type,arguments,expected", TYPED)
def test_policy_sees_the_json_that_the_handler_runs_with(params_type, arguments, expected):
    for given in (arguments, json.dumps(arguments)):
        made, ran = typed(params_type)
        result, request = decided(made, given)
        assert result.success
        assert request.arguments == expected
        assert request.params == ran[0] if type(ran[0]) is dict else request.params is ran[0]


@each_case("params_type,arguments,expected", TYPED)
def test_what_is_approved_is_exactly_what_runs(params_type, arguments, expected):
    made, ran = typed(params_type)
    result, request = decided(made, arguments, "ask")
    stored = result.pending.to_json()
    assert json.loads(stored)["arguments"] == expected
    assert resumed(made, stored).success
    assert ran == [request.params]


def test_each_way_to_define_a_tool_shows_its_policy_the_same_json(tmp_path):
    class Adder(BaseTool):
        spec = ToolSpec(
            name="t",
            description="Take it.",
            when_to_use="Always.",
            inputs=[
                ToolParam(name="a", type="number", description="A number"),
                ToolParam(name="b", type="string", description="A text", required=False),
            ],
            returns=ToolReturn(type="number", description="It"),
        )

        def __call__(self, *, a: float, b: str = "x", **_: object) -> ToolResponse:
            return ToolResponse(observation=f"{a}{b}")

    @tool
    def decorated(a: int, b: str = "x", hidden: Hidden = Hidden()) -> str:  # noqa: B008 -- copied for each call
        """Take it."""
        return f"{a}{b}{hidden.role}"

    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string", "default": "x"}},
        "required": ["a"],
    }
    raw = Tool(name="t", description="Take it.", input_schema=schema, handler=lambda given: given["b"])
    (tmp_path / "calc.yaml").write_text(
        "id: calc\nname: Calc\ndescription: Take it.\nparameters:\n"
        "  - {name: a, type: integer, description: A number, required: true}\n"
        "  - {name: b, type: string, description: A text, required: false, default: x}\n"
    )
    written = load_tool(tmp_path / "calc.yaml").replace(handler=lambda given: given["b"])
    for made, arguments, expected in (
        (decorated, {"a": 1}, {"a": 1, "b": "x", "hidden": SHOWN}),
        (decorated, {"a": 1.0, "hidden": HIDDEN}, {"a": 1, "b": "x", "hidden": HIDDEN}),
        (Adder(), {"a": 1}, {"a": 1}),
        (raw, {"a": "1"}, {"a": 1, "b": "x"}),
        (written, {"a": 1.0}, {"a": 1, "b": "x"}),
    ):
        with in_case(made, arguments):
            (converted,) = ToolExecutor([made]).tools.values()
            _, request = decided(converted, arguments)
            assert request.arguments == expected


# --- defaults that differ at each use ---


class Stamped(BaseModel):
    id: str = Field(default_factory=new_id)
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))


class Nested(BaseModel):
    parts: list[Stamped]
    uid: uuid.UUID = Field(default_factory=uuid.uuid4)
    name: str = Field(default_factory=lambda data: f"{data['uid']}-{new_id()}")


@dataclass
class StampedPart:
    id: str = field(default_factory=new_id)


@dataclass
class Plain:
    part: StampedPart
    id: str = field(default_factory=new_id)


class Copying(BaseModel):
    """Its validator replaces the object that was given."""

    id: str = Field(default_factory=new_id)

    @model_validator(mode="before")
    @classmethod
    def copied(cls, data: Any) -> Any:
        return {**data}


class Made(BaseModel):
    """It has its own constructor."""

    id: str = Field(default_factory=new_id)

    def __init__(self, **data: Any) -> None:
        super().__init__(**data)


class Chosen(BaseModel):
    one: Stamped | Cat
    copied: Copying
    made: Made


VARYING = [
    (Stamped, {}),
    (Nested, {"parts": [{}, {"id": "given"}]}),
    (Plain, {"part": {}}),
    (Plain, {"part": "{}"}),
    (Chosen, {"one": {}, "copied": {}, "made": {}}),
]


@each_case("params_type,arguments", VARYING)
def test_a_default_is_computed_once_for_policy_handler_approval_and_records(params_type, arguments):
    made, ran = typed(params_type, effect="read", cache_s=60)
    result, request = decided(made, arguments)
    assert result.success
    assert request.params is ran[0]
    checked, _ = typed(params_type)
    assert checked.validate(request.arguments).params == ran[0]  # every default is in the JSON

    executor = ToolExecutor([made], policy=lambda _: "allow")
    events = hear(executor)
    executor.execute(ToolCall(name="t", arguments=arguments))
    assert checked.validate(events[0].arguments).params == ran[1]

    pending = decided(made, arguments, "ask")[0].pending
    assert resumed(made, pending.to_json()).success
    assert checked.validate(pending.arguments).params == ran[2]


def test_a_factory_is_called_once():
    made_ids = []

    class Counted(BaseModel):
        id: int = Field(default_factory=lambda: made_ids.append(1) or len(made_ids))

    class Outer(BaseModel):
        inner: Counted
        other: Counted

    made, ran = typed(Outer)
    decided(made, {"inner": {}, "other": {}})
    assert len(made_ids) == 2
    assert (ran[0].inner.id, ran[0].other.id) == (1, 2)


def test_arguments_that_could_not_be_read_stay_invalid():
    class Text(BaseModel):
        text: str
        problem: str
        id: str = Field(default_factory=new_id)

    made, ran = typed(Text)
    executor = ToolExecutor([made], policy=lambda _: "allow")
    result = executor.execute(ToolCall(name="t", arguments=UnreadArguments("{", "cut short")))
    assert kind_of(result) == "invalid_arguments"
    assert ran == []


def test_a_retry_runs_with_the_same_defaults():
    seen = []

    @tool(effect="idempotent")
    def create(stamp: Stamped) -> str:
        """Create it."""
        seen.append(stamp.id)
        stamp.id = "changed by the handler"
        if len(seen) < 3:
            message = "busy"
            raise RuntimeError(message)
        return stamp.id

    assert (
        ToolExecutor([create], retry=RetryPolicy(max_attempts=3, backoff_s=0))
        .execute(call("create", stamp={}))
        .success
    )
    assert len(set(seen)) == 1


def test_a_default_that_json_cannot_hold_is_left_out_and_the_policy_gets_the_object():
    class Held(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        name: str = "n"
        anything: Any = Field(default_factory=object)
        wrong: int = Field(default_factory=lambda: "not a number")
        id: str = Field(default_factory=new_id)

    made, ran = typed(Held)
    _, request = decided(made, {})
    assert request.arguments == {"name": "n", "wrong": "not a number", "id": ran[0].id}
    assert request.params is ran[0]


# --- keys, and what a caller left unset ---


def test_secrets_and_hidden_fields_are_part_of_every_key():
    calls = []

    @tool(effect="read", cache_s=60)
    def cached(hidden: Hidden) -> str:
        """Look it up."""
        calls.append(hidden)
        return hidden.token.get_secret_value()

    executor = ToolExecutor([cached], max_repeats=1)
    tokens = [executor.execute(call("cached", hidden={"token": token})).value for token in ("a", "b", "a")]
    assert tokens == ["a", "b", "a"]
    assert len(calls) == 2
    executor.execute(call("cached", hidden={"role": "admin"}))
    executor.execute(call("cached", hidden={"role": "user"}))
    assert len(calls) == 4

    @tool(retryable=False)
    def pay(hidden: Hidden) -> str:
        """Pay."""
        raise RuntimeError(hidden.token.get_secret_value())

    executor = ToolExecutor([pay])
    kinds = [
        kind_of(executor.execute(call("pay", hidden={"token": token}))) for token in ("a", "b", "a", "b")
    ]
    assert kinds == ["failed", "failed", "attempts", "attempts"]


def test_one_idempotency_key_with_another_secret_is_refused():
    @tool
    def send(hidden: Hidden) -> str:
        """Send it."""
        return hidden.role

    executor = ToolExecutor([send])
    executor.execute(call("send", idempotency_key="k", hidden={"token": "a"}))
    again = executor.execute(call("send", idempotency_key="k", hidden={"token": "b"}))
    assert kind_of(again) == "invalid_arguments"


def test_fields_that_were_not_given_stay_unset_with_a_policy_and_after_an_approval():
    class Patch(BaseModel):
        name: str | None = None
        age: int = 3
        tags: list[str] = Field(default_factory=list)

    made, ran = typed(Patch)
    decided(made, {"age": 4})
    pending = decided(made, {"age": 4}, "ask")[0].pending
    resumed(made, pending.to_json())
    assert pending.arguments == {"name": None, "age": 4, "tags": []}
    assert [params.model_dump(exclude_unset=True) for params in ran] == [{"age": 4}, {"age": 4}]


# --- stored approvals ---


def test_a_stored_approval_whose_json_was_changed_is_refused():
    made, ran = typed(Emptied)
    pending = decided(made, {"one": {"amount": 3}}, "ask")[0].pending
    stored = json.loads(pending.to_json())
    for part, value in (
        ("given", {"one": {"amount": 4}}),
        ("given", None),
        ("given", {**stored["given"], "other": {}}),
        ("arguments", {**stored["arguments"], "one": {**SHOWN, "amount": 3, "role": "admin"}}),
    ):
        with in_case(part, value):
            assert kind_of(resumed(made, {**stored, part: value})) == "not_allowed"
            # who can write to the store can also compute a digest; the approver saw another one
            forged = PendingApproval.from_json({**stored, part: value})
            answer = Approval(approved=True, digest=pending.digest)
            assert kind_of(resumed(made, forged, answer)) == "not_allowed"
    assert ran == []
    assert resumed(made, stored).success


def test_an_approval_that_shows_other_arguments_than_it_runs_is_refused_without_a_policy():
    made, ran = typed(Emptied)
    pending = decided(made, {"one": {"amount": 3}}, "ask")[0].pending
    for given in (
        {"one": {"amount": 4}},
        {"one": {"amount": 3.0}},
        {"one": {"amount": 3, "role": "admin"}},
        {},
    ):
        forged = replace(pending, given=given)
        forged = replace(forged, digest=digest(forged.digested_fields()))
        with in_case(given):
            assert kind_of(ToolExecutor([made]).resume(forged, True)) == "not_allowed"
    assert ran == []
    assert ToolExecutor([made]).resume(pending, True).success


def test_an_approval_that_was_stored_without_given_still_reads():
    """As earlier versions did; their digests do not cover it."""
    made, _ = typed(Part)
    stored = json.loads(decided(made, {"size": 4}, "ask")[0].pending.to_json())
    assert stored.pop("given") is None
    covered = {name: value for name, value in stored.items() if name not in ("digest", "reason", "asked_at")}
    assert stored["digest"] == digest(covered)
    assert resumed(made, stored).success


# --- what a policy can do to what it sees ---


def test_a_policy_changes_neither_the_json_nor_the_values_that_a_function_takes():
    received = []

    @tool
    def pay(amount: int, to: list[str]) -> str:
        """Pay."""
        received.append((amount, to))
        return "paid"

    def spoil(request):
        request.arguments["amount"] = 5
        request.arguments["to"].append("eve")
        with pytest.raises(TypeError):
            request.params["amount"] = 5
        return "allow"

    ToolExecutor([pay], policy=spoil).execute(call("pay", amount=1, to=["ada"]))
    assert received == [(1, ["ada"])]


def test_a_handler_that_changes_its_parameters_changes_no_record():
    @tool(effect="read", cache_s=60)
    def spoil(items: list[str]) -> int:
        """Count."""
        items.append("more")
        return len(items)

    executor = ToolExecutor([spoil])
    events = hear(executor)
    assert [executor.execute(call("spoil", items=["a"])).value for _ in range(2)] == [2, 2]
    assert [event.arguments for event in events] == ['{"items":["a"]}'] * 2


def test_a_handler_that_changes_a_default_changes_no_later_call():
    @tool
    def create(hidden: Hidden = Hidden(), part: Part = Part()) -> str:  # noqa: B008 -- copied for each call
        """Create it."""
        hidden.role, part.size = f"{hidden.role}+", part.size + 1
        return f"{hidden.role} {part.size}"

    assert [decided(create, {})[0].value for _ in range(2)] == ["user+ 3"] * 2


def test_a_plain_call_makes_no_json():
    made, ran = typed(Nested)
    assert ToolExecutor([made]).execute(call("t", parts=[])).success
    assert "_validator" not in vars(made.input_contract.defaults)
    assert len(ran) == 1
