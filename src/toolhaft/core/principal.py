"""The caller on whose behalf a call is made."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, init=False)
class Principal:
    """A caller: the scopes that it has, the tools that it can see, and the tools that it may use.

    `sees=None` shows every tool and `allow=None` allows every visible one; an empty list shows or allows
    none. After `expires_at` (seconds since the epoch) nothing is allowed.
    """

    id: str
    scopes: frozenset[str]
    sees: frozenset[str] | None
    allow: frozenset[str] | None
    expires_at: float | None

    def __init__(
        self,
        *,
        id: str = "",
        scopes: Iterable[str] = (),
        sees: Iterable[str] | None = None,
        allow: Iterable[str] | None = None,
        expires_at: float | None = None,
    ) -> None:
        if not isinstance(expires_at, int | float | None) or isinstance(expires_at, bool):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise TypeError(f"expires_at is seconds since the epoch, not {expires_at!r:.80}")
        put = object.__setattr__
        put(self, "id", id)
        put(self, "scopes", _names("scopes", scopes))
        put(self, "sees", None if sees is None else _names("sees", sees))
        put(self, "allow", None if allow is None else _names("allow", allow))
        put(self, "expires_at", expires_at)

    @property
    def has_expired(self) -> bool:
        """True once `expires_at` has passed."""
        return self.expires_at is not None and time.time() >= self.expires_at


def _names(what: str, given: Iterable[str]) -> frozenset[str]:
    if isinstance(given, str):  # a text is iterable too, letter by letter
        raise TypeError(f"{what} is a list of names, not the text {given!r:.80}; write [{given!r:.80}]")
    names = frozenset(given)
    for name in names:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] -- callers may not be typed
            raise TypeError(f"{what} is a list of names, and {name!r:.80} is not a name")
    return names
