"""A listing has the fields of a list, with the names of the YAML files."""

import pytest

from tests.cases import in_case
from tests.catalog.kit import yaml_text
from toolhaft import ToolConfig, create_tool, tool
from toolhaft.catalog.listing import Listing, digest_fields, listing_of, listing_of_fields
from toolhaft.define.yaml import parse_tool, tool_fields


@tool(title="Weather", tags=["sky", "Now"], effect="read", when_to_use="Before a walk")
def weather(city: str) -> str:
    """Say how it is outside.

    Args:
        city: where
    """
    return city


def test_tools_of_every_definition_become_listings():
    made = listing_of(weather, store="installed", place="sky-tools", owner="sky-tools")
    assert made == Listing(
        id="weather",
        title="Weather",
        description="Say how it is outside.",
        tags=("sky", "Now"),
        owner="sky-tools",
        share="public",
        store="installed",
        place="sky-tools",
        is_active=True,
        effect="read",
        search_text="Before a walk city where",
    )
    assert made.name == "weather"


def test_yaml_tool_listing_has_owner_and_updated_at():
    text = """
id: sky
name: Sky
description: Look up
owner: user-1
share: org
updated_at: "2024-01-01T00:00:00Z"
"""
    made = listing_of(parse_tool(text), store="project", place="local-kit/tools/sky.yaml")
    assert made.to_json() == {
        "id": "sky",
        "name": "Sky",
        "description": "Look up",
        "owner": "user-1",
        "share": "org",
        "tags": [],
        "is_active": False,
        "updated_at": "2024-01-01T00:00:00Z",
        "store": "project",
        "place": "local-kit/tools/sky.yaml",
        "effect": "irreversible",
        "shadows": [],
    }


def test_listing_must_match_every_filter():
    one = Listing(id="a", tags=("Sky",), owner="me", share="org")
    assert one.has()
    assert one.has(tag="sky", owner="me", share="org")
    assert not one.has(tag="sk")
    assert not one.has(tag="sky", owner="you")
    assert not one.has(share="public")


def test_listing_survives_a_round_trip_through_the_cache():
    one = listing_of(weather, store="built-in", place="x").shadowing(("platform (y)",))
    assert one.shadows == ("platform (y)",)
    assert Listing.from_row(one.to_row()) == one.shadowing(()) or Listing.from_row(one.to_row()).shadows == ()
    row = one.to_row()
    Listing.from_row(row)
    assert row == one.to_row()


def test_invalid_listing_rows_are_refused():
    cases = [
        None,
        [],
        {},
        {"id": "a"},
        {**Listing(id="a").to_row(), "more": 1},
        {**Listing(id="a").to_row(), "tags": "a"},
        {**Listing(id="a").to_row(), "is_active": "yes"},
        {**Listing(id="a").to_row(), "updated_at": 5},
    ]
    for row in cases:
        with in_case(row), pytest.raises(ValueError, match="no listing"):
            Listing.from_row(row)


def test_schema_without_properties_has_no_search_text():
    plain = create_tool(
        ToolConfig(name="x", description="X.", input_schema={"type": "object", "properties": {"a": True}})
    )
    assert listing_of(plain, store="given").search_text == "a"
    assert (
        listing_of(
            create_tool(ToolConfig(name="x", description="X.", input_schema={"type": "object"})),
            store="given",
        ).search_text
        == ""
    )


NESTED = {
    "type": "object",
    "properties": {
        "order": {
            "type": "object",
            "description": "What to brew",
            "properties": {
                "milk": {"type": "string", "enum": ["oat", "coconut", 3, None]},
                "extras": {"type": "array", "items": {"type": "string", "description": "a syrup"}},
            },
        },
        "size": {"anyOf": [{"const": "large"}, {"$ref": "#/$defs/Cup"}]},
    },
    "$defs": {"Cup": {"type": "object", "properties": {"volume_ml": {"type": "integer"}}}},
}


def test_nested_parameters_and_fixed_values_are_in_the_search_text():
    made = create_tool(ToolConfig(name="brew", description="Brew.", input_schema=NESTED))
    words = listing_of(made, store="given").search_text.split()
    assert set(words) >= {"order", "brew", "milk", "oat", "coconut", "extras", "syrup", "size", "large"}
    assert "volume_ml" in words
    assert not {"3", "None", "Cup"} & set(words)


def test_yaml_fields_give_the_same_search_text_as_the_tool():
    tool = parse_tool("""
id: brew
name: Brew
description: Brews.
when_to_use: In the morning
parameters:
  - name: order
    type: object
    description: What to brew
    properties:
      milk: {type: string, enum: [oat, coconut]}
  - {name: size, type: string, description: How large, enum: [small, large]}
""")
    text = listing_of_fields(tool_fields(tool)).search_text
    assert text == listing_of(tool, store="project").search_text
    assert text == "In the morning order What to brew size How large small large milk oat coconut"


def test_wrong_parameters_of_a_document_are_left_out_of_the_search_text():
    for wrong in (
        5,
        [5],
        [{"name": 5, "enum": 5, "properties": 5, "items": 5}],
        [{"name": "", "anyOf": [5, [6]], "description": []}],
    ):
        with in_case(wrong):
            assert listing_of_fields({"id": "x", "parameters": wrong}).search_text == ""


def test_search_text_of_a_huge_schema_is_bounded():
    wide = {f"p{number}": {"type": "string"} for number in range(5_000)}
    deep = {"type": "string", "description": "deepest"}
    for number in range(900):
        deep = {"type": "object", "properties": {f"d{number}": deep}}
    choices = {"enum": [f"choice{number} {'x' * 500}" for number in range(5_000)]}
    for inner in ({"properties": wide}, deep, choices):
        text = listing_of_fields({"id": "x", "parameters": [{"name": "first", **inner}]}).search_text
        assert text.startswith("first")
        assert len(text) < 10_000


def test_digest_depends_on_the_fields_of_the_document():
    def digest(text):
        return digest_fields(tool_fields(parse_tool(text)))

    text = yaml_text("mine")
    assert digest(text) == digest(f"# a comment\n{text}")
    assert digest(text) != digest(yaml_text("mine", description="Another"))
