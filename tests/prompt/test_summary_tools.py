"""Summarised sections, and the two tools that show more of them."""

import asyncio
from dataclasses import dataclass

import pytest

from tests.cases import each_case
from toolhaft import Session, ToolCall, ToolExecutor, tool
from toolhaft.errors import PromptValidationError, VisibilityExpansionRequired
from toolhaft.prompt import MarkdownSection, Prompt, SectionsOpened, SectionVisibility


@dataclass
class Params:
    topic: str = "tea"
    is_expert: bool = True


@tool
def search(query: str) -> str:
    """Search."""
    return query


@tool
def dig(query: str) -> str:
    """Dig."""
    return query


@tool
def mine(query: str) -> str:
    """Mine."""
    return query


def sections():
    deep = MarkdownSection(
        title="Deep", key="deep", template="All the way.", summary="Down.", visibility="summary", tools=[mine]
    )
    flat = MarkdownSection(title="Flat", key="flat", template="Flat $topic.")
    off = MarkdownSection(
        title="Off", key="off", template="never", enabled=lambda params: not params.is_expert
    )
    return [
        MarkdownSection(title="Guide", key="guide", template="Read this.", tools=[search]),
        MarkdownSection[Params](
            title="Reference",
            key="reference",
            template="Everything about $topic.",
            summary="About $topic.",
            visibility=SectionVisibility.SUMMARY,
            tools=[dig],
            children=[off, flat, deep],
        ),
        MarkdownSection(title="Words", key="words", template="A to Z.", summary="A.", visibility="summary"),
    ]


def prompt_of(**options):
    return Prompt(name="demo", sections=sections(), **options)


def opening(*keys, reason="why"):
    return ToolCall(name="open_sections", arguments={"section_keys": list(keys), "reason": reason})


def reading(key):
    return ToolCall(name="read_section", arguments={"section_key": key})


def names(rendered):
    return [one.name for one in rendered.tools]


def test_a_summary_hides_text_children_and_tools():
    rendered = prompt_of().render()
    assert rendered.text == (
        "## 1. Guide\n\nRead this.\n\n"
        "## 2. Reference\n\nAbout tea.\n\n"
        '[Summary of section "reference": read_section gives its text once; '
        "open_sections shows it in full and makes its tools available.]\n\n"
        "## 3. Words\n\nA.\n\n"
        '[Summary of section "words": read_section gives its text once; open_sections keeps it in full view.]'
    )
    assert names(rendered) == ["search", "open_sections", "read_section"]
    assert dict(rendered.visibility) == {("guide",): "full", ("reference",): "summary", ("words",): "summary"}


def test_the_summary_tools_exist_only_while_a_section_is_summarised():
    opened = prompt_of().with_visibility(
        {"reference": "full", "words": "full", ("reference", "deep"): "full"}
    )
    assert names(opened.render()) == ["search", "dig", "mine"]
    partly = prompt_of().with_visibility({("reference",): SectionVisibility.FULL, "words": "full"})
    assert names(partly.render()) == ["search", "dig", "open_sections", "read_section"]
    assert "mine" not in partly.render().text


def test_hidden_tools_cannot_be_called():
    executor = ToolExecutor(prompt=prompt_of())
    result = executor.execute(ToolCall(name="dig", arguments={"query": "x"}))
    assert result.failure.kind == "unknown_tool"


def test_open_sections_requests_the_needed_visibility():
    executor = ToolExecutor(prompt=prompt_of())
    with pytest.raises(VisibilityExpansionRequired) as caught:
        executor.execute(opening("reference", reason="to look up"))
    error = caught.value
    assert error.requested_overrides == {("reference",): SectionVisibility.FULL}
    assert (error.section_keys, error.reason, error.section_path) == (
        ("reference",),
        "to look up",
        ("reference",),
    )
    assert str(error) == "the model asks to see reference in full"


def test_opening_a_section_opens_its_parents():
    with pytest.raises(VisibilityExpansionRequired) as caught:
        ToolExecutor(prompt=prompt_of()).execute(opening("reference.deep", "words"))
    assert caught.value.requested_overrides == {
        ("reference",): "full",
        ("reference", "deep"): "full",
        ("words",): "full",
    }


def test_a_run_continues_with_the_opened_section():
    prompt, session = prompt_of(), Session()
    executor = ToolExecutor(prompt=prompt, session=session)
    try:
        executor.execute(opening("reference"))
    except VisibilityExpansionRequired as asked:
        prompt = prompt.with_visibility(asked.requested_overrides)
        executor.change_prompt(prompt)
    assert "Everything about tea." in executor.rendered_prompt.text
    assert executor.execute(ToolCall(name="dig", arguments={"query": "x"})).value == "x"


def test_async_callers_get_the_results_of_sibling_calls():
    executor = ToolExecutor(prompt=prompt_of())
    with pytest.raises(VisibilityExpansionRequired) as caught:
        asyncio.run(
            executor.aexecute_all([ToolCall(name="search", arguments={"query": "a"}), opening("words")])
        )
    assert caught.value.results[0].value == "a"
    assert caught.value.requested_overrides == {("words",): "full"}


@each_case(
    ("keys", "message"),
    [
        (["referense"], "there is no section 'referense'. Did you mean 'reference'?"),
        (
            ["zzz"],
            "there is no section 'zzz'. Summarised are: reference, reference.flat, reference.deep, words.",
        ),
        (["reference.off"], "there is no section 'reference.off'."),
        (["guide"], "'guide' is shown in full already: read on above."),
        ([], "section_keys"),
        (["reference", "nope"], "there is no section 'nope'"),
    ],
)
def test_a_section_that_cannot_be_opened_is_reported(keys, message):
    result = ToolExecutor(prompt=prompt_of()).execute(opening(*keys))
    assert message in result.message
    assert result.failure.kind == "invalid_arguments"


