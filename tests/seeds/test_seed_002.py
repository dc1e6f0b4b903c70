"""Seed 002, Tool Specification: its two YAML samples and its field tables, row by row.

Knows the page's schema; its operations (`lk tool ls`, `get`, `set`) are tested where they are built.
"""

import pytest

from tests.cases import each_case
from toolhaft.define.yaml import dump_tool, load_tool
from toolhaft.errors import DefinitionError
from toolhaft.schema import InvalidArguments, ValidArguments

YAML_DEFINITION = """\
# local-kit/tools/<tool-id>.yaml

# ============ META ============
id: "my-tool"                     # Unique identifier (snake_case)
name: "My Tool"                   # Display name
description: "A custom tool"      # Tool description

owner: "user-123"                 # Owner ID
share: "private"                  # private | org | public
tags: ["utility", "custom"]       # Searchable tags

created_at: "2024-01-01T00:00:00Z"
updated_at: "2024-01-01T00:00:00Z"

is_active: true                   # Set by 'lk tool get'
endpoint: "https://agent.api.lyzr.app/v3/tool/xyz789"  # Populated by 'get'

# ============ PARAMETERS ============
parameters:
  - name: "input"
    type: "string"                # string | number | boolean | array | object
    required: true
    description: "Input text"
  - name: "uppercase"
    type: "boolean"
    required: false
    default: false
    description: "Convert to uppercase"

# ============ RETURNS ============
returns:
  - name: "output"
    type: "string"
    description: "Processed result"
"""

