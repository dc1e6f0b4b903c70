"""The planning section in a prompt: rendered with the others, its tools run by an executor of the prompt."""

import pytest

from tests.toolbox.planning.kit import call
from toolhaft import Session, ToolExecutor
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
