"""Tools from raw JSON Schema: checked when the tool is made, references never fetched, work bounded."""

import http.server
import threading
from typing import Any

import pytest

from tests.cases import each_case
from toolhaft import (
    InvalidArguments,
    Tool,
    ToolConfig,
    ValidArguments,
    create_tool,
    validate_tool_input,
    validate_tool_output,
)
from toolhaft.errors import DefinitionError


def make(schema: Any, output: Any = None) -> Tool[Any, Any]:
    return create_tool(ToolConfig(name="raw", description="Raw.", input_schema=schema, output_schema=output))


def with_value(schema: Any, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"value": schema}, **more}


def accepts(made: Tool[Any, Any], value: Any) -> bool:
    return isinstance(made.validate({"value": value}), ValidArguments)


@each_case(
    ("schema", "words"),
    [
        ("object", "the schema must be an object|is not an object"),
        (None, "is not an object"),
        ({"type": "string"}, "must be of type 'object', not \"string\""),
        ({"type": ["string", "null"]}, "must be of type 'object'"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "must be of type 'object'"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array"}}}, "must be of type 'object'"),
        (with_value({"type": "strin"}), '"strin" is not a type'),
        (with_value({"minLength": -1}), "the schema is not valid"),
        (with_value({"enum": "a"}), "the schema is not valid"),
        (with_value({"pattern": "["}), "the pattern cannot be used"),
        (with_value({"pattern": "^(?=a"}), "the pattern cannot be used"),
        (with_value({"pattern": "(a{999}){999}"}), "too large with its repeats written out"),
        (with_value({"$ref": "#/$defs/missing"}), "the schema is not valid|reference"),
        (with_value({"$ref": "https://example.com/schema.json"}), "a reference leads outside the schema"),
        (with_value({"$ref": "file:///etc/passwd"}), "a reference leads outside the schema"),
        (with_value({"$ref": "other.json"}), "a reference leads outside the schema"),
        ({"$schema": "https://example.com/own", "type": "object"}, "schema"),
        (with_value({"default": float("nan")}), "the schema is not JSON"),
        (with_value({"default": object()}), "the schema is not JSON"),
    ],
)  # fmt: skip
def test_an_invalid_schema_is_refused_when_the_tool_is_made(schema, words):
    with pytest.raises(DefinitionError, match=words) as caught:
        make(schema)
    assert "tool 'raw', input_schema" in str(caught.value)


def test_an_output_schema_is_checked_too():
    with pytest.raises(DefinitionError, match="tool 'raw', output_schema"):
        make({"type": "object"}, {"type": "nmber"})


@pytest.mark.external
def test_a_reference_is_never_fetched():
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}/schema.json"
            for schema in ({"$ref": address}, {"$ref": f"{address}#/a"}, {"$dynamicRef": address}, {"$id": address, "$ref": "more.json"}):  # fmt: skip
                with pytest.raises(DefinitionError):
                    make(with_value(schema))
        finally:
            server.shutdown()
            thread.join()
    assert asked == []


def test_references_inside_the_schema_work():
    made = make(
        {**with_value({"$ref": "#/$defs/small"}), "$defs": {"small": {"type": "integer", "maximum": 9}}}
    )
    assert accepts(made, 9)
    assert not accepts(made, 10)


