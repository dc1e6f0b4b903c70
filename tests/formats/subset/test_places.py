"""Every loss and every refusal has the path of the schema that it is about."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from tests.formats.examples import examples
from tests.formats.subset.generated import Maker
from tests.formats.subset.lowering import tool
from tests.formats.subset.targets import TARGETS
from toolhaft.errors import DefinitionError
from toolhaft.formats.subset.lower import RefusedSchema, lower
from toolhaft.schema.json_schema import resolve
from toolhaft.schema.raw import compile_raw

TEXT = {"type": "string"}
WHOLE = {"type": "integer"}
ABSENT = ("required", "narrowed", "null is read as absent")


def places(schema, target):
    try:
        return [loss.path for loss in lower(schema, TARGETS[target]).losses]
    except RefusedSchema as refused:
        return [refused.path]


@examples(20)
@given(seed=st.integers(0, 1_000_000))
@each_case("target", TARGETS)
def test_every_reported_path_exists_in_the_tools_schema(target, seed):
    schema = Maker(random.Random(seed)).tool()  # noqa: S311 -- schemas are no secrets
    try:
        compile_raw(schema)
    except DefinitionError:
        return
    assert [path for path in places(schema, target) if resolve(schema, f"#{path}") is None] == []


@pytest.mark.parametrize("target", ["gemini_parameters", "nullable"])
def test_losses_of_unlisted_tuple_members_have_the_path_of_the_tuple(target):
    schema = tool({"type": "array", "prefixItems": [TEXT, WHOLE]})
    assert set(places(schema, target)) == {"/properties/x"}


def test_a_loss_of_a_merged_keyword_has_the_path_of_its_branch():
    first = {"properties": {"a": TEXT}, "required": ["a"]}
    second = {"properties": {"b": WHOLE, "a": {"maxLength": 3}}}
    assert places({"type": "object", "allOf": [first, second]}, "ollama") == ["/allOf/1/properties/a"]


def test_a_loss_of_a_merged_property_has_the_path_of_its_branch():
    first = {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": True}
    second = {"properties": {"b": {"type": ["string", "null"]}}, "additionalProperties": {"type": "string"}}
    low = lower(tool({"allOf": [first, second]}), TARGETS["openai_strict"])
    assert ("/properties/x/allOf/1/properties/b", *ABSENT) in low.losses


def test_a_loss_in_a_root_alternative_has_its_path():
    shapes = [
        {"properties": {"a": TEXT}, "required": ["a"]},
        {"properties": {"x y": TEXT}, "required": ["x y"]},
    ]
    low = lower({"type": "object", "anyOf": shapes}, TARGETS["anthropic_loose"])
    assert ("/anyOf/1/properties/x y", "properties", "renamed", "x_y") in low.losses


def test_a_loss_of_an_unlisted_required_name_has_the_path_of_its_object():
    schema = tool({"type": "object", "properties": {}, "required": ["y"]})
    assert places(schema, "openai_strict") == ["/properties/x"]
