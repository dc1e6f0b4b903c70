"""Draws the README's map of the rooms from the import-linter contract and each room's docstring.

Knows nothing of what the rooms do: a room that is not built yet is not on the map.
"""

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

BLOCK = re.compile(r"(?<=<!-- rooms -->\n).*?(?=<!-- /rooms -->)", re.DOTALL)


def layers(root: Path) -> Iterator[list[str]]:
    """The rooms of each layer, from the top of the house to the bottom."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            for layer in contract["layers"]:
                yield re.findall(r"\w+", layer)


def summary(root: Path, room: str) -> str | None:
    """The first docstring line of a room; None where the room is not built yet.

    Raises:
        ValueError: the room has no docstring.
    """
    package = root / "src" / "toolhaft"
    for source in (package / room / "__init__.py", package / f"{room}.py"):
        if source.exists():
            docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
            if not docstring:
                raise ValueError(f"{source.relative_to(root)} has no docstring for the map; write one")
            return docstring.splitlines()[0]
    return None


def draw(root: Path) -> str:
    """The map, as a fenced block of text: a line a room, `|` before a stranger of the room above."""
    lines: list[tuple[str, str]] = []
    for layer in layers(root):
        # a private module is not a room
        rooms = [(room, summary(root, room)) for room in layer if not room.startswith("_")]
        built = [(room, text) for room, text in rooms if text]
        lines += [(f"{'|' if n else ' '} {room}", text) for n, (room, text) in enumerate(built)]
    width = max((len(room) for room, _ in lines), default=0)
    return "\n".join(["```text", *(f"{room:{width}}  {text}" for room, text in lines), "```", ""])


def with_map(readme: str, drawn: str) -> str:
    """The README with the map between its markers.

    Raises:
        ValueError: the README does not have the two markers.
    """
    text, count = BLOCK.subn(lambda _: drawn, readme)
    if count != 1:
        raise ValueError("README.md needs one '<!-- rooms -->' line and one '<!-- /rooms -->' line after it")
    return text


def main() -> None:
    """Print the map, or write it into the README."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the map into README.md")
    root = Path(__file__).resolve().parents[1]
    drawn = draw(root)
    if not parser.parse_args().write:
        sys.stdout.write(drawn)
        return
    readme = root / "README.md"
    readme.write_text(with_map(readme.read_text(encoding="utf-8"), drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
