"""The limits of one fetch: how long, how much, how far.

Does not know what is fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolhaft.resources.http.timer import Timer

Vet = Callable[[str], None]
"""Called with a URL before it is requested; what it raises ends the fetch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a caller lets a fetch do."""

    timer: Timer
    max_bytes: int
    max_redirects: int
    vet: Vet | None

    @property
    def follows_redirects(self) -> bool:
        """True if a redirect is not the answer itself."""
        return self.max_redirects > 0
