"""Schemas of older drafts, recursion and other things that some targets refuse, as they are exported."""

import jsonschema_rs

from tests.cases import each_case, in_case
from toolhaft import Tool
from toolhaft.formats import FORMATS, export_tools
from toolhaft.formats.subset.normalize import upgrade_draft

D4, D6, D7 = (f"http://json-schema.org/draft-0{number}/schema#" for number in (4, 6, 7))
D2019 = "https://json-schema.org/draft/2019-09/schema"
VALIDATORS = {
    D4: jsonschema_rs.Draft4Validator,
    D6: jsonschema_rs.Draft6Validator,
    D7: jsonschema_rs.Draft7Validator,
    D2019: jsonschema_rs.Draft201909Validator,
    None: jsonschema_rs.Draft202012Validator,
}
TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def holding(schema, **more):
    return {"type": "object", "properties": {"x": schema}, **more}


OLD = [
    ((D4, D6, D7, D2019), holding({"items": [TEXT, WHOLE]})),
    ((D4, D6, D7, D2019), holding({"type": "array", "items": [TEXT], "additionalItems": False})),
    ((D4, D6, D7, D2019), holding({"items": [TEXT, {"items": [WHOLE]}], "additionalItems": WHOLE})),
    ((D4, D6, D7, D2019), holding({"items": TEXT, "additionalItems": False})),
    ((D4,), holding({"minimum": 1, "exclusiveMinimum": True, "maximum": 3, "exclusiveMaximum": False})),
    ((D4,), holding({"maximum": 2, "exclusiveMaximum": True})),
    ((D6, D7, D2019), holding({"exclusiveMinimum": 1, "minimum": 2})),
    ((D4, D6, D7, D2019, None), holding({"$ref": "#/definitions/A"}, definitions={"A": TEXT})),
    (
        (D4, D6, D7, D2019, None),
        holding({"$ref": "#/properties/x/definitions/A"}, definitions={"A": TEXT})
        | {"properties": {"x": {"definitions": {"A": WHOLE}}, "y": {"$ref": "#/properties/x/definitions/A"}}},
    ),
    (
        (D4, D6, D7, D2019, None),
        {
            "type": "object",
            "properties": {"definitions": WHOLE, "x": {"$ref": "#/properties/definitions"}},
            "definitions": {"items": TEXT},
        },
    ),
    ((D4, D6, D7, D2019), holding({"items": [TEXT, {"$ref": "#/properties/x/items/0"}]})),
    (
        (D4, D6, D7, D2019),
        holding({"$ref": "#/components/schemas/A"}, components={"schemas": {"A": {"items": [TEXT, WHOLE]}}}),
    ),
    (
        (D4, D6, D7, D2019),
        holding({"$ref": "#/definitions/all/of/A"}, definitions={"all": {"of": {"A": {"items": [TEXT]}}}}),
    ),
    (
        (D4,),
        holding(
            {"$ref": "#/parts/A"},
            parts={"A": {"$ref": "#/parts/B"}, "B": {"minimum": 1, "exclusiveMinimum": True}},
        ),
    ),
    ((D4, D6, D7), holding({"$ref": "#/definitions/A", "minLength": 3}, definitions={"A": TEXT})),
    ((D4,), holding({"$ref": "#a"}, definitions={"A": {"id": "#a", **TEXT}})),
    ((D6, D7), holding({"$ref": "#a"}, definitions={"A": {"$id": "#a", **TEXT}})),
    (
        (D4, D6, D7, D2019, None),
        holding(TEXT, dependencies={"x": ["y"], "z": {"required": ["x"]}})
        | {"properties": {"x": TEXT, "y": {}}},
    ),
    ((D4, D6, D7), holding({"prefixItems": [WHOLE], "minContains": 5, "unevaluatedItems": False})),
    ((D4,), holding({"const": 1, "contains": TEXT, "propertyNames": {"maxLength": 1}})),
    ((D4, D6), holding({"if": TEXT, "then": {"minLength": 3}, "else": WHOLE})),
    ((D7, D2019), holding({"if": TEXT, "then": {"minLength": 3}, "else": WHOLE})),
    ((D4, D6, D7), holding({**TEXT, "deprecated": "use y"})),
    ((D4,), holding({**TEXT, "examples": "a", "readOnly": 1, "$comment": ["no text"]})),
    ((D2019,), {"$recursiveAnchor": True, **holding({"$recursiveRef": "#"}), "required": ["x"]}),
    ((D2019,), holding({"$recursiveRef": "#", "minProperties": 1, "allOf": [{"maxProperties": 1}]})),
    ((None,), holding({"enum": ["a", 1, "a", 1.0, True, {"b": 1}, {"b": 1.0}]})),
]
VALUES = [
    # not 1.0: only draft 4 counts it as no integer, which later drafts cannot express
    *(None, True, 0, 1, 2, 3, "", "a", "ab", "abc"),
    *([], ["a"], [1], ["a", 1], ["a", "b"], ["a", 1, 2], ["a", [1]], ["a", ["b"]], ["a", [1], "c"]),
    *({}, {"b": 1}, {"bb": 1}, {"x": {}}, {"x": {"x": {}}}, {"x": 1, "y": 2}),
]
OUTDATED = (
    "definitions",
    "dependencies",
    "additionalItems",
    "$recursiveRef",
    "$recursiveAnchor",
    "id",
)


