"""Kills processes and everything that they started; every other module that kills processes uses this one.

On Linux the processes are found in /proc. Elsewhere only process groups are killed.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Final, NamedTuple

MARK_VARIABLE: Final = "TOOLHAFT_RUN"
"""The environment variable by which `kill_program` finds everything that a program started."""
LOAD_FILE: Final = "/proc/loadavg"
"""Its last number is the process that was started last."""
_MAX_ROUNDS: Final = 50
_MAX_READS: Final = 50
_READ_BYTES: Final = 131_072
_SEARCH_S: Final = 1.0
"""How long to search for processes that keep starting others."""
_SHORT_LIVED_S: Final = 0.05
"""How long to search when new processes end before they can be read: they may belong to another program."""


class _Process(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    is_dead: bool
    started: int


def kill(pid: int) -> None:
    """Kill one process, if it exists."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_group(group: int) -> None:
    """Kill every process of a group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def kill_session(session: int) -> None:
    """Kill every process of a session."""
    for process in _processes():
        if process.session == session:
            kill(process.pid)


def kill_descendants(pid: int) -> None:
    """Kill every process below one, parents before their children, so that no parent can replace a child."""
    found = children(pid)
    for child in found:
        kill(child)
        found += children(child)


def children_file(pid: int) -> Path:
    """Where Linux lists the children of a single-threaded process."""
    return Path(f"/proc/{pid}/task/{pid}/children")


def children(pid: int) -> list[int]:
    """The child processes of a process, adopted orphans included; empty on systems without /proc."""
    found: list[int] = []
    try:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += [int(child) for child in (thread / "children").read_text(encoding="ascii").split()]
    except OSError:  # a kernel without these files, or the process has ended
        return [process.pid for process in _processes() if process.parent == pid]
    return found


def kill_program(root: int, mark: str) -> None:
    """Kill a program, its session, its descendants, and all processes whose environment has its mark.

    The program must be the leader of its group and session, and have `mark` in MARK_VARIABLE. Searches
    repeatedly until nothing is found, because a process may start others while it is being killed.
    """
    kill_group(root)
    entry = f"{MARK_VARIABLE}={mark}".encode()
    end = monotonic() + _SEARCH_S
    for _ in range(_MAX_ROUNDS):
        table = {process.pid: process for process in _processes()}
        found = [process for process in _members(table, root, entry) if not process.is_dead]
        for process in found:
            _kill_with_group(process.pid, process.group)
        if not found and not _kill_newest(set(table), entry, end):
            return
        sleep(0.001)  # the kernel needs a moment; the next round finds what was started meanwhile


def _kill_with_group(pid: int, group: int) -> None:
    """Kill a process and its group; the group dies as one, so none of it can escape by forking."""
    kill(pid)
    if group not in (0, os.getpgrp()):  # neither can be the group of a program
        kill_group(group)


def _members(table: Mapping[int, _Process], root: int, entry: bytes) -> list[_Process]:
    """The processes of a program: marked ones, its session, and descendants of all these."""
    first = table.get(root)
    since = first.started if first is not None else 0
    # the program cannot have started anything older than itself
    younger = [process for process in table.values() if process.started >= since]
    members = {
        process.pid: process
        for process in younger
        if root in (process.pid, process.session) or _is_marked(process.pid, entry)
    }
    grown = True
    while grown:
        more = [
            process
            for process in younger
            if process.pid not in members and (process.parent in members or process.session in members)
        ]
        members.update((process.pid, process) for process in more)
        grown = bool(more)
    return list(members.values())


def _kill_newest(known: set[int], entry: bytes, end: float) -> bool:
    """Kill a marked process that is younger than the known ones; True if there was one.

    In a chain of processes that each start the next one and end, none lives long enough for a whole round.
    A new process that ends before it can be read may belong to such a chain, so the search continues.
    """
    short_end = min(monotonic() + _SHORT_LIVED_S, end)
    reads = 1
    while True:
        missed = False
        for pid in _new_processes(known, reads):
            known.add(pid)
            is_member = _kill_if_marked(pid, entry)
            if is_member:
                return True
            missed = missed or is_member is None
        if not missed or monotonic() >= short_end:
            return False
        reads = _MAX_READS


def _new_processes(known: set[int], reads: int) -> Iterator[int]:
    """The processes that are not known: first the newest one, read several times, then all of them."""
    for _ in range(reads):
        pid = _newest_process()
        if pid is not None and pid not in known:
            yield pid
    yield from sorted(set(_pids()) - known, reverse=True)


def _newest_process() -> int | None:
    """The process that was started last; much faster to read than the list of all processes."""
    try:
        return int(_read_file(LOAD_FILE).split()[4])
    except (OSError, ValueError, IndexError):
        return None


def _kill_if_marked(pid: int, entry: bytes) -> bool | None:
    """Kill a process if it has the mark; None if it has ended already."""
    try:
        group = os.getpgid(pid)
        is_marked = _has_entry(_read_file(f"/proc/{pid}/environ"), entry)
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:  # it belongs to another user
        return False
    if is_marked:
        _kill_with_group(pid, group)
    return is_marked


def _is_marked(pid: int, entry: bytes) -> bool:
    try:
        return _has_entry(_read_file(f"/proc/{pid}/environ"), entry)
    except OSError:  # it has ended, or belongs to another user
        return False


def _has_entry(environ: bytes, entry: bytes) -> bool:
    return environ.startswith(entry) or b"\0" + entry in environ


def _read_file(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)  # not `Path.read_bytes`: some processes end within microseconds
    try:
        data = b""
        while piece := os.read(file, _READ_BYTES):
            data += piece
        return data
    finally:
        os.close(file)


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 -- only the names, hundreds of them
    except OSError:  # no /proc
        return []


def _processes() -> Iterator[_Process]:
    for pid in _pids():
        with suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            stat = _read_file(f"/proc/{pid}/stat")
            fields = stat.rpartition(b")")[2].split()  # the name before it may hold spaces and parentheses
            yield _Process(
                pid=pid,
                parent=int(fields[1]),
                group=int(fields[2]),
                session=int(fields[3]),
                is_dead=fields[0] in (b"Z", b"X"),
                started=int(fields[19]),
            )
