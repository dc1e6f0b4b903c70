"""What an executor takes from a prompt, and how it goes on under another one."""

import os
import threading
from types import SimpleNamespace

import pytest

from tests.cases import each_case
from tests.execute import process_tools
from tests.execute.calls import PATIENCE_S, both_ways, call, each_way, in_threads, kind_of
from tests.execute.prompt_kit import BarePrompt, Rule, Words
from toolhaft import Budget, Principal, Session, ToolContext, ToolExecutor, ToolInvoked, execute_tool, tool
from toolhaft.core.ports import PromptPort, RenderedPort
from toolhaft.errors import DefinitionError, PromptValidationError, VisibilityExpansionRequired
from toolhaft.execute.pipeline import Chains, ToolStep
from toolhaft.execute.setup import ToolSet
from toolhaft.prompt import MarkdownSection, Prompt
from toolhaft.resources import Filesystem, MemoryFilesystem, ResourceRegistry


@tool
def look(context: ToolContext) -> str:
    """Look."""
    return context.rendered_prompt.text


@tool(isolation="inline")
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def section(key="one", **options):
    return MarkdownSection(title=key.title(), key=key, template=f"About {key}.", **options)


# --- what is taken ---


@each_way
def test_tools_and_texts_come_from_the_prompt(run):
    prompt = Prompt(name="p", sections=[section(tools=[look])])
    executor = ToolExecutor(tools=[add], prompt=prompt, adapter="an adapter")
    assert list(executor.tools) == ["add", "look"]
    assert "About one." in run(executor, call("look")).value
    assert run(executor, call("add", a=1, b=2)).value == 3
    assert executor.prompt is prompt
    assert executor.rendered_prompt.text == prompt.render().text


@both_ways
def test_the_context_holds_the_prompt_its_rendering_and_the_adapter(run):
    seen = []

    @tool
    def keep(context: ToolContext) -> str:
        """Keep the context."""
        seen.append((context.prompt, context.rendered_prompt, context.adapter))
        return "kept"

    prompt = BarePrompt(tools=(keep,))
    executor = ToolExecutor(prompt=prompt, adapter="an adapter")
    assert run(executor, call("keep")).success
    assert seen == [(prompt, executor.rendered_prompt, "an adapter")]


def test_a_prompt_has_the_port_and_its_class_has_not():
    assert isinstance(Prompt(name="p"), PromptPort)
    assert isinstance(Prompt(name="p").render(), RenderedPort)
    assert ToolExecutor(prompt=Prompt).prompt is Prompt


@each_case("given", ["a text", {"role": "system"}, None, Prompt, BarePrompt])
def test_an_object_that_is_not_a_prompt_is_only_passed_on(given):
    executor = ToolExecutor([add], prompt=given, rendered_prompt="R")
    assert (executor.prompt, executor.rendered_prompt) == (given, "R")
    assert list(executor.tools) == ["add"]
    with pytest.raises(TypeError, match=r"write executor\.change_prompt\(Prompt\("):
        executor.change_prompt(given)


def test_a_name_twice_is_refused_and_the_same_tool_twice_is_fine():
    prompt = Prompt(name="p", sections=[section(tools=[add])])
    assert list(ToolExecutor([add], prompt=prompt).tools) == ["add"]

    @tool(name="add")
    def other(a: int) -> int:
        """Add nothing."""
        return a

    with pytest.raises(DefinitionError, match="two tools have this name"):
        ToolExecutor([other], prompt=prompt)


def test_a_rendering_that_was_given_is_used_as_it_is():
    prompt = BarePrompt(tools=(add,))
    rendered = SimpleNamespace(tools=(look,), text="R")
    executor = ToolExecutor(prompt=prompt, rendered_prompt=rendered)
    assert list(executor.tools) == ["look"]
    assert executor.rendered_prompt is rendered
    assert prompt.rendered == []
    with pytest.raises(TypeError, match=r"rendered_prompt does not take 'R'; write prompt\.render\(\)"):
        ToolExecutor(prompt=prompt, rendered_prompt="R")


def test_a_prompt_that_cannot_be_rendered_makes_no_executor():
    with pytest.raises(PromptValidationError):
        ToolExecutor(prompt=Prompt(name="p", sections=[section(tools=["no tool"])]))


# --- the session ---


