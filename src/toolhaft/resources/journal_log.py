"""The text format of a journal: the paths that a call claims, and how to undo each change."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from hmac import compare_digest
from typing import Final, Literal, NamedTuple, cast, get_args

from toolhaft.errors import FilesystemError
from toolhaft.resources.paths import Parts, join, locate

ChangeKind = Literal["make", "replace", "append", "remove", "mkdir"]
"""A file created, replaced or extended, a file or directory removed, a directory created."""
_KINDS: Final = get_args(ChangeKind)


class FileEnd(NamedTuple):
    """A file before something is appended to it."""

    inode: int
    size_bytes: int
    modified_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One change; its number is in the names of the files that the journal keeps for it."""

    number: int
    kind: ChangeKind
    parts: Parts
    end: FileEnd | None = None
    """Of the file that was extended."""


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
    def aside(self) -> str:
        """The log of an unknown writer, after it was renamed: it is not undone automatically."""
        return f"{self.key}.aside"

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

    def __bool__(self) -> bool:
        return bool(self._paths)

    def update(self, other: Claims) -> None:
        """Add all paths of other claims."""
        self._paths |= other._paths
        self._above |= other._above


class JournalSeal:
    """Makes the code of each line: from the user's key, the root directory, the journal and the place.

    The root counts by its inode: devices may get other numbers when the machine starts again.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes, *, root: int, journal: str) -> None:
        self._key = blake2b(f"{root}/{journal}".encode(), key=key, digest_size=32).digest()

    def code(self, text: bytes, at: int) -> bytes:
        """The code of a line at an offset."""
        return blake2b(at.to_bytes(8) + text, key=self._key, digest_size=16).hexdigest().encode()

    def lines(self, texts: Sequence[bytes], at: int) -> bytes:
        """Lines with their codes, to be written at an offset."""
        lines: list[bytes] = []
        for text in texts:
            lines.append(b"%b %b\n" % (self.code(text, at), text))
            at += len(lines[-1])
        return b"".join(lines)


@dataclass(slots=True, kw_only=True)
class JournalLog:
    """The content of a log."""

    claims: Claims = field(default_factory=Claims)
    changes: dict[int, FileChange] = field(default_factory=dict[int, FileChange])
    """In the order in which they were made, without those already undone."""
    waiting: dict[Parts, int] = field(default_factory=dict[Parts, int])
    """The paths that the call waits for, and since when, in nanoseconds."""
    is_ours: bool = True
    """False if the first line does not have the right code."""


def claim_line(parts: Parts) -> bytes:
    """The text of the line that claims a path."""
    return _line("claim", join(parts))


def wait_line(parts: Parts, since_ns: int) -> bytes:
    """The text of the line that queues for a path."""
    return _line("wait", join(parts), since_ns)


def give_up_line() -> bytes:
    """The text of the line that ends all waiting."""
    return _line("give_up")


def change_line(change: FileChange) -> bytes:
    """The text of the line that records how to undo a change."""
    return _line(change.kind, join(change.parts), change.number, *(change.end or ()))


def undone_line(changes: Iterable[FileChange]) -> bytes:
    """The text of the line that marks changes as undone."""
    return _line("undone", *(change.number for change in changes))


def read_log(data: bytes, seal: JournalSeal | None) -> JournalLog:
    """Parse a log up to its first line that is incomplete, or has the wrong code.

    A line is on disk before its change is made, so the change of an incomplete line was never made. Without a
    seal, codes are not checked.
    """
    log = JournalLog()
    at = 0
    for line in data.split(b"\n")[:-1]:
        code, _, text = line.partition(b" ")
        if seal is not None and not compare_digest(code, seal.code(text, at)):
            log.is_ours = at > 0
            break
        try:
            _read_line(text, log)
        except (ValueError, FilesystemError, RecursionError):
            break
        at += len(line) + 1
    return log


def _line(*values: str | int) -> bytes:
    return json.dumps(values, separators=(",", ":")).encode()


def _read_line(text: bytes, log: JournalLog) -> None:
    match cast("list[object]", json.loads(text)):
        case ["claim", str(path)]:
            log.claims.add(_parts(path))
        case ["undone", *numbers]:
            for number in numbers:
                log.changes.pop(cast("int", number), None)
        case ["wait", str(path), int(since_ns)]:
            log.waiting.setdefault(_parts(path), since_ns)
        case ["give_up"]:
            log.waiting.clear()
        case ["append", str(path), int(number), int(inode), int(size), int(modified_ns)]:
            end = FileEnd(inode, size, modified_ns)
            log.changes[number] = FileChange(number=number, kind="append", parts=_parts(path), end=end)
        case [str(kind), str(path), int(number)] if kind in _KINDS and kind != "append":
            log.changes[number] = FileChange(number=number, kind=cast("ChangeKind", kind), parts=_parts(path))
        case _:
            raise ValueError(text)


def _parts(path: str) -> Parts:
    # validated like the path of a caller: a folder from elsewhere may contain a forged log
    parts = locate(path, ())
    if not parts:
        raise ValueError(path)
    return parts
