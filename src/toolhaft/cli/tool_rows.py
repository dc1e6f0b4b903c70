"""Prints listings of tools as rows, and what the catalog could not read.

Does not know how the tools were found.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolhaft.cli.errors import tell
from toolhaft.cli.output import note, show, to_json
from toolhaft.cli.shell import Shell
from toolhaft.errors import DefinitionError

TYPE_CHECKING = False  # a listing's room is not needed to print one
if TYPE_CHECKING:
    from toolhaft.catalog.listing import Listing


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
    if not as_json and any(isinstance(problem, DefinitionError) for problem in problems):
        shell.next("tool check")
    return code
