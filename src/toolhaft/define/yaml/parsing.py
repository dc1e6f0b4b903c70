"""Makes tools of texts, and tells every problem of a text with its line.

Knows documents and their flaws; does not know files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, Literal

from toolhaft.define.yaml.definition import read_fields
from toolhaft.define.yaml.document import read_document
from toolhaft.define.yaml.events import Flaw
from toolhaft.define.yaml.tool import YamlTool
from toolhaft.errors import DefinitionError

MOST_TOLD: Final = 100
"""Problems of one file; a thousand lines help nobody."""
LARGEST_FILE: Final = 1_000_000
"""Bytes of one file, and as many characters of a text that is no file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing that lint says of a file: an error keeps it from loading, a warning does not."""

    place: str
    line: int
    problem: str
    fix: str
    level: Literal["error", "warning"]

    def __str__(self) -> str:
        mark = "warning: " if self.level == "warning" else ""
        return f"{self.place}: {mark}{self.problem}. Fix: {self.fix}"


def parse_tool(
    text: str, name: str = "tool.yaml", *, folder: str | os.PathLike[str] | None = None
) -> YamlTool[dict[str, object], object]:
    """The tool that a text defines.

    Args:
        text: what a file would hold.
        name: what its problems are told with, in place of a file's name.
        folder: where its `.env` and working directory are found from; None for wherever it is run.

    Raises:
        DefinitionError: with every problem of the text, a line each, and apart in `problems`.
    """
    flaws: list[Flaw] = []
    place = None if folder is None else os.fspath(folder)
    made = None if is_too_long(text, flaws) else make(text, f"file {shown(name)}", flaws, place)
    if made is None:
        raise told_all(name, flaws)
    return made


def lint_text(text: str, name: str = "tool.yaml") -> list[Remark]:
    """Every problem of a text, errors and warnings, by line."""
    flaws: list[Flaw] = []
    if not is_too_long(text, flaws):
        make(text, f"file {shown(name)}", flaws, None)
    return remarks(name, flaws)


def is_too_long(text: str, flaws: list[Flaw]) -> bool:
    """True for a text that is not read at all."""
    if len(text) <= LARGEST_FILE:
        return False
    fix = f"keep it within {LARGEST_FILE:,} characters"
    flaws.append(Flaw(line=1, what="the text is larger than 1 MB", fix=fix))
    return True


def remarks(name: str, flaws: list[Flaw]) -> list[Remark]:
    """Flaws as lint tells them."""
    return [
        Remark(
            place=f"{shown(name)}:{flaw.line}",
            line=flaw.line,
            problem=flaw.what,
            fix=flaw.fix,
            level=flaw.level,
        )
        for flaw in sorted(flaws, key=lambda flaw: flaw.line)
    ]


def make(
    text: str, source: str, flaws: list[Flaw], folder: str | None
) -> YamlTool[dict[str, object], object] | None:
    """The tool that a text defines, or None and its flaws; warnings are among them either way."""
    root, found = read_document(text)
    flaws += found
    if root is None:
        return None
    definition = read_fields(root, flaws)
    if any(flaw.level == "error" for flaw in flaws):
        return None
    try:
        return YamlTool(definition=definition, text=text, source=source, folder=folder)
    except DefinitionError as error:
        key = "examples" if error.place.startswith("example") else error.place
        line = definition.lines.get(key, root.line)
        fix = error.fix or f"mend {key}, or leave it out"
        flaws.append(Flaw(line=line, what=f"{error.place}: {error.problem}", fix=fix))
        return None


def told_all(name: str, flaws: list[Flaw]) -> DefinitionError:
    """The error of one text, with everything that is wrong with it."""
    wrong = sorted((flaw for flaw in flaws if flaw.level == "error"), key=lambda flaw: flaw.line)
    errors = [
        DefinitionError(flaw.what, place=f"{shown(name)}:{flaw.line}", fix=flaw.fix)
        for flaw in wrong[:MOST_TOLD]
    ]
    if len(wrong) > MOST_TOLD:
        errors.append(DefinitionError(f"and {len(wrong) - MOST_TOLD} more", place=shown(name)))
    return join_errors(errors)


def join_errors(errors: list[DefinitionError]) -> DefinitionError:
    """One error that says what all of them say."""
    if len(errors) == 1:
        return errors[0]
    each = tuple(problem for error in errors for problem in error.problems)
    return DefinitionError("\n".join(str(error) for error in errors), problems=each)


def shown(file: str) -> str:
    """A file's name as messages have it."""
    return file if file.isprintable() else ascii(file)
