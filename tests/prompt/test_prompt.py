"""Prompts: rendered, bound, checked."""

import copy
import pickle
from dataclasses import dataclass

import pytest

from tests.cases import each_case
from toolhaft import (
    BaseTool,
    Tool,
    ToolConfig,
    ToolContext,
    ToolExample,
    ToolParam,
    ToolResult,
    ToolReturn,
    ToolSpec,
    create_tool,
    load_tool,
    tool,
)
from toolhaft.core.prompt_hooks import PolicyDecision
from toolhaft.errors import DefinitionError, PromptValidationError
from toolhaft.prompt import MarkdownSection, Prompt, RenderedPrompt
from toolhaft.session import Session


@dataclass(frozen=True)
class Params:
    topic: str


@dataclass(frozen=True)
class Other:
    word: str = "other"


@dataclass(frozen=True)
class Query:
    text: str


@dataclass(frozen=True)
class Hit:
    title: str


def find(params: Query, *, context: ToolContext) -> ToolResult[Hit]:
    return ToolResult.ok(Hit(title=params.text))


def typed(name, **options):
    return Tool[Query, Hit](name=name, description="Find.", handler=find, **options)


@tool
def plain(text: str) -> str:
    """Plain."""
    return text


def section(key, *tools, **options):
    return MarkdownSection(**{"title": key.title(), "key": key, "tools": list(tools), **options})


def test_a_prompt_renders_its_text_and_its_tools_in_the_order_of_the_sections():
    one, two, three, four = (typed(f"t{number}") for number in range(4))
    inner = section("inner", three, template="in")
    prompt = Prompt(
        name="p", sections=[section("a", one, two, children=[inner]), section("b", four, [[plain]])]
    )
    rendered = prompt.render()
    assert rendered.text == "## 1. A\n\n### 1.1. Inner\n\nin\n\n## 2. B"
    assert rendered.tools == (one, two, three, four, plain)
    assert (rendered.name, rendered.structured_output, str(rendered)) == ("p", None, rendered.text)
    assert dict(rendered.visibility) == {("a",): "full", ("a", "inner"): "full", ("b",): "full"}


def test_a_prompt_without_sections_is_empty():
    assert Prompt(name="p").render().text == ""


def test_construction_only_stores():
    Prompt(name="p", sections=[section("a", typed("x"), "no tool"), section("a", typed("x"))])


@pytest.mark.parametrize("again", [typed("find"), None], ids=["another tool", "the same tool"])
def test_a_name_twice_is_refused_and_both_sections_are_named(again):
    first = typed("find")
    inner = section("inner", again or first)
    prompt = Prompt(name="p", sections=[section("a", first), section("b", children=[inner])])
    with pytest.raises(PromptValidationError) as caught:
        prompt.render()
    assert str(caught.value) == (
        "section 'b.inner': tool 'find' is in section 'a' already. "
        "Fix: give each tool a different name, and put it in one section"
    )
    assert caught.value.section_path == ("b", "inner")


def test_a_name_twice_in_one_section_is_refused():
    prompt = Prompt(name="p", sections=[section("a", typed("find"), plain, typed("find"))])
    with pytest.raises(PromptValidationError, match="section 'a': tool 'find' is in this section twice"):
        prompt.render()


def test_a_name_twice_is_found_before_a_summary_is_opened():
    hidden = section("b", children=[section("c", typed("find"))], summary="s", visibility="summary")
    with pytest.raises(PromptValidationError, match=r"section 'b\.c': tool 'find' is in section 'a' already"):
        Prompt(name="p", sections=[section("a", typed("find")), hidden]).render()


def test_alternative_sections_may_share_a_tool_name():
    def variant(key, made, *, expert):
        return MarkdownSection[Level](
            title=key, key=key, tools=[made], enabled=lambda level: level.expert is expert
        )

    simple, full = typed("find"), typed("find")
    prompt = Prompt(name="p", sections=[variant("a", simple, expert=False), variant("b", full, expert=True)])
    assert prompt.bind(Level(expert=True)).render().tools == (full,)
    assert prompt.bind(Level(expert=False)).render().tools == (simple,)


@dataclass
class Level:
    expert: bool


def test_paths_are_unique():
    inner = section("b")
    for sections in ([section("a"), section("a")], [section("a", children=[inner]), section("a.b")]):
        with pytest.raises(PromptValidationError, match="two sections have this path"):
            Prompt(name="p", sections=sections).render()


def test_a_key_may_repeat_under_another_parent():
    prompt = Prompt(
        name="p",
        sections=[section("a", children=[section("x")]), section("b", children=[section("x")]), section("x")],
    )
    assert prompt.render().text.count("X") == 3


def test_an_invalid_tool_is_refused_with_the_section_path():
    prompt = Prompt(name="p", sections=[section("a", children=[section("b", {"name": "x"})])])
    with pytest.raises(PromptValidationError, match=r"section 'a\.b': .* is not a tool"):
        prompt.render()


