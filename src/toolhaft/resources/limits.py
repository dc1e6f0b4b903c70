"""How much one file operation may read, write or find.

Knows no filesystem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DEFAULT_FILE_BYTES: Final = 10 * 1024 * 1024
DEFAULT_ENTRIES: Final = 10_000


MOST_AT_ONCE: Final = 2 * 1024 * 1024 - 1
"""Bytes of a file that is read where its reader stands: that takes about a millisecond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLimits:
    """Every bound follows from two: the largest file, and the longest list."""

    max_file_bytes: int = DEFAULT_FILE_BYTES
    """Read or written in one piece; a page of a larger file has at most as many characters."""
    max_entries: int = DEFAULT_ENTRIES
    """Listed or matched by one operation, refused where there are more, or cut where it has a limit."""

    @property
    def max_visited(self) -> int:
        """Entries that one search may look at."""
        return 10 * self.max_entries

    @property
    def max_scan_bytes(self) -> int:
        """Bytes that one search, or the way to one page, may pass through."""
        return 25 * self.max_file_bytes
