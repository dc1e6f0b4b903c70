"""`doctor`: checks everything that a project needs, and prints all findings at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import click

from toolhaft.cli import output
from toolhaft.cli.errors import Exit
from toolhaft.cli.shell import Shell, json_option, pass_shell

State = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    about: str
    detail: str
    state: State = "ok"
    fix: str = ""
    is_command: bool = False
    """True if `fix` is a command of this program, without its name."""
    exit: Exit = Exit.FAILED
    """The exit code for a problem of this kind."""

    def to_json(self, shell: Shell) -> dict[str, object]:
        """The finding as JSON."""
        return {"about": self.about, "state": self.state, "detail": self.detail, "fix": self.fix_for(shell)}

    def fix_for(self, shell: Shell) -> str:
        """What to do; a command with the program's name."""
        return shell.command_line(self.fix) if self.is_command and self.fix else self.fix


_EXIT_PRIORITY: Final = (Exit.CONFIGURATION, Exit.NETWORK, Exit.PERMISSION, Exit.FAILED)
_MARKS: Final = {"ok": "ok", "warning": "warn", "problem": "PROBLEM"}


@click.command(
    "doctor",
    help=(
        "Check the installation, the project and the platform. Exits with 3 for a wrong setting, 4 for an"
        " unreachable platform, 5 for a refused key, 1 for tools that cannot work, else with 0."
    ),
)
@json_option
@pass_shell
def command(shell: Shell, *, as_json: bool) -> int:
    """Print the findings."""
    from toolhaft.cli.doctor_checks import findings

    found = list(findings(shell))
    exits = {one.exit for one in found if one.state == "problem"}
    code = next((code for code in _EXIT_PRIORITY if code in exits), Exit.OK)
    if as_json:
        output.print_json(
            {"ok": code == Exit.OK, "exit": int(code), "findings": [one.to_json(shell) for one in found]}
        )
        return code
    for one in found:
        output.print_data(f"{_MARKS[one.state]:8}{one.about}: {output.printable(one.detail)}")
        if one.fix:
            output.print_data(f"{'':8}  try: {output.printable(one.fix_for(shell))}")
    count = sum(one.state == "problem" for one in found)
    output.print_note(output.count_of(count, "problem") if count else "no problems")
    return code
