"""What a journal's log says: which paths are claimed, and how each change is undone.

Knows text only; files are written and read elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, cast, get_args
from zlib import crc32

from toolhaft.errors import FilesystemError
from toolhaft.resources.claims import Claims
from toolhaft.resources.paths import Parts, join, locate

ChangeKind = Literal["make", "replace", "remove", "mkdir"]
"""A file made, a file replaced, a file or directory removed, a directory made."""

_KINDS: Final = get_args(ChangeKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change to the tree; its number names the files that the journal keeps for it."""

    number: int
    kind: ChangeKind
    parts: Parts


class Store(NamedTuple):
    """Where a journal keeps its files: a directory, and what their names begin with there."""

    home: int
    """The handle of the directory, which all journals share."""
    key: str

    @property
    def log(self) -> str:
        """What is to be undone."""
        return f"{self.key}.log"

    @property
    def void(self) -> str:
        """The log, once nothing is to be undone any more."""
        return f"{self.key}.void"

    def new(self, change: Change) -> str:
        """The content that a change puts in place."""
        return f"{self.key}.new-{change.number}"

    def old(self, change: Change) -> str:
        """What was there before."""
        return f"{self.key}.old-{change.number}"


@dataclass(slots=True, kw_only=True)
class Log:
    """All that a log says."""

    claims: Claims = field(default_factory=Claims)
    changes: dict[int, Change] = field(default_factory=dict[int, Change])
    """In the order in which they were made, without those that were undone since."""


def claim_line(parts: Parts) -> bytes:
    """The line that says who wants to change a path."""
    return _line("claim", join(parts))


def change_line(change: Change) -> bytes:
    """The line that says how to undo a change."""
    return _line(change.kind, join(change.parts), change.number)


def undone_line(changes: Iterable[Change]) -> bytes:
    """The line that says which changes are undone already."""
    return _line("undone", *(change.number for change in changes))


def read_log(data: bytes) -> Log:
    """What a log says up to its first line that is not whole.

    A line is made durable before its change is made: what a torn line would have told was never done.
    """
    log = Log()
    lines = data.split(b"\n")
    for line in lines[:-1]:
        try:
            _read_line(line, log)
        except (ValueError, FilesystemError):
            break
    return log


def _line(*said: str | int) -> bytes:
    text = json.dumps(said, separators=(",", ":")).encode()
    return b"%08x %b\n" % (crc32(text), text)


def _read_line(line: bytes, log: Log) -> None:
    if int(line[:8], 16) != crc32(line[9:]):
        raise ValueError(line)
    match cast("list[object]", json.loads(line[9:])):
        case ["claim", str(path)]:
            log.claims.add(_parts(path))
        case ["undone", *numbers]:
            for number in numbers:
                log.changes.pop(cast("int", number), None)
        case [str(kind), str(path), int(number)] if kind in _KINDS:
            log.changes[number] = Change(number=number, kind=cast("ChangeKind", kind), parts=_parts(path))
        case _:
            raise ValueError(line)


def _parts(path: str) -> Parts:
    # read as strictly as a caller's: a folder from elsewhere may have a log that somebody made up
    parts = locate(path, ())
    if not parts:
        raise ValueError(path)
    return parts
