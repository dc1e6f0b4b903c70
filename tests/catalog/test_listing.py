"""A listing has the fields of a list, with the names of the YAML files."""

import pytest

from tests.cases import in_case
from tests.catalog.kit import yaml_text
from toolhaft import ToolConfig, create_tool, tool
from toolhaft.catalog.listing import Listing, digest_fields, listing_of
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


def test_digest_depends_on_the_fields_of_the_document():
    def digest(text):
        return digest_fields(tool_fields(parse_tool(text)))

    text = yaml_text("mine")
    assert digest(text) == digest(f"# a comment\n{text}")
    assert digest(text) != digest(yaml_text("mine", description="Another"))
