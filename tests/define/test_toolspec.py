"""Class tools, their responses and toolkits; invalid input first."""

import copy
import dataclasses
import inspect
import pickle

import pytest

from tests.cases import each_case
from tests.define.spec_examples import make_spec, make_tool, param
from toolhaft import BaseTool, Effect, Tool, Toolkit, ToolResponse, ToolReturn, ToolSpec
from toolhaft.core.tool import OPTION_NAMES
from toolhaft.define import toolspec
from toolhaft.errors import DefinitionError
from toolhaft.schema import InvalidArguments


class Echo(BaseTool):
    spec = make_spec(
        param("text"), name="echo", returns=ToolReturn(type="string", description="The same text")
    )

    def __init__(self, suffix=""):
        super().__init__()
        self.suffix = suffix

    def __call__(self, *, text, **kwargs):
        return ToolResponse(observation=text + self.suffix)


class Slotted(Echo):
    __slots__ = ("extra",)


def test_a_tool_without_a_spec_is_a_type_error():
    with pytest.raises(TypeError, match="class BaseTool declares no spec; write spec = ToolSpec"):
        BaseTool()


@pytest.mark.parametrize("spec", [make_spec().to_json(), "search", ToolSpec])
def test_a_spec_of_another_type_is_a_type_error(spec):
    with pytest.raises(TypeError, match="class Search declares spec = "):
        make_tool(spec)


def test_a_bad_spec_is_a_value_error():
    with pytest.raises(ValueError, match=r"search\.query has unsupported type 'float'"):
        make_tool(make_spec(param(type="float")))


def test_a_tool_that_cannot_be_called_is_a_type_error():
    with pytest.raises(TypeError, match="class Search has no __call__"):
        make_tool(__call__=BaseTool.__call__)


def test_calling_the_base_class_raises():
    with pytest.raises(NotImplementedError, match="Echo has no __call__"):
        BaseTool.__call__(Echo())


def test_a_subclass_that_skips_our_init_is_checked_when_its_tool_is_made():
    tool = make_tool(__init__=lambda self: None)
    type(tool).spec = make_spec(name="")
    with pytest.raises(DefinitionError, match="there is no name"):
        _ = tool.tool


def test_an_invalid_option_is_reported_with_the_tool():
    with pytest.raises(
        DefinitionError, match="tool 'search', timeout_s: -1 is not a positive number of seconds"
    ):
        _ = make_tool(timeout_s=-1).tool


def test_when_to_use_is_declared_in_the_spec_only():
    with pytest.raises(DefinitionError, match="tool 'search', when_to_use: both the class and its spec"):
        _ = make_tool(when_to_use="Always").tool


def test_an_example_that_does_not_fit_the_spec_is_refused():
    with pytest.raises(DefinitionError, match="tool 'search', example 1: the input is not valid"):
        _ = make_tool(examples=[{"input": {"query": 5}}]).tool


def test_a_class_becomes_the_tool_of_its_spec():
    echo = Echo()
    assert isinstance(echo.tool, Tool)
    assert (echo.tool.name, echo.tool.description, echo.tool.when_to_use) == (
        "echo",
        "Searches the shelves",
        "Use to find a book",
    )
    assert echo.tool.input_schema == {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text"}},
        "required": ["text"],
    }
    assert echo.tool.output_schema == {"type": "string", "description": "The same text"}
    assert echo.tool.handler is echo
    assert echo.tool.source == f"class {__name__}.Echo"


def test_the_tool_is_made_once_for_each_object():
    one, other = Echo("!"), Echo("?")
    assert one.tool is one.tool
    assert one.tool is not other.tool
    assert other.tool.handler(text="what").observation == "what?"


def test_a_tool_never_shows_its_hidden_inputs():
    tool = make_tool(
        make_spec(param(), param("limit", "integer", required=False), param("db", llm=False))
    ).tool
    assert list(tool.input_schema["properties"]) == ["query", "limit"]
    assert tool.input_schema["required"] == ["query"]
    assert isinstance(tool.validate({"query": "x", "db": "y"}), InvalidArguments)


def test_a_class_takes_every_option_of_a_tool():
    options = {
        "effect": Effect.READ,
        "timeout_s": 5.0,
        "stall_s": 2.0,
        "retryable": False,
        "max_attempts": 1,
        "isolation": "inline",
        "requires": ("shelves",),
        "idempotency": ("query",),
        "rate": "10/min",
        "max_parallel": 2,
        "cache_s": 60.0,
        "title": "Search",
        "metadata": {"shelf": 3},
        "tags": ("books",),
        "version": "1.2",
        "accepts_overrides": False,
    }
    example = {"input": {"query": "x"}, "output": ["X"]}
    tool = make_tool(**options, examples=[example]).tool
    assert {name: getattr(tool, name) for name in options} == options
    assert tool.examples[0].output == ["X"]
    assert {*options, "examples", "when_to_use"} == set(OPTION_NAMES)


def test_the_base_declares_the_options_that_a_tool_has():
    declared = set(inspect.get_annotations(BaseTool)) - {"spec"}
    assert declared == set(OPTION_NAMES) - {"when_to_use"}


def test_options_are_inherited_and_changed_by_subclasses():
    class Quick(Echo):
        timeout_s = 1
        effect = "read"

    class Quicker(Quick):
        timeout_s = 0.5

    assert (Quicker().tool.timeout_s, Quicker().tool.effect) == (0.5, Effect.READ)


