"""Fetches the document at an address through the guarded client, with the leave of each site on the way.

Does not know what is in a document.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from toolhaft.core.context import ToolContext
from toolhaft.errors import (
    HttpError,
    HttpRefusedError,
    HttpTooLargeError,
    ToolExecutionError,
    ToolValidationError,
)
from toolhaft.resources.http import HttpResponse, http_of
from toolhaft.toolbox.asking import ServiceError, retry_after
from toolhaft.toolbox.outside import one_line
from toolhaft.toolbox.scraping.config import ScraperConfig
from toolhaft.toolbox.scraping.robots import Robots

_LONGEST_S: Final = 60.0
"""For a call without a deadline; the tool's own limit is shorter."""
_ACCEPT: Final = "text/html, application/xhtml+xml, text/*;q=0.8, application/json;q=0.7, */*;q=0.1"
_WITHOUT_SCHEME: Final = re.compile(r"(?://)?((?:[\w-]+\.)+[\w-]+(?::\d+)?(?:[/?#]\S*)?)")
_HINTS: Final = {
    401: "it wants a login",
    403: "it does not let this tool in",
    404: "there is no such page: check the address",
    410: "the page is gone",
    429: "it had too many requests: try later",
}


class Fetcher:
    """What all calls of a tool share to fetch documents."""

    __slots__ = ("_config", "_robots")

    def __init__(self, config: ScraperConfig) -> None:
        self._config = config
        self._robots = Robots(config.user_agent) if config.robots else None

    def fetch(self, url: str, context: ToolContext) -> HttpResponse:
        """The document at an address, whole.

        Raises:
            ToolValidationError: for an address that may not be fetched.
            ToolExecutionError: where a site does not give it.
        """
        address = _checked(url)
        client, robots = http_of(context), self._robots
        headers = {} if self._config.user_agent is None else {"User-Agent": self._config.user_agent}

        def ask_site(hop: str) -> None:
            if robots is not None:
                robots.check(hop, client, headers=headers, deadline=context.deadline)

        try:
            response = client.fetch(
                address,
                headers={"Accept": _ACCEPT, **headers},
                timeout_s=_LONGEST_S,
                deadline=context.deadline,
                max_bytes=self._config.max_bytes,
                vet=ask_site,
            )
        except HttpRefusedError as error:
            raise ToolValidationError(f"the page may not be fetched: {error}") from error
        except HttpTooLargeError as error:
            raise ToolExecutionError(f"the page cannot be read: {error}") from error
        except HttpError as error:
            raise ToolExecutionError(f"the page could not be fetched: {error}") from error
        if response.status >= 400:  # noqa: PLR2004 -- HTTP's own number
            raise _refused(response)
        return response


def _checked(url: str) -> str:
    """An address with a scheme."""
    written = url.strip()
    if "://" not in written:
        match = _WITHOUT_SCHEME.fullmatch(written)
        fix = f"write https://{one_line(match[1])}" if match else "write it like https://example.com/page"
        raise ToolValidationError(f"url has no scheme: {fix}")
    return written


def _refused(response: HttpResponse) -> ServiceError:
    status = response.status
    host = one_line(urlsplit(response.url).netloc)
    hint = _HINTS.get(status, "try later" if status >= 500 else "check the address")  # noqa: PLR2004 -- HTTP's own number
    return ServiceError(
        f"{host} answered with HTTP {status} instead of the page; {hint}",
        status=status,
        retry_after=retry_after(response.headers),
    )