def keywords(node, is_named=False):
    """Every keyword of a schema, but not the names of its properties."""
    for key, value in node.items() if isinstance(node, dict) else ():
        if not is_named:
            yield key
        if key == "items" and not is_named:
            assert not isinstance(value, list)
        if key in ("exclusiveMinimum", "exclusiveMaximum") and not is_named:
            assert not isinstance(value, bool)
        for child in value if isinstance(value, list) and key not in ("enum", "required") else [value]:
            named = ("properties", "$defs", "definitions", "dependentRequired", "dependentSchemas")
            yield from keywords(child, is_named=key in named and not is_named)


def arguments():
    for value in VALUES:
        yield {"x": value}
        yield {"x": value, "y": 1}
        yield {"z": value, "y": value}
    yield {}


@each_case(("drafts", "schema"), OLD)
def test_a_schema_of_an_older_draft_means_the_same_in_the_newest(drafts, schema):
    for draft in drafts:
        with in_case(draft):
            dated = schema if draft is None else {"$schema": draft, **schema}
            new = upgrade_draft(dated)
            assert not {*keywords(new)} & {*OUTDATED}
            assert new is dated or "$schema" not in new
            before, after = VALIDATORS[draft](dated), VALIDATORS[None](new)
            for value in arguments():
                assert before.is_valid(value) == after.is_valid(value), value


@each_case(("drafts", "schema"), OLD)
def test_every_format_but_our_own_exports_the_newest_draft(drafts, schema):
    for draft in drafts:
        dated = schema if draft is None else {"$schema": draft, **schema}
        tool = Tool(name="t", description="T.", input_schema=dated, output_schema=dated)
        assert export_tools([tool], "native").tools[0]["input_schema"] == dated
        for format in {*FORMATS} - {"native"}:
            with in_case(draft, format):
                export = export_tools([tool], format)
                assert export.refused == ()
                (sent,) = export.tools
                sent = sent.get("toolSpec") or sent.get("function") or sent
                keys = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
                found = next(sent[key] for key in keys if key in sent)
                assert not {*keywords(found.get("json", found))} & {*OUTDATED}
                for key in ("outputSchema", "output_schema", "responseJsonSchema"):
                    assert not {*keywords(sent.get(key, {}))} & {*OUTDATED}


@each_case(
    "schema",
    [
        holding(TEXT),
        {"$schema": D7, **holding({"type": "array", "items": TEXT}), "additionalProperties": False},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **holding({"prefixItems": [TEXT]})},
        holding({"enum": ["a", 1, True, 0, False]}),
        {"type": "object", "properties": {"definitions": TEXT, "dependencies": WHOLE, "id": TEXT}},
    ],
)
def test_a_schema_that_means_the_same_already_is_exported_unchanged(schema):
    assert upgrade_draft(schema) is schema
    tool = Tool(name="t", description="T.", input_schema=schema)
    for format, key in (("anthropic", "input_schema"), ("mcp", "inputSchema")):
        assert export_tools([tool], format).tools[0][key] == schema


def test_an_older_draft_is_not_declared_next_to_keywords_of_the_newest():
    one = {"properties": {"y": {"$ref": "#/definitions/A"}}, "required": ["y"]}
    schema = {"$schema": D7, **holding(TEXT), "anyOf": [one, {"required": ["x"]}]}
    schema["definitions"] = {"A": holding({"$ref": "#/definitions/A"})}
    tool = Tool(name="t", description="T.", input_schema=schema)
    for format in FORMATS:
        if format != "native":
            for strict in (False, "where_possible"):
                written = export_tools([tool], format, strict=strict).json_bytes
                assert b"draft-07" not in written or b"$defs" not in written


