"""Seed 003, Tool Runtime Specification: *Registration Lifecycle*, and the prompt's part in *Runtime Dispatch*.

Each line of the page is a test here.
"""

from dataclasses import dataclass

import pytest

from toolhaft import (
    Session,
    Tool,
    ToolCall,
    ToolContext,
    ToolExample,
    ToolExecutor,
    ToolInvoked,
    ToolResult,
    tool,
)
from toolhaft.errors import DefinitionError, PromptValidationError
from toolhaft.prompt import MarkdownSection, Prompt
from toolhaft.resources import Filesystem, MemoryFilesystem


@dataclass
class Params:
    query: str


@dataclass
class Result:
    answer: str


@dataclass
class Written:
    text: str


def handle(params: Params, *, context: ToolContext) -> ToolResult[Result]:
    return ToolResult.ok(Result(answer=params.query))


def make(name, handler=handle, **options):
    return Tool[Params, Result](name=name, description="Does it.", handler=handler, **options)


lookup_tool, search_tool = make("lookup"), make("search")

section = MarkdownSection[Params](
    title="Guidance",
    key="guidance",
    template="Use tools when needed.",
    tools=[lookup_tool, search_tool],
)


def prompt_of(*sections, **options):
    return Prompt(name="seed", sections=sections, **options)


def test_seed_003_section_first_tools_live_within_the_section_hierarchy():
    """*Principles*: tools live within section hierarchy; definitions alongside documenting sections."""
    inner = MarkdownSection(title="Inner", key="inner", template="More.", tools=[make("dig")])
    outer = MarkdownSection(title="Outer", key="outer", tools=[lookup_tool], children=[inner])
    assert [one.name for one in prompt_of(outer).render().tools] == ["lookup", "dig"]
    assert [one.name for one in prompt_of(inner).render().tools] == ["dig"]


def test_seed_003_section_integration_as_on_the_page():
    """*Section Integration*."""
    rendered = prompt_of(section).render()
    assert rendered.text == "## 1. Guidance\n\nUse tools when needed."
    assert rendered.tools == (lookup_tool, search_tool)


def test_seed_003_rendering_refuses_duplicate_names():
    """*Prompt Rendering* 1."""
    again = MarkdownSection(title="Again", key="again", tools=[make("search")])
    with pytest.raises(
        PromptValidationError, match="section 'again': tool 'search' is in section 'guidance'"
    ):
        prompt_of(section, again).render()


@pytest.mark.parametrize(
    "example",
    [
        ToolExample(description="No params", input={"qery": "x"}, output="x"),
        ToolExample(description="No result", input={"query": "x"}, output=5),
        ToolExample(description="Nothing", input={}, output=None),
    ],
    ids=["input", "output", "empty"],
)
def test_seed_003_rendering_checks_examples_against_params_and_result(example):
    """*Prompt Rendering* 2; a typed tool, below, is checked as early as it is made."""

    @tool(examples=[example])
    def find(query: str) -> str:
        """Find."""
        return query

    prompt = prompt_of(MarkdownSection(title="A", key="a", tools=[find]))
    with pytest.raises(PromptValidationError, match="section 'a': tool 'find', example 1"):
        prompt.render()


@pytest.mark.parametrize(
    "example",
    [
        ToolExample(description="No params", input=Result("x"), output=Result("x")),
        ToolExample(description="No result", input=Params("x"), output=Params("x")),
    ],
    ids=["input", "output"],
)
def test_seed_003_typed_examples_are_checked_when_the_tool_is_made(example):
    """*Prompt Rendering* 2."""
    with pytest.raises(DefinitionError, match="example 1"):
        make("x", examples=[example])


def test_seed_003_declaration_order_is_cached():
    """*Prompt Rendering* 3."""
    prompt = prompt_of(section)
    assert prompt.nodes is prompt.nodes
    assert prompt.render().tools == prompt.render().tools == (lookup_tool, search_tool)


def test_seed_003_rendered_tools_are_an_ordered_tuple_from_enabled_sections():
    """*Prompt Rendering*, last line."""
    off = MarkdownSection(title="Off", key="off", tools=[make("never")], enabled=lambda: False)
    last = MarkdownSection(title="Last", key="last", tools=[make("last")])
    tools = prompt_of(off, section, last).render().tools
    assert isinstance(tools, tuple)
    assert [one.name for one in tools] == ["lookup", "search", "last"]


def test_seed_003_tool_context_is_filled_from_the_prompt():
    """*ToolContext*: prompt, rendered_prompt, adapter, session; *Resource Access*."""
    seen = {}

    def look(params: Params, *, context: ToolContext) -> ToolResult[Result]:
        seen.update(prompt=context.prompt, rendered=context.rendered_prompt, adapter=context.adapter)
        assert context.resources.get(Filesystem) is context.filesystem
        context.filesystem.write("a.txt", params.query)
        context.session.dispatcher.dispatch(Written(params.query))
        return ToolResult.ok(Result("ok"))

    files, session, adapter = MemoryFilesystem(), Session(), object()
    prompt = prompt_of(
        MarkdownSection(title="A", key="a", tools=[make("look", look)]), resources={Filesystem: files}
    )
    executor = ToolExecutor(prompt=prompt, adapter=adapter, session=session)
    assert executor.execute(ToolCall(name="look", arguments='{"query": "x"}')).success
    assert seen == {"prompt": prompt, "rendered": executor.rendered_prompt, "adapter": adapter}
    assert seen["rendered"].tools == executor.rendered_prompt.tools
    assert files.read("a.txt").content == "x"
    assert session[Written].all() == (Written("x"),)


def test_seed_003_dispatch_of_a_prompts_tools_takes_every_step():
    """*Runtime Dispatch* 1, 2, 5 to 9, for tools that come from a prompt."""

    def fail(params: Params, *, context: ToolContext) -> ToolResult[Result]:
        context.session.dispatch(Written(params.query))
        context.filesystem.write("a.txt", params.query)
        raise ValueError("no luck")

    files, session, told = MemoryFilesystem(), Session(), []
    session.dispatcher.subscribe(ToolInvoked, told.append)
    tools = [lookup_tool, make("fail", fail, effect="reversible")]
    prompt = prompt_of(MarkdownSection(title="A", key="a", tools=tools), resources={Filesystem: files})
    executor = ToolExecutor(prompt=prompt, session=session)
    results = executor.execute_all(
        [
            ToolCall(name="lookup", arguments='{"query": "x"}'),
            ToolCall(name="lookup", arguments='{"query": "x", "extra": 1}'),
            ToolCall(name="fail", arguments='{"query": "x"}'),
            ToolCall(name="nothing"),
        ]
    )
    assert [one.success for one in results] == [True, False, False, False]
    assert [one.failure.kind for one in results[1:]] == ["invalid_arguments", "failed", "unknown_tool"]
    assert session[Written].all() == ()
    assert not files.exists("a.txt")
    assert sorted((event.tool, event.success) for event in told) == [
        ("fail", False),
        ("lookup", False),
        ("lookup", True),
        ("nothing", False),
    ]
