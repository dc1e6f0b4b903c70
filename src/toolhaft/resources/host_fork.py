"""The changes of one fork of the host's files: made, kept or taken back under one lock.

Knows who may change what and until when; how a change is made is not known here.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from stat import S_ISDIR
from threading import Lock

from toolhaft.core.ports import WriteMode
from toolhaft.errors import FilesystemError
from toolhaft.resources import refusals
from toolhaft.resources.changes import Changes, Place, check_write, survey, survey_to_make
from toolhaft.resources.claims import Claims
from toolhaft.resources.host_root import HostRoot
from toolhaft.resources.journal import Journal
from toolhaft.resources.log import Change
from toolhaft.resources.paths import Parts
from toolhaft.resources.system import DIRECTORY, opened


class HostFork:
    """One fork; forks of it share its journal and its lock, and know which changes are theirs."""

    __slots__ = ("changes", "claims", "host", "inner", "is_ended", "journal", "lock", "outer")

    def __init__(self, host: HostRoot, outer: HostFork | None = None) -> None:
        self.host = host
        self.outer = outer
        self.is_ended = False
        self.claims: Claims | None = None
        self.changes: list[Change] = []
        self.lock = Lock() if outer is None else outer.lock
        # of the outermost only:
        self.journal: Journal | None = None
        self.inner: list[HostFork] = []

    def write(self, parts: Parts, data: bytes, mode: WriteMode, path: str) -> None:
        """Write a file and make the directories above it."""
        with self.lock:
            self._check_open(path)
            self._check_size(len(data), path)
            check_write(survey_to_make(self.host, parts, path), mode, path)
            with self._changing(parts, path) as changes:
                place = survey_to_make(self.host, parts, path)  # again: before the claim it was anybody's
                check_write(place, mode, path)
                if place.missing:
                    self._claim(place.missing[0], path)
                changes.write(parts, data, mode, place)

    def remove(self, parts: Parts, path: str, *, recursive: bool) -> None:
        """Remove a file or a directory."""
        with self.lock:
            self._check_open(path)
            self._check_remove(survey(self.host, parts, path), parts, path, recursive=recursive)
            with self._changing(parts, path) as changes:
                self._check_remove(survey(self.host, parts, path), parts, path, recursive=recursive)
                changes.remove(parts, recursive=recursive)

    def make_directory(self, parts: Parts, path: str) -> None:
        """Make a directory and those above it."""
        with self.lock:
            self._check_open(path)
            if not parts or _is_directory(survey_to_make(self.host, parts, path), path):
                return
            with self._changing(parts, path) as changes:
                place = survey_to_make(self.host, parts, path)
                if not _is_directory(place, path):
                    directories = (*place.missing, parts)
                    self._claim(directories[0], path)
                    changes.make_directories(directories)

    def commit(self) -> None:
        """Keep the changes: for good, or as changes of the outer fork.

        Raises:
            CallEndedError: where it has ended before.
            FilesystemError: where they could not be kept; they are taken back then.
        """
        with self.lock:
            self._check_open("")
            self.is_ended = True
            self._take_back(self._inner())
            if self.outer is not None:
                self.outer.take_over(self)
            elif self.journal is not None:
                self._keep(self.journal)

    def discard(self) -> None:
        """Take the changes back; safe to repeat.

        Raises:
            FilesystemError: where that failed; it may be repeated, and the next start will.
        """
        with self.lock:
            self.is_ended = True
            self._take_back([self, *self._inner()])
            top = self.top
            if self is top and top.journal is not None:
                if not top.journal.is_lost:
                    top.journal.forget()
                top.journal = None

    def _keep(self, journal: Journal) -> None:
        try:
            journal.keep(self.changes)
        except BaseException as error:
            if not journal.is_done:
                self._take_back([self])
                journal.forget()
            if isinstance(error, OSError):
                why = error.strerror or type(error).__name__
                raise FilesystemError(f"The changes could not be kept, and were taken back: {why}") from error
            raise
        finally:
            if journal.is_done or journal.is_lost:
                self.changes, self.journal = [], None

    @contextmanager
    def _changing(self, parts: Parts, path: str) -> Generator[Changes]:
        """A block that changes one path; what it did is taken back where it fails."""
        mark = len(self.changes)
        journal = self._claim(parts, path)
        try:
            yield Changes(self.host, journal, self.changes, path)
        except BaseException:
            journal.take_back(self.changes[mark:])
            del self.changes[mark:]
            raise

    def _claim(self, parts: Parts, path: str) -> Journal:
        top = self.top
        chain = self.chain()
        for other in top.inner:
            if other not in chain and other.claims is not None and other.claims.meets(parts):
                raise refusals.busy(path)
        if top.journal is None:
            top.journal = Journal(self.host)
        top.journal.claim(parts, path)
        self._claims().add(parts)
        return top.journal

    def _claims(self) -> Claims:
        if self.claims is None:
            self.claims = Claims()
            if self.outer is not None:
                self.top.inner.append(self)
        return self.claims

    def _check_open(self, path: str) -> None:
        journal = self.top.journal
        if (journal is not None and journal.is_lost) or any(fork.is_ended for fork in self.chain()):
            raise refusals.ended(path)

    def _check_size(self, size_bytes: int, path: str) -> None:
        most = self.host.limits.max_file_bytes
        if size_bytes > most:
            raise refusals.too_large_to_write(path, size_bytes, most)

    def _check_remove(self, place: Place, parts: Parts, path: str, *, recursive: bool) -> None:
        if place.facts is None:
            raise refusals.missing(path)
        if recursive or not S_ISDIR(place.facts.st_mode):
            return
        system = self.host.system
        with opened(system, system.open_beneath(self.host.handle, parts, DIRECTORY)) as handle:
            if system.listdir(handle):
                raise refusals.not_empty(path)

    @property
    def top(self) -> HostFork:
        """The outermost fork, which has the journal."""
        return self.chain()[-1]

    def chain(self) -> list[HostFork]:
        """This fork and those that it is within."""
        chain: list[HostFork] = [self]
        while chain[-1].outer is not None:
            chain.append(chain[-1].outer)
        return chain

    def _inner(self) -> list[HostFork]:
        """The forks of this one, and theirs, that changed something and were not kept."""
        return [fork for fork in self.top.inner if fork is not self and self in fork.chain()]

    def _take_back(self, forks: list[HostFork]) -> None:
        top = self.top
        journal = top.journal
        if journal is not None and not journal.is_lost:
            changes = [change for fork in forks for change in fork.changes]
            journal.take_back(sorted(changes, key=lambda change: change.number))
        for fork in forks:
            fork.is_ended = True
            fork.changes = []
        top.inner = [fork for fork in top.inner if fork not in forks]

    def take_over(self, inner: HostFork) -> None:
        """Have the changes of a fork of this one, to keep or take back with one's own."""
        if inner.claims is None:
            return
        self._claims().take_over(inner.claims)
        self.changes += inner.changes
        inner.changes = []
        self.top.inner.remove(inner)


def _is_directory(place: Place, path: str) -> bool:
    """True where a directory is there already; raises where something else is."""
    if place.facts is None:
        return False
    if not S_ISDIR(place.facts.st_mode):
        raise refusals.not_directory(path)
    return True
