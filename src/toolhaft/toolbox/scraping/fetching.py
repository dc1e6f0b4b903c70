"""Fetches a document through the guarded client, if robots.txt allows it, and determines its kind."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias
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
from toolhaft.toolbox.json_service import ServiceError, retry_after_s
from toolhaft.toolbox.scraping.config import ScraperConfig
from toolhaft.toolbox.scraping.robots import Robots
from toolhaft.toolbox.untrusted_text import short_line

_TIMEOUT_S: Final = 60.0
"""For a call without a deadline."""
_ACCEPT: Final = "text/html, application/xhtml+xml, text/*;q=0.8, application/json;q=0.7, */*;q=0.1"
_WITHOUT_SCHEME: Final = re.compile(r"(?://)?((?:[\w-]+\.)+[\w-]+(?::\d+)?(?:[/?#]\S*)?)")
_HINTS: Final = {
    401: "it requires a login",
    403: "it refuses this client",
    404: "there is no such page: check the address",
    410: "the page is gone",
    429: "it got too many requests: try later",
}
DocumentKind: TypeAlias = Literal["html", "text"]

_HTML: Final = frozenset(("text/html", "application/xhtml+xml"))
_TEXT: Final = frozenset(
    (
        "application/ecmascript",
        "application/javascript",
        "application/json",
        "application/ld+json",
        "application/toml",
        "application/x-javascript",
        "application/x-ndjson",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    )
)
_TEXT_ENDS: Final = ("+json", "+xml", "+yaml")
_UNKNOWN: Final = frozenset(("", "unknown/unknown", "application/unknown", "*/*"))
_EXAMINED_BYTES: Final = 1_024
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_BINARY: Final = re.compile(rb"\A%PDF-|\x00")
_PAGE_START: Final = re.compile(
    rb"[\s\xef\xbb\xbf]*+<(?:!doctype\s++html|html|head|title|body|script|meta|link|div|p|h1|table|a|main|article|!--)"
    rb"(?=[\s/>-])",
    re.IGNORECASE,
)
_USUAL_HINT: Final = "give the address of a web page"
_HINTS_BY_TYPE: Final = (
    ("application/pdf", "a PDF has to be fetched and read by another tool"),
    ("image/", "a picture has no text that could be read here"),
    ("audio/", "there is no text in it"),
    ("video/", "there is no text in it"),
)


class DocumentFetcher:
    """Fetches documents for all calls of a tool."""

    __slots__ = ("_config", "_robots")

    def __init__(self, config: ScraperConfig) -> None:
        self._config = config
        self._robots = Robots(config.user_agent) if config.robots else None

    def fetch(self, url: str, context: ToolContext) -> HttpResponse:
        """The document at an address.

        Raises:
            ToolValidationError: for an address that may not be fetched.
            ToolExecutionError: if the site does not answer with a document.
        """
        address = _check_address(url)
        client, robots = http_of(context), self._robots
        headers = {} if self._config.user_agent is None else {"User-Agent": self._config.user_agent}

        def check_robots(hop: str) -> None:
            if robots is not None:
                robots.check(hop, client, headers=headers, deadline=context.time_limit)

        try:
            response = client.fetch(
                address,
                headers={"Accept": _ACCEPT, **headers},
                timeout_s=_TIMEOUT_S,
                deadline=context.time_limit,
                max_bytes=self._config.max_bytes,
                vet=check_robots,
            )
        except HttpRefusedError as error:
            raise ToolValidationError(f"the page may not be fetched: {error.problem}") from error
        except HttpTooLargeError as error:
            raise ToolExecutionError(f"the page cannot be read: {error}") from error
        except HttpError as error:
            raise ToolExecutionError(f"the page could not be fetched: {error}") from error
        if response.status >= 400:  # noqa: PLR2004 -- HTTP's own number
            raise _status_error(response)
        return response


def _check_address(url: str) -> str:
    written = url.strip()
    if "://" not in written:
        match = _WITHOUT_SCHEME.fullmatch(written)
        fix = f"write https://{short_line(match[1])}" if match else "write it like https://example.com/page"
        raise ToolValidationError(f"url has no scheme: {fix}")
    return written


def _status_error(response: HttpResponse) -> ServiceError:
    status = response.status
    host = short_line(urlsplit(response.url).netloc)
    hint = _HINTS.get(status, "try later" if status >= 500 else "check the address")  # noqa: PLR2004 -- HTTP's own number
    return ServiceError(
        f"{host} answered with HTTP {status} instead of the page; {hint}",
        status=status,
        retry_after=retry_after_s(response.headers),
    )


def document_kind(response: HttpResponse) -> DocumentKind:
    """The kind of a document, by its media type or its first bytes.

    Raises:
        ToolExecutionError: for one that has no text to read.
    """
    media_type = response.media_type
    head = response.body[:_EXAMINED_BYTES]
    is_page = media_type in _HTML or (media_type in _UNKNOWN and _PAGE_START.match(head) is not None)
    if not is_page and media_type not in _UNKNOWN and not _is_text(media_type):
        hint = next((hint for start, hint in _HINTS_BY_TYPE if media_type.startswith(start)), _USUAL_HINT)
        raise ToolExecutionError(
            f"the document is {short_line(media_type)}, and only web pages and text are read; {hint}"
        )
    declares_charset = "charset" in response.headers.get("content-type", "").lower()
    if not declares_charset and not head.startswith(_UTF16_MARKS) and _BINARY.search(head):
        claim = f"says it is {short_line(media_type)}, but it" if media_type else "has no type, and"
        raise ToolExecutionError(f"the document {claim} is binary; {_USUAL_HINT}")
    return "html" if is_page else "text"


def _is_text(media_type: str) -> bool:
    if media_type.startswith("image/"):
        return False
    return media_type.startswith("text/") or media_type in _TEXT or media_type.endswith(_TEXT_ENDS)