def test_the_session_is_the_one_given_then_the_prompts_then_a_new_one():
    given, tied = Session(), Session()
    assert ToolExecutor(prompt=BarePrompt(session=tied), session=given).session is given
    assert ToolExecutor(prompt=BarePrompt(session=tied)).session is tied
    new = BarePrompt()
    executor = ToolExecutor(prompt=new)
    assert new.prepared == new.rendered == [executor.session]
    with pytest.raises(TypeError, match="the session of prompt 'bare' is 'nobody', not a Session"):
        ToolExecutor(prompt=BarePrompt(session="nobody"))


@both_ways
def test_the_session_of_a_prompt_keeps_a_log_of_calls_like_one_that_was_given(run):
    tied = Session()
    executor = ToolExecutor(prompt=BarePrompt(session=tied, tools=(add,)))
    run(executor, call("add", a=1, b=2))
    assert [one.tool for one in tied[ToolInvoked]] == ["add"]
    bare = ToolExecutor(prompt=BarePrompt(tools=(add,)))
    run(bare, call("add", a=1, b=2))
    assert len(bare.session[ToolInvoked]) == 0


# --- the resources ---


@tool
def read(context: ToolContext) -> str:
    """Read."""
    return context.filesystem.read("a.txt").content


def files(text):
    return {Filesystem: MemoryFilesystem({"a.txt": text})}


@both_ways
def test_resources_of_the_executor_go_before_those_of_the_prompt(run):
    prompt = Prompt(name="p", resources=files("prompt"), sections=[section(tools=[read])])
    assert run(ToolExecutor(prompt=prompt), call("read")).value == "prompt"
    assert run(ToolExecutor(prompt=prompt, resources=files("executor")), call("read")).value == "executor"


class Connection:
    def __init__(self):
        self.is_closed = False

    def close(self):
        self.is_closed = True


@tool
def connect(context: ToolContext) -> bool:
    """Say whether the connection is closed."""
    return context.resources.get(Connection).is_closed


def providing(made):
    registry = ResourceRegistry()

    def make():
        made.append(Connection())
        return made[-1]

    registry.provide(Connection, make)
    return registry


@both_ways
def test_closing_the_executor_closes_what_was_made_for_it(run):
    made = []
    prompt = Prompt(name="p", resources=providing(made), sections=[section(tools=[connect])])
    with ToolExecutor(prompt=prompt) as executor:
        assert run(executor, call("connect")).value is False
    assert [one.is_closed for one in made] == [True]


@both_ways
def test_closing_the_executor_leaves_open_what_a_with_block_closes(run):
    made = []
    prompt = Prompt(name="p", resources=providing(made), sections=[section(tools=[connect])])
    with prompt.resources as resources:
        with ToolExecutor(prompt=prompt) as executor:
            assert run(executor, call("connect")).value is False
        assert made == [resources.get(Connection)]
        assert not made[0].is_closed
    assert made[0].is_closed


def test_execute_tool_closes_the_resources_of_the_prompt_but_not_those_given():
    lent, own = [], []
    prompt = Prompt(name="p", resources=providing(lent), sections=[section(tools=[connect])])
    assert execute_tool(connect, prompt=prompt).value is False
    assert [one.is_closed for one in lent] == [True]
    with providing(own) as given:
        assert execute_tool(connect, prompt=prompt, resources=given).value is False
        assert [one.is_closed for one in own] == [False]
    assert execute_tool(add, {"a": 1, "b": 2}, prompt="a text").value == 3


# --- another prompt ---


@each_way
def test_a_section_is_opened_and_the_run_goes_on(run):
    """`VisibilityExpansionRequired` with the requested overrides."""
    hidden = section("hidden", tools=[add], visibility="summary", summary="It can add.")
    prompt = Prompt(name="p", sections=[section(), hidden])
    executor = ToolExecutor([look], prompt=prompt)
    assert kind_of(run(executor, call("add", a=1, b=2))) == "unknown_tool"
    with pytest.raises(VisibilityExpansionRequired) as raised:
        run(executor, call("open_sections", section_keys=["hidden"]))
    executor.change_prompt(executor.prompt.with_visibility(raised.value.requested_overrides))
    assert run(executor, call("add", a=1, b=2)).value == 3
    assert "About hidden." in run(executor, call("look")).value
    assert "open_sections" not in executor.tools
    assert kind_of(run(executor, call("open_sections", section_keys=["hidden"]))) == "unknown_tool"


