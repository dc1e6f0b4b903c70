"""A policy is given what the handler receives, and may only read it."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel, Field

from tests.cases import each_case
from tests.execute.calls import call, kind_of
from tests.execute.hidden_models import Part
from tests.execute.prompt_kit import BarePrompt, Rule
from toolhaft import ToolExecutor, tool


@dataclass
class Amounts:
    each: list[int]


class Order(BaseModel):
    amount: int = 1
    parts: list[Part] = Field(default_factory=list)
    role: str = Field("user", exclude=True)

    @cached_property
    def total(self) -> int:
        return self.amount * 2


def taking(kind):
    """A tool that takes one object, and what its handler received."""
    ran = []

    def take(thing: Any) -> str:
        """Take it."""
        ran.append(thing)
        return "taken"

    take.__annotations__["thing"] = kind
    return tool(take), ran


CHANGES = each_case(
    "kind,given,change",
    [
        (Order, {}, lambda order: setattr(order, "role", "admin")),
        (Order, {"parts": [{}]}, lambda order: setattr(order.parts[0], "size", 9)),
        (Order, {"parts": [{}]}, lambda order: order.parts.clear()),
        (Amounts, {"each": [1]}, lambda amounts: amounts.each.append(2)),
        (Amounts, {"each": [1]}, lambda amounts: amounts.each.__setitem__(0, True)),
        (Amounts, {"each": [1]}, lambda amounts: amounts.each.__setitem__(0, object())),
        (Amounts, {"each": [1]}, lambda amounts: amounts.each.__setitem__(0, math.inf)),
        (dict[str, list[int]], {"a": [1]}, lambda made: made["a"].append(2)),
    ],
)


@CHANGES
def test_a_policy_that_changes_the_parameters_denies_the_call(kind, given, change):
    for verdict in ("allow", "ask"):
        made, ran = taking(kind)

        def policy(request, verdict=verdict):
            change(request.params["thing"])
            return verdict

        result = ToolExecutor([made], policy=policy).execute(call("take", thing=given))
        assert kind_of(result) == "not_allowed"
        assert "the policy changed the parameters" in result.message
        assert ran == []


@CHANGES
def test_a_tool_policy_that_changes_the_parameters_denies_the_call(kind, given, change):
    made, ran = taking(kind)

    def allows(_, params, __):
        change(params["thing"])
        return True

    prompt = BarePrompt(tools=(made,), policies={"*": (Rule(allows=allows),)})
    result = ToolExecutor(prompt=prompt).execute(call("take", thing=given))
    assert kind_of(result) == "not_allowed"
    assert "changed the parameters" in result.message
    assert ran == []


def test_a_policy_that_only_reads_the_parameters_allows_the_call():
    made, ran = taking(Order)
    executor = ToolExecutor([made], policy=lambda request: request.params["thing"].total == 2)
    assert executor.execute(call("take", thing={})).success
    assert len(ran) == 1
