"""`doctor`: looks at everything a project needs, and tells all that is wrong at once.

Knows how findings are told; what is looked at stands next door.
"""

from __future__ import annotations

from typing import Final

import click

from toolhaft.cli import output
from toolhaft.cli.exits import Exit
from toolhaft.cli.shell import Shell, json_option, pass_shell

_WORST_FIRST: Final = (Exit.CONFIGURATION, Exit.NETWORK, Exit.PERMISSION, Exit.FAILED)
_MARKS: Final = {"ok": "ok", "warning": "warn", "problem": "PROBLEM"}


@click.command(
    "doctor",
    help=(
        "Check the installation, the project and the platform. Exits with 3 for a wrong setting, 4 for a"
        " platform out of reach, 5 for a key that it refuses, 1 for tools that cannot work, else with 0."
    ),
)
@json_option
@pass_shell
def command(shell: Shell, *, as_json: bool) -> int:
    """Print what was found."""
    from toolhaft.cli.doctor_checks import findings  # noqa: PLC0415 -- not for help

    found = list(findings(shell))
    exits = {one.exit for one in found if one.state == "problem"}
    code = next((worst for worst in _WORST_FIRST if worst in exits), Exit.OK)
    if as_json:
        output.say_json(
            {"ok": code == Exit.OK, "exit": int(code), "findings": [one.to_json(shell) for one in found]}
        )
        return code
    for one in found:
        output.say(f"{_MARKS[one.state]:8}{one.about}: {output.show(one.detail)}")
        if one.fix:
            output.say(f"{'':8}  try: {output.show(one.fix_in(shell))}")
    count = sum(one.state == "problem" for one in found)
    output.note(f"{count} problem{'' if count == 1 else 's'}" if count else "no problems")
    return code
