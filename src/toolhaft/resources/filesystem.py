"""The reading half of a filesystem, the same for every kind of it.

Does not know where files are kept: a kind says what is at a path, what is in a directory, and opens a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Self

from toolhaft.core.ports import FileList, FileStat, FileText, GrepHit
from toolhaft.errors import FileKindError, FileMissingError, FilesystemError
from toolhaft.resources import refusals
from toolhaft.resources.limits import FileLimits
from toolhaft.resources.pages import Source, check_span, read_span, read_text, read_whole
from toolhaft.resources.paths import Parts, absolute_parts, join, locate
from toolhaft.resources.search import (
    EVERYTHING,
    Glob,
    LineSearch,
    Visits,
    by_path,
    descend,
    gather,
    name_glob,
    walk,
)

Stats = list[FileStat]  # inside the classes `list` is a method
Hits = list[GrepHit]


class TreeFilesystem(ABC):
    """Reads, lists and searches by three questions that a kind answers."""

    __slots__ = ("__weakref__", "_homes", "_limits", "read_only")

    _homes: tuple[Parts, ...]
    _limits: FileLimits
    read_only: bool
    """True where every write raises ReadOnlyError."""

    @abstractmethod
    def look(self, parts: Parts, path: str) -> FileStat:
        """What is at a place; a refusal names `path`."""

    @abstractmethod
    def scan(self, parts: Parts, path: str, visits: Visits, most: int | None = None) -> FileList:
        """The files and directories in a directory, in any order; a refusal names `path`.

        Of more than `most` the first by name; where no visits are left, those that were found till then.
        """

    @abstractmethod
    def open(self, parts: Parts, path: str) -> AbstractContextManager[Source]:
        """A file to read from; a refusal names `path`."""

    @abstractmethod
    def fork(self, *, read_only: bool = False) -> Self:
        """A view whose writes are kept or dropped as one."""

    @abstractmethod
    def commit(self) -> None:
        """Keep every write of this view and end it."""

    @abstractmethod
    def discard(self) -> None:
        """Put back what this view changed and end it."""

    def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> FileText:
        """A UTF-8 text file from a character on.

        A file over `max_file_bytes` is read in pages only: give a limit, and go on from `next_offset`.

        Raises:
            FilesystemError: where it cannot be read; the subclass and the message say why.
        """
        with self.open(locate(path, self._homes), path) as source:
            return read_text(source, path, self._limits, offset=offset, limit=limit)

    def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """A file's bytes.

        Raises:
            FilesystemError: where it cannot be read; the subclass and the message say why.
        """
        with self.open(locate(path, self._homes), path) as source:
            return read_span(source, path, self._limits, offset=offset, limit=limit)

    def stat(self, path: str) -> FileStat:
        """What is known about a file or directory.

        Raises:
            FilesystemError: where there is none, or it is not to be looked at.
        """
        return self.look(locate(path, self._homes), path)

    def exists(self, path: str) -> bool:
        """True if there is a file or directory at this path.

        Raises:
            FileDeniedError: for a path outside the root, and for a link.
        """
        try:
            self.stat(path)
        except FileMissingError:
            return False
        except FileKindError:
            return True  # a pipe, a socket or a device
        return True

    def list(self, path: str = ".", *, recursive: bool = False, limit: int | None = None) -> FileList:
        """What is in a directory, sorted by path.

        Args:
            path: the directory.
            recursive: with what is in the directories in it, at any depth.
            limit: of more than that (or than `max_entries`) those that are nearest to the directory, of these
                the first by name; the list's `is_cut` is true then.

        Raises:
            FileTooLargeError: where there is more than `max_entries`, and no limit was given.
        """
        check_span(0, limit)
        parts, limits = self._directory(path), self._limits
        most = limits.max_entries if limit is None else min(limit, limits.max_entries)
        if recursive:
            found = descend(self, parts, path, limits, most)
        else:
            found = self.scan(parts, path, Visits(limits), most)
        if found.is_cut and limit is None:
            raise refusals.too_many(path, most)
        found.sort(key=by_path)
        return found

    def glob(self, pattern: str, path: str = ".") -> FileList:
        """What matches a pattern such as 'src/**/*.py', sorted by path.

        '*' stands for any part of a name, hidden or not, '**' for any number of directories. A pattern that
        begins with '/' is absolute, and `path` means nothing then.

        Raises:
            FileTooLargeError: where more than `max_entries` match.
        """
        if pattern.startswith("/"):
            pattern, path = self._relative(pattern), "."
        found = walk(self, self._directory(path), Glob(pattern), path, self._limits)
        return gather(found, path, self._limits)

    def grep(self, pattern: str, path: str = ".", *, glob: str | None = None, max_hits: int = 1000) -> Hits:
        """The lines of text files that a regular expression finds, by path and line, cut after `max_hits`.

        Files that are not UTF-8 or larger than `max_file_bytes` are passed over; of a line the first 10,000
        characters are searched and the first 500 told. Look-ahead, look-behind and back-references are not
        available, so that no pattern can take for ever.

        Args:
            pattern: what to find.
            path: a directory to search in, at any depth, or one file.
            glob: which files; without a '/' it is about their names.
            max_hits: how many lines to tell.
        """
        search = LineSearch(pattern)
        hits: Hits = []
        passed_bytes = 0
        for found in self._files(path, glob):
            data = self._text_of(found)
            passed_bytes += len(data)
            if passed_bytes > self._limits.max_scan_bytes:
                raise refusals.too_much(path, self._limits.max_scan_bytes)
            for number, line in search.hits(data):
                if len(hits) >= max_hits:
                    return hits
                hits.append(GrepHit(found.path, number, line))
        return hits

    def _files(self, path: str, glob: str | None) -> Stats:
        parts = locate(path, self._homes)
        at = self.look(parts, path)
        if at.kind == "file":
            return [at]
        pattern = EVERYTHING if glob is None else name_glob(glob)
        return sorted(
            found for found in walk(self, parts, pattern, path, self._limits) if found.kind == "file"
        )

    def _text_of(self, found: FileStat) -> bytes:
        if found.size_bytes > self._limits.max_file_bytes:
            return b""
        try:
            with self.open(tuple(found.path.split("/")), found.path) as source:
                return read_whole(source, found.path, self._limits)
        except FilesystemError:
            return b""  # gone since it was found, or not ours to read

    def _directory(self, path: str) -> Parts:
        parts = locate(path, self._homes)
        if self.look(parts, path).kind != "directory":
            raise refusals.not_directory(path)
        return parts

    def _relative(self, pattern: str) -> str:
        parts = absolute_parts(pattern)
        for home in self._homes:
            if parts[: len(home)] == home:
                return join(parts[len(home) :])
        raise refusals.denied(pattern)
