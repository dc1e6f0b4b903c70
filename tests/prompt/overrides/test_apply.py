"""Overrides replace texts and descriptions, if the digest of the original matches."""

import pytest

from tests.cases import each_case
from tests.prompt.overrides.kit import (
    ADD,
    BY_PATH,
    DETAILS,
    GUIDANCE,
    NODES,
    SEARCH,
    add,
    applied,
    every_node,
    prompt,
    refused,
    sealed,
    search,
    sections,
    write,
)
from toolhaft import Tool
from toolhaft.errors import PromptValidationError
from toolhaft.prompt import MarkdownSection, OverrideStore
from toolhaft.prompt.overrides import (
    Overrides,
    SectionOverride,
    ToolOverride,
    apply_overrides,
    section_digest,
    tool_digest,
)
from toolhaft.prompt.tree import build_tree

COUNTED = section_digest(BY_PATH["counted"])
SILENT = section_digest(BY_PATH["silent"])
STALE = "0123456789abcdef"


def section(path, digest, **entry):
    return {"sections": {path: {"digest": digest, **entry}}}


def tool(name, digest, **entry):
    return {"tools": {name: {"digest": digest, **entry}}}


def test_text_and_summary_replace_those_in_the_code():
    found = applied(section("guidance.details", DETAILS, text="New, on $topic.", summary="Short."))
    node = found["guidance.details"]
    assert (node.template, node.summary) == ("New, on $topic.", "Short.")
    assert node.tools == BY_PATH["guidance.details"].tools
    assert found["guidance"].template == "Be brief."


def test_fields_missing_from_an_override_are_kept():
    assert (
        applied(section("guidance.details", DETAILS, text="New."))["guidance.details"].summary == "On $topic."
    )
    assert (
        applied(section("guidance.details", DETAILS, summary="New."))["guidance.details"].template
        == "More on $topic."
    )
    node = applied(section("guidance.details", DETAILS))["guidance.details"]
    assert (node.template, node.summary) == ("More on $topic.", "On $topic.")


def test_a_text_may_be_emptied():
    assert applied(section("guidance", GUIDANCE, text=""))["guidance"].template == ""


def test_the_summary_of_a_section_made_in_code_can_be_overridden():
    assert applied(section("counted", COUNTED, summary="Other."))["counted"].summary == "Other."


def test_sections_without_overrides_stay_the_same_objects():
    nodes = apply_overrides(
        NODES, Overrides(file="x", sections={"guidance": SectionOverride(digest=GUIDANCE, text="N")})
    )
    assert nodes[1:] == NODES[1:]
    assert all(new is old for new, old in zip(nodes[1:], NODES[1:], strict=True))
    assert nodes[0].children[0] is NODES[0].children[0]
    assert NODES[0].template == "Be brief."


def test_descriptions_of_a_tool_replace_those_in_the_code():
    value = tool(
        "search",
        SEARCH,
        description="Seek.",
        parameters={"query": "What"},
        examples=[{"input": {"query": "b"}}],
    )
    (made,) = applied(value)["guidance"].tools
    assert made.description == "Seek."
    assert made.input_schema["properties"]["query"] == {"type": "string", "description": "What"}
    assert made.input_schema["properties"]["limit"] == search.input_schema["properties"]["limit"]
    assert [example.input for example in made.examples] == [{"query": "b"}]
    assert search.description == "Search the shelves."
    assert "description" not in search.input_schema["properties"]["query"]


def test_examples_can_be_taken_away():
    (made,) = applied(tool("search", SEARCH, examples=[]))["guidance"].tools
    assert made.examples == ()


def test_a_prompt_renders_the_overrides_of_its_store():
    write(
        {
            **section("guidance.details", DETAILS, text="Much more on $topic."),
            **tool("add", ADD, description="Sum.", parameters={"left": "One"}),
        }
    )
    rendered = prompt(OverrideStore("prompts")).render()
    assert "Much more on tools." in rendered.text
    (made,) = [one for one in rendered.tools if one.name == "add"]
    assert (made.description, made.input_schema["properties"]["left"]["description"]) == ("Sum.", "One")


