"""The call pipeline can be seen: `executor.pipeline(name)`, and the table of steps in docs/pipeline.md."""

import inspect
import re
from pathlib import Path
from typing import Annotated

import pytest

from tests.cases import each_case
from tests.execute.calls import call
from tests.execute.prompt_kit import BarePrompt, Rule
from toolhaft import Budget, Principal, RetryPolicy, Secret, Tool, ToolContext, ToolExecutor, tool
from toolhaft.core.events import ToolInvoked
from toolhaft.errors import UnknownToolError
from toolhaft.execute.executor import PIPELINE
from toolhaft.execute.pipeline import Observer

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"
ROW = re.compile(r"^\| `(\w+)` \| `(\w+\.py)` \| (.+) \| (.+) \|$", re.MULTILINE)


@tool(isolation="inline", effect="read")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


@tool(effect="reversible")
def save(text: str, context: ToolContext) -> str:
    """Save."""
    return text


def test_the_page_lists_the_steps_in_their_order_with_their_files():
    files = [
        (step.name, Path(inspect.getsourcefile(step.compose)).name)  # the file that defines the step
        for step in PIPELINE
    ]
    assert [(name, file) for name, file, _, _ in ROW.findall(PAGE.read_text(encoding="utf-8"))] == files


def test_each_step_is_a_function_of_its_name_with_one_sentence_on_when_it_is_in_a_chain():
    assert len({step.name for step in PIPELINE}) == len(PIPELINE)
    for step in PIPELINE:
        assert step.compose.__name__ == step.name
        assert step.compose.__doc__.startswith("In "), step.name


def test_the_page_names_the_observers():
    names = [step.name for step in PIPELINE if isinstance(step, Observer)]
    assert f"`{names[0]}`, `{names[1]}` and `{names[2]}` also wrap" in PAGE.read_text(encoding="utf-8")
    assert len(names) == 3


def with_policies():
    return BarePrompt(tools=(save,), policies={"save": (Rule(),)})


CASES = {
    "a bare inline tool": (lambda: ToolExecutor([add]), "add", "limit parse verify invoke"),
    "without an output schema": (
        lambda: ToolExecutor([Tool(name="x", description="x", handler=print, isolation="inline")]),
        "x",
        "limit parse invoke",
    ),
    "without a handler": (lambda: ToolExecutor([Tool(name="x", description="x")]), "x", "parse invoke"),
    "on a thread": (
        lambda: ToolExecutor([tool(lambda: 1, name="x", description="x", effect="read")]),
        "x",
        "limit parse nest invoke",
    ),
    "with a context": (lambda: ToolExecutor([save]), "save", "limit parse take_turns transact verify invoke"),
    "cached": (
        lambda: ToolExecutor([add.replace(cache_s=60)]),
        "add",
        "limit parse remember verify invoke",
    ),
    "rate and parallel calls": (
        lambda: ToolExecutor([add.replace(rate="5/s", max_parallel=2)], max_repeats=3),
        "add",
        "limit parse max_repeats rate max_parallel verify invoke",
    ),
    "retried": (
        lambda: ToolExecutor([add], retry=RetryPolicy()),
        "add",
        "limit parse retry verify invoke",
    ),
    "never retried": (
        lambda: ToolExecutor([add.replace(retryable=False)], retry=RetryPolicy()),
        "add",
        "limit parse no_repeat verify invoke",
    ),
    "permission": (
        lambda: ToolExecutor([add], allow=["add"], principal=Principal(id="a"), policy=lambda _: True),
        "add",
        "access limit parse permit nest verify invoke",
    ),
    "a budget": (
        lambda: ToolExecutor([add], budget=Budget(max_calls=5)),
        "add",
        "limit parse nest verify invoke",
    ),
    "shorter output": (
        lambda: ToolExecutor([add], max_output_chars=10),
        "add",
        "truncate limit parse verify invoke",
    ),
    "policies of a prompt": (
        lambda: ToolExecutor(prompt=with_policies()),
        "save",
        "limit parse take_turns policy_replays prompt_policies transact verify invoke",
    ),
}


@each_case("case", CASES)
def test_a_tool_has_the_steps_that_it_needs_and_no_others(case):
    make, name, expected = CASES[case]
    assert make().pipeline(name) == tuple(expected.split())


def test_a_tool_with_secrets_masks_them():
    @tool(isolation="inline", effect="read")
    def log_in(password: Annotated[str, Secret()]) -> bool:
        """Log in."""
        return True

    assert ToolExecutor([log_in]).pipeline("log_in") == ("mask", "limit", "parse", "verify", "invoke")


def test_a_subscriber_adds_the_step_that_records():
    executor = ToolExecutor([add])
    assert executor.pipeline("add") == ("limit", "parse", "verify", "invoke")
    executor.session.dispatcher.subscribe(ToolInvoked, lambda _: None)
    assert executor.pipeline("add") == ("record", "limit", "parse", "nest", "verify", "invoke")


def test_a_caller_of_its_own_adds_the_step_that_checks_it():
    executor = ToolExecutor([add])
    assert executor.execute(call("add", a=1, b=2), principal=Principal(id="a")).success
    assert executor.pipeline("add") == ("access", "limit", "parse", "nest", "verify", "invoke")


def test_an_unknown_name_raises_and_names_the_nearest_tool():
    with pytest.raises(UnknownToolError, match=r"^no tool is called 'addd'\. Did you mean 'add'\?$"):
        ToolExecutor([add]).pipeline("addd")
    with pytest.raises(KeyError, match="There are no tools"):
        ToolExecutor().pipeline("add")
