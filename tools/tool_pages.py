"""Writes what each built-in tool says of itself into its page, docs/toolbox/<id>.md, between two marks.

Reads the tools as the catalog finds them; knows nothing of what they do.
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from toolhaft import Catalog, Tool

FOLDER = Path(__file__).parents[1] / "docs" / "toolbox"
AnyTool = Tool[Any, Any]


def page_of(id: str) -> Path:
    """Where a tool is described."""
    return FOLDER / f"{id}.md"


def draw(tool: AnyTool) -> str:
    """What stands between the marks: the rules, then both schemas."""
    again = "yes" if tool.retryable else "no"
    rules = f"| `{tool.effect}` | {tool.timeout_s:g} s | {again} |\n"
    parts = [f"| effect | time limit | may be tried again |\n| --- | --- | --- |\n{rules}"]
    for title, schema in (("Input", tool.input_schema), ("Output", tool.output_schema)):
        parts.append(f"{title}:\n\n```json\n{json.dumps(schema, indent=2)}\n```\n")
    return "\n".join(parts)


def filled(text: str, tool: AnyTool) -> str:
    """A page with the block of a tool as it should be.

    Raises:
        ValueError: where the page has no place for it.
    """
    block = re.compile(rf"(?<=<!-- schema: {tool.name} -->\n).*?(?=<!-- /schema -->)", re.DOTALL)
    made, found = block.subn(lambda _: draw(tool), text)
    if found != 1:
        raise ValueError(f"the page of {tool.name} has {found} places for its schema; expected one")
    return made


def main() -> None:
    """Check the pages, or mend them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="mend the pages")
    asked = parser.parse_args()
    catalog = Catalog()
    stale: list[str] = []
    for id in catalog:
        page = page_of(id)
        text = page.read_text(encoding="utf-8")
        made = filled(text, catalog.get_tool(id))
        if made == text:
            continue
        if asked.write:
            page.write_text(made, encoding="utf-8")
        else:
            stale.append(page.name)
    if stale:
        sys.exit(f"docs/toolbox: {', '.join(stale)} is out of date. Fix: make format")


if __name__ == "__main__":
    main()