@pytest.mark.parametrize(
    "example",
    [
        ToolExample(input=Query("x"), output="no hit"),
        ToolExample(input={"txt": "x"}),
        ToolExample(input=Hit("x")),
    ],
)
def test_examples_are_checked_against_the_types(example):
    with pytest.raises(DefinitionError, match="example 1"):
        typed("find", examples=[example])


def test_an_example_of_a_function_is_checked_when_the_prompt_is_rendered():
    @tool(examples=[{"input": {"txt": "x"}}])
    def lazy(text: str) -> str:
        """Wait."""
        return text

    prompt = Prompt(name="p", sections=[section("a", children=[section("b", lazy)])])
    with pytest.raises(
        PromptValidationError, match=r"section 'a\.b': tool 'lazy', example 1: .*txt"
    ) as caught:
        prompt.render()
    assert isinstance(caught.value.__cause__, DefinitionError)


def test_bind_returns_a_new_prompt():
    prompt = Prompt(name="p", sections=[MarkdownSection[Params](title="A", key="a", template="$topic")])
    tea, coffee = prompt.bind(Params("tea")), prompt.bind(Params("coffee"))
    assert (tea.render().text, coffee.render().text) == ("## 1. A\n\ntea", "## 1. A\n\ncoffee")
    assert tea.bind(Params("milk")).render().text == "## 1. A\n\nmilk"
    with pytest.raises(PromptValidationError, match="Params is not bound"):
        prompt.render()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ((Params,), "bind takes values, not Params. Fix: prompt.bind(Params(...))"),
        ((None,), "bind takes values, not None"),
        ((Params("a"), Params("b")), "bind was given two Params. Fix: bind one value of each type"),
    ],
)
def test_classes_and_two_values_of_one_type_cannot_be_bound(params, message):
    with pytest.raises(PromptValidationError) as caught:
        Prompt(name="p").bind(*params)
    assert message in str(caught.value)


def test_a_value_that_no_section_takes_is_refused():
    prompt = Prompt(name="p", sections=[MarkdownSection[Params](title="A", key="a", template="$topic")])
    with pytest.raises(PromptValidationError, match=r"no section takes a Other \(they take: Params\)"):
        prompt.bind(Params("x"), Other()).render()
    with pytest.raises(PromptValidationError, match=r"no section takes a Other \(they take: none\)"):
        Prompt(name="p").bind(Other()).render()


@each_case(
    ("options", "message"),
    [
        ({"name": "a b"}, "'a b' cannot be the name of a prompt"),
        ({"name": "../x"}, "cannot be the name of a prompt"),
        ({"name": None}, "None cannot be the name of a prompt"),
        ({"sections": None}, "sections is not a list: None. Fix: write sections=[...]"),
        ({"policies": 5}, "policies is not a list: 5"),
        ({"feedback": 5}, "feedback is not a list: 5"),
        ({"policies": [Other]}, "policies contains the class Other"),
        ({"policies": [Other()]}, "is not a tool policy"),
        (
            {"overrides": "prompts"},
            "overrides is 'prompts', and has no method load. Fix: write overrides=OverrideStore('prompts')",
        ),
        (
            {"overrides": 5},
            "overrides is 5, and has no method load. Fix: write overrides=OverrideStore('folder')",
        ),
        ({"sections": [5]}, "5 is not a section. Fix: sections=[MarkdownSection(...)]"),
        ({"sections": MarkdownSection(title="A", key="a")}, "sections is a list of sections, not one"),
        ({"max_expansions": -1}, "max_expansions is -1"),
        ({"max_expansions": True}, "max_expansions is True"),
        ({"structured_output": int}, "structured_output: int cannot be the type of an answer"),
    ],
)
def test_an_invalid_argument_of_a_prompt_is_refused(options, message):
    with pytest.raises(PromptValidationError) as caught:
        Prompt(**{"name": "p", **options})
    assert message in str(caught.value)


def test_the_declaration_order_is_cached_and_the_tools_are_made_once():
    prompt = Prompt(name="p", sections=[section("a", plain)])
    assert prompt.nodes is prompt.bind().nodes
    assert prompt.render().tools[0] is prompt.render().tools[0]


def test_a_prompt_belongs_to_the_session_of_its_sections():
    session = Session()
    tied = section("a", session=session)
    assert Prompt(name="p", sections=[section("b")]).session is None
    prompt = Prompt(name="p", sections=[section("b", children=[tied]), section("c", session=session)])
    assert prompt.session is session
    other = section("d", children=[section("e", session=Session())])
    with pytest.raises(
        PromptValidationError, match=r"section 'd\.e': it belongs to another session than section 'a'"
    ):
        _ = Prompt(name="p", sections=[tied, other]).session


