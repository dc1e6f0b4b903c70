"""Tells by its media type, or by its first bytes, what kind of document was fetched.

Does not read it.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

from toolhaft.errors import ToolExecutionError
from toolhaft.resources.http import HttpResponse
from toolhaft.toolbox.outside import one_line

Kind: TypeAlias = Literal["html", "text"]

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
_LOOKED_AT: Final = 1_024
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
_BINARY: Final = re.compile(rb"\A%PDF-|\x00")
_PAGE_START: Final = re.compile(
    rb"[\s\xef\xbb\xbf]*+<(?:!doctype\s++html|html|head|title|body|script|meta|link|div|p|h1|table|a|main|article|!--)"
    rb"(?=[\s/>-])",
    re.IGNORECASE,
)
_USUAL_HINT: Final = "give the address of a web page"
_HINTS: Final = (
    ("application/pdf", "a PDF has to be fetched and read by another tool"),
    ("image/", "a picture has no text that could be read here"),
    ("audio/", "there is no text in it"),
    ("video/", "there is no text in it"),
)


def kind_of(response: HttpResponse) -> Kind:
    """What kind of document an answer is.

    Raises:
        ToolExecutionError: where it is none that has text to read.
    """
    media_type = response.media_type
    start = response.body[:_LOOKED_AT]
    is_page = media_type in _HTML or (media_type in _UNKNOWN and _PAGE_START.match(start) is not None)
    if not is_page and media_type not in _UNKNOWN and not _is_text(media_type):
        hint = next((hint for sign, hint in _HINTS if media_type.startswith(sign)), _USUAL_HINT)
        raise ToolExecutionError(
            f"the document is {one_line(media_type)}, and only web pages and text are read; {hint}"
        )
    says_charset = "charset" in response.headers.get("content-type", "").lower()
    if not says_charset and not start.startswith(_UTF16) and _BINARY.search(start):
        said = f"says it is {one_line(media_type)}, but it" if media_type else "has no type, and"
        raise ToolExecutionError(f"the document {said} is binary; {_USUAL_HINT}")
    return "html" if is_page else "text"


def _is_text(media_type: str) -> bool:
    if media_type.startswith("image/"):
        return False
    return media_type.startswith("text/") or media_type in _TEXT or media_type.endswith(_TEXT_ENDS)
