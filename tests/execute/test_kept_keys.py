"""A used idempotency key of a call that changes something is never forgotten."""

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call, kind_of
from tests.execute.prompt_kit import BarePrompt
from toolhaft import ToolContext, ToolExecutor, tool
from toolhaft.execute.result_memory import MOST_REMEMBERED, ResultMemory


def paying(effect="irreversible", **options):
    ran = []

    @tool(effect=effect, isolation="inline", **options)
    def pay(to: str, note: str = "") -> str:
        """Pay."""
        ran.append(to)
        return f"{len(ran)}{note}"

    return ToolExecutor([pay]), ran


@each_case("effect", ["irreversible", "reversible"])
def test_a_used_key_never_runs_again_however_many_others_follow(effect):
    for options, keyed in (({}, True), ({"idempotency": ["to"]}, False)):
        executor, ran = paying(effect, **options)
        for number in range(MOST_REMEMBERED + 10):
            executor.execute(call("pay", to=f"{number}", idempotency_key=f"k{number}" if keyed else None))
        first = call("pay", to="0", idempotency_key="k0" if keyed else None)
        assert executor.execute(first).value == "1"
        assert len(ran) == MOST_REMEMBERED + 10


@pytest.fixture
def small_memory():
    def set_limits(executor, **limits):
        for name, value in limits.items():
            setattr(executor._setup.memory, name, value)  # noqa: SLF001 -- a million calls would take a minute
        return executor

    return set_limits


@both_ways
def test_a_new_key_is_refused_when_no_more_can_be_kept(run, small_memory):
    executor, ran = paying()
    small_memory(executor, most_keys=2)
    for number in range(2):
        assert run(executor, call("pay", to="a", idempotency_key=f"k{number}")).success
    refused = run(executor, call("pay", to="a", idempotency_key="k2"))
    assert kind_of(refused) == "rate"
    assert "2 idempotency keys and takes no further ones: pay was not run" in refused.message
    assert run(executor, call("pay", to="a", idempotency_key="k0")).value == "1"
    assert run(executor, call("pay", to="a")).success  # without a key
    assert len(ran) == 3


def test_a_large_result_is_forgotten_but_its_key_is_not(small_memory):
    executor, ran = paying()
    small_memory(executor, most=2)
    for number in range(4):
        executor.execute(call("pay", to="a", note="x" * 3000, idempotency_key=f"k{number}"))
    again = [
        executor.execute(call("pay", to="a", note="x" * 3000, idempotency_key=f"k{n}")) for n in range(4)
    ]
    assert [result.success for result in again] == [True] * 4
    assert [result.message[:20] for result in again] == ["This call ran before"] * 2 + [""] * 2
    assert len(ran) == 4


def test_a_key_with_an_unknown_outcome_is_kept(small_memory):
    ran = []

    @tool(timeout_s=0.01, isolation="inline")
    def pay() -> str:
        """Pay."""
        ran.append(1)
        raise RuntimeError

    executor = small_memory(ToolExecutor([pay]), most=1)
    for key in ("a", "b", "c"):
        executor.execute(call("pay", idempotency_key=key))
        executor.new_run()
    results = [executor.execute(call("pay", idempotency_key=key)) for key in ("a", "b", "c")]
    assert [kind_of(result) for result in results] == ["failed"] * 3
    assert ["RuntimeError. Outcome unknown: check" in result.message for result in results] == [True] * 3
    assert [result.failure.cause is None for result in results] == [True, True, False]
    assert len(ran) == 3


def test_a_reversible_call_that_could_not_be_rolled_back_does_not_run_again():
    class Ledger:
        def __init__(self):
            self.entries = []

        def snapshot(self):
            return list(self.entries)

        def restore(self, _):
            raise OSError("the disk is gone")

    ledger = Ledger()

    @tool(effect="reversible", isolation="inline")
    def pay(context: ToolContext) -> str:
        """Pay."""
        context.resources.get(Ledger).entries.append(1)
        raise ValueError("late")

    executor = ToolExecutor([pay], resources={Ledger: ledger})
    results = [executor.execute(call("pay", idempotency_key="k")) for _ in range(2)]
    assert [result.failure.outcome for result in results] == ["unknown"] * 2
    assert ledger.entries == [1]


def test_long_keys_are_kept_as_digests():
    executor, ran = paying(idempotency=["to"])
    for to in ("a" * 100_000, "b" * 100_000, "a" * 100_000):
        executor.execute(call("pay", to=to))
    assert len(ran) == 2
    assert max(map(len, executor._setup.memory._kept)) == 64  # noqa: SLF001 -- what it costs


def test_memory_still_drops_the_oldest_cached_result():
    memory = ResultMemory(most=1)
    executor, _ = paying()
    result = executor.execute(call("pay", to="a"))
    memory.put("kept", result, "", None, forever=True)
    for key in "ab":
        memory.put(key, result, "", None)
    assert [memory.get(key) is not None for key in ("kept", "a", "b")] == [True, False, True]


def test_a_key_stays_used_while_another_tool_has_the_same_name():
    ran = []

    def paying_from(account):
        @tool
        def pay(to: str) -> str:
            """Pay."""
            ran.append(account)
            return account

        return pay

    prompts = [BarePrompt(tools=(paying_from(account),)) for account in ("a", "b")]
    executor = ToolExecutor([], prompt=prompts[0])
    for prompt in prompts * 3:
        executor.change_prompt(prompt)
        assert executor.execute(call("pay", to="x", idempotency_key="k")).success
    assert ran == ["a", "b"]


def test_the_arguments_that_a_tool_declares_as_its_key_hold_for_callers_keys_and_approvals_too():
    executor, ran = paying(idempotency=["to"])
    for key, note in ((None, ""), ("k1", ""), ("k2", "another"), (None, "")):
        assert executor.execute(call("pay", to="ada", note=note, idempotency_key=key)).value == "1"
    assert ran == ["ada"]

    asking = ToolExecutor([*executor.tools.values()], policy=lambda _: "ask")
    pending = [asking.execute(call("pay", to="bob")).pending for _ in range(2)]
    assert [asking.resume(each, True).value for each in pending * 2] == ["2"] * 4
    assert ran == ["ada", "bob"]
