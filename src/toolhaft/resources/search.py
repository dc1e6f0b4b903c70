"""Finding files by pattern, and lines by regular expression, in bounded time.

Walks anything that can say what is in a directory; does not know where that is kept.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from errno import ENAMETOOLONG
from time import monotonic
from typing import Final, Protocol

from toolhaft.core.ports import FileList, FileStat
from toolhaft.errors import FileDeniedError, FileKindError, FileMissingError, FilesystemError
from toolhaft.resources import refusals
from toolhaft.resources.limits import FileLimits
from toolhaft.resources.paths import Parts, join

LONGEST_PATTERN: Final = 1000
HEAVIEST_PATTERN: Final = 1000
"""Characters that a pattern can ask for in a row, its repetitions counted out. Matching takes time in
proportion to this and to the length of the line, and nothing can interrupt it within a line."""
LONGEST_LINE: Final = 10_000
"""Characters of a line that are searched."""
LONGEST_HIT: Final = 500
"""Characters of a line that are told."""
LONGEST_SEARCH_S: Final = 5.0

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


class Visits:
    """How many entries one operation may still look at, those that it passes over too."""

    __slots__ = ("left",)

    def __init__(self, limits: FileLimits) -> None:
        self.left = limits.max_visited


class Tree(Protocol):
    """Where the search takes place."""

    def scan(self, parts: Parts, path: str, visits: Visits, most: int | None = None) -> FileList:
        """The files and directories in a directory, in any order; a refusal names `path`.

        Of more than `most` the first by name; where no visits are left, those that were found till then.
        """
        ...


class Glob:
    """A pattern such as 'src/**/*.py', matched one name at a time on the way down."""

    __slots__ = ("_accepting", "_steps")

    def __init__(self, pattern: str) -> None:
        if not pattern or len(pattern) > LONGEST_PATTERN or "\0" in pattern:
            raise FilesystemError(
                f"Invalid pattern: {refusals.shown(pattern)!r}: write 1 to {LONGEST_PATTERN} characters, "
                "such as 'src/**/*.py'"
            )
        names = [name for name in pattern.split("/") if name not in ("", ".")]
        if ".." in names:
            raise refusals.denied(pattern)
        if names and names[-1] == _ANY_DEPTH:
            names.append("*")
        self._steps = [
            None if name == _ANY_DEPTH else re.compile(fnmatch.translate(name)).match for name in names
        ]
        self._accepting = len(names)

    def start(self) -> Collection[int]:
        """Where in the pattern a walk begins."""
        return self._with_skipped([0])

    def step(self, states: Collection[int], name: str) -> Collection[int]:
        """Where in the pattern one name further down leads; nowhere if that is empty."""
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

    def goes_on(self, states: Collection[int]) -> bool:
        """True where something further down may match."""
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
    """A pattern for files to look into: without a '/', it is about the name at any depth."""
    return Glob(pattern if "/" in pattern else f"**/{pattern}")


EVERYTHING: Final = Glob("**")


def walk(tree: Tree, start: Parts, glob: Glob, path: str, limits: FileLimits) -> Iterator[FileStat]:
    """What a pattern matches below a directory, in no order that matters.

    Raises:
        FileTooLargeError: where too many entries were looked at.
    """
    visits = Visits(limits)
    waiting = [(start, glob.start())]
    is_first = True
    while waiting:
        parts, states = waiting.pop()
        entries = _scanned(tree, parts, path if is_first else "", visits)
        if entries.is_cut:
            raise refusals.too_many(path, limits.max_visited)
        for found in entries:
            name = found.path.rpartition("/")[2]
            following = glob.step(states, name)
            if glob.accepts(following):
                yield found
            if found.kind == "directory" and glob.goes_on(following):
                waiting.append(((*parts, name), following))
        is_first = False


def descend(tree: Tree, start: Parts, path: str, limits: FileLimits, most: int) -> FileList:
    """What is below a directory at any depth; of more than `most` those that are nearest to it."""
    visits = Visits(limits)
    found = _scanned(tree, start, path, visits, most)
    below = [entry.path for entry in found if entry.kind == "directory"]
    below.sort()
    for directory in below:
        if found.is_cut:
            break
        entries = _scanned(tree, tuple(directory.split("/")), "", visits, most - len(found))
        found += entries
        found.is_cut = entries.is_cut
        below += sorted(entry.path for entry in entries if entry.kind == "directory")
    return found


def _scanned(tree: Tree, parts: Parts, asked: str, visits: Visits, most: int | None = None) -> FileList:
    """What is in a directory; nothing in one that was gone when its turn came, unless it was asked for."""
    try:
        return tree.scan(parts, asked or join(parts), visits, most)
    except FilesystemError as error:
        if asked or not _is_passed_over(error):
            raise
        return FileList()


def _is_passed_over(error: FilesystemError) -> bool:
    """True for a directory that is gone, closed or so deep that no path leads to it."""
    cause = error.__cause__
    is_too_deep = isinstance(cause, OSError) and cause.errno == ENAMETOOLONG
    return is_too_deep or isinstance(error, FileMissingError | FileDeniedError | FileKindError)


def by_path(entry: FileStat) -> str:
    """What entries are sorted by."""
    return entry[0]


def gather(found: Iterable[FileStat], path: str, limits: FileLimits) -> FileList:
    """All of them, sorted by path.

    Raises:
        FileTooLargeError: where there are more than the limit.
    """
    entries = FileList()
    for entry in found:
        entries.append(entry)
        if len(entries) > limits.max_entries:
            raise refusals.too_many(path, limits.max_entries)
    entries.sort(key=by_path)
    return entries


class LineSearch:
    """A regular expression that is looked for in lines, in time linear in their length."""

    __slots__ = ("_give_up_at", "_matches", "_pattern")

    def __init__(self, pattern: str) -> None:
        if len(pattern) > LONGEST_PATTERN or weight(pattern) > HEAVIEST_PATTERN:
            raise _bad_pattern(
                pattern, f"it is too long, or its repetitions add up to more than {HEAVIEST_PATTERN:,}"
            )
        if _VERBOSE.search(pattern):  # its spaces and comments would hide what repeats what
            raise _bad_pattern(pattern, "verbose mode (the flag x) is not available here")
        self._pattern = pattern
        self._matches = _compile(pattern)
        self._give_up_at = monotonic() + LONGEST_SEARCH_S

    def hits(self, data: bytes) -> Iterator[tuple[int, str]]:
        """The numbers and texts of the lines that match; none in what is not text.

        Raises:
            FilesystemError: where the whole search takes too long.
        """
        if b"\0" in data[:8192]:
            return
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()  # a file that ends with a line end has no line after it
        matches, give_up_at = self._matches, self._give_up_at
        for number, line in enumerate(lines, 1):
            if matches(line[:LONGEST_LINE].removesuffix("\r")):
                yield number, _cut(line.removesuffix("\r"))
            if monotonic() > give_up_at:
                raise _bad_pattern(self._pattern, f"the search took over {LONGEST_SEARCH_S:g} s; narrow it")


def weight(pattern: str) -> int:
    """About how many characters in a row a regular expression can ask for."""
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
    return line if len(line) <= LONGEST_HIT else f"{line[:LONGEST_HIT]}..."


def _compile(pattern: str) -> Callable[[str], bool]:
    # here and not at the top: it takes longer to load than everything else that files need
    from pydantic_core import SchemaError, SchemaValidator  # noqa: PLC0415 -- loaded by the first search only

    try:
        found = SchemaValidator({"type": "str", "pattern": pattern, "regex_engine": "rust-regex"})
    except SchemaError as error:
        raise _bad_pattern(pattern, _reason(str(error))) from None
    return found.isinstance_python


def _reason(told: str) -> str:
    _, _, reason = told.rpartition("error: ")
    if "look-around" in told or "backreference" in told:
        return "look-ahead, look-behind and back-references are not available here; write it without them"
    return reason.strip() if reason != told else "it is too large"


def _bad_pattern(pattern: str, reason: str) -> FilesystemError:
    return FilesystemError(f"Invalid pattern: {refusals.shown(pattern)!r}: {reason}")
