"""Finds and kills processes by their place in the tree of processes.

Knows /proc where there is one; does not know what the processes do.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_PARENT: Final = 1
_SESSION: Final = 3
"""Places in /proc/<pid>/stat, counted from behind the name."""


def children_file(pid: int) -> Path:
    """Where Linux lists the children of a process that has one thread."""
    return Path(f"/proc/{pid}/task/{pid}/children")


def children(pid: int) -> list[int]:
    """The processes that a process has started or inherited; none where the system does not tell."""
    found: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (thread / "children").read_text(encoding="ascii").split()]
    except OSError:  # a kernel without these files, or the process is gone
        return [child for child, parent in _stats(_PARENT) if parent == pid]
    return found


def kill_below(pid: int) -> None:
    """Kill every process below one, from the top down, so that no parent can replace a child."""
    found = children(pid)
    for child in found:
        kill(child)
        found += children(child)


def kill_session(session: int) -> None:
    """Kill every process of a session."""
    for pid, of in _stats(_SESSION):
        if of == session:
            kill(pid)


def kill(pid: int) -> None:
    """Kill one process, if it is there."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_group(group: int) -> None:
    """Kill every process of a group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _stats(place: int) -> Iterator[tuple[int, int]]:
    """Every process with one of its numbers."""
    with suppress(OSError):  # no /proc
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with suppress(OSError):  # gone meanwhile
                    stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
                    yield int(folder.name), int(stat.rpartition(")")[2].split()[place])