REFUSED = [
    (section("guidance.detail", DETAILS), "section \"guidance.detail\": there is no such section. Fix: did you mean 'guidance.details'?"),
    (section("zzz", DETAILS), 'section "zzz": there is no such section. Fix: there are: guidance, guidance.details, law, counted, silent'),
    (tool("serch", SEARCH), "tool \"serch\": no section has such a tool. Fix: did you mean 'search'?"),
    (tool("zzz", SEARCH), 'tool "zzz": no section has such a tool. Fix: there are: search, add, sealed'),
    (section("law", section_digest(BY_PATH["law"]), text="More."), 'section "law": the section does not accept overrides. Fix: remove the override, or set accepts_overrides=True in the code'),
    (tool("sealed", tool_digest(sealed), description="Other."), 'tool "sealed": the tool does not accept overrides. Fix: remove the override'),
    (section("guidance", STALE, text="N"), f"section \"guidance\": it was written for digest {STALE}, and the section has changed since: its digest is now {GUIDANCE}. Fix: compare it with the section in the code, then set digest: '{GUIDANCE}', or remove the override"),
    (tool("search", STALE, description="N"), f"tool \"search\": it was written for digest {STALE}, and the tool has changed since: its digest is now {SEARCH}. Fix: compare it with the tool in the code, then set digest: '{SEARCH}', or remove the override"),
    (section("silent", SILENT, text="N"), "section \"silent\": its text is made in code. Fix: remove 'text'"),
    (section("guidance", GUIDANCE, summary="N"), "section \"guidance\": the section has no summary. Fix: remove 'summary', or give the section one in the code"),
    (section("guidance.details", DETAILS, text="On $topik."), 'section "guidance.details": its text names $topik, which Topic does not have; did you mean $topic?'),
    (section("guidance.details", DETAILS, summary="On $."), "section \"guidance.details\": '$.' is not a $name, in line 1, column 4 of its summary. Fix: write $$ for a dollar sign"),
    (section("counted", COUNTED, summary="On $topic."), 'section "counted": its summary names $topic, and the section has no params'),
    (tool("search", SEARCH, description="x" * 201), 'tool "search", description: the description has 201 characters. Fix: write 1 to 200 characters'),
    (tool("search", SEARCH, parameters={"quary": "N"}), "tool \"search\", parameter 'quary': there is no such parameter. Fix: did you mean 'query'?"),
    (tool("search", SEARCH, parameters={"zzz": "N"}), "tool \"search\", parameter 'zzz': there is no such parameter. Fix: the parameters are: query, limit"),
    (tool("search", SEARCH, examples=[{"input": {"query": 5}}]), 'tool "search", example 1: the input is not valid: query: got 5; expected a string. Fix: fix it, or leave it out'),
    (tool("search", SEARCH, examples=[{"input": {"query": "a"}}, {"input": {}}]), 'tool "search", example 2: the input is not valid: query: missing'),
    (tool("search", SEARCH, examples=[{"input": {"query": "a", "limit": "2"}}]), 'tool "search", example 1: the input does not match the schema exactly'),
    (tool("search", SEARCH, examples=[{"input": {"query": "a"}, "output": {"titles": [1]}}]), 'tool "search", example 1: the output is not valid: '),
    (tool("search", SEARCH, examples=[{"input": {"query": "a"}, "description": "x" * 201}]), 'tool "search", example 1: the description is longer than 200 characters'),
]  # fmt: skip


@each_case(("value", "told"), REFUSED, ids=lambda part: None if isinstance(part, dict) else part[:60])
def test_an_override_that_cannot_be_applied_is_reported_with_place_and_fix(value, told):
    message = refused(value)
    assert message.startswith(f"prompts/demo/stable.json: {told}")
    assert "\n" not in message


def test_all_problems_of_a_tool_override_are_reported_at_once():
    value = tool("search", SEARCH, description="x" * 201, parameters={"a": "N", "query": "Fine", "b": "N"}, examples=[{"input": {}}, {"input": {"query": "a"}}, {"input": 5}])  # fmt: skip
    value["sections"] = {"law": {"digest": STALE}, "none": {"digest": STALE}}
    lines = refused(value).splitlines()
    assert lines[0] == "prompts/demo/stable.json: 7 problems:"
    assert [line.split(": ")[0] for line in lines[1:]] == [
        '- section "law"',
        '- section "none"',
        '- tool "search", description',
        "- tool \"search\", parameter 'a'",
        "- tool \"search\", parameter 'b'",
        '- tool "search", example 1',
        '- tool "search", example 3',
    ]


