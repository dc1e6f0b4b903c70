"""Reading, listing and searching, shared by all kinds of filesystem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Self

from toolhaft.core.ports import FileList, FileStat, FileText, GrepHit
from toolhaft.errors import FileKindError, FileMissingError, FilesystemError
from toolhaft.resources import file_errors
from toolhaft.resources.pages import ByteSource, FileLimits, check_span, read_span, read_text, read_whole
from toolhaft.resources.paths import Parts, absolute_parts, below_root, join, locate
from toolhaft.resources.search import (
    ANY_FILE,
    Glob,
    LineSearch,
    VisitBudget,
    by_path,
    collect,
    list_recursive,
    name_glob,
    walk,
)

FileStats = list[FileStat]  # inside the class `list` is a method
Hits = list[GrepHit]


class TreeFilesystem(ABC):
    """Reads, lists and searches, based on `look`, `scan` and `open` of the subclass."""

    __slots__ = ("__weakref__", "_homes", "_limits", "read_only")

    _homes: tuple[Parts, ...]
    _limits: FileLimits
    read_only: bool
    """True if every write raises ReadOnlyError."""

    @abstractmethod
    def look(self, parts: Parts, path: str) -> FileStat:
        """Stat a file or directory; errors mention `path`."""

    @abstractmethod
    def scan(self, parts: Parts, path: str, visits: VisitBudget, most: int | None = None) -> FileList:
        """The files and directories in a directory, in any order; errors mention `path`.

        Cut to the first `most` by name, or where the visit budget is used up; `is_cut` is true then.
        """

    @abstractmethod
    def open(self, parts: Parts, path: str) -> AbstractContextManager[ByteSource]:
        """Open a file for reading; errors mention `path`."""

    @abstractmethod
    def fork(self, *, read_only: bool = False) -> Self:
        """A view whose writes are committed or discarded together."""

    @abstractmethod
    def commit(self) -> None:
        """Commit all writes of this view and end it."""

    @abstractmethod
    def discard(self) -> None:
        """Undo all writes of this view and end it."""

    def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> FileText:
        """Read a UTF-8 text file, or a page of it in characters.

        A file larger than `max_file_bytes` needs a limit; continue with `next_offset`.

        Raises:
            FilesystemError: if it cannot be read; the subclass and the message say why.
        """
        with self.open(locate(path, self._homes), path) as source:
            return read_text(source, path, self._limits, offset=offset, limit=limit)

    def read_bytes(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Read the bytes of a file, or a part of them.

        Raises:
            FilesystemError: if it cannot be read; the subclass and the message say why.
        """
        with self.open(locate(path, self._homes), path) as source:
            return read_span(source, path, self._limits, offset=offset, limit=limit)

    def stat(self, path: str) -> FileStat:
        """Kind, size and time of a file or directory.

        Raises:
            FilesystemError: if it does not exist, or is a link.
        """
        return self.look(locate(path, self._homes), path)

    def exists(self, path: str) -> bool:
        """True if a file or directory exists at this path.

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
        """List a directory, sorted by path.

        Args:
            path: the directory.
            recursive: include its subdirectories, at any depth.
            limit: cut the list to this many entries (at most `max_entries`), the least nested first, then by
                name; the `is_cut` of the list is true then.

        Raises:
            FileTooLargeError: if there are more than `max_entries` and no limit was given.
        """
        check_span(0, limit)
        parts, limits = self._directory(path), self._limits
        most = limits.max_entries if limit is None else min(limit, limits.max_entries)
        if recursive:
            found = list_recursive(self.scan, parts, path, limits, most)
        else:
            found = self.scan(parts, path, VisitBudget(limits), most)
        if found.is_cut and limit is None:
            raise file_errors.too_many(path, most)
        found.sort(key=by_path)
        return found

    def glob(self, pattern: str, path: str = ".") -> FileList:
        """The entries that match a pattern such as 'src/**/*.py', sorted by path.

        '*' matches any part of a name, also of hidden ones; '**' matches any number of directories. A pattern
        that begins with '/' is absolute, and `path` is ignored.

        Raises:
            FileTooLargeError: if more than `max_entries` match.
        """
        if pattern.startswith("/"):
            pattern, path = join(below_root(absolute_parts(pattern), self._homes, pattern)), "."
        found = walk(self.scan, self._directory(path), Glob(pattern), path, self._limits)
        return collect(found, path, self._limits)

    def grep(self, pattern: str, path: str = ".", *, glob: str | None = None, max_hits: int = 1000) -> Hits:
        """The lines of text files that match a regular expression, ordered by path and line.

        Skips files that are not UTF-8 or larger than `max_file_bytes`. Searches the first 10,000 characters
        of a line and returns the first 500. Look-ahead, look-behind and back-references are not available,
        so that the search time is bounded.

        Args:
            pattern: the regular expression.
            path: a directory to search recursively, or one file.
            glob: which files to search; without a '/' it matches names at any depth.
            max_hits: the most lines to return.
        """
        search = LineSearch(pattern)
        hits: Hits = []
        passed_bytes = 0
        for found in self._files(path, glob):
            data = self._read_for_search(found)
            passed_bytes += len(data)
            if passed_bytes > self._limits.max_scan_bytes:
                raise file_errors.too_much(path, self._limits.max_scan_bytes)
            for number, line in search.hits(data):
                if len(hits) >= max_hits:
                    return hits
                hits.append(GrepHit(found.path, number, line))
        return hits

    def _files(self, path: str, glob: str | None) -> FileStats:
        parts = locate(path, self._homes)
        at = self.look(parts, path)
        if at.kind == "file":
            return [at]
        pattern = ANY_FILE if glob is None else name_glob(glob)
        return sorted(
            found for found in walk(self.scan, parts, pattern, path, self._limits) if found.kind == "file"
        )

    def _read_for_search(self, found: FileStat) -> bytes:
        if found.size_bytes > self._limits.max_file_bytes:
            return b""
        try:
            with self.open(tuple(found.path.split("/")), found.path) as source:
                return read_whole(source, found.path, self._limits)
        except FilesystemError:
            return b""  # removed since it was found, or not readable

    def _directory(self, path: str) -> Parts:
        parts = locate(path, self._homes)
        if self.look(parts, path).kind != "directory":
            raise file_errors.not_directory(path)
        return parts
