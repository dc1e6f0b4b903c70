"""The planning section: its text, tools and options, and the arguments that it refuses."""

from dataclasses import FrozenInstanceError

import pytest

from tests.cases import each_case
from tests.toolbox.planning.kit import World
from toolhaft import Session, ToolCall
from toolhaft.errors import PromptValidationError
from toolhaft.formats import FORMATS, export_tools
from toolhaft.prompt import MarkdownSection, SequenceDependency
from toolhaft.toolbox import planning
from toolhaft.toolbox.planning import Plan, PlanningStrategy, PlanningToolsSection, PlanStep, SetupPlan

NAMES = ["planning_setup_plan", "planning_add_step", "planning_update_step", "planning_read_plan"]


def test_the_section_has_four_tools_a_session_and_a_strategy():
    session = Session()
    section = PlanningToolsSection(session=session)
    assert isinstance(section, MarkdownSection)
    assert (section.key, section.title, section.strategy) == ("planning", "Planning", PlanningStrategy.REACT)
    assert [tool.name for tool in section.tools] == NAMES
    assert section.session is session
    assert section.accepts_overrides is False
    assert section.params_type is None


@pytest.mark.parametrize("accepts", [True, False])
def test_the_section_says_for_its_tools_whether_they_take_overrides(accepts):
    section = PlanningToolsSection(session=Session(), accepts_overrides=accepts)
    assert {section.accepts_overrides, *(tool.accepts_overrides for tool in section.tools)} == {accepts}


def test_the_section_takes_what_any_section_takes():
    policy = SequenceDependency({"planning_add_step": ["planning_read_plan"]})
    child = MarkdownSection(title="More", key="more", template="More.")
    section = PlanningToolsSection(
        session=Session(),
        title="Your plan",
        key="your-plan",
        children=[child],
        enabled=False,
        visibility="summary",
        summary="Plans.",
        policies=[policy],
        resources={int: 5},
    )
    assert (section.title, section.key, section.summary) == ("Your plan", "your-plan", "Plans.")
    assert (section.children, section.policies, section.resources) == ((child,), (policy,), {int: 5})
    assert (section.enabled.value, section.visibility.value) == (False, "summary")
    assert [tool.name for tool in section.tools] == NAMES


@pytest.mark.parametrize("option", ["tools", "template", "colour"])
def test_template_and_tools_are_not_options_of_the_section(option):
    with pytest.raises(TypeError, match=option):
        PlanningToolsSection(session=Session(), **{option: ()})


def test_a_section_that_is_refused_leaves_its_session_alone():
    session = Session()
    with pytest.raises(PromptValidationError, match="it can be summarised, and has no summary"):
        PlanningToolsSection(session=session, key="steps", visibility="summary")
    with pytest.raises(PromptValidationError, match="section 'steps': 'think' is not a planning strategy"):
        PlanningToolsSection(session=session, key="steps", strategy="think")
    assert not session.has_listener(SetupPlan)


@pytest.mark.parametrize("strategy", list(PlanningStrategy))
def test_a_strategy_is_given_by_name_or_by_value(strategy):
    by_name = PlanningToolsSection(session=Session(), strategy=strategy)
    by_value = PlanningToolsSection(session=Session(), strategy=strategy.value)
    assert by_name.strategy is by_value.strategy is strategy
    assert by_name.template == by_value.template
    assert strategy.value == strategy.name.lower()


@pytest.mark.parametrize("strategy", ["REACT", "think", "", None, 5])
def test_another_strategy_is_refused(strategy):
    with pytest.raises(PromptValidationError) as caught:
        PlanningToolsSection(session=Session(), strategy=strategy)
    assert str(caught.value) == (
        f"section 'planning': {strategy!r} is not a planning strategy. Fix: give one of 'react', "
        "'plan_act_reflect', 'goal_decompose_route_synthesise'"
    )
    assert caught.value.section_path == ("planning",)


@pytest.mark.parametrize("session", [None, "session", Session], ids=repr)
def test_a_section_without_a_session_is_refused(session):
    with pytest.raises(PromptValidationError, match=r"kept in a Session, not in .*. Fix: Planning") as caught:
        PlanningToolsSection(session=session)
    assert caught.value.section_path == ("planning",)


def test_the_text_explains_each_tool_ids_completion_and_when_not_to_plan():
    text = PlanningToolsSection(session=Session()).template
    for name in NAMES:
        assert f"- `{name}` " in text
    for told in ("Ids count up from 1", "completed automatically", "Do not plan", "`in_progress`", "[~]"):
        assert told in text
    assert "$" not in text  # nothing in it stands for a value


def test_changing_tools_are_reversible_and_reading_only_reads():
    tools = PlanningToolsSection(session=Session()).tools
    assert [(tool.effect.value, tool.isolation) for tool in tools] == [
        *[("reversible", "inline")] * 3,
        ("read", "inline"),
    ]


def test_each_tool_has_words_and_an_example_that_a_call_of_it_gives():
    world = World()
    for tool in world.section.tools:
        assert 1 <= len(tool.description) <= 200
        assert tool.when_to_use
        (example,) = tool.examples
        assert example.description
        result = world.executor.execute(ToolCall(name=tool.name, arguments=arguments_of(example.input)))
        assert result.value == example.output, tool.name


def arguments_of(event):
    """An event as the arguments of a call."""
    found = {name: getattr(event, name) for name in event.__dataclass_fields__}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def test_every_parameter_and_every_field_of_a_plan_is_described():
    for tool in PlanningToolsSection(session=Session()).tools:
        fields = {**tool.input_schema["properties"], **tool.output_schema["properties"]}
        fields.update(tool.output_schema["properties"]["steps"]["items"]["properties"])
        assert [name for name, field in fields.items() if not field.get("description")] == []


@each_case("wire", sorted(FORMATS))
def test_every_format_exports_the_planning_tools(wire):
    exported = export_tools(PlanningToolsSection(session=Session()).tools, wire)
    assert exported.refused == ()
    assert list(exported.names.values()) == NAMES


@each_case("wire", sorted(FORMATS))
def test_strict_formats_export_the_planning_tools_where_possible(wire):
    exported = export_tools(PlanningToolsSection(session=Session()).tools, wire, strict=True)
    # in Cohere's strict mode every tool has a required parameter
    assert [refusal.tool for refusal in exported.refused] == (NAMES[3:] if wire == "cohere" else [])


def test_two_sections_for_one_session_do_not_do_things_twice():
    world = World()
    again = World(session=world.session)
    world.call("setup_plan", objective="Go", initial_steps=["one"])
    again.call("add_step", steps=["two"])
    assert world.plan == Plan("Go", steps=(PlanStep(1, "one"), PlanStep(2, "two")))


def test_making_a_section_writes_nothing_to_its_session():
    session = Session()
    PlanningToolsSection(session=session)
    assert session[Plan].all() == ()
    assert session.snapshot() == Session().snapshot()


def test_plans_and_events_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Plan("Go").status = "completed"
    with pytest.raises(FrozenInstanceError):
        SetupPlan("Go").objective = "Stay"


def test_the_package_names_its_public_parts():
    assert dir(planning) == sorted(planning.__all__)
    assert [name for name in planning.__all__ if getattr(planning, name, None) is None] == []
