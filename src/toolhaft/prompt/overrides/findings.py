"""Everything that is wrong with one file of overrides, told at once.

Knows places and words; does not know what is checked.
"""

from __future__ import annotations

from typing import Final

from toolhaft.errors import PromptValidationError
from toolhaft.prompt.troubles import Path

MOST_TOLD: Final = 20
"""Problems of one file; the rest is told when these are mended."""
_LONGEST: Final = 2_000
_LONGEST_FILE: Final = 300
_LONGEST_PLACE: Final = 200
_LONGEST_WORDS: Final = 600
"""Bytes of a problem, and of its fix: one whole line always fits."""
_SPARED: Final = 60  # bytes kept free for the line that says that there is more


class Findings:
    """The problems found so far in a file."""

    def __init__(self, file: str) -> None:
        self._file = _shown(file)
        self._lines: list[str] = []
        self._paths: set[Path] = set()

    def add(self, place: str, problem: str, fix: str, path: Path = ()) -> None:
        """Keep one problem.

        Raises:
            PromptValidationError: with all that were found, where nobody would read more.
        """
        self._paths.add(path)
        self._lines.append(_line(place, problem, fix))
        if len(self._lines) > MOST_TOLD:
            self.settle()

    def settle(self) -> None:
        """Raise what was found, if anything was.

        Raises:
            PromptValidationError: with every problem, a line each, in at most 2,000 bytes.
        """
        if self._lines:
            path = next(iter(self._paths)) if len(self._paths) == 1 else ()
            raise PromptValidationError(self._told(), section_path=path)

    def _told(self) -> str:
        if len(self._lines) == 1:
            return f"{self._file}: {self._lines[0]}"
        is_more = len(self._lines) > MOST_TOLD
        head = f"{self._file}: {'many' if is_more else len(self._lines)} problems:"
        room = _LONGEST - _size(head) - _SPARED
        told = [head]
        for line in self._lines[:MOST_TOLD]:
            room -= _size(line) + 3
            if room < 0:
                is_more = True
                break
            told.append(f"\n- {line}")
        return "".join(told) + ("\n- and more, told when these are mended" if is_more else "")


def refuse(file: str, problem: str, fix: str = "") -> PromptValidationError:
    """What to raise where a file as a whole is wrong, after which nothing else can be told."""
    return PromptValidationError(f"{_shown(file)}: {_line('', problem, fix)}")


def _shown(file: str) -> str:
    shown = file if file.isprintable() else ascii(file)
    if _size(shown) <= _LONGEST_FILE:
        return shown
    # its end tells more than its start
    return "..." + shown.encode(errors="replace")[3 - _LONGEST_FILE :].decode(errors="ignore")


def _line(place: str, problem: str, fix: str) -> str:
    text = _cut(problem, _LONGEST_WORDS)
    if place:
        text = f"{_cut(place, _LONGEST_PLACE)}: {text}"
    return f"{text}. Fix: {_cut(fix, _LONGEST_WORDS)}" if fix else text


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))


def _cut(text: str, longest: int) -> str:
    if _size(text) <= longest:
        return text
    return text.encode(errors="replace")[: longest - 3].decode(errors="ignore") + "..."
