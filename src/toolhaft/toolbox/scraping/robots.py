"""Checks the robots.txt of a site (RFC 9309) before a page is fetched, and caches it for an hour.

A crawl delay is ignored: a call fetches one page.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from toolhaft.core.limits import Deadline
from toolhaft.errors import HttpError, HttpRefusedError, ToolExecutionError
from toolhaft.resources.http import HttpClient
from toolhaft.toolbox.untrusted_text import short_line

try:
    from protego import Protego
except ImportError as error:
    raise ImportError("robots.txt needs protego: pip install 'toolhaft[web]'") from error

PRODUCT: Final = "toolhaft"
CACHED_S: Final = 3_600.0
MAX_CACHED: Final = 100
MAX_READ_BYTES: Final = 500 * 1_024
"""Bytes of a robots.txt that are read."""
_MAX_FETCHED_BYTES: Final = 4 * MAX_READ_BYTES
_LONGEST_CACHED: Final = 50_000
_TIMEOUT_S: Final = 10.0
_LINE: Final = re.compile(r"\s*+(user-?agent|allow|disallow)\s*+:\s*+([^#]*+)", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[a-z_-]++", re.IGNORECASE)


class _CachedRules(NamedTuple):
    """The rules of a site, and until when they are used."""

    rules: str
    until: float


class Robots:
    """The rules of the sites that were visited lately; threads may share it.

    Args:
        user_agent: its rules are obeyed in addition to those for toolhaft.
        clock: a monotonic clock, in seconds.
    """

    __slots__ = ("_cache", "_clock", "_lock", "_tokens")

    def __init__(self, user_agent: str | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        own = _TOKEN.match(user_agent or "")
        self._tokens = frozenset((PRODUCT, own[0].lower() if own else PRODUCT))
        self._clock = clock
        self._cache: dict[tuple[HttpClient, str], _CachedRules] = {}
        self._lock = Lock()

    def check(
        self, url: str, client: HttpClient, *, headers: Mapping[str, str], deadline: Deadline | None
    ) -> None:
        """Check that robots.txt allows a URL.

        Raises:
            ToolExecutionError: if it does not, or could not be fetched.
            HttpRefusedError: if the guarded client refuses the site itself.
        """
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        rules = self._find(client, origin)
        if rules is None:
            rules = rules_for(self._tokens, _fetch(origin, client, headers, deadline))
            self._store(client, origin, rules)
        if not Protego.parse(rules).can_fetch(url, PRODUCT):
            host, path = short_line(parts.netloc), short_line(parts.path)
            raise ToolExecutionError(
                f"robots.txt of {host} does not allow {PRODUCT} to fetch {path}; use another page"
            )

    def _find(self, client: HttpClient, origin: str) -> str | None:
        with self._lock:
            cached = self._cache.get((client, origin))
            return cached.rules if cached is not None and cached.until > self._clock() else None

    def _store(self, client: HttpClient, origin: str, rules: str) -> None:
        if len(rules) > _LONGEST_CACHED:
            return
        with self._lock:
            self._cache.pop((client, origin), None)
            self._cache[client, origin] = _CachedRules(rules, self._clock() + CACHED_S)
            while len(self._cache) > MAX_CACHED:
                del self._cache[next(iter(self._cache))]  # the oldest


def _fetch(origin: str, client: HttpClient, headers: Mapping[str, str], deadline: Deadline | None) -> str:
    """The robots.txt of a site; empty if it has none."""
    host = short_line(urlsplit(origin).netloc)
    try:
        response = client.fetch(
            f"{origin}/robots.txt",
            headers=headers,
            timeout_s=_TIMEOUT_S,
            deadline=deadline,
            max_bytes=_MAX_FETCHED_BYTES,
        )
    except HttpRefusedError:
        raise
    except HttpError as error:
        raise ToolExecutionError(
            f"robots.txt of {host} could not be fetched, so the page is not fetched: {error}"
        ) from error
    if response.is_ok:
        return response.body[:MAX_READ_BYTES].decode("utf-8-sig", "replace")
    if response.status < 500:  # noqa: PLR2004 -- HTTP's own number
        return ""
    raise ToolExecutionError(
        f"robots.txt of {host} could not be fetched (HTTP {response.status}), so the page is not fetched"
    )


def rules_for(tokens: Iterable[str], robots: str) -> str:
    """The rules of a robots.txt for crawlers with these lower-case names, or else those for all crawlers.

    They are in one group, so that the time to match them grows with their number only.
    """
    groups = _groups(robots)
    own = [rule for names, rules in groups if not names.isdisjoint(tokens) for rule in rules]
    is_named = any(not names.isdisjoint(tokens) for names, _ in groups)
    chosen = own if is_named else [rule for names, rules in groups if "*" in names for rule in rules]
    return "\n".join(("User-agent: *", *chosen))


def _groups(robots: str) -> list[tuple[set[str], list[str]]]:
    """The groups of a robots.txt: names of crawlers, and the rules for them."""
    groups: list[tuple[set[str], list[str]]] = []
    is_open = False
    for line in robots.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        field, value = match[1].lower(), match[2].strip()
        if field.startswith("user"):
            if not is_open:
                groups.append((set(), []))
            is_open = True
            name = _TOKEN.match(value)
            groups[-1][0].add("*" if value.startswith("*") else name[0].lower() if name else "")
        elif groups:
            is_open = False
            groups[-1][1].append(f"{field}: {value}")
    return groups