def test_counts_and_recorded_results_stay_after_change_prompt():
    runs = []

    @tool(idempotency=["key"])
    def once(key: str) -> int:
        """Count."""
        runs.append(key)
        return len(runs)

    @tool(rate="1/day")
    def seldom() -> str:
        """Seldom."""
        return "done"

    @tool(max_attempts=2)
    def fail() -> str:
        """Fail."""
        raise ValueError("no")

    def prompt():
        return BarePrompt(tools=(once, seldom, fail))

    executor = ToolExecutor([add], prompt=prompt(), budget=Budget(max_calls=100), resources=files("x"))
    before = (executor.session, executor.resources, executor.stats, executor.budget_tracker)
    assert executor.execute(call("once", key="k")).value == 1
    assert executor.execute(call("seldom")).success
    assert "attempt 1 of 2" in executor.execute(call("fail")).message
    executor.change_prompt(prompt())
    assert (executor.session, executor.resources, executor.stats, executor.budget_tracker) == before
    assert "attempt 2 of 2" in executor.execute(call("fail")).message
    assert kind_of(executor.execute(call("fail"))) == "attempts"
    assert executor.execute(call("once", key="k")).value == 1
    assert kind_of(executor.execute(call("seldom"))) == "rate"
    assert executor.execute(call("add", a=1, b=2)).value == 3
    assert executor.budget_tracker.calls == 7  # all but the one that its attempts refused


def test_another_tool_of_the_same_name_is_another_tool():
    @tool(rate="1/day", name="go")
    def first() -> str:
        """Go."""
        return "first"

    @tool(rate="2/day", name="go")
    def second() -> str:
        """Go."""
        return "second"

    executor = ToolExecutor(prompt=BarePrompt(tools=(first,)))
    assert executor.execute(call("go")).value == "first"
    executor.change_prompt(BarePrompt(tools=(second,)))
    assert [executor.execute(call("go")).value for _ in range(3)] == ["second", "second", None]


def test_a_change_that_fails_changes_nothing():
    prompt = BarePrompt(tools=(look,))
    executor = ToolExecutor([add], prompt=prompt)

    @tool(name="add")
    def other(a: int) -> int:
        """Add nothing."""
        return a

    with pytest.raises(DefinitionError):
        executor.change_prompt(BarePrompt(tools=(other,)))
    with pytest.raises(PromptValidationError):
        executor.change_prompt(Prompt(name="p", sections=[section(), section()]))
    assert executor.prompt is prompt
    assert list(executor.tools) == ["add", "look"]


def test_policies_and_feedback_are_those_of_the_new_prompt():
    strict = Rule(allows=lambda *_: False)
    executor = ToolExecutor([add], prompt=BarePrompt())
    assert executor.execute(call("add", a=1, b=2)).success
    executor.change_prompt(BarePrompt(policies={"*": (strict,)}, feedback=(Words(lambda _: "hm"),)))
    denied = executor.execute(call("add", a=1, b=2))
    assert kind_of(denied) == "not_allowed"
    assert [one.text for one in denied.feedback] == ["hm"]
    executor.change_prompt(BarePrompt())
    assert executor.execute(call("add", a=1, b=2)).render() == "3"


@each_case("is_nested", [False, True])
def test_a_call_under_way_ends_under_the_prompt_that_it_began_under(is_nested):
    began, go_on, seen = threading.Event(), threading.Event(), []

    @tool
    def wait(context: ToolContext) -> str:
        """Wait."""
        began.set()
        assert go_on.wait(PATIENCE_S)
        if is_nested:  # what it calls now is found where everybody finds it
            seen.append(executor.execute(call("look")).value)
        return context.rendered_prompt.text

    executor = ToolExecutor(prompt=BarePrompt(tools=(wait, look), text="old"))
    results = []
    thread = threading.Thread(target=lambda: results.append(executor.execute(call("wait"))))
    thread.start()
    assert began.wait(PATIENCE_S)
    executor.change_prompt(BarePrompt(tools=(look,), text="new"))
    go_on.set()
    thread.join(PATIENCE_S)
    assert [one.value for one in results] == ["old"]
    assert seen == (["new"] if is_nested else [])
    assert kind_of(executor.execute(call("wait"))) == "unknown_tool"


