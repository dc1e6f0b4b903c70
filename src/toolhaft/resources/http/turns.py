"""Who may look up a name now: so many in all, and of one domain no more than its share.

Does not know how a name is looked up.
"""

from __future__ import annotations

from collections import Counter
from threading import Condition
from typing import Final

MOST: Final = 256
"""Lookups at once in the whole process, each on a thread of its own."""
MOST_OF_ONE: Final = 8
"""Of them, for the names below one domain: a dead name server holds up its own names, and no others."""
_COUNTRY: Final = 2
_SHARED: Final = frozenset(
    (
        "ac",
        "co",
        "com",
        "edu",
        "go",
        "gob",
        "gouv",
        "gov",
        "ltd",
        "mil",
        "ne",
        "net",
        "or",
        "org",
        "plc",
        "sch",
    )
)
"""Below a country, what nobody owns."""


class Turns:
    """Counts lookups from their beginning to their end, whether or not somebody still waits for them.

    A lookup cannot be stopped from outside: one that nobody waits for any more still has its thread, so that
    only counting those keeps a dead name server from filling the process with them.
    """

    __slots__ = ("_changed", "_taken", "most", "most_of_one")

    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self.most = most
        self.most_of_one = most_of_one
        self._taken: Counter[str] = Counter()
        self._changed = Condition()

    def take(self, domain: str, timeout_s: float) -> bool:
        """True once there is a turn for a name below a domain, False where there was none in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_room(domain), timeout_s):
                return False
            self._taken[domain] += 1
            return True

    def give_back(self, domain: str) -> None:
        """End a turn."""
        with self._changed:
            self._taken[domain] -= 1
            if not self._taken[domain]:
                del self._taken[domain]
            self._changed.notify_all()

    def in_the_way(self, domain: str) -> str:
        """What keeps a domain from its next turn, in words."""
        with self._changed:
            if self._taken[domain] >= self.most_of_one:
                return f"{self.most_of_one} others of {domain!a}"
        return f"{self.most} others"

    def _has_room(self, domain: str) -> bool:
        return self._taken[domain] < self.most_of_one and self._taken.total() < self.most


def domain_of(name: str) -> str:
    """What somebody owns of a host's name, as far as its shape tells; names below it cost nothing."""
    labels = name.split(".")
    # below many countries names are sold one step further down, as in co.uk, com.au and or.jp
    is_shared = len(labels) > 1 and len(labels[-1]) == _COUNTRY and labels[-2] in _SHARED
    return ".".join(labels[-3 if is_shared else -2 :])
