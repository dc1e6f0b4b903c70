"""The response to a request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final, NoReturn

from toolhaft.errors import HttpError

# An escaped surrogate, with its second half if that follows; pairs of backslashes before it are literal.
_SURROGATE: Final = re.compile(
    r"(?P<before>(?<!\\)(?:\\\\)*+)\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?P<second>\\u[dD][c-fC-F][0-9a-fA-F]{2})?+"
    r"|[c-fC-F][0-9a-fA-F]{2})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """A response with its complete, decompressed body."""

    status: int
    url: str
    """The final URL, after all redirects."""
    headers: Mapping[str, str]
    """By lower-case name; repeated headers are joined with commas."""
    body: bytes

    def __repr__(self) -> str:
        """Without the URL, whose query may contain a key: reprs end up in logs."""
        return f"<HttpResponse {self.status} {self.media_type or 'of no type'}, {len(self.body):,} bytes>"

    @property
    def is_ok(self) -> bool:
        """True for 200 to 299."""
        return 200 <= self.status < 300  # noqa: PLR2004 -- status codes

    @property
    def media_type(self) -> str:
        """Such as 'text/html', in lower case, without parameters; empty if not sent."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> Any:  # noqa: ANN401 -- as in other clients: the caller knows what to expect
        """Parse the body as JSON, whatever its media type is.

        A lone surrogate, escaped or not, becomes U+FFFD: it could not be encoded later, and the rest of the
        response is still useful.

        Raises:
            HttpError: if it is not JSON.
        """
        try:
            text = self.body.decode(json.detect_encoding(self.body), "replace")
            if "\\ud" in text or "\\uD" in text:
                text = _SURROGATE.sub(_replace_surrogate, text)
            return json.loads(text, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            kind = self.media_type or "no media type"
            raise HttpError(f"the response is not JSON ({kind}, {len(self.body):,} bytes)") from error


def _replace_surrogate(escaped: re.Match[str]) -> str:
    return escaped[0] if escaped["second"] else f"{escaped['before']}\\ufffd"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(number: str) -> float:
    value = float(number)
    if not isfinite(value):
        _refuse(number)
    return value
