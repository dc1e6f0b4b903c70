"""The linters find schemas that a provider's server would refuse, and accept the others."""

from __future__ import annotations

from tests.cases import each_case
from tests.formats.rules import lint
from tests.formats.rules_subsets import SUBSETS

_GOOD = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "description": "A."},
        "b": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["a", "b"],
    "additionalProperties": False,
}
_OPENAI = ("openai_chat", "", True)
_ANTHROPIC = ("anthropic", "", True)
_JSON = ("gemini", "parametersJsonSchema", False)
_PARAMETERS = ("gemini", "parameters", False)
_COHERE = ("cohere", "", True)
_OLLAMA = ("ollama", "", False)


def _with(schema, **more):
    return {
        "type": "object",
        "properties": {"x": schema},
        "required": ["x"],
        "additionalProperties": False,
        **more,
    }


def _open(schema, **more):
    """The same for the target that has no `additionalProperties`."""
    return {"type": "object", "properties": {"x": schema}, "required": ["x"], **more}


_NODE = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/Node"}},
    "required": ["next"],
    "additionalProperties": False,
}


@each_case("target", SUBSETS, ids=str)
def test_a_plain_schema_obeys_the_rules_of_every_provider(target):
    good = {
        key: value for key, value in _GOOD.items() if target != _PARAMETERS or key != "additionalProperties"
    }

    assert lint(*target, good) == []


@each_case("target", SUBSETS, ids=str)
def test_a_schema_that_is_not_an_object_is_found_for_every_provider(target):
    assert (
        lint(*target, {"type": "array", "items": {"type": "string"}})[0] == "/: the root is of type 'array'"
    )
    assert any("not a JSON Schema" in reported for reported in lint(*target, _with({"type": "strnig"})))