@each_case("kind", [Echo, Slotted])
@each_case("again", [copy.copy, copy.deepcopy, lambda tool: pickle.loads(pickle.dumps(tool))])  # noqa: S301 -- written here
def test_a_copy_has_another_tool(kind, again):
    original = kind("!")
    if kind is Slotted:
        original.extra = "kept"
    made = original.tool
    twin = again(original)
    assert twin.tool.handler is twin
    assert twin(text="hi").observation == "hi!"
    assert getattr(twin, "extra", "kept") == "kept"
    assert original.tool is made


def test_a_response_needs_an_observation():
    with pytest.raises(TypeError, match="ToolResponse got no observation"):
        ToolResponse(final_answer=True)


def test_a_response_refuses_both_names_of_the_observation():
    with pytest.raises(TypeError, match="both observation and results"):
        ToolResponse(observation="a", results="a")


@pytest.mark.parametrize("extras", ["ab", [("a", 1)], 5])
def test_extras_are_a_mapping(extras):
    with pytest.raises(TypeError, match="the extras of a ToolResponse are a mapping"):
        ToolResponse(observation="a", extras=extras)


def test_results_is_another_name_for_the_observation():
    assert ToolResponse(results="a") == ToolResponse(observation="a")
    assert ToolResponse(observation="a").results == ToolResponse(results="a").observation == "a"


def test_a_response_is_by_default_not_final_and_without_extras():
    one, other = ToolResponse(observation=None), ToolResponse(observation=None)
    assert (one.final_answer, one.observation, one.extras) == (False, None, {})
    assert one.extras is not other.extras


def test_a_response_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ToolResponse(observation="a").observation = "b"


def test_an_observation_may_be_text_json_or_chunks():
    chunks = (chunk for chunk in ("a", "b"))
    for observation in ("text", {"hits": [1, 2.5, None]}, chunks):
        assert ToolResponse(observation=observation).observation is observation
    assert list(chunks) == ["a", "b"]


@pytest.mark.parametrize(
    ("stranger", "advice"),
    [
        (None, "give an instance of a BaseTool"),
        (make_spec, "give an instance of a BaseTool"),
        (make_spec(), "give an instance of a BaseTool"),
        (Echo, "call the class to make one"),
        (Echo().tool, "give an instance of a BaseTool"),
    ],
)
def test_a_kit_takes_class_tools_only(stranger, advice):
    kit = Toolkit()
    with pytest.raises(TypeError, match=f"tool: .* is not a tool; {advice}"):
        kit.register_tool(stranger)
    assert kit.registry == {}


def test_a_taken_name_is_a_value_error_with_both_sources():
    echo = Echo()
    kit = Toolkit([echo])
    with pytest.raises(
        ValueError,
        match=r"tool 'echo', tool: the name is taken by class .*Echo; it is wanted by class .*Slotted",
    ):
        kit.register_tool(Slotted())
    assert kit.registry == {"echo": echo}


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ("echo", TypeError, r"tools\[1\]: 'echo' is not a tool"),
        (Echo(), DefinitionError, r"tool 'echo', tools\[1\]: the name is taken"),
        (make_tool(timeout_s=0), DefinitionError, "tool 'search', timeout_s: 0 is not"),
    ],
)
def test_a_list_with_one_bad_member_registers_none_and_names_it(bad, error, message):
    first = make_tool(make_spec(name="first"))
    kit = Toolkit([first])
    with pytest.raises(error, match=message):
        kit.register_tools([Echo(), bad])
    assert kit.registry == {"first": first}
    with pytest.raises(error, match=message):
        Toolkit([Echo(), bad])


def test_a_kit_keeps_tools_and_specs_by_name_in_order():
    search, echo = make_tool(), Echo()
    kit = Toolkit(tool for tool in (search, echo))
    assert kit.registry == {"search": search, "echo": echo}
    assert kit.specs == {"search": search.spec, "echo": Echo.spec}
    assert (list(kit), len(kit)) == ([search, echo], 2)


def test_an_empty_kit_has_nothing_to_describe():
    assert (len(Toolkit()), Toolkit().get_tools_description()) == (0, "")


def test_a_kit_documents_its_tools_in_markdown():
    calculate = make_spec(
        param("operation", description="add|sub,\nor `\\|`"),
        param("digits", "integer", required=False),
        param("db", "object", llm=False),
        name="calculator",
        description="# Computes\n\n## forged",
        returns=ToolReturn(type="number", description="The\nresult"),
    )
    clock = make_spec(param("now", llm=False), name="clock", description="Tells the time")
    kit = Toolkit([make_tool(calculate), make_tool(clock)])
    assert kit.get_tools_description() == (
        "## calculator\n\n"
        "**What it does:** # Computes ## forged\n\n"
        "**When to use:** Use to find a book\n\n"
        "| Input | Type | Required | Description |\n"
        "| --- | --- | --- | --- |\n"
        "| `operation` | string | yes | add\\|sub, or `\\\\\\|` |\n"
        "| `digits` | integer | no | The digits |\n\n"
        "**Returns** (number): The result\n\n"
        "## clock\n\n"
        "**What it does:** Tells the time\n\n"
        "**When to use:** Use to find a book\n\n"
        "**Inputs:** none\n\n"
        "**Returns** (array): Titles"
    )


def test_everything_about_class_tools_is_exported_by_one_file():
    assert toolspec.__all__ == ["BaseTool", "ToolParam", "ToolResponse", "ToolReturn", "ToolSpec", "Toolkit"]
    assert all(hasattr(toolspec, name) for name in toolspec.__all__)