def test_read_section_returns_the_text_once_and_changes_nothing():
    executor = ToolExecutor(prompt=prompt_of())
    result = executor.execute(reading("reference"))
    assert result.value.content == (
        "## 2. Reference\n\nEverything about tea.\n\n### 2.1. Flat\n\nFlat tea.\n\n### 2.2. Deep\n\nDown.\n\n"
        '[Summary of section "reference.deep": read_section gives its text once; '
        "open_sections shows it in full and makes its tools available.]"
    )
    assert result.render() == f"Section 'reference':\n\n{result.value.content}"
    assert executor.execute(reading("reference.deep")).value.content == "### 2.2. Deep\n\nAll the way."
    assert executor.execute(ToolCall(name="dig", arguments={"query": "x"})).failure.kind == "unknown_tool"
    assert names(executor.rendered_prompt) == ["search", "open_sections", "read_section"]


@pytest.mark.parametrize(
    ("key", "message"),
    [("wrds", "Did you mean 'words'?"), ("guide", "'guide' is shown in full already")],
)
def test_a_section_that_cannot_be_read_is_reported(key, message):
    result = ToolExecutor(prompt=prompt_of()).execute(reading(key))
    assert message in result.message
    assert result.failure.kind == "invalid_arguments"


def test_repeated_expansions_are_capped_for_a_session_and_recorded():
    session = Session()
    for number in range(3):
        with pytest.raises(VisibilityExpansionRequired):
            ToolExecutor(prompt=prompt_of(max_expansions=3), session=session).execute(
                opening("words", reason=str(number))
            )
    result = ToolExecutor(prompt=prompt_of(max_expansions=3), session=session).execute(opening("words"))
    assert result.message.startswith("sections of this prompt were opened 3 times, which is the limit. Go on")
    assert result.failure.kind == "failed"
    opened = [
        SectionsOpened(prompt="demo", section_keys=("words",), reason=str(number)) for number in range(3)
    ]
    assert list(session[SectionsOpened]) == opened


def test_the_cap_counts_per_prompt_and_session():
    session = Session()
    with pytest.raises(VisibilityExpansionRequired):
        ToolExecutor(prompt=prompt_of(max_expansions=1), session=session).execute(opening("words"))
    other = Prompt(name="other", sections=sections(), max_expansions=1)
    for executor in (
        ToolExecutor(prompt=other, session=session),
        ToolExecutor(prompt=prompt_of(max_expansions=1)),
    ):
        with pytest.raises(VisibilityExpansionRequired):
            executor.execute(opening("words"))


def test_the_cap_holds_for_an_executor_without_the_prompt():
    executor = ToolExecutor(prompt_of(max_expansions=1).render().tools)
    with pytest.raises(VisibilityExpansionRequired):
        executor.execute(opening("words"))
    assert executor.execute(opening("words")).failure.kind == "failed"


def test_executors_that_share_a_rendering_do_not_share_the_cap():
    prompt = prompt_of(max_expansions=1)
    rendered = prompt.render()
    for _ in range(2):
        with pytest.raises(VisibilityExpansionRequired):
            ToolExecutor(prompt=prompt, rendered_prompt=rendered).execute(opening("words"))


def test_a_key_with_blanks_around_it_is_found():
    assert ToolExecutor(prompt=prompt_of()).execute(reading(" words ")).success


def test_with_a_cap_of_zero_nothing_can_be_opened():
    executor = ToolExecutor(prompt=prompt_of(max_expansions=0))
    assert "opened 0 times" in executor.execute(opening("words")).message
    assert executor.execute(reading("words")).success


def test_a_tool_named_like_a_summary_tool_is_refused():
    own = search.replace(name="read_section")
    taken = MarkdownSection(title="Own", key="own", tools=[own])
    with pytest.raises(
        PromptValidationError, match="a prompt with summaries adds its own tool 'read_section'"
    ):
        Prompt(name="p", sections=[taken, *sections()]).render()
    assert names(Prompt(name="p", sections=[taken]).render()) == ["read_section"]
    hidden = MarkdownSection(title="H", key="h", tools=[own], summary="s", visibility="summary")
    with pytest.raises(
        PromptValidationError, match="section 'h': a prompt with summaries adds its own tool 'read_section'"
    ):
        Prompt(name="p", sections=[hidden]).render()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"referense": "full"}, "there is no section 'referense'; did you mean 'reference'?"),
        ({("x", "y"): "full"}, "there is no section 'x.y'"),
        (
            "words",
            "with_visibility does not take 'words'. Fix: write with_visibility({'key of a section': 'full'})",
        ),
        ({5: "full"}, "there is no section '5'"),
        ({"words": "hidden"}, "section 'words': 'hidden' is neither 'full' nor 'summary'"),
    ],
)
def test_an_invalid_visibility_is_refused(overrides, message):
    with pytest.raises(PromptValidationError) as caught:
        prompt_of().with_visibility(overrides)
    assert message in str(caught.value)


def test_a_section_without_a_summary_cannot_be_summarised():
    prompt = prompt_of().with_visibility({"guide": "summary"})
    with pytest.raises(
        PromptValidationError, match="section 'guide': it cannot be summarised: it has no summary"
    ):
        prompt.render()


def test_with_visibility_returns_a_new_prompt():
    prompt = prompt_of()
    prompt.with_visibility({"words": "full"})
    assert prompt.render().visibility["words",] == "summary"
    both = prompt.with_visibility({"words": "full"}).with_visibility({"reference": "full"})
    assert "words" not in {
        ".".join(path) for path, how in both.render().visibility.items() if how == "summary"
    }
