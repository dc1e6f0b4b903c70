"""Kills a program with everything that it has started, wherever that has gone.

Knows /proc where there is one, and process groups elsewhere; does not know what the processes do.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Final, NamedTuple

MARK: Final = "TOOLHAFT_RUN"
"""The variable that everything a program starts inherits, and is found by."""
LAST_BORN: Final = "/proc/loadavg"
_ROUNDS: Final = 50
_PIECE: Final = 131_072
_GLANCES: Final = 50
_HUNT_S: Final = 1.0
"""For what is found again and again."""
_DOUBT_S: Final = 0.05
"""For what is gone each time before it can be looked at: it may be a stranger's, on a busy machine."""


class _Seen(NamedTuple):
    pid: int
    parent: int
    group: int
    session: int
    is_dead: bool
    started: int


def kill_all(root: int, mark: str) -> None:
    """Kill the program, its session, what is below it, and whatever carries its mark.

    In rounds, until nothing is found any more: what is started while others die is found in the next.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(root, signal.SIGKILL)
    sign = f"{MARK}={mark}".encode()
    end = monotonic() + _HUNT_S
    for _ in range(_ROUNDS):
        table = {seen.pid: seen for seen in _table()}
        found = [seen for seen in _members(table, root, sign) if not seen.is_dead]
        for seen in found:
            _kill(seen.pid, seen.group)
        if not found and not _hunt(set(table), sign, end):
            return
        sleep(0.001)  # the kernel takes a moment, and the next round is for what was started meanwhile


def _kill(pid: int, group: int) -> None:
    """Kill a process and its group, which is killed at once: none of it can slip away by forking."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)
    if group not in (0, os.getpgrp()):  # neither of which a program can have
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _hunt(known: set[int], sign: bytes, end: float) -> bool:
    """True if something was found among what was born since the processes that are known.

    A chain of processes that each start the next one and end has none that is there for a whole round; what
    is gone before it could be looked at may be of such a chain, and is worth another look.
    """
    doubt_end = min(monotonic() + _DOUBT_S, end)
    glances = 1
    while True:
        missed = False
        for pid in _born_since(known, glances):
            known.add(pid)
            is_ours = _judge(pid, sign)
            if is_ours:
                return True
            missed = missed or is_ours is None
        if not missed or monotonic() >= doubt_end:
            return False
        glances = _GLANCES


def _born_since(known: set[int], glances: int) -> Iterator[int]:
    """Processes that are not known: a few times the very last, then all that are there."""
    for _ in range(glances):
        pid = _last_born()
        if pid is not None and pid not in known:
            yield pid
    yield from sorted(_pids() - known, reverse=True)


def _last_born() -> int | None:
    """The process that was started last; the system says so, which is much faster than to list them all."""
    try:
        file = os.open(LAST_BORN, os.O_RDONLY)
    except OSError:
        return None
    try:
        return int(os.read(file, 200).split()[4])
    except (OSError, ValueError, IndexError):
        return None
    finally:
        os.close(file)


def _judge(pid: int, sign: bytes) -> bool | None:
    """True for a process of the program, which is killed; None for one that is gone."""
    try:
        group = os.getpgid(pid)
        is_ours = _is_signed(_environ(pid), sign)
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:  # of another user
        return False
    if is_ours:
        _kill(pid, group)
    return is_ours


def _pids() -> set[int]:
    try:
        return {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208 -- names for names
    except OSError:  # no /proc
        return set()


def _members(table: Mapping[int, _Seen], root: int, sign: bytes) -> list[_Seen]:
    first = table.get(root)
    since = first.started if first is not None else 0
    # nothing older than the program can have been started by it
    younger = [seen for seen in table.values() if seen.started >= since]
    members = {seen.pid: seen for seen in younger if root in (seen.pid, seen.session) or _has(seen.pid, sign)}
    grown = True
    while grown:
        more = [
            seen
            for seen in younger
            if seen.pid not in members and (seen.parent in members or seen.session in members)
        ]
        members.update((seen.pid, seen) for seen in more)
        grown = bool(more)
    return list(members.values())


def _has(pid: int, sign: bytes) -> bool:
    try:
        return _is_signed(_environ(pid), sign)
    except OSError:  # gone, or of another user
        return False


def _environ(pid: int) -> bytes:
    file = os.open(
        f"/proc/{pid}/environ", os.O_RDONLY
    )  # as directly as can be: some are gone the next moment
    try:
        data = b""
        while piece := os.read(file, _PIECE):
            data += piece
        return data
    finally:
        os.close(file)


def _is_signed(environ: bytes, sign: bytes) -> bool:
    return environ.startswith(sign) or b"\0" + sign in environ


def _table() -> Iterator[_Seen]:
    with suppress(OSError):  # no /proc
        for name in os.listdir("/proc"):  # noqa: PTH208 -- names for names, hundreds of them
            if not name.isdigit():
                continue
            with suppress(OSError, ValueError, IndexError):  # gone meanwhile
                stat = Path(f"/proc/{name}/stat").read_text(encoding="utf-8", errors="replace")
                parts = stat.rpartition(")")[2].split()
                yield _Seen(
                    pid=int(name),
                    parent=int(parts[1]),
                    group=int(parts[2]),
                    session=int(parts[3]),
                    is_dead=parts[0] in "ZX",
                    started=int(parts[19]),
                )
