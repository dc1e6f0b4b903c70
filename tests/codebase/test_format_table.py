"""The tables in docs/formats.md are generated from the code, so that they stay correct."""

import pytest

from toolhaft.formats import FORMATS
from tools.format_table import Variant, draw, table, variants, with_tables


def test_the_page_shows_the_generated_tables(pytestconfig):
    page = (pytestconfig.rootpath / "docs" / "formats.md").read_text(encoding="utf-8")
    assert page == with_tables(page, draw()), "Fix: make format"


def test_every_format_is_in_the_tables():
    assert {variant.format for variant in variants()} == set(FORMATS)
    assert [str(variant) for variant in variants() if variant.format == "mcp"] == [
        "mcp",
        "mcp 2025-11-25",
        "mcp 2025-06-18",
    ]
    assert Variant("openai_chat", "", strict=True) in list(variants())


def test_equal_columns_are_joined():
    one, two, three = (Variant(name, "", strict=False) for name in ("one", "two", "three"))
    rows = {"length": lambda variant: str(len(variant.format)), "kind": lambda _: "word"}
    assert table("what", rows, [one, three, two]) == (
        "| what | one, two | three |\n| --- | --- | --- |\n| length | 3 | 5 |\n| kind | word | word |\n"
    )


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="<!-- formats -->"):
        with_tables("# A page without tables\n", "| |\n")