def test_a_call_nested_in_a_handler_keeps_its_caller_and_fork_after_change_prompt():
    @tool
    def outer(context: ToolContext) -> str:
        """Change the prompt, then call."""
        executor.change_prompt(BarePrompt(tools=(outer, write, who)))
        executor.execute(call("write"))
        seen.append(executor.execute(call("who")).value)
        seen.append(context.filesystem.read("a.txt").content)
        raise ValueError("undo it all")

    @tool(effect="reversible")
    def write(context: ToolContext) -> int:
        """Write."""
        return context.filesystem.write("a.txt", "inside")

    @tool
    def who(context: ToolContext) -> str:
        """Say whose call it is."""
        return context.principal.id

    seen = []
    executor = ToolExecutor(prompt=BarePrompt(tools=(outer, write, who), resources=files("before")))
    assert not executor.execute(call("outer"), principal=Principal(id="ada")).success
    assert seen == ["ada", "inside"]
    assert executor.resources.get(Filesystem).read("a.txt").content == "before"


def test_prompts_are_changed_while_calls_are_made():
    """A principal's bounds hold whatever is changed meanwhile."""
    prompts = [BarePrompt(tools=(add, look), text=str(number)) for number in range(20)]
    executor = ToolExecutor(prompt=prompts[0])
    bounded = Principal(id="ada", allow=["look"])
    kinds, values = set(), set()
    is_over = threading.Event()

    def change():
        together.wait(PATIENCE_S)
        while not is_over.is_set():
            for prompt in prompts:
                executor.change_prompt(prompt)

    def bound():
        together.wait(PATIENCE_S)
        for _ in range(2000):
            kinds.add(kind_of(executor.execute(call("add", a=1, b=2), principal=bounded)))
        is_over.set()

    def free():
        together.wait(PATIENCE_S)
        for _ in range(2000):
            values.add(executor.execute(call("add", a=1, b=2)).value)

    together = threading.Barrier(3)
    in_threads([change, bound, free])
    assert (kinds, values) == ({"not_allowed"}, {3})


@pytest.mark.external
def test_handlers_of_a_new_prompt_run_in_processes():
    with ToolExecutor(prompt=BarePrompt(tools=(process_tools.add,)), max_processes=1) as executor:
        assert executor.execute(call("add", a=1)).value == 2
        executor.change_prompt(BarePrompt(tools=(process_tools.whoami, add)))
        assert executor.execute(call("whoami")).success
        assert executor.execute(call("add", a=1, b=4)).value == 5

        @tool(isolation="process")
        def closure() -> str:
            """Cannot travel."""
            return str(executor)

        with pytest.raises(DefinitionError, match="closure"):
            executor.change_prompt(BarePrompt(tools=(closure,)))
        assert executor.execute(call("add", a=1, b=4)).value == 5


@pytest.mark.external
def test_another_handler_in_a_process_under_the_same_name_is_another_one():
    renamed = process_tools.whoami.replace(name="add")
    with ToolExecutor(prompt=BarePrompt(tools=(process_tools.add,)), max_processes=1) as executor:
        assert executor.execute(call("add", a=1)).value == 2
        executor.change_prompt(BarePrompt(tools=(renamed,)))
        result = executor.execute(call("add"))
        assert (result.success, result.value != os.getpid()) == (True, True)


def test_a_new_run_after_a_change_gives_all_attempts_again():
    @tool(max_attempts=1)
    def fail() -> str:
        """Fail."""
        raise ValueError("no")

    executor = ToolExecutor(prompt=BarePrompt(tools=(fail,)))
    executor.execute(call("fail"))
    executor.change_prompt(BarePrompt(tools=(fail,)))
    assert kind_of(executor.execute(call("fail"))) == "attempts"
    executor.new_run()
    assert kind_of(executor.execute(call("fail"))) == "failed"


def test_a_chain_that_was_composed_while_something_changed_is_not_kept():
    composed = []

    def compose(made, setup, inner):
        composed.append(made.name)
        if len(composed) == 1:
            chains.clear()
        return inner

    chains = Chains(SimpleNamespace(tools=ToolSet({"add": add})), (ToolStep("x", compose),))
    for _ in range(3):
        assert chains.find(call("add"))
    assert (composed, list(chains.plain)) == (["add", "add"], ["add"])
