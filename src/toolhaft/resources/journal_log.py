"""The text format of a journal: the paths that a call claims, and how to undo each change."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, cast, get_args
from zlib import crc32

from toolhaft.errors import FilesystemError
from toolhaft.resources.paths import Parts, join, locate

ChangeKind = Literal["make", "replace", "remove", "mkdir"]
"""A file created, a file replaced, a file or directory removed, a directory created."""
_KINDS: Final = get_args(ChangeKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One change; its number is in the names of the files that the journal keeps for it."""

    number: int
    kind: ChangeKind
    parts: Parts


class JournalFiles(NamedTuple):
    """The directory of a journal, and the names of its files there."""

    directory: int
    """The handle of the directory, which all journals share."""
    key: str
    """The random prefix of the file names of this journal."""

    @property
    def log(self) -> str:
        """The log of changes to undo."""
        return f"{self.key}.log"

    @property
    def void(self) -> str:
        """The log after it was renamed, which means that nothing is to be undone."""
        return f"{self.key}.void"

    def new(self, change: FileChange) -> str:
        """The new content of a change."""
        return f"{self.key}.new-{change.number}"

    def old(self, change: FileChange) -> str:
        """The old content of a change."""
        return f"{self.key}.old-{change.number}"


class Claims:
    """Paths that a call is changing. Two claims conflict if the paths are equal or one contains the other."""

    __slots__ = ("_above", "_paths")

    def __init__(self) -> None:
        self._paths: set[Parts] = set()
        self._above: set[Parts] = set()

    def add(self, parts: Parts) -> None:
        """Claim a path."""
        self._paths.add(parts)
        self._above.update(parts[:end] for end in range(1, len(parts)))

    def covers(self, parts: Parts) -> bool:
        """True if the path or a directory above it is claimed."""
        return any(parts[:end] in self._paths for end in range(1, len(parts) + 1))

    def conflicts(self, parts: Parts) -> bool:
        """True if a claim to the path would conflict with one of these."""
        return parts in self._above or self.covers(parts)

    def update(self, other: Claims) -> None:
        """Add all paths of other claims."""
        self._paths |= other._paths
        self._above |= other._above


@dataclass(slots=True, kw_only=True)
class JournalLog:
    """The content of a log."""

    claims: Claims = field(default_factory=Claims)
    changes: dict[int, FileChange] = field(default_factory=dict[int, FileChange])
    """In the order in which they were made, without those already undone."""


def claim_line(parts: Parts) -> bytes:
    """The line that claims a path."""
    return _line("claim", join(parts))


def change_line(change: FileChange) -> bytes:
    """The line that records how to undo a change."""
    return _line(change.kind, join(change.parts), change.number)


def undone_line(changes: Iterable[FileChange]) -> bytes:
    """The line that marks changes as undone."""
    return _line("undone", *(change.number for change in changes))


def read_log(data: bytes) -> JournalLog:
    """Parse a log up to its first incomplete line.

    A line is on disk before its change is made, so the change of an incomplete line was never made.
    """
    log = JournalLog()
    lines = data.split(b"\n")
    for line in lines[:-1]:
        try:
            _read_line(line, log)
        except (ValueError, FilesystemError):
            break
    return log


def _line(*values: str | int) -> bytes:
    text = json.dumps(values, separators=(",", ":")).encode()
    return b"%08x %b\n" % (crc32(text), text)


def _read_line(line: bytes, log: JournalLog) -> None:
    if int(line[:8], 16) != crc32(line[9:]):
        raise ValueError(line)
    match cast("list[object]", json.loads(line[9:])):
        case ["claim", str(path)]:
            log.claims.add(_parts(path))
        case ["undone", *numbers]:
            for number in numbers:
                log.changes.pop(cast("int", number), None)
        case [str(kind), str(path), int(number)] if kind in _KINDS:
            log.changes[number] = FileChange(number=number, kind=cast("ChangeKind", kind), parts=_parts(path))
        case _:
            raise ValueError(line)


def _parts(path: str) -> Parts:
    # validated like the path of a caller: a folder from elsewhere may contain a forged log
    parts = locate(path, ())
    if not parts:
        raise ValueError(path)
    return parts
