"""Finds files by glob pattern and lines by regular expression, in bounded time."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from errno import ENAMETOOLONG
from operator import attrgetter
from time import monotonic
from typing import Final

from toolhaft.core.ports import FileList, FileStat
from toolhaft.errors import FileDeniedError, FileKindError, FileMissingError, FilesystemError
from toolhaft.resources import file_errors
from toolhaft.resources.pages import FileLimits
from toolhaft.resources.paths import Parts, join

MAX_PATTERN_LENGTH: Final = 1000
MAX_PATTERN_WEIGHT: Final = 1000
"""The length of a pattern with its repetitions expanded. Matching a line takes time in proportion to this and
to the length of the line, and cannot be interrupted."""
MAX_LINE_LENGTH: Final = 10_000
"""How many characters of a line are searched."""
MAX_HIT_LENGTH: Final = 500
"""How many characters of a matching line are returned."""
MAX_SEARCH_S: Final = 5.0

by_path: Final = attrgetter("path")
"""The sort key of entries."""
_ANY_DEPTH: Final = "**"
_TOKEN = re.compile(
    r"""(?P<escape>\\(?:[pPxuU]\{[^}]*\}|.))
      | (?P<set>\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\])
      | (?P<open>\((?:\?(?:P?<\w+>|[\w-]*:|[\w-]*(?=\))))?)
      | (?P<close>\))
      | (?P<repeat>\{\s*(?P<least>\d*)\s*(?:,\s*(?P<most>\d*)\s*)?\})
      | (?P<free>[*+?|^$])
      | (?P<plain>.)""",
    re.VERBOSE | re.DOTALL,
)
_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")


class VisitBudget:
    """How many entries one operation may still look at, skipped ones included."""

    __slots__ = ("left",)

    def __init__(self, limits: FileLimits) -> None:
        self.left = limits.max_visited


Scan = Callable[[Parts, str, VisitBudget, int | None], FileList]
"""The method `TreeFilesystem.scan`."""


class Glob:
    """A pattern such as 'src/**/*.py', matched one name at a time while walking down."""

    __slots__ = ("_accepting", "_steps")

    def __init__(self, pattern: str) -> None:
        if not pattern or len(pattern) > MAX_PATTERN_LENGTH or "\0" in pattern:
            raise FilesystemError(
                f"Invalid pattern: {file_errors.display(pattern)!r}: write 1 to {MAX_PATTERN_LENGTH} "
                "characters, such as 'src/**/*.py'"
            )
        names = [name for name in pattern.split("/") if name not in ("", ".")]
        if ".." in names:
            raise file_errors.denied(pattern)
        if names and names[-1] == _ANY_DEPTH:
            names.append("*")
        self._steps = [
            None if name == _ANY_DEPTH else re.compile(fnmatch.translate(name)).match for name in names
        ]
        self._accepting = len(names)

    def start(self) -> Collection[int]:
        """The positions in the pattern at the start of a walk."""
        return self._with_skipped([0])

    def step(self, states: Collection[int], name: str) -> Collection[int]:
        """The positions in the pattern after one more name; empty if nothing can match."""
        following: list[int] = []
        for state in states:
            if state == self._accepting:
                continue
            matches = self._steps[state]
            if matches is None:
                following.append(state)
            elif matches(name):
                following.append(state + 1)
        return self._with_skipped(following)

    def accepts(self, states: Collection[int]) -> bool:
        """True at the end of the pattern."""
        return self._accepting in states

    def may_match_below(self, states: Collection[int]) -> bool:
        """True if something below may match."""
        return len(states) > (self._accepting in states)

    def _with_skipped(self, states: Iterable[int]) -> Collection[int]:
        found: set[int] = set()
        for first in states:
            state = first
            found.add(state)
            while state < self._accepting and self._steps[state] is None:
                state += 1
                found.add(state)
        return found


def name_glob(pattern: str) -> Glob:
    """A pattern for files to search: without a '/' it matches names at any depth."""
    return Glob(pattern if "/" in pattern else f"**/{pattern}")


ANY_FILE: Final = Glob("**")


def walk(scan: Scan, start: Parts, glob: Glob, path: str, limits: FileLimits) -> Iterator[FileStat]:
    """The entries below a directory that match a pattern, in any order.

    Raises:
        FileTooLargeError: if the visit budget is used up.
    """
    visits = VisitBudget(limits)
    waiting = [(start, glob.start())]
    is_first = True
    while waiting:
        parts, states = waiting.pop()
        entries = _scan(scan, parts, path if is_first else "", visits, None)
        if entries.is_cut:
            raise file_errors.too_many(path, limits.max_visited)
        for found in entries:
            name = found.path.rpartition("/")[2]
            following = glob.step(states, name)
            if glob.accepts(following):
                yield found
            if found.kind == "directory" and glob.may_match_below(following):
                waiting.append(((*parts, name), following))
        is_first = False


def list_recursive(scan: Scan, start: Parts, path: str, limits: FileLimits, most: int) -> FileList:
    """The entries below a directory at any depth; cut to the `most` least nested ones."""
    visits = VisitBudget(limits)
    found = _scan(scan, start, path, visits, most)
    below = [entry.path for entry in found if entry.kind == "directory"]
    below.sort()
    for directory in below:
        if found.is_cut:
            break
        entries = _scan(scan, tuple(directory.split("/")), "", visits, most - len(found))
        found += entries
        found.is_cut = entries.is_cut
        below += sorted(entry.path for entry in entries if entry.kind == "directory")
    return found


def _scan(scan: Scan, parts: Parts, named: str, visits: VisitBudget, most: int | None) -> FileList:
    """Scan a directory; empty if it has disappeared meanwhile, unless the caller named it (`named`)."""
    try:
        return scan(parts, named or join(parts), visits, most)
    except FilesystemError as error:
        if named or not _is_skipped(error):
            raise
        return FileList()


def _is_skipped(error: FilesystemError) -> bool:
    """True for a directory that has disappeared, is not readable, or has a path that is too long."""
    cause = error.__cause__
    is_too_deep = isinstance(cause, OSError) and cause.errno == ENAMETOOLONG
    return is_too_deep or isinstance(error, FileMissingError | FileDeniedError | FileKindError)


def collect(found: Iterable[FileStat], path: str, limits: FileLimits) -> FileList:
    """Collect entries, sorted by path.

    Raises:
        FileTooLargeError: if there are more than the limit.
    """
    entries = FileList()
    for entry in found:
        entries.append(entry)
        if len(entries) > limits.max_entries:
            raise file_errors.too_many(path, limits.max_entries)
    entries.sort(key=by_path)
    return entries


class LineSearch:
    """A regular expression search in lines, in time linear in their length."""

    __slots__ = ("_give_up_at", "_matches", "_pattern")

    def __init__(self, pattern: str) -> None:
        if len(pattern) > MAX_PATTERN_LENGTH or pattern_weight(pattern) > MAX_PATTERN_WEIGHT:
            raise _bad_pattern(
                pattern, f"it is too long, or its repetitions add up to more than {MAX_PATTERN_WEIGHT:,}"
            )
        if _VERBOSE.search(pattern):  # its white space and comments would mislead `pattern_weight`
            raise _bad_pattern(pattern, "verbose mode (the flag x) is not available here")
        self._pattern = pattern
        self._matches = _compile(pattern)
        self._give_up_at = monotonic() + MAX_SEARCH_S

    def hits(self, data: bytes) -> Iterator[tuple[int, str]]:
        """The numbers and texts of the matching lines; none if the data is not text.

        Raises:
            FilesystemError: if the whole search takes too long.
        """
        if b"\0" in data[:8192]:
            return
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()  # there is no line after the last line end
        matches, give_up_at = self._matches, self._give_up_at
        for number, line in enumerate(lines, 1):
            if matches(line[:MAX_LINE_LENGTH].removesuffix("\r")):
                yield number, _cut(line.removesuffix("\r"))
            if monotonic() > give_up_at:
                raise _bad_pattern(self._pattern, f"the search took over {MAX_SEARCH_S:g} s; narrow it")


def pattern_weight(pattern: str) -> int:
    """About how many characters in a row a regular expression can match, unbounded repetitions aside."""
    sums, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        kind = token.lastgroup
        if kind == "open":
            sums.append(0)
            last = 0
        elif kind == "close":
            last = sums.pop() if len(sums) > 1 else 0
            sums[-1] += last
        elif token["repeat"]:
            times = max(int(token["least"][:9] or 0), int((token["most"] or "0")[:9]), 1)
            sums[-1] += last * (times - 1)
            last *= times
        elif kind != "free":
            last = 1
            sums[-1] += 1
    return sum(sums)


def _cut(line: str) -> str:
    return line if len(line) <= MAX_HIT_LENGTH else f"{line[:MAX_HIT_LENGTH]}..."


def _compile(pattern: str) -> Callable[[str], bool]:
    # not at the top: it takes longer to import than the rest of the package
    from pydantic_core import SchemaError, SchemaValidator  # noqa: PLC0415 -- only for the first search

    try:
        found = SchemaValidator({"type": "str", "pattern": pattern, "regex_engine": "rust-regex"})
    except SchemaError as error:
        raise _bad_pattern(pattern, _reason(str(error))) from None
    return found.isinstance_python


def _reason(message: str) -> str:
    _, _, reason = message.rpartition("error: ")
    if "look-around" in message or "backreference" in message:
        return "look-ahead, look-behind and back-references are not available here; write it without them"
    return reason.strip() if reason != message else "it is too large"


def _bad_pattern(pattern: str, reason: str) -> FilesystemError:
    return FilesystemError(f"Invalid pattern: {file_errors.display(pattern)!r}: {reason}")
