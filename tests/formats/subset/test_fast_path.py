"""The fast path gives the same result as the full walk."""

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from tests.formats.examples import examples
from tests.formats.subset.generated import Maker
from tests.formats.subset.targets import TARGETS
from toolhaft.errors import DefinitionError
from toolhaft.formats.subset.lower import Lowered, RefusedSchema, SchemaLoss, lower
from toolhaft.formats.subset.target import Subset
from toolhaft.schema.raw import compile_raw

MARK = {"$comment": "goes the long way"}
SCALARS = ("string", "integer", "number", "boolean")
WORDS = ("It is a thing.", "", None)
FLAT = {
    **TARGETS,
    "few_formats": Subset(
        keywords=frozenset(("type", "properties", "required", "description", "format", "pattern", "anyOf")),
        formats=frozenset(("date",)),
        patterns="plain",
    ),
}


def flat_tool(seed):
    """A tool of simple parameters with many annotations; None for one that no tool may have."""
    rnd = random.Random(seed)  # noqa: S311 -- schemas are no secrets
    maker = Maker(rnd)
    parameters = {name: maker.schema(rnd.choice((0, 0, 0, 1))) for name in ("a", "b/c", "d")}
    for schema in parameters.values():
        if isinstance(schema, dict):
            more = {
                "description": rnd.choice(WORDS),
                "default": rnd.choice((None, 1, "y" * 300)),
                "title": "T",
                "x-y": 1,
            }
            schema.update({key: value for key, value in more.items() if maker.odds(0.3)})
            if schema.get("description", "") is None:
                del schema["description"]
    whole = {"type": "object", "properties": parameters, "required": ["a"]}
    if maker.odds(0.3):
        whole["additionalProperties"] = False
    try:
        compile_raw(whole)
    except DefinitionError:
        return None
    return whole


def goes_short(schema):
    if "enum" in schema or "const" in schema:
        return "type" not in schema and "const" not in schema
    return schema.get("type") in SCALARS


def marked(schema):
    """The same tool with a mark in each schema that the fast path could lower, so that it does not apply."""
    parameters = {
        name: {**each, **MARK} if isinstance(each, dict) and goes_short(each) else each
        for name, each in schema["properties"].items()
    }
    return {**schema, "properties": parameters, **MARK}


def unmarked(schema):
    """A lowered schema without the mark, which some targets keep."""
    if not isinstance(schema, dict):
        return schema
    rest = {key: value for key, value in schema.items() if key != "$comment"}
    if "properties" in rest:
        rest["properties"] = {name: unmarked(each) for name, each in rest["properties"].items()}
    return rest


def outcome(schema, subset):
    try:
        low = lower(schema, subset)
    except RefusedSchema as refused:
        return refused.path, refused.reason
    return low._replace(schema=unmarked(low.schema), mapping=low.mapping is None)


@examples(15)
@given(seed=st.integers(0, 1_000_000))
@each_case("target", [name for name in FLAT if FLAT[name].root != "wrap"])
def test_the_fast_path_and_the_full_walk_give_the_same_result(target, seed):
    schema = flat_tool(seed)
    if schema is not None:
        assert outcome(schema, FLAT[target]) == outcome(marked(schema), FLAT[target])


def test_each_kind_of_flat_parameter_takes_the_fast_path():
    schema = {
        "type": "object",
        "description": "Find.",
        "properties": {
            "query": {"type": "string", "minLength": 1, "title": "Q", "description": "What."},
            "a/b": {"type": "integer", "default": 3},
            "order": {"enum": ["up", "down"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "count": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "span": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        },
        "required": ["query", "query"],
        "additionalProperties": False,
    }
    subset = Subset(
        keywords=frozenset(("type", "properties", "required", "items", "enum", "description")),
        nested="describe",
        refs="inline",
        recursion="unroll",
    )
    text = '{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}'
    moved = "moved to description"
    assert lower(schema, subset) == Lowered(
        {
            "type": "object",
            "description": "Find.",
            "properties": {
                "query": {"type": "string", "description": "What. (at least 1 character)"},
                "a/b": {"type": "integer", "description": "Default: 3"},
                "order": {"enum": ["up", "down"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "count": {"type": ["integer", "null"], "description": "Default: null"},
                "span": {"type": ["array", "null"], "description": f"JSON Schema: {text}"},
            },
            "required": ["query"],
        },
        None,
        (
            SchemaLoss("", "additionalProperties", "checked locally", "that there are no other keys"),
            SchemaLoss("/properties/a~1b", "default", moved, "default: 3"),
            SchemaLoss("/properties/count", "default", moved, "default: null"),
            SchemaLoss("/properties/query", "minLength", moved, "at least 1 character"),
            SchemaLoss("/properties/query", "title", "left out"),
            SchemaLoss("/properties/span", "anyOf", moved, "as JSON Schema"),
        ),
        optional=5,
        unions=2,
    )
