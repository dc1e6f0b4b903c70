"""The options of the web scraper."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from toolhaft.errors import DefinitionError

Extractor: TypeAlias = Literal["readable", "trafilatura"]

_MIN_CHARS: Final = 100
_MAX_CHARS: Final = 2_000_000
_MIN_BYTES: Final = 1_000
_MAX_BYTES: Final = 50_000_000
_USER_AGENT: Final = re.compile(r"[\x20-\x7e]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScraperConfig:
    """How pages are fetched and read.

    Args:
        robots: False also fetches what a site's robots.txt disallows.
        extractor: what finds the readable text: 'readable' is built in, 'trafilatura' needs
            `pip install 'toolhaft[readable]'`.
        max_chars: the longest text that is returned.
        user_agent: replaces the user agent of the client; rules in robots.txt for its first word apply in
            addition to those for 'toolhaft'.
        max_bytes: the largest page, compressed and decompressed.
        name: the tool's name, if there is more than one such tool.

    Raises:
        DefinitionError: for an unknown extractor, a number out of range, or an invalid user agent.
    """

    robots: bool = True
    extractor: Extractor = "readable"
    max_chars: int = 100_000
    user_agent: str | None = None
    max_bytes: int = 5_000_000
    name: str = "web_scraper"

    def __post_init__(self) -> None:
        extractors = get_args(Extractor)
        if self.extractor not in extractors:
            raise DefinitionError(
                f"{self.extractor!r:.80} is not an extractor",
                place="extractor",
                fix=f"use one of {', '.join(extractors)}",
            )
        _check_number("max_chars", self.max_chars, _MIN_CHARS, _MAX_CHARS)
        _check_number("max_bytes", self.max_bytes, _MIN_BYTES, _MAX_BYTES)
        user_agent: object = self.user_agent
        is_text = isinstance(user_agent, str) and _USER_AGENT.fullmatch(user_agent) is not None
        if user_agent is not None and not is_text:
            raise DefinitionError(
                f"{user_agent!r:.80} is not a valid user agent",
                place="user_agent",
                fix="write 1 to 200 characters of ASCII on one line, such as 'acme-bot/1.0 (+https://acme.example)'",
            )


def _check_number(place: str, value: object, minimum: int, maximum: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise DefinitionError(
            f"a whole number from {minimum:,} to {maximum:,} is expected, not {value!r:.40}", place=place
        )
