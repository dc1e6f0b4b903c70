"""Kills a program with everything that it has started, wherever that has gone.

Knows /proc where there is one, and process groups elsewhere; does not know what the processes do.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Final, NamedTuple

MARK: Final = "TOOLHAFT_RUN"
"""The variable that everything a program starts inherits, and is found by."""
_ROUNDS: Final = 50


class _Seen(NamedTuple):
    pid: int
    parent: int
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
    for _ in range(_ROUNDS):
        found = [seen.pid for seen in _members(root, sign) if not seen.is_dead]
        if not found:
            return
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        sleep(0.001)  # the kernel takes a moment, and the next round is for what was started meanwhile


def _members(root: int, sign: bytes) -> list[_Seen]:
    table = {seen.pid: seen for seen in _table()}
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
        data = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # gone, or of another user
        return False
    return data.startswith(sign) or b"\0" + sign in data


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
                    session=int(parts[3]),
                    is_dead=parts[0] in "ZX",
                    started=int(parts[19]),
                )
