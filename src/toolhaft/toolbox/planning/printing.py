"""Prints a plan: drawn in a terminal, as Markdown elsewhere.

Does not know how either is made.
"""

from __future__ import annotations

import sys
from typing import TextIO

from toolhaft.toolbox.planning.plan import Plan


def print_plan(plan: Plan, file: TextIO | None = None) -> None:
    """Print a plan to a file, the standard output by default.

    A terminal gets colours where rich is installed (`pip install 'toolhaft[cli]'`), anything else Markdown.
    """
    out = sys.stdout if file is None else file
    if out.isatty():
        try:
            from toolhaft.toolbox.planning.terminal import Console  # noqa: PLC0415 -- rich, for those who have it
        except ImportError:
            pass
        else:
            Console(file=out).print(plan)
            return
    out.write(f"{plan.render()}\n")
