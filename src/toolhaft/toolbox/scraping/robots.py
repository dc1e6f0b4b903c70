"""Asks the robots.txt of a site what may be fetched, as RFC 9309 has it, and remembers that for an hour.

Does not know what is fetched. A delay between requests is not heeded: a call fetches one page.
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
from toolhaft.toolbox.outside import one_line

try:
    from protego import Protego
except ImportError as error:
    raise ImportError("robots.txt needs protego: pip install 'toolhaft[web]'") from error

PRODUCT: Final = "toolhaft"
REMEMBERED_S: Final = 3_600.0
MOST_REMEMBERED: Final = 100
MOST_READ: Final = 500 * 1_024
"""Bytes of a robots.txt that count."""
_MOST_FETCHED: Final = 4 * MOST_READ
_LONGEST_REMEMBERED: Final = 50_000
_LONGEST_S: Final = 10.0
_LINE: Final = re.compile(r"\s*+(user-?agent|allow|disallow)\s*+:\s*+([^#]*+)", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[a-z_-]++", re.IGNORECASE)


class _Known(NamedTuple):
    """What a site said, and until when that counts."""

    rules: str
    until: float


class Robots:
    """The rules of the sites that were asked lately; threads may share it.

    Args:
        user_agent: whose rules are obeyed, beside those for toolhaft.
        clock: seconds that only go forward.
    """

    __slots__ = ("_clock", "_known", "_lock", "_tokens")

    def __init__(self, user_agent: str | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        own = _TOKEN.match(user_agent or "")
        self._tokens = frozenset((PRODUCT, own[0].lower() if own else PRODUCT))
        self._clock = clock
        self._known: dict[tuple[HttpClient, str], _Known] = {}
        self._lock = Lock()

    def check(
        self, url: str, client: HttpClient, *, headers: Mapping[str, str], deadline: Deadline | None
    ) -> None:
        """Nothing, where the site lets a URL be fetched.

        Raises:
            ToolExecutionError: where it does not, or cannot be asked.
            HttpRefusedError: where the guard bars the site itself.
        """
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        rules = self._remembered(client, origin)
        if rules is None:
            rules = rules_for(self._tokens, _fetch(origin, client, headers, deadline))
            self._remember(client, origin, rules)
        if not Protego.parse(rules).can_fetch(url, PRODUCT):
            host, path = one_line(parts.netloc), one_line(parts.path)
            raise ToolExecutionError(
                f"robots.txt of {host} does not let {PRODUCT} fetch {path}; "
                "whoever runs this can decide otherwise with ScraperConfig(robots=False)"
            )

    def _remembered(self, client: HttpClient, origin: str) -> str | None:
        with self._lock:
            known = self._known.get((client, origin))
            return known.rules if known is not None and known.until > self._clock() else None

    def _remember(self, client: HttpClient, origin: str, rules: str) -> None:
        if len(rules) > _LONGEST_REMEMBERED:
            return
        with self._lock:
            self._known.pop((client, origin), None)
            self._known[client, origin] = _Known(rules, self._clock() + REMEMBERED_S)
            while len(self._known) > MOST_REMEMBERED:
                del self._known[next(iter(self._known))]  # the one that was asked longest ago


def _fetch(origin: str, client: HttpClient, headers: Mapping[str, str], deadline: Deadline | None) -> str:
    """The robots.txt of an origin; empty where it has none."""
    host = one_line(urlsplit(origin).netloc)
    try:
        answer = client.fetch(
            f"{origin}/robots.txt",
            headers=headers,
            timeout_s=_LONGEST_S,
            deadline=deadline,
            max_bytes=_MOST_FETCHED,
        )
    except HttpRefusedError:
        raise
    except HttpError as error:
        raise ToolExecutionError(
            f"robots.txt of {host} could not be asked, so the page is not fetched: {error}"
        ) from error
    if answer.is_ok:
        return answer.body[:MOST_READ].decode("utf-8-sig", "replace")
    if answer.status < 500:  # noqa: PLR2004 -- HTTP's own number
        return ""
    raise ToolExecutionError(
        f"robots.txt of {host} could not be asked (HTTP {answer.status}), so the page is not fetched"
    )


def rules_for(tokens: Iterable[str], robots: str) -> str:
    """The rules of a robots.txt for crawlers by these lower-case names, or those for all without any.

    What is left has one group, so that matching takes time in proportion to its lines.
    """
    groups = _groups(robots)
    own = [rule for names, rules in groups if not names.isdisjoint(tokens) for rule in rules]
    is_named = any(not names.isdisjoint(tokens) for names, _ in groups)
    chosen = own if is_named else [rule for names, rules in groups if "*" in names for rule in rules]
    return "\n".join(("User-agent: *", *chosen))


def _groups(robots: str) -> list[tuple[set[str], list[str]]]:
    """Names of crawlers, and the rules for them."""
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