_BAD = [
    (("openai_chat", "", False), {"type": "object", "anyOf": [_GOOD]}, ["/: anyOf at the root"]),
    (("openai_responses", "", False), {"type": "object", "not": {"required": ["a"]}}, ["/: not at the root"]),
    (
        _OPENAI,
        {"type": "object", "properties": {"x": {"type": "string"}}},
        ["/: an object that is not closed", "/: required [] of ['x']"],
    ),
    (_OPENAI, _with({"type": "object", "properties": {}}), ["/properties/x: an object that is not closed"]),
    (_OPENAI, _with({}), ["/properties/x: says nothing of what it takes"]),
    (_OPENAI, _with(True), ["/properties/x: a schema that is True"]),
    (
        _OPENAI,
        _with({"type": "string", "minLength": 1, "default": "a"}),
        ["/properties/x: keyword default", "/properties/x: keyword minLength"],
    ),
    (_OPENAI, _with({"type": "string", "format": "uri"}), ["/properties/x: format uri"]),
    (_OPENAI, _with({"type": "array"}), ["/properties/x: an array that does not say what is in it"]),
    (_OPENAI, _with({"oneOf": [{"type": "string"}]}), ["/properties/x: keyword oneOf"]),
    (
        _OPENAI,
        _with({"$ref": "#/$defs/A", "description": "a"}, **{"$defs": {"A": {"type": "string"}}}),
        ["/properties/x: description beside $ref"],
    ),
    (
        _OPENAI,
        _with({"$ref": "#/$defs/B"}),
        ["/: not a JSON Schema", "/properties/x: #/$defs/B leads nowhere"],
    ),
    (_OPENAI, _with({"type": "string", "enum": [str(n) for n in range(1001)]}), ["/: 1001 enum values"]),
    (_OPENAI, _with({"type": "string", "pattern": "(?=a)b"}), ["/properties/x: pattern (?=a)b"]),
    (("anthropic", "", False), _with({"type": "string"}, oneOf=[{}]), ["/: oneOf at the root"]),
    (
        ("anthropic", "", False),
        {"type": "object", "properties": {"a b": {"type": "string"}}},
        ["/: property name 'a b'"],
    ),
    (_ANTHROPIC, _with({"type": "integer", "minimum": 1}), ["/properties/x: keyword minimum"]),
    (
        _ANTHROPIC,
        _with({"type": "array", "items": {"type": "string"}, "minItems": 2}),
        ["/properties/x: minItems 2"],
    ),
    (_ANTHROPIC, _with({"enum": [{"a": 1}]}), ["/properties/x: enum value {'a': 1}"]),
    (
        _ANTHROPIC,
        _with({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": {**_NODE, "required": []}}}),
        ["/: it leads back to itself"],
    ),
    (
        _ANTHROPIC,
        _with({"allOf": [{"$ref": "#/$defs/A"}]}, **{"$defs": {"A": {"type": "string"}}}),
        ["/properties/x: $ref in allOf"],
    ),
    (
        _ANTHROPIC,
        {**_GOOD, "properties": {f"p{n}": {"type": "string"} for n in range(25)}, "required": []},
        ["/: 25 optional parameters"],
    ),
    (
        _ANTHROPIC,
        _with(
            {"type": "string"},
            properties={f"p{n}": {"type": ["string", "null"]} for n in range(17)},
            required=[f"p{n}" for n in range(17)],
        ),
        ["/: 17 unions"],
    ),
    (_JSON, _with({"const": "a"}), ["/properties/x: keyword const"]),
    (_JSON, _with({"allOf": [{"type": "string"}]}), ["/properties/x: keyword allOf"]),
    (
        _JSON,
        _with({"$ref": "#/$defs/A", "title": "a"}, **{"$defs": {"A": {"type": "string"}}}),
        ["/properties/x: title beside $ref"],
    ),
    (
        _JSON,
        _with({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": _NODE}}),
        ["/: it leads back to itself through required"],
    ),
    (_JSON, _with({"type": ["string", "null"], "enum": ["a", None]}), ["/properties/x: enum value None"]),
    (_PARAMETERS, _open({"type": ["string", "null"]}), ["/properties/x: a list of types"]),
    (_PARAMETERS, _open({"type": "null"}), ["/properties/x: type null"]),
    (
        _PARAMETERS,
        _open({"type": "integer", "enum": [1]}),
        ["/properties/x: enum on integer", "/properties/x: enum value 1"],
    ),
    (_PARAMETERS, _open({"type": "string", "enum": ["a", ""]}), ["/properties/x: an empty enum value"]),
    (_PARAMETERS, _open({"type": "array"}), ["/properties/x: an array that does not say what is in it"]),
    (_PARAMETERS, _open({"type": "string", "format": "uuid"}), ["/properties/x: format uuid"]),
    (_PARAMETERS, _open({"type": "string", "format": "int64"}), ["/properties/x: format int64 on string"]),
    (_PARAMETERS, _open({"type": "string", "properties": {}}), ["/properties/x: properties on string"]),
    (
        _PARAMETERS,
        _open({"anyOf": [{"type": "string"}], "type": "string"}),
        ["/properties/x: type beside anyOf"],
    ),
    (_PARAMETERS, _open({"type": "string"}, required=["y"]), ["/: required 'y' is no property"]),
    (_PARAMETERS, _with({"type": "string"}), ["/: keyword additionalProperties"]),
    (
        _PARAMETERS,
        _open({"$ref": "#/$defs/A"}, **{"$defs": {"A": {"type": "string"}}}),
        ["/: keyword $defs", "/properties/x: keyword $ref"],
    ),
    (
        _COHERE,
        {"type": "object", "properties": {"x": {"type": "string"}}},
        ["/: an object without a required property"],
    ),
    (_COHERE, _with({"type": "integer", "maximum": 3}), ["/properties/x: keyword maximum"]),
    (_COHERE, _with({"type": "string", "pattern": "^a$"}), ["/properties/x: an anchor in pattern ^a$"]),
    (_COHERE, _with({"type": "string", "format": "email"}), ["/properties/x: format email"]),
    (_OLLAMA, _with({"type": "object", "properties": {}}), ["/properties/x: properties"]),
    (_OLLAMA, _with({"anyOf": [{"type": "string"}]}), ["/properties/x: anyOf"]),
    (("bedrock", "boto3", False), {"properties": {}}, ["/: the root is of type None"]),
    (("mistral", "", False), {"properties": {}}, ["/: the root is of type None"]),
]


@each_case(("target", "schema", "expected"), _BAD, ids=[reported[-1] for _, _, reported in _BAD])
def test_an_invalid_schema_is_found(target, schema, expected):
    found = lint(*target, schema)

    assert [any(reported.startswith(start) for reported in found) for start in expected] == [True] * len(
        expected
    ), found


def test_depth_counts_objects_and_lists():
    deep = {"type": "string"}
    for _ in range(8):
        deep = {"type": "array", "items": deep}

    assert lint(*_OPENAI, _with(_with(deep))) == []
    assert lint(*_OPENAI, _with(_with(_with(deep)))) == ["/: 11 levels"]
    assert lint(*_OPENAI, _with({"$ref": "#/$defs/A"}, **{"$defs": {"A": _with(_with(deep))}})) == [
        "/: 11 levels"
    ]


def test_recursion_obeys_the_rules_of_openai():
    node = {**_NODE, "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}}

    assert lint(*_OPENAI, _with({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": node}})) == []
    assert (
        lint(*_JSON, _with({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": {**_NODE, "required": []}}})) == []
    )