def test_a_long_problem_keeps_its_fix():
    message = refused(
        tool("search", SEARCH, examples=[{"input": {f"key{number}": 1 for number in range(100)}}])
    )
    assert len(message.encode()) <= 2000
    assert message.endswith(".... Fix: fix it, or leave it out")


def test_a_problem_of_the_combined_fields_is_reported(monkeypatch):
    from toolhaft.errors import DefinitionError  # noqa: PLC0415 -- beside its only use
    from toolhaft.prompt.overrides import apply  # noqa: PLC0415 -- the same

    def refuse(self, **words):
        raise DefinitionError("together they do not fit", place="words")

    monkeypatch.setattr(apply, "_single_problems", lambda tool, override: iter(()))
    monkeypatch.setattr(Tool, "with_words", refuse)
    assert 'tool "search", words: together they do not fit' in refused(
        tool("search", SEARCH, description="New.")
    )


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (section("guidance.details", STALE), ("guidance", "details")),
        (tool("add", STALE), ("guidance", "details")),
        (section("none", STALE), ()),
        ({**section("guidance.details", STALE), **tool("search", STALE)}, ()),
    ],
)
def test_an_error_has_the_path_of_its_section(value, path):
    with pytest.raises(PromptValidationError) as caught:
        applied(value)
    assert caught.value.section_path == path


def test_a_changed_text_makes_only_its_own_override_stale():
    write(
        {"sections": {"guidance": {"digest": GUIDANCE, "text": "N"}, "guidance.details": {"digest": DETAILS}}}
    )
    changed = sections()
    changed[0] = MarkdownSection(
        title="Guidance", key="guidance", template="Be very brief.", children=changed[0].children
    )
    with pytest.raises(PromptValidationError, match="was written for digest") as caught:
        prompt(OverrideStore("prompts"), sections=changed).render()
    assert caught.value.section_path == ("guidance",)


def test_a_prompt_without_sections_has_nothing_to_override():
    overrides = Overrides(
        file="x", sections={"a": SectionOverride(digest=STALE)}, tools={"b": ToolOverride(digest=STALE)}
    )
    with pytest.raises(PromptValidationError) as caught:
        apply_overrides((), overrides)
    assert str(caught.value).count("there are none; remove the override") == 2


def test_an_override_applies_to_the_tools_with_its_digest():
    """Two sections may have a tool of one name, where only one of them is ever enabled."""
    other = Tool(name="search", description="Search elsewhere.")
    nodes = build_tree(
        [
            MarkdownSection(title="A", key="a", tools=[search]),
            MarkdownSection(title="B", key="b", tools=[other]),
            MarkdownSection(title="C", key="c", tools=[search]),
        ]
    )
    words = ToolOverride(digest=SEARCH, description="Seek.")
    found = every_node(apply_overrides(nodes, Overrides(file="x", tools={"search": words})))
    assert [found[key].tools[0].description for key in "abc"] == ["Seek.", "Search elsewhere.", "Seek."]


def test_one_tool_that_refuses_overrides_refuses_for_its_name():
    nodes = build_tree(
        [
            MarkdownSection(title="A", key="a", tools=[search]),
            MarkdownSection(title="B", key="b", tools=[search.replace(accepts_overrides=False)]),
        ]
    )
    overrides = Overrides(file="x", tools={"search": ToolOverride(digest=SEARCH, description="Seek.")})
    with pytest.raises(PromptValidationError, match="the tool does not accept overrides") as caught:
        apply_overrides(nodes, overrides)
    assert caught.value.section_path == ("b",)


def test_a_tool_in_a_section_that_is_fixed_can_still_be_overridden():
    nodes = build_tree([MarkdownSection(title="A", key="a", accepts_overrides=False, tools=[add])])
    overrides = Overrides(file="x", tools={"add": ToolOverride(digest=ADD, description="Sum.")})
    assert apply_overrides(nodes, overrides)[0].tools[0].description == "Sum."


def test_of_many_known_sections_only_some_are_listed():
    nodes = build_tree([MarkdownSection(title="S", key=f"section{number:02}") for number in range(30)])
    overrides = Overrides(file="x.json", sections={"zzz": SectionOverride(digest=DETAILS)})
    with pytest.raises(PromptValidationError) as caught:
        apply_overrides(nodes, overrides)
    assert str(caught.value).endswith(
        f"there are: {', '.join(f'section{number:02}' for number in range(12))}"
    )
