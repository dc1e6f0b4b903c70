"""Seed 001, Tool Specifications: the chapters on validating specs, on metadata and on testing.

A `{...}` on the page that replaces a schema is written out here.
"""

import json

import jsonschema_rs
import pytest

from tests.cases import each_case
from toolhaft import Tool, ToolConfig, ToolExample, ToolRegistry, create_tool, tool
from toolhaft.errors import DefinitionError

PARAM_SCHEMA = {"type": "object", "properties": {"param": {"type": "string"}}, "required": ["param"]}


def test_seed_001_manual_validation(capsys):
    """Seed 001, *Manual Validation*."""
    registry = ToolRegistry()

    spec = {
        "name": "my_tool",
        "description": "Does something useful",
        "input_schema": {
            "type": "object",
            "properties": {
                "param": {"type": "string"},
            },
            "required": ["param"],
        },
    }

    is_valid, error = registry.validate_tool_spec(spec)
    if not is_valid:
        print(f"Validation failed: {error}")  # noqa: T201 -- as on the page

    assert (is_valid, error) == (True, None)
    assert capsys.readouterr() == ("", "")


def test_seed_001_missing_required_fields():
    """Seed 001, *Common Validation Errors*: Missing required fields."""
    # Missing 'description'
    spec = {
        "name": "my_tool",
        "input_schema": PARAM_SCHEMA,
    }
    assert ToolRegistry().validate_tool_spec(spec) == (False, "Missing required field 'description'")


@pytest.mark.parametrize("field", ["name", "description", "input_schema"])
def test_seed_001_each_required_field_is_missed_in_the_same_words(field):
    """Seed 001, *Common Validation Errors*: Missing required fields."""
    spec = {"name": "my_tool", "description": "Does something useful", "input_schema": PARAM_SCHEMA}
    del spec[field]
    assert ToolRegistry().validate_tool_spec(spec) == (False, f"Missing required field '{field}'")


def test_seed_001_invalid_schema_structure():
    """Seed 001, *Common Validation Errors*: Invalid schema structure."""
    # Wrong root type
    spec = {
        "name": "my_tool",
        "description": "...",
        "input_schema": {
            "type": "string",  # Should be "object"
        },
    }
    assert ToolRegistry().validate_tool_spec(spec) == (False, "input_schema must be of type 'object'")


def test_seed_001_required_parameter_not_in_properties():
    """Seed 001, *Common Validation Errors*: Required parameter not in properties."""
    spec = {
        "name": "my_tool",
        "description": "...",
        "input_schema": {
            "type": "object",
            "properties": {
                "param1": {"type": "string"},
            },
            "required": ["param1", "param2"],  # param2 not defined
        },
    }
    assert ToolRegistry().validate_tool_spec(spec) == (
        False,
        "Required parameter 'param2' not found in properties",
    )


# Define meta-schema for tool specs
TOOL_SPEC_SCHEMA = {
    "type": "object",
    "required": ["name", "description", "input_schema"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "description": {"type": "string", "minLength": 1},
        "input_schema": {
            "type": "object",
            "required": ["type", "properties"],
            "properties": {
                "type": {"const": "object"},
                "properties": {"type": "object"},
                "required": {"type": "array", "items": {"type": "string"}},
            },
        },
    },
}


def validate_spec(spec: dict):
    """Validate tool spec against meta-schema."""
    try:
        jsonschema_rs.validate(TOOL_SPEC_SCHEMA, spec)  # the page's library takes them the other way round
        return True, None  # noqa: TRY300 -- as on the page
    except jsonschema_rs.ValidationError as e:
        return False, str(e)


def spec_with(**changes) -> dict:
    return {
        "name": "my_tool",
        "description": "Does something useful",
        "input_schema": PARAM_SCHEMA,
        **changes,
    }


def test_seed_001_what_tools_generate_passes_the_meta_schema():
    """Seed 001, *Schema Validation with jsonschema*, on a spec of each kind."""
    declared = Tool(
        name="declared", description="Has no parameters.", input_schema={"type": "object", "properties": {}}
    )
    for my_spec in ToolRegistry([my_tool, declared]).get_all_tool_specs():
        is_valid, error = validate_spec(my_spec)
        assert (is_valid, error) == (True, None)
        assert ToolRegistry().validate_tool_spec(my_spec) == (True, None)


@each_case(
    "spec",
    [
        spec_with(name=""),
        spec_with(name=5),
        spec_with(description=""),
        spec_with(description=None),
        spec_with(input_schema=[]),
        spec_with(input_schema={"properties": {}}),
        spec_with(input_schema={"type": "object"}),
        spec_with(input_schema={"type": "array", "properties": {}}),
        spec_with(input_schema={"type": "object", "properties": []}),
        spec_with(input_schema=PARAM_SCHEMA | {"required": "param"}),
        spec_with(input_schema=PARAM_SCHEMA | {"required": [5]}),
        spec_with(input_schema=PARAM_SCHEMA | {"required": [["param"]]}),
        {"name": "my_tool"},
        "my_tool",
        None,
    ],
)
def test_seed_001_what_the_meta_schema_refuses_the_registry_refuses(spec):
    """Seed 001, *Schema Validation with jsonschema*: deep validation, without a schema of one's own."""
    assert validate_spec(spec)[0] is False
    is_valid, error = ToolRegistry().validate_tool_spec(spec)
    assert (is_valid, type(error)) == (False, str)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"type": "object", "properties": {"limit": {"type": "int"}}}, "properties.limit.type"),
        ({"type": "object", "properties": {"limit": {"minimum": "1"}}}, "properties.limit.minimum"),
        ({"type": "object", "properties": {"tags": {"items": {"enum": "a"}}}}, "properties.tags.items.enum"),
    ],
)
def test_seed_001_a_parameter_that_is_no_json_schema_is_found(schema, place):
    """Seed 001, *Schema Validation with jsonschema*: deeper than the meta-schema of the page."""
    is_valid, error = ToolRegistry().validate_tool_spec(spec_with(input_schema=schema))
    assert (is_valid, place in error) == (False, True)


