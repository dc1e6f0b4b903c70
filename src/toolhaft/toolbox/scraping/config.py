"""How pages are fetched and read: what whoever runs the tool decides.

Does not know the tool.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from toolhaft.errors import DefinitionError

Extractor: TypeAlias = Literal["readable", "trafilatura"]

_FEWEST_CHARS: Final = 100
_MOST_CHARS: Final = 2_000_000
_FEWEST_BYTES: Final = 1_000
_MOST_BYTES: Final = 50_000_000
_USER_AGENT: Final = re.compile(r"[\x20-\x7e]{1,200}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScraperConfig:
    """How pages are fetched and read.

    Args:
        robots: False fetches what a site's robots.txt does not allow, too.
        extractor: who finds the readable text: 'readable' is quick and brings no package of its own,
            'trafilatura' needs `pip install 'toolhaft[readable]'`.
        max_chars: of the text that is shown.
        user_agent: what requests say they come from, in place of the client's own; robots.txt is searched for
            its first word beside 'toolhaft'.
        max_bytes: of a page, packed and unpacked.
        name: of the tool, where there is to be more than one.

    Raises:
        DefinitionError: for an extractor that is none, a number out of range, or a user agent with line ends.
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
                f"{self.extractor!r:.80} is no extractor",
                place="extractor",
                fix=f"use one of {', '.join(extractors)}",
            )
        _check_number("max_chars", self.max_chars, _FEWEST_CHARS, _MOST_CHARS)
        _check_number("max_bytes", self.max_bytes, _FEWEST_BYTES, _MOST_BYTES)
        user_agent: object = self.user_agent
        is_text = isinstance(user_agent, str) and _USER_AGENT.fullmatch(user_agent) is not None
        if user_agent is not None and not is_text:
            raise DefinitionError(
                f"{user_agent!r:.80} is no user agent",
                place="user_agent",
                fix="write 1 to 200 characters of ASCII on one line, such as 'acme-bot/1.0 (+https://acme.example)'",
            )


def _check_number(place: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise DefinitionError(
            f"a whole number from {least:,} to {most:,} is wanted, not {value!r:.40}", place=place
        )