def test_a_section_sees_the_session_that_the_prompt_belongs_to():
    session, seen = Session(), []
    watching = section("a", session=session, enabled=lambda *, session: seen.append(session) is None)
    prompt = Prompt(name="p", sections=[watching])
    other = Session()
    prompt.render()
    prompt.render(session=other)
    assert seen == [session, other]


def test_a_rendered_prompt_is_pickled_without_its_tools():
    rendered = Prompt(name="p", sections=[section("a", plain, template="text")]).render()
    copy = pickle.loads(pickle.dumps(rendered))  # noqa: S301 -- its own
    assert isinstance(copy, RenderedPrompt)
    assert (copy.name, copy.text, copy.tools) == ("p", rendered.text, ())


def test_a_prompt_cannot_be_pickled():
    with pytest.raises(TypeError, match="a prompt cannot be pickled"):
        pickle.dumps(Prompt(name="p"))


def test_tools_defined_in_any_way_may_be_in_a_section(tmp_path):
    class Echo(BaseTool):
        spec = ToolSpec(
            name="echo",
            description="Echo.",
            when_to_use="Always",
            inputs=[ToolParam(name="text", type="string", description="Text")],
            returns=ToolReturn(type="string", description="Text"),
        )

        def __call__(self, *, text):
            return text

    (tmp_path / "said.yaml").write_text("id: said\nname: Said\ndescription: Said.\n", encoding="utf-8")
    raw = create_tool(
        ToolConfig(
            name="raw", description="Raw.", input_schema={"type": "object"}, output_schema=None, execute=dict
        )
    )
    prompt = Prompt(
        name="p",
        sections=[section("a", raw, typed("find"), plain, Echo(), load_tool(tmp_path / "said.yaml"))],
    )
    assert [one.name for one in prompt.render().tools] == ["raw", "find", "plain", "echo", "said"]


def test_the_last_bound_value_is_used_for_a_base_type():
    @dataclass(frozen=True)
    class Finer(Params):
        pass

    @dataclass(frozen=True)
    class Finest(Params):
        pass

    prompt = Prompt(name="p", sections=[MarkdownSection[Params](title="A", key="a", template="$topic")])
    fine = prompt.bind(Finer("1")).bind(Finest("2"))
    assert fine.render().text.endswith("2")
    assert fine.bind(Finer("3")).render().text.endswith("3")


def test_a_prompt_never_changes_and_its_copies_are_itself():
    prompt = Prompt(name="p", sections=[section("a", plain)])
    with pytest.raises(AttributeError, match="a Prompt is immutable: 'name' cannot be set"):
        prompt.name = "other"
    rendered = prompt.render()
    assert copy.copy(prompt) is copy.deepcopy(prompt) is prompt
    assert copy.copy(rendered) is copy.deepcopy(rendered) is rendered


def test_repr_shows_name_and_number_of_sections():
    assert repr(Prompt(name="p", sections=[section("a")])) == "<Prompt 'p' of 1 sections>"


class Quiet:
    """A policy that allows everything."""

    def __init__(self, name):
        self.name = name
        self.prepared = []

    def prepare(self, session):
        self.prepared.append(session)

    def check(self, tool, params, *, context):
        return PolicyDecision.allow()

    def on_result(self, tool, params, result, *, context):
        pass


def test_a_tool_is_governed_by_the_prompt_and_the_sections_that_it_is_in():
    everywhere, outer, inner, other = (Quiet(name) for name in ("everywhere", "outer", "inner", "other"))
    prompt = Prompt(
        name="p",
        policies=[everywhere],
        sections=[
            section(
                "a",
                typed("x"),
                policies=[outer],
                children=[section("b", typed("y"), policies=[inner, outer])],
            ),
            section("c", typed("z"), policies=[other]),
        ],
    )
    rendered = prompt.render()
    assert prompt.policies_for("x", rendered) == (everywhere, outer)
    assert prompt.policies_for("y", rendered) == (everywhere, outer, inner)
    assert prompt.policies_for("z") == (everywhere, other)
    assert prompt.policies_for("unknown") == prompt.policies_for("unknown", rendered) == (everywhere,)
    session = Session()
    prompt.prepare(session)
    assert [one.prepared for one in (everywhere, outer, inner, other)] == [
        [session],
        [session, session],
        [session],
        [session],
    ]


def test_tools_of_one_name_have_the_policies_of_their_own_section():
    strict = Quiet("strict")
    careful = MarkdownSection[Level](
        title="A", key="a", tools=[typed("find")], enabled=lambda level: not level.expert, policies=[strict]
    )
    free = MarkdownSection[Level](
        title="B", key="b", tools=[typed("find")], enabled=lambda level: level.expert
    )
    prompt = Prompt(name="p", sections=[careful, free])
    assert prompt.policies_for("find", prompt.bind(Level(expert=True)).render()) == ()
    assert prompt.policies_for("find", prompt.bind(Level(expert=False)).render()) == (strict,)
