"""Which paths one call changes, so that no other changes them meanwhile.

Knows names only, no files.
"""

from __future__ import annotations

from toolhaft.resources.paths import Parts


class Claims:
    """Paths that are being changed. Two claims meet where one path is the other, or lies under it."""

    __slots__ = ("_above", "_paths")

    def __init__(self) -> None:
        self._paths: set[Parts] = set()
        self._above: set[Parts] = set()

    def add(self, parts: Parts) -> None:
        """Claim a path."""
        self._paths.add(parts)
        self._above.update(parts[:end] for end in range(1, len(parts)))

    def covers(self, parts: Parts) -> bool:
        """True where a path, or a directory above it, is claimed."""
        return any(parts[:end] in self._paths for end in range(1, len(parts) + 1))

    def meets(self, parts: Parts) -> bool:
        """True where claiming a path would cross a claim here."""
        return parts in self._above or self.covers(parts)

    def take_over(self, other: Claims) -> None:
        """Claim everything that another had claimed."""
        self._paths |= other._paths
        self._above |= other._above