def test_a_recursive_schema_works():
    tree = {
        "type": "object",
        "properties": {"left": {"anyOf": [{"$ref": "#/$defs/tree"}, {"type": "null"}]}},
        "additionalProperties": False,
    }
    made = make({**with_value({"$ref": "#/$defs/tree"}), "$defs": {"tree": tree}})
    assert accepts(made, {"left": {"left": None}})
    assert not accepts(made, {"left": {"left": 5}})


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/properties/value"},
        {"$ref": "#/$defs/a"},
        {"allOf": [{"$ref": "#/$defs/a"}]},
    ],
)
def test_an_endless_loop_of_references_is_refused(schema):
    defs = {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}
    with pytest.raises(DefinitionError, match="leads back to itself without end"):
        make({**with_value(schema), "$defs": defs})


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_a_reference_bomb_is_refused_at_once(keyword):
    defs: dict[str, Any] = {f"d{i}": {keyword: [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(60)}
    defs["d60"] = {"type": "integer"}
    with pytest.raises(DefinitionError, match="would be checked by more than 10000 schemas"):
        make({**with_value({"$ref": "#/$defs/d0"}), "$defs": defs})


def test_work_that_grows_with_the_value_is_bounded():
    node = {"properties": {"c": {"allOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}]}}}
    made = make({**with_value({"$ref": "#/$defs/n"}), "$defs": {"n": node}})
    value: Any = 1
    for _ in range(150):
        value = {"c": value}
    verdict = made.validate({"value": value})  # doubled at each level it would never end
    assert "152 values, nested 151 levels deep, could take too long to check" in verdict.message
    for _ in range(138):
        value = value["c"]
    assert isinstance(made.validate({"value": value}), ValidArguments)


def test_a_schema_nested_too_deep_is_refused():
    schema: Any = {}
    for _ in range(300):
        schema = {"properties": {"a": schema}}
    with pytest.raises(DefinitionError, match=r"at most 200 levels deep|not JSON"):
        make(with_value(schema))


def test_patterns_take_linear_time():
    made = make(with_value({"type": "string", "pattern": "^(a+)+$"}))
    assert not accepts(made, "a" * 50_000 + "b")  # a backtracking engine would never end


@each_case(
    ("name", "good", "bad"),
    [
        ("date-time", "2024-01-31T09:30:00Z", "yesterday"),
        ("date", "2024-01-31", "31.01.2024"),
        ("time", "09:30:00Z", "half past nine"),
        ("email", "ada@example.com", "ada"),
        ("email", "a.b+c@example.co.uk", "Ada <ada@example.com>"),
        ("uri", "https://example.com/a?b=c", "not a uri"),
        ("uuid", "123e4567-e89b-42d3-a456-426614174000", "123e4567e89b42d3a456426614174000"),
    ],
)
def test_the_formats_of_the_seed_are_asserted(name, good, bad):
    made = make(with_value({"type": "string", "format": name}))
    assert accepts(made, good)
    assert not accepts(made, bad)
    assert f"is not a valid {name}" in made.validate({"value": bad}).message


def test_an_unencoded_uri_gets_a_hint():
    made = make(with_value({"type": "string", "format": "uri"}))
    hint = "(percent-encode spaces and non-ASCII characters)"
    assert hint in made.validate({"value": "https://example.com/straße"}).message
    assert hint in made.validate({"value": "https://example.com/a b"}).message
    assert hint not in made.validate({"value": "example"}).message
    assert hint not in made.validate({"value": "https://b\u00fccher.example"}).message


def test_a_tuple_of_draft_7_is_checked_with_and_without_its_schema_keyword():
    items = {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False}
    for declared in ({"$schema": "http://json-schema.org/draft-07/schema#"}, {}):
        old = make({**declared, **with_value(items)})
        assert accepts(old, ["a", 1])
        assert not accepts(old, ["a", 1, 2])


@each_case(
    ("schema", "opens"),
    [
        ({"type": "object", "properties": {"a": {}}}, False),
        ({"type": "object"}, False),
        ({"type": "object", "properties": {"a": {}}, "additionalProperties": True}, True),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, True),
        ({"type": "object", "patternProperties": {"^x": {}}}, True),
        ({"type": "object", "allOf": [{"properties": {"a": {}}}]}, False),
        ({"type": "object", "allOf": [{"additionalProperties": True}]}, True),
        ({"type": "object", "$ref": "#/$defs/r", "$defs": {"r": {"properties": {"a": {}}}}}, False),
    ],
)
def test_unknown_keys_are_refused_at_the_root_unless_the_schema_allows_them(schema, opens):
    made = make(schema)
    assert isinstance(made.validate({"x": 1}), ValidArguments) is opens
    if not opens:
        assert made.validate({"x": 1}).problems[0].what.startswith("unknown argument")
        if "a" in str(schema):
            assert isinstance(made.validate({"a": 1}), ValidArguments)


def test_nested_objects_of_a_raw_schema_follow_json_schema():
    made = make(with_value({"type": "object", "properties": {"a": {"type": "integer"}}}))
    assert made.validate({"value": {"a": 1, "b": 2}}) == ValidArguments({"value": {"a": 1, "b": 2}}, ())


def test_defaults_of_parameters_are_filled_in_and_never_shared():
    made = make(with_value({"type": "array", "default": [1]}))
    first = made.validate("{}")
    assert isinstance(first, ValidArguments)
    first.params["value"].append(2)
    assert made.validate("{}") == ValidArguments({"value": [1]}, ())
    assert make(with_value({"type": "integer", "default": "x"})).validate("{}") == ValidArguments({}, ())


@each_case(
    ("schema", "good", "bad"),
    [
        ({"const": 5}, [5], [6, True]),
        ({"not": {"type": "string"}}, [1, None], ["x"]),
        ({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, [{"a": 1}, {"b": 1}], [{}, {"a": 1, "b": 1}]),
        ({"allOf": [{"minimum": 1}, {"maximum": 5}]}, [3], [0, 6]),
        ({"if": {"type": "integer"}, "then": {"minimum": 5}}, [5, "x"], [4]),
        ({"type": ["string", "null"]}, ["x", None], [1]),
        ({"type": "array", "uniqueItems": True}, [[1, 2]], [[1, 1], [{"a": 1}, {"a": 1}]]),
        ({"type": "array", "contains": {"const": 1}}, [[1, 2]], [[2]]),
        ({"type": "object", "propertyNames": {"pattern": "^a"}}, [{"ab": 1}], [{"b": 1}]),
        ({"type": "object", "dependentRequired": {"a": ["b"]}}, [{"a": 1, "b": 1}], [{"a": 1}]),
        (
            {"type": "object", "minProperties": 1, "maxProperties": 2},
            [{"a": 1}],
            [{}, {"a": 1, "b": 1, "c": 1}],
        ),
        ({"type": "object", "unevaluatedProperties": False, "properties": {"a": {}}}, [{"a": 1}], [{"b": 1}]),
        (True, [1, None], []),
        (False, [], [1]),
    ],
)
def test_other_keywords_are_enforced_and_reported(schema, good, bad):
    made = make(with_value(schema))
    for value in good:
        assert accepts(made, value)
    for value in bad:
        verdict = made.validate({"value": value})
        assert isinstance(verdict, InvalidArguments)
        assert verdict.problems[0].path.startswith("value")


def test_validate_tool_input_and_output_return_none_or_a_message():
    made = make(
        with_value({"type": "integer"}),
        {"type": "object", "properties": {"t": {"type": "number"}}, "required": ["t"]},
    )
    assert validate_tool_input(made, {"value": 1}) is None
    assert validate_tool_input(made, '{"value": 1}') is None
    assert validate_tool_input(made, {"value": "x"}) == made.validate({"value": "x"}).message
    assert validate_tool_output(made, {"t": 1.5}) is None
    assert validate_tool_output(made, {}) == "t: missing; expected a number"
    assert validate_tool_output(made, {"t": float("nan")}) == "t: not a finite number; expected a number"
    assert "no JSON form" in validate_tool_output(made, {"t": object()})
    assert validate_tool_output(make({"type": "object"}), object()) is None


def test_execute_must_be_callable():
    with pytest.raises(DefinitionError, match="tool 'raw', execute: 'x' cannot be called"):
        create_tool(ToolConfig(name="raw", description="Raw.", input_schema={"type": "object"}, execute="x"))
