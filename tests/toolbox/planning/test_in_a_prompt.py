"""The planning section in a prompt: rendered with the others, its tools run by an executor of the prompt."""

import pytest

from tests.toolbox.planning.kit import call
from toolhaft import Session, ToolCall, ToolExecutor
from toolhaft.errors import PromptValidationError, VisibilityExpansionRequired
from toolhaft.prompt import MarkdownSection, Prompt
from toolhaft.toolbox.planning import Plan, PlanningStrategy, PlanningToolsSection, PlanStep


def prompt_for(session, **options):
    intro = MarkdownSection(title="Task", key="task", template="Bake bread.")
    return Prompt(name="bread", sections=[intro, PlanningToolsSection(session=session, **options)])


@pytest.mark.parametrize("strategy", list(PlanningStrategy))
def test_a_prompt_shows_the_text_and_offers_the_tools(strategy):
    prompt = prompt_for(Session(), strategy=strategy)
    rendered = prompt.render()
    section = prompt.sections[1]
    assert rendered.text.endswith(f"Planning\n\n{section.template}")
    assert [tool.name for tool in rendered.tools] == [tool.name for tool in section.tools]


def test_an_executor_of_the_prompt_works_on_the_sections_session():
    session = Session()
    with ToolExecutor(prompt=prompt_for(session)) as executor:
        assert executor.execute(call("setup_plan", objective="Bake", initial_steps=["Knead"])).success
        assert executor.execute(call("update_step", step_id=1, status="done")).success
        assert not executor.execute(call("add_step", steps=["Eat"])).success
    assert session[Plan].all() == (Plan("Bake", "completed", (PlanStep(1, "Knead", "done"),)),)


def test_an_executor_of_the_prompt_with_another_session_cannot_plan():
    session, other = Session(), Session()
    with ToolExecutor(prompt=prompt_for(session), session=other) as executor:
        result = executor.execute(call("setup_plan", objective="Bake"))
    assert "another session" in result.message
    assert (session[Plan].all(), other[Plan].all()) == ((), ())


def test_planning_can_be_summarised_until_it_is_needed():
    session = Session()
    prompt = prompt_for(session, visibility="summary", summary="Work of several steps can be planned.")
    rendered = prompt.render()
    assert "Planning\n\nWork of several steps can be planned." in rendered.text
    assert "planning_setup_plan" not in rendered.text
    assert not [tool for tool in rendered.tools if tool.name.startswith("planning_")]
    with ToolExecutor(prompt=prompt) as executor:
        assert executor.execute(call("setup_plan", objective="Bake")).failure.kind == "unknown_tool"
        wanted = {"section_keys": ["planning"], "reason": "it takes several steps"}
        with pytest.raises(VisibilityExpansionRequired) as caught:
            executor.execute(ToolCall(name="open_sections", arguments=wanted))
    opened = prompt.with_visibility(caught.value.requested_overrides)
    assert opened.render().text.endswith(f"Planning\n\n{prompt.sections[1].template}")
    with ToolExecutor(prompt=opened) as executor:
        assert executor.session is session
        assert executor.execute(call("setup_plan", objective="Bake")).success
    assert session[Plan].all() == (Plan("Bake"),)


def test_section_can_be_enabled_when_the_session_has_a_plan():
    session = Session()
    prompt = prompt_for(session, enabled=lambda *, session: bool(session[Plan].all()))
    assert prompt.render().tools == ()
    session.dispatch(Plan("Bake"))
    assert len(prompt.render().tools) == 4


def test_two_planning_sections_in_one_prompt_are_refused_by_name():
    session = Session()
    one, same = PlanningToolsSection(session=session), PlanningToolsSection(session=session)
    with pytest.raises(PromptValidationError, match="section 'planning': two sections have this path"):
        Prompt(name="bread", sections=[one, same]).render()
    other = PlanningToolsSection(session=session, key="more")
    with pytest.raises(PromptValidationError) as caught:
        Prompt(name="bread", sections=[one, other]).render()
    words = "section 'more': tool 'planning_setup_plan' is in section 'planning' already"
    assert str(caught.value).startswith(words)


def test_two_prompts_for_one_session_work_on_one_plan():
    session = Session()
    with ToolExecutor(prompt=prompt_for(session)) as one, ToolExecutor(prompt=prompt_for(session)) as other:
        assert one.execute(call("setup_plan", objective="Bake", initial_steps=["Knead"])).success
        assert other.execute(call("add_step", steps=["Eat"])).value.steps[-1] == PlanStep(2, "Eat")
        assert one.execute(call("read_plan")).value == session[Plan].latest()
