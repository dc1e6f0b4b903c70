"""Seed 000, ToolSpec: every Python example of its page, with only the import line changed.

Knows the page; the rules behind the examples are tested in `tests/define/test_toolspec.py`.
"""

import json
import re

import pytest

from toolhaft import BaseTool, ToolParam, ToolResponse, ToolReturn, ToolSpec
from toolhaft.formats import FORMATS, describe, export_tools


class EchoTool(BaseTool):
    spec = ToolSpec(
        name="echo",
        description="Echoes text back to the caller.",
        when_to_use="Use for basic echo or smoke testing",
        inputs=[ToolParam(name="text", type="string", description="Text to echo", required=True)],
        returns=ToolReturn(type="string", description="The echoed text"),
    )

    def __call__(self, *, text: str, **kwargs) -> ToolResponse:
        return ToolResponse(final_answer=True, observation=text)


def make_calculator() -> ToolSpec:
    spec = ToolSpec(
        name="calculator",
        description="Performs arithmetic operations",
        when_to_use="Use when you must compute a numeric result",
        inputs=[
            ToolParam(name="operation", type="string", description="add|sub|mul|div", required=True),
            ToolParam(name="a", type="number", description="Left operand", required=True),
            ToolParam(name="b", type="number", description="Right operand", required=True),
        ],
        returns=ToolReturn(type="number", description="Result of the operation"),
    )
    spec.validate()
    return spec


def test_seed_000_tool_param_example():
    """Seed 000, *ToolParam: input parameter*."""
    param = ToolParam(name="query", type="string", description="SQL to execute", required=True)
    assert (param.name, param.type, param.description, param.required) == (
        "query",
        "string",
        "SQL to execute",
        True,
    )
    assert param == ToolParam(name="query", type="string", description="SQL to execute")


def test_seed_000_tool_return_example():
    """Seed 000, *ToolReturn: return value*."""
    returned = ToolReturn(type="object", description="Query results as a JSON object")
    assert (returned.type, returned.description) == ("object", "Query results as a JSON object")


def test_seed_000_tool_spec_example():
    """Seed 000, *ToolSpec: full specification*."""
    spec = make_calculator()
    assert spec.name == "calculator"
    assert [param.name for param in spec.inputs] == ["operation", "a", "b"]
    assert spec.returns.type == "number"


@pytest.mark.parametrize(
    ("b_type", "second_name", "message"),
    [("float", "b", "calculator.b has unsupported type 'float'"), ("number", "a", "duplicate input 'a'")],
)
def test_seed_000_validate_failure_modes(b_type, second_name, message):
    """Seed 000, *validate*: the messages that it quotes."""
    spec = ToolSpec(
        name="calculator",
        description="Performs arithmetic operations",
        when_to_use="Use when you must compute a numeric result",
        inputs=[
            ToolParam(name="a", type="number", description="Left operand"),
            ToolParam(name=second_name, type=b_type, description="Right operand"),
        ],
        returns=ToolReturn(type="number", description="Result of the operation"),
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        spec.validate()


def test_seed_000_to_json_is_serialisable():
    """Seed 000, *to_json*."""
    spec = make_calculator()
    assert json.loads(json.dumps(spec.to_json())) == {
        "name": "calculator",
        "description": "Performs arithmetic operations",
        "when_to_use": "Use when you must compute a numeric result",
        "inputs": [
            {"name": "operation", "type": "string", "description": "add|sub|mul|div", "required": True},
            {"name": "a", "type": "number", "description": "Left operand", "required": True},
            {"name": "b", "type": "number", "description": "Right operand", "required": True},
        ],
        "returns": {"type": "number", "description": "Result of the operation"},
    }


def test_seed_000_usage_with_base_tool():
    """Seed 000, *Usage with BaseTool*."""
    tool = EchoTool()
    raw_inputs = {"text": "hello"}
    runtime_ctx = {"db": object()}

    validated = tool.spec.check_inputs(raw_inputs)
    result = tool(**validated, **runtime_ctx)

    assert result == ToolResponse(final_answer=True, observation="hello")


def test_seed_000_minimal_echo_tool():
    """Seed 000, *Examples: Minimal echo tool*."""
    response = EchoTool()(text="hello")
    assert (response.final_answer, response.observation, response.extras) == (True, "hello", {})


@pytest.mark.parametrize("raw", [{"text": 123}, {}, {"text": "hello", "loud": True}])
def test_seed_000_strict_input_validation(raw):
    """Seed 000, *Examples: Strict input validation*: a wrong type, then the two others that it names."""
    with pytest.raises(ValueError, match="not valid"):
        # Raises ValueError: missing required 'text', or wrong types, or extras.
        EchoTool().spec.check_inputs(raw)


@pytest.mark.parametrize("style", ["markdown", "signature"])
def test_seed_000_generated_documentation_says_what_every_part_of_the_spec_says(style):
    """Seed 000, introduction: the spec is used to auto-generate documentation."""
    page = describe(EchoTool(), style)
    spec = EchoTool.spec
    for text in (spec.name, spec.description, spec.when_to_use, spec.returns.description):
        assert text in page
    assert spec.inputs[0].description in page


@pytest.mark.parametrize("format", FORMATS)
def test_seed_000_every_model_learns_how_to_interpret_the_output(format):
    """Seed 000, introduction: agents rely on the spec for how to interpret outputs."""
    assert "The echoed text" in export_tools(EchoTool(), format).json_bytes.decode()
