"""The tables of wires are drawn from what the formats do, so that they cannot promise what is not so."""

import pytest

from toolhaft.formats import FORMATS
from tools.wire_table import Variant, draw, table, variants, with_tables


def test_the_page_shows_the_wires_as_they_are(pytestconfig):
    page = (pytestconfig.rootpath / "docs" / "wires.md").read_text(encoding="utf-8")
    assert page == with_tables(page, draw()), "Fix: make format"


def test_every_format_stands_in_the_tables():
    assert {variant.format for variant in variants()} == set(FORMATS)
    assert [str(variant) for variant in variants() if variant.format == "mcp"] == [
        "mcp",
        "mcp 2025-11-25",
        "mcp 2025-06-18",
    ]
    assert Variant("openai_chat", "", strict=True) in list(variants())


def test_columns_that_are_alike_stand_together():
    one, two, three = (Variant(name, "", strict=False) for name in ("one", "two", "three"))
    rows = {"length": lambda variant: str(len(variant.format)), "kind": lambda _: "word"}
    assert table("what", rows, [one, three, two]) == (
        "| what | one, two | three |\n| --- | --- | --- |\n| length | 3 | 5 |\n| kind | word | word |\n"
    )


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="<!-- wires -->"):
        with_tables("# A page without tables\n", "| |\n")