def test_seed_001_metadata_and_examples_are_read_off_the_tool():
    """Seed 001, *Extended Metadata* and *Usage Examples in Specs*: both positions at once."""
    metadata = {"version": "1.2.0", "examples": [{"description": "Basic", "input": {"param": "user data"}}]}
    examples = [{"input": {"param": "a"}, "output": {"found": 1}}, {"input": {"param": "b"}}]
    spec = spec_with(metadata=metadata, examples=examples)
    made = ToolRegistry.from_spec_dict({"tools": [spec]}).get_tool("my_tool")
    assert made.metadata == metadata
    assert made.examples == (
        ToolExample(input={"param": "a"}, output={"found": 1}),
        ToolExample(input={"param": "b"}),
    )
    assert ToolRegistry([made]).to_spec_dict() == {"tools": [spec]}
    assert ToolRegistry([made.replace(description="New.")]).to_spec_dict() == {
        "tools": [spec | {"description": "New."}]
    }


def test_seed_001_metadata_and_examples_of_a_function_survive_the_round_trip():
    """Seed 001, *Tool Metadata*, through the decorator."""

    @tool(
        metadata={"version": "1.2.0", "changelog": [{"date": "2024-01-15", "changes": ["Added state"]}]},
        examples=[{"input": {"amount": 100.0, "state": "CA"}, "output": {"tax": 8.25, "total": 108.25}}],
    )
    def calculate_tax(amount: float, state: str) -> dict:
        """Calculate sales tax for a purchase."""

    document = ToolRegistry([calculate_tax]).to_spec_dict()
    (spec,) = document["tools"]
    assert spec["metadata"] == {
        "version": "1.2.0",
        "changelog": [{"date": "2024-01-15", "changes": ["Added state"]}],
    }
    assert spec["examples"] == [
        {"input": {"amount": 100.0, "state": "CA"}, "output": {"tax": 8.25, "total": 108.25}}
    ]
    assert ToolRegistry.from_spec_dict(json.loads(json.dumps(document))).to_spec_dict() == document


def test_seed_001_an_example_that_its_own_tool_would_refuse_is_refused():
    """Seed 001, *Usage Examples in Specs*: they are there to help, so they must be right."""
    examples = [{"input": {"param": "a"}}, {"input": {"param": 5}}]
    is_valid, error = ToolRegistry().validate_tool_spec(spec_with(examples=examples))
    assert (is_valid, "example 2" in error) == (False, True)
    with pytest.raises(DefinitionError, match="example 2"):
        create_tool(ToolConfig(**spec_with(examples=examples)))


# Seed 001, *Validate Generated Specs*, word for word.
@tool
def my_tool(param1: str, param2: int = 10) -> dict:
    """Tool description.

    Args:
        param1: First parameter
        param2: Second parameter
    """
    return {}


def test_tool_spec_generation():
    """Test that tool generates correct spec."""
    registry = ToolRegistry()
    registry.process_tools([my_tool])

    specs = registry.get_all_tool_specs()
    assert len(specs) == 1

    spec = specs[0]
    assert spec["name"] == "my_tool"
    assert "Tool description" in spec["description"]

    # Validate schema structure
    schema = spec["input_schema"]
    assert schema["type"] == "object"
    assert "param1" in schema["properties"]
    assert "param2" in schema["properties"]
    assert schema["properties"]["param1"]["type"] == "string"
    assert schema["properties"]["param2"]["type"] == "integer"
    assert "param1" in schema["required"]
    assert "param2" not in schema["required"]


# Seed 001, *Round-Trip Testing*, word for word.
def test_spec_serialization():
    """Test spec JSON serialization."""
    spec = {
        "name": "test_tool",
        "description": "Test description",
        "input_schema": {
            "type": "object",
            "properties": {
                "param": {"type": "string"},
            },
        },
    }

    # Serialize
    json_str = json.dumps(spec)

    # Deserialize
    restored = json.loads(json_str)

    assert restored == spec


def test_seed_001_round_trip_through_the_registry():
    """Seed 001, *Round-Trip Testing*, with a registry between the two ends."""
    document = ToolRegistry([my_tool]).to_spec_dict()
    restored = ToolRegistry.from_spec_dict(json.loads(json.dumps(document)))
    assert restored.get_all_tool_specs() == ToolRegistry([my_tool]).get_all_tool_specs()
    assert restored.to_spec_dict() == document


def test_seed_001_a_tool_without_parameters_makes_the_round_trip():
    """Seed 001, *Round-Trip Testing*: what a registry writes, it calls valid and reads again."""
    bare = create_tool(ToolConfig(name="ping", description="Ping.", input_schema={"type": "object"}))
    document = ToolRegistry([bare]).to_spec_dict()
    assert ToolRegistry().validate_tool_spec(document["tools"][0]) == (True, None)
    assert ToolRegistry.from_spec_dict(document).to_spec_dict() == document
