"""Every built-in tool has a page, which shows its actual schema."""

import pytest

from toolhaft import Catalog
from tools.tool_pages import FOLDER, draw, filled, page_of

CATALOG = Catalog()


@pytest.mark.parametrize("id", CATALOG)
def test_the_page_of_a_built_in_tool_shows_its_schema(id):
    text = page_of(id).read_text(encoding="utf-8")
    assert filled(text, CATALOG.get_tool(id)) == text, "out of date: run make format"
    assert "```python" in text
    for heading in ("## Limits", "## Safety"):
        assert heading in text


def test_there_is_a_page_for_each_tool_and_an_index_of_them():
    assert sorted(path.stem for path in FOLDER.glob("*.md")) == sorted([*CATALOG, "README"])
    index = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [id for id in CATALOG if f"]({id}.md)" not in index] == []


def test_a_page_without_a_place_for_the_schema_is_named():
    with pytest.raises(ValueError, match="the page of calculator has 0 places for its schema; expected one"):
        filled("# Calculator\n", CATALOG.get_tool("calculator"))


def test_a_block_shows_rules_and_both_schemas():
    block = draw(CATALOG.get_tool("write_file"))
    assert "| `reversible` | 5 s | no |" in block
    assert block.count("```json\n{\n") == 2
