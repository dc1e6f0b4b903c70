"""What counts as the same tool: for its words, for what is remembered of it, and for its caps.

Keeps what is promised of overrides, and of another prompt in the middle of a run.
"""

import threading
from functools import partial

import pytest

from tests.cases import each_case
from tests.execute.calls import PATIENCE_S, both_ways, call, in_threads, kind_of
from tests.execute.prompt_kit import BarePrompt
from toolhaft import Session, ToolConfig, ToolExecutor, create_tool, execute_tool, tool
from toolhaft.errors import DefinitionError, VisibilityExpansionRequired
from toolhaft.execute.inputs import is_same_handler
from toolhaft.prompt import MarkdownSection, OverrideStore, Prompt
from toolhaft.toolbox.planning import PlanningToolsSection


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


# --- one tool in other words ---


def test_descriptions_of_the_prompt_take_precedence(tmp_path):
    section = MarkdownSection(title="Sums", key="sums", template="Add up.", tools=[add])
    store = OverrideStore(tmp_path)
    prompt = Prompt(name="p", sections=[section], overrides=store)
    store.seed(prompt)
    (shown,) = prompt.render().tools
    assert shown is not add
    executor = ToolExecutor([add], prompt=prompt)
    assert executor.tools["add"] is executor.rendered_prompt.tools[0]
    assert executor.execute(call("add", a=1, b=2)).value == 3
    assert execute_tool(add, {"a": 1, "b": 2}, prompt=prompt).value == 3


def test_the_same_tool_may_differ_only_in_its_descriptions():
    words = add.with_words(description="Sum up.", parameters={"a": "the first"})
    executor = ToolExecutor([answering("x"), add], prompt=BarePrompt(tools=(words,)))
    assert list(executor.tools) == ["go", "add"]
    assert executor.tools["add"] is words
    executor.change_prompt(BarePrompt(tools=(add,)))
    assert executor.tools["add"] is add


def other_function():
    @tool(name="add")
    def other(a: int, b: int) -> int:
        """Add."""
        return a - b

    return other


@each_case(
    "other",
    [
        other_function(),
        add.replace(handler=lambda a, b: a - b),
        add.replace(effect="read"),
        add.replace(timeout_s=1),
        add.replace(handler=None),
    ],
    ids=["function", "handler", "effect", "limit", "inactive"],
)
def test_two_tools_of_one_name_that_differ_are_refused(other):
    for given, shown in ((add, other), (other, add)):
        with pytest.raises(DefinitionError, match="two tools have this name"):
            ToolExecutor([given], prompt=BarePrompt(tools=(shown,)))
        with pytest.raises(DefinitionError, match="two tools have this name"):
            execute_tool(given, {}, prompt=BarePrompt(tools=(shown,)))


def test_a_tool_without_a_handler_is_known_by_where_it_comes_from():
    inactive = add.replace(handler=None)
    words = inactive.with_words(description="Add later.")
    assert ToolExecutor([inactive], prompt=BarePrompt(tools=(words,))).tools["add"] is words
    with pytest.raises(DefinitionError, match="two tools have this name"):
        ToolExecutor([inactive], prompt=BarePrompt(tools=(other_function().replace(handler=None),)))


class Desk:
    """An object that a method of is a tool's handler."""

    def __init__(self, word):
        self.word = word

    def say(self, input):
        return self.word


def desk_tool(desk):
    schema = {"type": "object"}
    return create_tool(ToolConfig(name="say", description="Say.", input_schema=schema, execute=desk.say))


def test_methods_are_the_same_where_their_object_is():
    desk = Desk("a")
    one, twin, other = desk_tool(desk), desk_tool(desk), desk_tool(Desk("a"))
    assert ToolExecutor([one], prompt=BarePrompt(tools=(twin,))).tools["say"] is twin
    with pytest.raises(DefinitionError, match="two tools have this name"):
        ToolExecutor([one], prompt=BarePrompt(tools=(other,)))


def test_only_methods_are_compared_with_equality():
    class Always:
        def __eq__(self, _):
            return True

        __hash__ = None

        def __call__(self):
            """Do nothing."""

    assert not is_same_handler(Always(), Always())
    assert not is_same_handler(partial(add), partial(add))
    listed = []
    assert is_same_handler(listed.append, listed.append)
    assert not is_same_handler(listed.append, [].append)


