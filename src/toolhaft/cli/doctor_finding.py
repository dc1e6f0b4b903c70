"""One thing that `doctor` looked at, and what came of it.

Does not know what there is to look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from toolhaft.cli.exits import Exit
from toolhaft.cli.shell import Shell

State = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    about: str
    detail: str
    state: State = "ok"
    fix: str = ""
    is_command: bool = False
    """True if `fix` is a command of this program, without its name."""
    exit: Exit = Exit.FAILED
    """What a problem of this kind ends the program with."""

    def to_json(self, shell: Shell) -> dict[str, object]:
        """The finding for programs."""
        return {"about": self.about, "state": self.state, "detail": self.detail, "fix": self.fix_in(shell)}

    def fix_in(self, shell: Shell) -> str:
        """What to do, as it is typed."""
        return shell.command(self.fix) if self.is_command and self.fix else self.fix