MINIMAL_VALID = """\
id: "my-tool"
name: "My Tool"
description: "Does something useful"
parameters:
  - name: "input"
    type: "string"
    required: true
    description: "Input value"
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def load_text(text):
        (tmp_path / "my-tool.yaml").write_text(text, encoding="utf-8")
        return load_tool("my-tool.yaml")

    return load_text


def problem(load, text):
    with pytest.raises(DefinitionError) as caught:
        load(text)
    return str(caught.value)


def meta(**fields):
    """A tool with these lines in place of the required ones, or after them; None leaves one out."""
    lines = {"id": "my-tool", "name": "My Tool", "description": "Does something useful", **fields}
    return "".join(f"{key}: {value}\n" for key, value in lines.items() if value is not None)


def item(kind, **fields):
    lines = {"name": "input", "type": "string", "description": "Input value", **fields}
    said = "".join(f"    {key}: {value}\n" for key, value in lines.items() if value is not None)
    return f"{meta()}{kind}:\n  - {said.lstrip()}"


# --- Schema, YAML Definition ---


def test_schema_yaml_definition_becomes_a_tool(load):
    made = load(YAML_DEFINITION)
    assert (made.name, made.title, made.description) == ("my-tool", "My Tool", "A custom tool")
    assert (made.owner, made.share, made.tags) == ("user-123", "private", ("utility", "custom"))
    assert (made.created_at, made.updated_at) == ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z")
    assert (made.is_active, made.endpoint) == (True, "https://agent.api.lyzr.app/v3/tool/xyz789")
    assert made.input_schema == {
        "type": "object",
        "properties": {
            "input": {"type": "string", "description": "Input text"},
            "uppercase": {"type": "boolean", "description": "Convert to uppercase", "default": False},
        },
        "required": ["input"],
    }
    assert made.output_schema == {
        "type": "object",
        "properties": {"output": {"type": "string", "description": "Processed result"}},
        "required": ["output"],
    }
    assert made.handler is not None  # it is active, and has an endpoint


def test_schema_yaml_definition_checks_arguments_and_fills_the_default(load):
    made = load(YAML_DEFINITION)
    assert made.validate('{"input": "a"}') == ValidArguments({"input": "a", "uppercase": False})
    verdict = made.validate('{"uppercase": "yes", "inptu": "a"}')
    assert isinstance(verdict, InvalidArguments)
    assert {problem.path for problem in verdict.problems} == {"input", "uppercase", "inptu"}


def test_schema_yaml_definition_survives_load_and_save_to_the_letter(load, tmp_path):
    dump_tool(load(YAML_DEFINITION), tmp_path / "again.yaml")
    assert (tmp_path / "again.yaml").read_text(encoding="utf-8") == YAML_DEFINITION


# --- Schema, Minimal Valid ---


def test_schema_minimal_valid_has_every_default_of_the_field_reference(load):
    made = load(MINIMAL_VALID)
    assert (made.name, made.title, made.description) == ("my-tool", "My Tool", "Does something useful")
    assert (made.owner, made.share, made.tags) == (None, "private", ())
    assert (made.created_at, made.updated_at, made.is_active, made.endpoint) == (None, None, False, None)
    # `is_active` has the default false: nothing runs this tool. DESIGN: with a run block it would be active
    assert load(MINIMAL_VALID + 'run: {argv: ["echo", "${input}"]}\n').is_active
    assert not load(MINIMAL_VALID + "is_active: true\n").is_active
    assert made.input_schema == {
        "type": "object",
        "properties": {"input": {"type": "string", "description": "Input value"}},
        "required": ["input"],
    }
    assert made.output_schema is None


# --- Field Reference, Meta Fields ---


@pytest.mark.parametrize("field", ["id", "name", "description"])
def test_meta_fields_that_are_required_are_missed(load, field):
    assert (
        problem(load, meta(**{field: None})) == f"my-tool.yaml:1: '{field}' is missing. Fix: add {field}: ..."
    )


@each_case("id", ["", "My-Tool", "1tool", "_tool", "-tool", "a b", "ä", "a" * 51, "a.b", "12", "null", "[a]"])
def test_meta_fields_id_is_1_to_50_small_letters_digits_and_dashes(load, id):
    assert problem(load, meta(id=id)).startswith("my-tool.yaml:1: id ")


@each_case("id", ["a", "my-tool", "my_tool", "t1", "a" * 50, "no", "y"])
def test_meta_fields_id_is_the_name_of_the_tool(load, id):
    assert load(meta(id=id)).name == id


@pytest.mark.parametrize(("field", "most"), [("name", 100), ("description", 1000)])
def test_meta_fields_name_and_description_have_their_limits(load, field, most):
    made = load(meta(**{field: "x" * most}))
    assert {"name": made.title, "description": made.description}[field] == "x" * most
    message = problem(load, meta(**{field: "x" * (most + 1)}))
    assert message.endswith(f"{field} has {most + 1} characters. Fix: use 1 to {most}")
    assert f"{field} is empty" in problem(load, meta(**{field: '""'}))
    assert f'in quotes: {field}: "5"' in problem(load, meta(**{field: "5"}))


@each_case(
    ("field", "wrong", "message"),
    [
        ("owner", "12", "owner 12 is not text"),
        ("share", "secret", "share 'secret' is not one of private, org, public"),
        ("share", "Public", "did you mean share: public?"),
        ("share", "null", "share null is not one of"),
        ("tags", "utility", "tags: 'utility' is not a list of names"),
        ("tags", "[1]", "is not a list of names"),
        ("created_at", "yesterday", "created_at 'yesterday' is not an ISO 8601 time"),
        ("created_at", '"2024-13-01T00:00:00Z"', "is not an ISO 8601 time"),
        ("created_at", '"2024-01-01x00:00:00Z"', "is not an ISO 8601 time"),
        ("updated_at", "2024", "updated_at 2024 is not an ISO 8601 time"),
        ("is_active", '"true"', "is_active 'true' is not true or false"),
        ("is_active", "yes", "is_active 'yes' is not true or false"),
        ("endpoint", "not a url", "endpoint 'not a url' is not a URL"),
        ("endpoint", "file:///etc/passwd", "is not a URL"),
        ("endpoint", "https://", "is not a URL"),
        ("endpoint", "https://host:99999/", "is not a URL"),
    ],
)
def test_meta_fields_of_a_wrong_type_are_reported_with_their_line(load, field, wrong, message):
    text = problem(load, meta(**{field: wrong}))
    assert text.startswith("my-tool.yaml:4: ")
    assert message in text
    assert "Fix: " in text


@pytest.mark.parametrize("share", ["private", "org", "public"])
def test_meta_fields_share_is_one_of_three(load, share):
    assert load(meta(share=share)).share == share


@pytest.mark.parametrize("field", ["owner", "created_at", "updated_at", "endpoint"])
def test_meta_fields_whose_default_is_null_may_say_null(load, field):
    assert getattr(load(meta(**{field: "null"})), field) is None


@pytest.mark.parametrize("time", ["2024-01-01T00:00:00Z", "2024-01-01 12:30:00.5+02:00", "2024-01-01"])
def test_meta_fields_times_are_kept_as_written(load, time):
    assert load(meta(created_at=time, updated_at=f"'{time}'")).created_at == time


def test_meta_fields_tags_may_be_empty(load):
    assert (load(meta(tags="[]")).tags, load(meta(tags="")).tags) == ((), ())


# --- Field Reference, Parameter Fields ---


@pytest.mark.parametrize("field", ["name", "type", "description"])
def test_parameter_fields_that_are_required_are_missed(load, field):
    label = "1" if field == "name" else "'input'"
    assert f"my-tool.yaml:5: parameter {label}: '{field}' is missing" in problem(
        load, item("parameters", **{field: None})
    )


def test_parameter_fields_name_is_1_to_50_characters(load):
    assert list(load(item("parameters", name="x" * 50)).input_schema["properties"]) == ["x" * 50]
    assert "name has 51 characters. Fix: use 1 to 50" in problem(load, item("parameters", name="x" * 51))
    assert "name is empty" in problem(load, item("parameters", name='""'))


@each_case("type", ["string", "number", "boolean", "array", "object", "integer"])
def test_parameter_fields_type_is_one_of_the_listed_and_integer(load, type):
    assert load(item("parameters", type=type)).input_schema["properties"]["input"]["type"] == type


@pytest.mark.parametrize(("wrong", "near"), [("str", "string"), ("int", "integer"), ("bool", "boolean")])
def test_parameter_fields_type_that_is_unknown_is_told_with_the_nearest(load, wrong, near):
    message = problem(load, item("parameters", type=wrong))
    assert f"my-tool.yaml:6: parameter 'input': type '{wrong}' is not one of string, number" in message
    assert message.endswith(f"did you mean type: {near}?")


def test_parameter_fields_required_is_true_unless_said_otherwise(load):
    assert load(item("parameters")).input_schema["required"] == ["input"]
    assert load(item("parameters", required="true")).input_schema["required"] == ["input"]
    assert "required" not in load(item("parameters", required="false")).input_schema
    assert "required 'no' is not true or false" in problem(load, item("parameters", required="no"))


@each_case(
    ("type", "default", "value"),
    [
        ("string", '"a"', "a"),
        ("number", "1.5", 1.5),
        ("number", "2", 2),
        ("boolean", "true", True),
        ("array", "[1, a]", [1, "a"]),
        ("object", "{a: {b: null}}", {"a": {"b": None}}),
        ("integer", "0x10", 16),
    ],
)
def test_parameter_fields_default_is_any_value_of_the_type(load, type, default, value):
    made = load(item("parameters", type=type, required="false", default=default))
    assert made.input_schema["properties"]["input"]["default"] == value
    assert made.validate("{}") == ValidArguments({"input": value})


def test_parameter_fields_default_null_is_a_value_that_is_kept(load, tmp_path):
    """`parameters[].default`: any, null. DESIGN: a parameter with a default is optional."""
    made = load(item("parameters", default="null"))
    assert made.input_schema == {
        "type": "object",
        "properties": {"input": {"type": "string", "description": "Input value", "default": None}},
    }
    assert made.validate("{}") == ValidArguments({})
    dump_tool(made.replace(title="Another"), tmp_path / "again.yaml")
    assert load_tool(tmp_path / "again.yaml").input_schema == made.input_schema


def test_parameter_fields_with_a_default_are_optional_unless_they_say_otherwise(load):
    assert load(item("parameters", default="a")).validate("{}") == ValidArguments({"input": "a"})
    said = load(item("parameters", default="a", required="true"))
    assert isinstance(said.validate("{}"), InvalidArguments)


def test_parameter_fields_whose_limits_exclude_every_value_are_told_with_their_line(load):
    """Design principle "Type Safety: strong parameter validation"."""
    message = problem(load, item("parameters", type="number", minimum="5", maximum="3"))
    assert message.startswith("my-tool.yaml:9: parameter 'input': minimum 5 is above maximum 3")
    assert message.endswith("Fix: swap the two, or correct one of them")


@each_case(
    ("type", "default"),
    [
        ("string", "5"),
        ("number", '"5"'),
        ("boolean", "1"),
        ("array", "a"),
        ("object", "[]"),
        ("integer", "5.0"),
    ],
)
def test_parameter_fields_default_of_the_wrong_type_is_told(load, type, default):
    message = problem(load, item("parameters", type=type, required="false", default=default))
    assert message.startswith("my-tool.yaml:9: parameter 'input': default ")
    assert " is not " in message


# --- Field Reference, Return Fields ---


@pytest.mark.parametrize("field", ["name", "type", "description"])
def test_return_fields_are_all_required(load, field):
    label = "1" if field == "name" else "'input'"
    message = problem(load, item("returns", **{field: None}))
    assert message == f"my-tool.yaml:5: return field {label}: '{field}' is missing. Fix: add {field}: ..."


@each_case("type", ["string", "number", "boolean", "array", "object", "integer"])
def test_return_fields_type_is_one_of_the_listed_and_integer(load, type):
    made = load(item("returns", type=type))
    assert made.output_schema == {
        "type": "object",
        "properties": {"input": {"type": type, "description": "Input value"}},
        "required": ["input"],
    }
    assert "type 'text' is not one of" in problem(load, item("returns", type="text"))


def test_return_fields_that_are_listed_must_be_in_the_output(load):
    made = load(YAML_DEFINITION)
    assert made.check_output({"output": "done"}) is None
    assert "output: missing" in made.check_output({})
    assert "output: got 5" in made.check_output({"output": 5})


# --- Design Principles ---


def test_design_principles_id_references_the_tool_is_found_by_its_id(load):
    made = load(MINIMAL_VALID)
    assert (made.name, made.source) == ("my-tool", "file my-tool.yaml")
    assert repr(made) == "<Tool my-tool(input: str), effect=irreversible>"


def test_design_principles_type_safety_every_problem_of_a_file_is_told_at_once(load):
    text = MINIMAL_VALID.replace('"my-tool"', '"My Tool"').replace('"string"', '"text"') + "shares: org\n"
    types = "string, number, integer, boolean, array, object"
    assert problem(load, text).splitlines() == [
        "my-tool.yaml:1: id 'My Tool' is not a tool id. Fix: use 1 to 50 of a-z, 0-9, '_' and '-', a letter first",
        f"my-tool.yaml:6: parameter 'input': type 'text' is not one of {types}. Fix: give type one of {types}",
        "my-tool.yaml:9: unknown key 'shares'. Fix: did you mean 'share'?",
    ]