def test_a_schema_shared_by_many_others_is_rewritten_once():
    node = {"items": [TEXT]}
    for _ in range(60):
        node = {"properties": {"a": node, "b": node}}
    upgrade_draft({"$schema": D7, **node})


def recursive(required, child, **more):
    node = {"type": "object", "properties": {"name": TEXT, "child": child}, "required": required}
    return holding({"$ref": "#/$defs/Node"}, required=["x"], **{"$defs": {"Node": node, **more}})


NODE = {"$ref": "#/$defs/Node"}
CYCLES = [
    (recursive(["name", "child"], {"anyOf": [NODE, {"type": "null"}]}), "child"),
    (recursive(["child"], {"type": "array", "items": NODE}), "child"),
    (recursive(["child"], {"type": "object", "additionalProperties": NODE}), "child"),
    (recursive(["child"], {"type": "object", "properties": {"deep": NODE}, "required": ["deep"]}), "deep"),
    (recursive(["child"], {"$ref": "#/$defs/Other"}, Other={"type": "array", "items": NODE}), "child"),
]


def gemini(schema):
    export = export_tools([Tool(name="t", description="T.", input_schema=schema)], "gemini")
    assert export.refused == ()
    return export.tools[0]["parametersJsonSchema"], export.losses


@each_case(("schema", "name"), CYCLES)
def test_gemini_gets_no_recursion_through_required_properties(schema, name):
    sent, losses = gemini(schema)
    assert [(loss.path, loss.keyword, loss.done) for loss in losses] == [
        ("/$defs/Node", "required", "widened")
    ]
    assert repr(name) in losses[0].detail
    new, old = VALIDATORS[None](sent), VALIDATORS[None](schema)
    for child in (None, [], {}, [{"child": []}], {"name": "b"}, {"deep": {}}):
        value = {"x": {"name": "a", "child": child}}
        assert new.is_valid(value) or not old.is_valid(value)
    assert new.is_valid({"x": {"name": "a"}}) or name == "deep"


def test_gemini_keeps_recursion_through_optional_properties_and_unrolls_any_other():
    kept = recursive(["name"], NODE)
    assert gemini(kept) == (kept, ())
    text = {"anyOf": [TEXT, {"type": "array", "items": {"$ref": "#/$defs/Json"}}]}
    sent, losses = gemini(holding({"$ref": "#/$defs/Json"}, **{"$defs": {"Json": text}}))
    assert [(loss.keyword, loss.done) for loss in losses] == [("$ref", "narrowed")]
    assert "$ref" not in {*keywords(sent)}


@each_case(
    ("given", "expected"),
    [
        ({"type": "object", "required": ["a"]}, {}),
        ({"type": "object", "required": ["a"], "additionalProperties": WHOLE}, WHOLE),
        ({"type": "object", "properties": {"b": TEXT}, "required": ["b", "a"]}, {}),
    ],
)
def test_a_required_name_without_a_property_gets_one_for_gemini_and_ollama(given, expected):
    sent, losses = gemini(holding(given))
    assert (sent["properties"]["x"]["properties"]["a"], losses) == (expected, ())
    tool = Tool(name="t", description="T.", input_schema={**given, "additionalProperties": expected or True})
    for format in ("gemini", "ollama"):
        (written,) = export_tools([tool], format).tools
        root = written.get("parametersJsonSchema") or written["function"]["parameters"]
        assert {*root["required"]} <= root["properties"].keys()


@each_case("format", sorted({*FORMATS} - {"native"}))
def test_repeated_enum_values_are_exported_once(format):
    listed = holding({"enum": ["a", "b", "a"]}, required=["x"])
    deep = holding({"type": "object", "properties": {"y": {"enum": ["a", "b", "a"]}}})
    for schema in (listed, deep):
        written = export_tools([Tool(name="t", description="T.", input_schema=schema)], format).json_bytes
        assert b'"a","b","a"' not in written


def test_a_reference_that_moves_to_a_description_has_its_name_in_the_newest_draft():
    schema = {
        **holding(
            {"type": "object", "patternProperties": {"^a": {"$ref": "#/definitions/A"}}},
            definitions={"A": TEXT},
        ),
        "$schema": D7,
    }
    export = export_tools([Tool(name="t", description="T.", input_schema=schema)], "gemini")
    (parameter,) = export.tools[0]["parametersJsonSchema"]["properties"].values()
    assert parameter["description"] == 'patternProperties: {"^a":{"$ref":"#/$defs/A"}}'
