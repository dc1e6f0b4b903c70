"""Writes the effect, time limit and schemas of each built-in tool into its page, docs/toolbox/<id>.md."""

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
    """The docs page of a tool."""
    return FOLDER / f"{id}.md"


def draw(tool: AnyTool) -> str:
    """The generated block of a page: the policy, then both schemas."""
    retryable = "yes" if tool.retryable else "no"
    policy = f"| `{tool.effect}` | {tool.timeout_s:g} s | {retryable} |\n"
    parts = [f"| effect | time limit | retryable |\n| --- | --- | --- |\n{policy}"]
    for title, schema in (("Input", tool.input_schema), ("Output", tool.output_schema)):
        parts.append(f"{title}:\n\n```json\n{json.dumps(schema, indent=2)}\n```\n")
    return "\n".join(parts)


def filled(text: str, tool: AnyTool) -> str:
    """A page with the generated block of a tool.

    Raises:
        ValueError: if the page does not have exactly one place for it.
    """
    block = re.compile(rf"(?<=<!-- schema: {tool.name} -->\n).*?(?=<!-- /schema -->)", re.DOTALL)
    made, found = block.subn(lambda _: draw(tool), text)
    if found != 1:
        raise ValueError(f"the page of {tool.name} has {found} places for its schema; expected one")
    return made


def main() -> None:
    """Check the pages, or update them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="update the pages")
    options = parser.parse_args()
    catalog = Catalog()
    stale: list[str] = []
    for id in catalog:
        page = page_of(id)
        text = page.read_text(encoding="utf-8")
        made = filled(text, catalog.get_tool(id))
        if made == text:
            continue
        if options.write:
            page.write_text(made, encoding="utf-8")
        else:
            stale.append(page.name)
    if stale:
        sys.exit(f"docs/toolbox: {', '.join(stale)} is out of date. Fix: make format")


if __name__ == "__main__":
    main()
