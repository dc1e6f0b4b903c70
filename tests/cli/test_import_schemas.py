"""`import` of common server schemas: null, references, missing descriptions."""

import json

from tests.cases import in_case
from tests.cli.kit import run_lk
from toolhaft.define.yaml import lint_file, load_tool

ORDER = {"type": "string", "enum": ["up", "down"]}
ITEM = {"type": "object", "properties": {"k": {"type": "string"}}, "required": ["k"]}
TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
DEFS = {"Order": ORDER, "Item": ITEM, "Tree": TREE, "Alias": {"$ref": "#/$defs/Order"}, "Any": True}


def declared(*, required=(), output=None, name="find", **properties):
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        "$defs": DEFS,
        "definitions": {"Old": {"type": "integer"}},
    }
    tool = {"name": name, "description": "Finds.", "inputSchema": schema}
    return tool if output is None else {**tool, "outputSchema": output}


def imported(folder, *tools, code=0):
    wire = json.dumps({"tools": list(tools)})
    done = run_lk("import", "-", "--format", "mcp", "--json", cwd=folder, stdin=wire)
    assert done.exit == code, done.out + done.err
    return json.loads(done.out)


def parameter(folder, own, *, required=()):
    """What a parameter of the file is, and what was told."""
    told = imported(folder, declared(a=own, required=required))
    file = folder / "local-kit" / "tools" / "find.yaml"
    assert lint_file(file) == []
    made = dict(load_tool(file).input_schema["properties"]["a"])
    assert made.pop("description")
    return made, told["notes"].get("find", "")


NO_NULL = "a: the file does not allow null"


def test_common_server_schemas_are_imported(tmp_path):
    cases = [
        ({"type": ["string", "null"]}, {"type": "string"}, NO_NULL),
        ({"type": ["string", "null"], "default": None}, {"type": "string", "default": None}, ""),
        ({"type": ["string", "null"], "enum": ["x", None]}, {"type": "string", "enum": ["x"]}, NO_NULL),
        ({"enum": ["x", None]}, {"type": "string", "enum": ["x"]}, NO_NULL),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            {"type": "integer", "default": None},
            "",
        ),
        ({"oneOf": [{"type": "null"}, {"$ref": "#/$defs/Order"}]}, ORDER, NO_NULL),
        ({"type": ["integer", "number"]}, {"type": "number"}, ""),
        ({"$ref": "#/$defs/Order"}, ORDER, ""),
        ({"$ref": "#/$defs/Alias", "default": "up"}, {**ORDER, "default": "up"}, ""),
        ({"$ref": "#/definitions/Old"}, {"type": "integer"}, ""),
        ({"allOf": [{"$ref": "#/$defs/Order"}]}, ORDER, ""),
        ({"type": "array", "items": {"$ref": "#/$defs/Item"}}, {"type": "array", "items": ITEM}, ""),
        (
            {"$ref": "#/$defs/Item"},
            {"type": "object", "properties": ITEM["properties"]},
            "a: lost that it requires k",
        ),
        (
            {"$ref": "#/$defs/Tree"},
            {"type": "object", "properties": {"kids": {"type": "array", "items": {"type": "object"}}}},
            "a: its recursive schema is cut off",
        ),
        ({"type": "string", "$ref": "#/$defs/Any"}, {"type": "string"}, ""),
    ]
    for number, (own, made, note) in enumerate(cases):
        with in_case(own, made, note):
            here = tmp_path / str(number)
            here.mkdir()
            said, told = parameter(here, {"description": "What", **own})
            assert said == made
            assert (note in told, bool(told)) == (True, bool(note)), told


def test_required_parameter_keeps_its_inner_required_fields(tmp_path):
    own = {"$ref": "#/$defs/Item", "description": "What"}
    assert parameter(tmp_path, own, required=["a"]) == (ITEM, "")


def test_title_replaces_a_missing_description(tmp_path):
    assert parameter(tmp_path, {"type": "string", "title": "Where"})[1] == ""
    described = load_tool(tmp_path / "local-kit" / "tools" / "find.yaml").input_schema["properties"]["a"]
    assert described["description"] == "Where"


def test_keywords_beside_the_properties_are_noted(tmp_path):
    tool = declared(a={"type": "string", "description": "What"})
    tool["inputSchema"] |= {"anyOf": [{"required": ["a"]}], "additionalProperties": True}
    told = imported(tmp_path, tool)["notes"]["find"]
    assert "lost keywords of the whole schema: anyOf" in told
    assert "accepts only the parameters" in told


def test_expressible_output_schema_is_imported(tmp_path):
    fields = {"n": {"$ref": "#/$defs/N"}, "s": {"type": "string"}}
    output = {"type": "object", "properties": fields, "required": ["n"], "$defs": {"N": {"type": "number"}}}
    imported(tmp_path, declared(output=output), declared(name="more", output={"type": "array"}))
    made = load_tool(tmp_path / "local-kit" / "tools" / "find.yaml").output_schema
    assert {name: own["type"] for name, own in made["properties"].items()} == {"n": "number", "s": "string"}
    assert load_tool(tmp_path / "local-kit" / "tools" / "more.yaml").output_schema is None


def test_only_inexpressible_parameters_are_refused_by_name(tmp_path):
    union = declared(name="union", both={"type": ["string", "integer"]}, fine={"type": "string"})
    told = imported(tmp_path, union, declared(a={"type": ["string", "null"]}), code=1)
    assert (list(told["written"]), list(told["problems"])) == (["find"], ["union"])
    assert "'both'" in told["problems"]["union"]
    assert "'fine'" not in told["problems"]["union"]
    assert told["next"]


def test_exploding_references_are_refused(tmp_path):
    two = [{"x": {"$ref": f"#/$defs/D{n}"}, "y": {"$ref": f"#/$defs/D{n}"}} for n in range(1, 61)]
    defs = {f"D{n}": {"type": "object", "properties": fields} for n, fields in enumerate(two)}
    tool = declared(a={"$ref": "#/$defs/D0"})
    tool["inputSchema"]["$defs"] = {**defs, "D60": {"type": "string"}}
    told = imported(tmp_path, tool, code=1)
    assert "5,000 parts" in told["problems"]["find"]


def test_schema_whose_root_is_a_reference_is_imported(tmp_path):
    text = {"type": "string", "description": "What."}
    node = {"type": "object", "properties": {"a": text, "b": {**text, "default": "x"}}, "required": ["a"]}
    roots = [
        {"$ref": "#/$defs/Node", "$defs": {"Node": node}},
        {"allOf": [{"$ref": "#/$defs/Node"}], "$defs": {"Node": node}},
        {"properties": node["properties"], "required": ["a"]},
    ]
    for number, schema in enumerate(roots):
        with in_case(number):
            here = tmp_path / str(number)
            here.mkdir()
            told = imported(here, {"name": "find", "description": "Finds.", "inputSchema": schema})
            assert told["notes"] == {}
            made = load_tool(here / "local-kit" / "tools" / "find.yaml")
            assert list(made.input_schema["properties"]) == ["a", "b"]
            assert made.input_schema["required"] == ["a"]
