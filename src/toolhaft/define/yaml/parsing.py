"""Makes tools from YAML texts, and reports the problems of a text by line."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final, Literal

from toolhaft.define.yaml.definition import read_definition
from toolhaft.define.yaml.document import read_document
from toolhaft.define.yaml.events import YamlProblem
from toolhaft.define.yaml.suspicious import invisible_problems, suspicious_parts
from toolhaft.define.yaml.tool import YamlTool
from toolhaft.errors import DefinitionError

_MAX_REPORTED: Final = 100
"""Problems that are reported for one file."""
MAX_FILE_SIZE: Final = 1_000_000
"""In bytes for a file, in characters for a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintProblem:
    """One problem of a file: an error prevents loading, a warning does not."""

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
    """Make the tool that a text defines.

    Args:
        text: the content of a YAML file.
        name: the file name for messages.
        folder: leads to the `.env` and working directory; None for the current directory.

    Raises:
        DefinitionError: with every problem of the text, one per line, and separately in `problems`.
    """
    problems: list[YamlProblem] = []
    place = None if folder is None else os.fspath(folder)
    made = (
        None if _is_too_long(text, problems) else make_tool(text, f"file {printable(name)}", problems, place)
    )
    if made is None:
        raise error_of(name, problems)
    return made


def lint_text(text: str, name: str = "tool.yaml") -> list[LintProblem]:
    """Return every problem of a text, errors and warnings, by line."""
    problems: list[YamlProblem] = []
    if not _is_too_long(text, problems):
        make_tool(text, f"file {printable(name)}", problems, None)
    return lint_problems(name, problems)


def _is_too_long(text: str, problems: list[YamlProblem]) -> bool:
    """Add a problem and return True for a text over the limit."""
    if len(text) <= MAX_FILE_SIZE:
        return False
    fix = f"keep it within {MAX_FILE_SIZE:,} characters"
    problems.append(YamlProblem(line=1, what="the text is larger than 1 MB", fix=fix))
    return True


def lint_problems(name: str, problems: list[YamlProblem]) -> list[LintProblem]:
    """Convert problems to those that lint reports, sorted by line."""
    return [
        LintProblem(
            place=f"{printable(name)}:{problem.line}",
            line=problem.line,
            problem=problem.what,
            fix=problem.fix,
            level=problem.level,
        )
        for problem in sorted(problems, key=lambda problem: problem.line)
    ]


def make_tool(
    text: str, source: str, problems: list[YamlProblem], folder: str | None
) -> YamlTool[dict[str, object], object] | None:
    """Make the tool that a text defines; None if it has errors. All problems are appended to `problems`."""
    root, found = read_document(text)
    problems += found
    if root is None:
        return None
    problems += invisible_problems(text, root)
    definition = read_definition(root, problems)
    if any(problem.level == "error" for problem in problems):
        return None
    try:
        made: YamlTool[dict[str, object], object] = YamlTool(
            definition=definition, text=text, source=source, folder=folder
        )
    except DefinitionError as error:
        key = "examples" if error.place.startswith("example") else error.place
        lines = definition.lines
        line = lines.get(key, lines.get(key.partition(".")[0], root.line))
        fix = error.fix or f"correct {key}, or leave it out"
        problems.append(YamlProblem(line=line, what=f"{error.place}: {error.problem}", fix=fix))
        return None
    problems += suspicious_parts(definition.fields, made.hosts, definition.input_schema, definition.lines)
    return made


def error_of(name: str, problems: list[YamlProblem]) -> DefinitionError:
    """Make one error from all the problems of a text."""
    wrong = sorted(
        (problem for problem in problems if problem.level == "error"), key=lambda problem: problem.line
    )
    errors = [
        DefinitionError(problem.what, place=f"{printable(name)}:{problem.line}", fix=problem.fix)
        for problem in wrong[:_MAX_REPORTED]
    ]
    if len(wrong) > _MAX_REPORTED:
        errors.append(DefinitionError(f"and {len(wrong) - _MAX_REPORTED} more", place=printable(name)))
    return join_errors(errors)


def join_errors(errors: list[DefinitionError]) -> DefinitionError:
    """Join several errors into one."""
    if len(errors) == 1:
        return errors[0]
    each = tuple(problem for error in errors for problem in error.problems)
    return DefinitionError("\n".join(str(error) for error in errors), problems=each)


def printable(file: str) -> str:
    """Escape a file name for a message."""
    return file if file.isprintable() else ascii(file)
