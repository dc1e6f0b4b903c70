"""Prints listings of tools as rows, and what the catalog could not read.

Does not know how the tools were found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from toolhaft.cli.errors import tell
from toolhaft.cli.output import note, show, to_json
from toolhaft.cli.shell import Shell
from toolhaft.errors import DefinitionError, ToolhaftError

TYPE_CHECKING = False  # a listing's room is not needed to print one
if TYPE_CHECKING:
    from toolhaft.catalog.listing import Listing


_FILE: Final = re.compile(r"\.ya?ml(:[0-9]+)?$")


def say_rows(shell: Shell, entries: Sequence[Listing]) -> None:
    """A table of the tools."""
    shell.table(
        ["ID", "STORE", "SHARE", "TAGS", "DESCRIPTION"],
        [
            [entry.id, _store(entry), entry.share, ", ".join(entry.tags), entry.description]
            for entry in entries
        ],
    )


def _store(entry: Listing) -> str:
    state = "" if entry.is_active else ", not active"
    hidden = f", hides {'; '.join(entry.shadows)}" if entry.shadows else ""
    return f"{entry.store}{state}{hidden}"


def warn_of_problems(shell: Shell, *, as_json: bool) -> int:
    """Tell what could not be read, while the rest could.

    Returns the exit code: a platform that could not be asked is a failure, since nobody knows what it has;
    a bad file is the business of `tool check`.
    """
    problems = shell.catalog.problems
    code = 0
    for problem in problems:
        told = None if isinstance(problem, DefinitionError) else tell(problem)
        first, *rest = str(problem).splitlines()
        text = f"{first} (and {len(rest)} more)" if rest else first
        if told is not None:
            code = max(code, told.exit)
        if not as_json:
            note(show(f"warning: {text}"))
        elif told is None:
            note(to_json({"warning": text}))
        else:
            note(to_json({"error": text, "fix": shell.command("doctor"), "exit": int(told.exit)}))
    if not as_json:
        for command in sorted({_next_after(problem) for problem in problems}, reverse=True):
            shell.next(command)
    return code


def _next_after(problem: ToolhaftError) -> str:
    """The command that tells more: `check` knows files only."""
    is_file = isinstance(problem, DefinitionError) and _FILE.search(problem.problems[0].place)
    return "tool check" if is_file else "doctor"
