"""Schemas with forms that only an older draft defines, without saying so, or saying something else."""

import pytest

from tests.cases import each_case, in_case
from toolhaft import Tool
from toolhaft.errors import DefinitionError
from toolhaft.formats import export_tools, import_tools
from toolhaft.schema.problems import ValidArguments

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
D4, D7 = (f"http://json-schema.org/draft-0{number}/schema#" for number in (4, 7))
NEWEST = "https://json-schema.org/draft/2020-12/schema"


def holding(**properties):
    return {"type": "object", "properties": properties}


OLD = [
    # the schema, arguments that it accepts, arguments that it refuses
    (holding(x={"items": [TEXT, WHOLE]}), {"x": ["a", 1]}, {"x": [1, "a"]}),
    (holding(x={"items": [TEXT], "additionalItems": False}), {"x": ["a"]}, {"x": ["a", "b"]}),
    (holding(x={"items": [TEXT], "additionalItems": WHOLE}), {"x": ["a", 1]}, {"x": ["a", "b"]}),
    (holding(x={"items": [{"items": [WHOLE]}]}), {"x": [[1]]}, {"x": [["a"]]}),
    (holding(x={"items": [TEXT]}, y={"$ref": "#/properties/x/items/0"}), {"y": "a"}, {"y": 1}),
    (holding(x={"minimum": 1, "exclusiveMinimum": True}), {"x": 2}, {"x": 1}),
    (holding(x={"maximum": 1, "exclusiveMaximum": False}), {"x": 1}, {"x": 2}),
    (holding(x={"anyOf": [{"maximum": 1, "exclusiveMaximum": True}]}), {"x": 0}, {"x": 1}),
    (holding(x={**TEXT, "required": True}, y={**TEXT, "required": False}), {"x": "a"}, {"y": "a"}),
    (holding(x={**holding(y={**TEXT, "required": True}), "required": True}), {"x": {"y": "a"}}, {"x": {}}),
    ({**holding(x=TEXT, y={**TEXT, "required": True}), "required": ["x"]}, {"x": "a", "y": "b"}, {"x": "a"}),
    ({**holding(x=TEXT), "required": True}, {}, {"x": 1}),
    (holding(x={"id": "#a", **TEXT}, y={"$ref": "#a"}), {"y": "a"}, {"y": 1}),
    ({"id": "http://a.b/c", **holding(x=TEXT, y={"$ref": "c#/properties/x"})}, {"y": "a"}, {"y": 1}),
    (holding(x={"$id": "#a", **TEXT}, y={"$ref": "#a"}), {"y": "a"}, {"y": 1}),
    (holding(x={"$id": "#/properties/x", **TEXT}), {"x": "a"}, {"x": 1}),
    ({**holding(x=TEXT, y=TEXT), "dependencies": {"x": ["y"]}}, {"x": "a", "y": "b"}, {"x": "a"}),
    ({**holding(x={"$ref": "#/definitions/a"}), "definitions": {"a": TEXT}}, {"x": "a"}, {"x": 1}),
    (holding(x={"type": "array", "items": []}), {"x": [1]}, {"x": 1}),
    (holding(x={"items": [], "additionalItems": WHOLE}), {"x": [1]}, {"x": ["a"]}),
    *(
        (
            {"$schema": f"http://json-schema.org/{name}#", **holding(x={"items": [TEXT, WHOLE]})},
            {"x": ["a", 1]},
            {"x": [1]},
        )
        for name in (
            "draft-02/schema",
            "draft-03/schema",
            "draft-05/schema",
            "draft-04/hyper-schema",
            "draft/next/schema",
        )
    ),
    # next to keywords of later drafts, which keep their meaning
    (holding(x={"items": [TEXT]}, y={"const": 1}), {"y": 1}, {"y": 2}),
    (
        holding(x={"minimum": 1, "exclusiveMinimum": True}, y={"prefixItems": [TEXT]}),
        {"y": ["a"]},
        {"y": [1]},
    ),
    (
        {**holding(x={"items": [TEXT]}, y={"$ref": "#/$defs/a", "minLength": 2}), "$defs": {"a": TEXT}},
        {"y": "ab"},
        {"y": "a"},
    ),
    # in places that only a reference leads to
    (
        {
            **holding(x={"$ref": "#/components/schemas/a"}),
            "components": {"schemas": {"a": {"items": [TEXT]}}},
        },
        {"x": ["a"]},
        {"x": [1]},
    ),
    # in schemas that declare another draft
    ({"$schema": NEWEST, **holding(x={"items": [TEXT]})}, {"x": ["a"]}, {"x": [1]}),
    ({"$schema": D7, **holding(x={"minimum": 1, "exclusiveMinimum": True})}, {"x": 2}, {"x": 1}),
    ({"$schema": D7, **holding(x={**TEXT, "required": True})}, {"x": "a"}, {}),
    ({"$schema": D4, **holding(x={**TEXT, "required": True})}, {"x": "a"}, {}),
    ({"$schema": D4.replace("4", "3"), **holding(x={**TEXT, "required": True})}, {"x": "a"}, {}),
    ({"$schema": D7, **holding(x={"$id": "#/properties/x", **TEXT})}, {"x": "a"}, {"x": 1}),
    ({"$schema": D7, **holding(x={"$id": "#a:1", **TEXT}, y={"$ref": "#a:1"})}, {"y": "a"}, {"y": 1}),
]


@each_case(("schema", "accepted", "refused"), OLD)
def test_forms_of_older_drafts_are_read_by_every_way_and_exported_in_the_newest(schema, accepted, refused):
    raw = Tool(name="t", description="T.", input_schema=schema)
    (imported,) = import_tools([{"name": "t", "inputSchema": schema}], "mcp")
    (again,) = import_tools(export_tools([raw], "mcp").payload, "mcp")
    for way, tool in (("raw", raw), ("imported", imported), ("exported", again)):
        with in_case(way):
            assert isinstance(tool.validate(accepted), ValidArguments)
            assert not isinstance(tool.validate(refused), ValidArguments)
    (sent,) = export_tools([imported], "mcp").tools
    newest = {key: value for key, value in sent["inputSchema"].items() if key != "$schema"}
    Tool(name="t", description="T.", input_schema={"$schema": NEWEST, **newest})


def test_output_schemas_are_read_in_the_same_way():
    schema = {"items": [TEXT], "additionalItems": False}
    tool = Tool(name="t", description="T.", input_schema=holding(), output_schema=schema)
    assert tool.output_schema == {"prefixItems": [TEXT], "items": False}


@each_case(
    "schema",
    [
        holding(x={"required": "yes"}),
        {**holding(x={**TEXT, "required": True}), "required": "x"},
        {**holding(x={"$ref": "#/$defs/a"}), "$defs": {"a": {**TEXT, "required": True}}},
        holding(x={"exclusiveMinimum": "1"}),
        holding(x={"items": "a"}),
    ],
)
def test_what_no_draft_defines_is_still_refused(schema):
    with pytest.raises(DefinitionError):
        Tool(name="t", description="T.", input_schema=schema)
