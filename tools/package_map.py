"""Draws the package map in the README from the import-linter contract and the docstring of each package."""

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

BLOCK = re.compile(r"(?<=<!-- packages -->\n).*?(?=<!-- /packages -->)", re.DOTALL)


def layers(root: Path) -> Iterator[list[str]]:
    """Yield the packages of each layer, the top layer first."""
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers":
            for layer in contract["layers"]:
                yield re.findall(r"\w+", layer)


def summary(root: Path, package: str) -> str | None:
    """Return the first docstring line of a package, or None where the package does not exist yet.

    Raises:
        ValueError: the package has no docstring.
    """
    folder = root / "src" / "toolhaft"
    for source in (folder / package / "__init__.py", folder / f"{package}.py"):
        if source.exists():
            docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
            if not docstring:
                raise ValueError(f"{source.relative_to(root)} has no docstring for the map; write one")
            return docstring.splitlines()[0]
    return None


def draw(root: Path) -> str:
    """Return the map as a fenced block: one line per package, `|` before one of the same layer."""
    lines: list[tuple[str, str]] = []
    for layer in layers(root):
        # private modules are not on the map
        packages = [(package, summary(root, package)) for package in layer if not package.startswith("_")]
        existing = [(package, text) for package, text in packages if text]
        lines += [(f"{'|' if n else ' '} {package}", text) for n, (package, text) in enumerate(existing)]
    width = max((len(package) for package, _ in lines), default=0)
    return "\n".join(["```text", *(f"{package:{width}}  {text}" for package, text in lines), "```", ""])


def with_map(readme: str, drawn: str) -> str:
    """Return the README with the map between its markers.

    Raises:
        ValueError: the README does not have the two markers.
    """
    text, count = BLOCK.subn(lambda _: drawn, readme)
    if count != 1:
        raise ValueError(
            "README.md needs a '<!-- packages -->' line and a '<!-- /packages -->' line after it"
        )
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
