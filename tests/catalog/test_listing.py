"""A listing says of a tool what a list shows, in the words of the YAML files."""

import pytest

from tests.catalog.kit import yaml_text
from toolhaft import ToolConfig, create_tool, tool
from toolhaft.catalog.listing import Listing, digest_tool, listing_of
from toolhaft.define.yaml import parse_tool


@tool(title="Weather", tags=["sky", "Now"], effect="read", when_to_use="Before a walk")
def weather(city: str) -> str:
    """Say how it is outside.

    Args:
        city: where
    """
    return city


def test_a_tool_of_any_door_becomes_a_listing():
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


def test_a_yaml_tool_says_whose_it_is_and_when_it_changed():
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


def test_filters_ask_for_all_that_is_said():
    one = Listing(id="a", tags=("Sky",), owner="me", share="org")
    assert one.has()
    assert one.has(tag="sky", owner="me", share="org")
    assert not one.has(tag="sk")
    assert not one.has(tag="sky", owner="you")
    assert not one.has(share="public")


def test_a_listing_comes_back_from_a_cache_as_it_went():
    one = listing_of(weather, store="built-in", place="x").shadowing(("platform (y)",))
    assert one.shadows == ("platform (y)",)
    assert Listing.from_row(one.to_row()) == one.shadowing(()) or Listing.from_row(one.to_row()).shadows == ()
    row = one.to_row()
    Listing.from_row(row)
    assert row == one.to_row()


@pytest.mark.parametrize(
    "row",
    [
        None,
        [],
        {},
        {"id": "a"},
        {**Listing(id="a").to_row(), "more": 1},
        {**Listing(id="a").to_row(), "tags": "a"},
        {**Listing(id="a").to_row(), "is_active": "yes"},
        {**Listing(id="a").to_row(), "updated_at": 5},
    ],
)
def test_what_is_no_listing_is_refused(row):
    with pytest.raises(ValueError, match="no listing"):
        Listing.from_row(row)


def test_a_schema_without_words_has_none():
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


def test_a_digest_stands_for_what_a_file_says():
    file = parse_tool(yaml_text("mine"))
    assert digest_tool(file) == digest_tool(parse_tool(f"# a comment\n{yaml_text('mine')}"))
    assert digest_tool(file) != digest_tool(file.replace(description="Another"))
    unsayable = create_tool(
        ToolConfig(
            name="odd",
            description="Odd",
            input_schema={
                "type": "object",
                "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            },
            execute=lambda input: input,
        )
    )
    assert digest_tool(unsayable) == ""