def test_the_tools_that_a_rendering_makes_for_itself_can_be_run_alone():
    hidden = MarkdownSection(title="H", key="h", template="All.", visibility="summary", summary="Some.")
    prompt = Prompt(name="p", sections=[hidden])
    open_sections, read_section = prompt.render().tools
    assert "All." in execute_tool(read_section, {"section_key": "h"}, prompt=prompt).render()
    with pytest.raises(VisibilityExpansionRequired):
        execute_tool(open_sections, {"section_keys": ["h"]}, prompt=prompt)
    assert ToolExecutor(prompt.render().tools, prompt=prompt).tools.keys() == {
        "open_sections",
        "read_section",
    }


def test_tools_of_sections_that_belong_to_different_objects_are_two():
    one, other = PlanningToolsSection(session=Session()), PlanningToolsSection(session=Session())
    with pytest.raises(DefinitionError, match="two tools have this name"):
        ToolExecutor(one.tools, prompt=Prompt(name="p", sections=[other]))
    assert len(ToolExecutor(other.tools, prompt=Prompt(name="p", sections=[other])).tools) == 4


def test_methods_of_two_objects_are_two_handlers_of_one_tool():
    base = desk_tool(Desk("a"))
    with pytest.raises(DefinitionError, match="two tools have this name"):
        ToolExecutor([base], prompt=BarePrompt(tools=(base.replace(handler=Desk("b").say),)))


# --- what is remembered is a handler's own ---


def answering(word, **options):
    @tool(name="go", **options)
    def go(key: str = "k") -> str:
        """Go."""
        return word

    return go


@each_case(
    ("options", "key"),
    [({"effect": "read", "cache_s": 60}, None), ({"idempotency": ["key"]}, None), ({}, "mine")],
    ids=["cache", "declared", "callers"],
)
@both_ways
def test_another_tool_of_the_same_name_does_not_return_a_recorded_result(run, options, key):
    first, second = answering("first", **options), answering("second", **options)
    executor = ToolExecutor(prompt=BarePrompt(tools=(first,)))
    one = call("go", idempotency_key=key)
    assert run(executor, one).value == "first"
    executor.change_prompt(BarePrompt(tools=(second,)))
    assert [run(executor, one).value for _ in range(2)] == ["second"] * 2
    executor.change_prompt(BarePrompt(tools=(first.with_words(description="Go on."),)))
    assert run(executor, one).value == "first"


def test_a_tool_with_another_description_returns_the_recorded_result():
    runs = []

    @tool(idempotency=["key"])
    def once(key: str) -> int:
        """Count."""
        runs.append(key)
        return len(runs)

    executor = ToolExecutor(prompt=BarePrompt(tools=(once,)))
    assert executor.execute(call("once", key="k")).value == 1
    executor.change_prompt(BarePrompt(tools=(once.with_words(description="Count once."),)))
    assert executor.execute(call("once", key="k")).value == 1


def test_an_approval_is_for_one_run_whatever_handler_there_is_by_then():
    executor = ToolExecutor(
        prompt=BarePrompt(tools=(answering("first", effect="irreversible"),)), policy=lambda _: "ask"
    )
    pending = [executor.execute(call("go", key=key)).pending for key in "ab"]
    assert executor.resume(pending[0], True).value == "first"
    executor.change_prompt(BarePrompt(tools=(answering("second", effect="irreversible"),)))
    assert executor.resume(pending[0], True).value == "first"  # not run again
    assert executor.resume(pending[1], True).value == "second"  # the same definition has another handler now


# --- caps ---


def test_max_parallel_is_that_of_the_current_tool():
    together = threading.Barrier(2)

    def meeting(most):
        @tool(name="meet", max_parallel=most, effect="read")
        def meet() -> str:
            """Wait for another call of it."""
            together.wait(PATIENCE_S if most > 1 else 0.05)
            return "met"

        return meet

    executor = ToolExecutor(prompt=BarePrompt(tools=(meeting(1),)))
    assert kind_of(executor.execute(call("meet"))) == "failed"  # alone
    together.reset()
    executor.change_prompt(BarePrompt(tools=(meeting(2),)))
    values = []
    in_threads([lambda: values.append(executor.execute(call("meet")).value)] * 2)
    assert values == ["met", "met"]
