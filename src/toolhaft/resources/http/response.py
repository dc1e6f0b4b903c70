"""What came back for a request, whole.

Does not know how it was fetched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final, NoReturn

from toolhaft.errors import HttpError
from toolhaft.schema.json_value import JSONValue

# An escaped half of a character, with the other half where it follows; an even number of backslashes before
# it are themselves.
_SURROGATE: Final = re.compile(
    r"(?P<before>(?<!\\)(?:\\\\)*+)\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?P<second>\\u[dD][c-fC-F][0-9a-fA-F]{2})?+"
    r"|[c-fC-F][0-9a-fA-F]{2})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """An answer, its body read to the end and decoded."""

    status: int
    url: str
    """Where it came from at last, after every redirect."""
    headers: Mapping[str, str]
    """By lower-case name; a repeated one is joined by commas."""
    body: bytes

    def __repr__(self) -> str:
        """Without its URL, whose query may hold a key: it ends up in logs."""
        return f"<HttpResponse {self.status} {self.media_type or 'of no type'}, {len(self.body):,} bytes>"

    @property
    def is_ok(self) -> bool:
        """True for 200 to 299."""
        return 200 <= self.status < 300  # noqa: PLR2004 -- HTTP's own numbers

    @property
    def media_type(self) -> str:
        """Such as 'text/html', in lower case, without parameters; empty where nobody said."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def json(self) -> JSONValue:
        """The body as JSON, whatever its media type says.

        A character of which a half is missing, escaped or not, is read as U+FFFD: what has one cannot be
        written anywhere, and the rest of the answer is as good as without it.

        Raises:
            HttpError: where it is none.
        """
        try:
            text = self.body.decode(json.detect_encoding(self.body), "replace")
            if "\\ud" in text or "\\uD" in text:
                text = _SURROGATE.sub(_whole, text)
            return json.loads(text, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            kind = self.media_type or "no media type"
            raise HttpError(f"the answer is not JSON ({kind}, {len(self.body):,} bytes)") from error


def _whole(escaped: re.Match[str]) -> str:
    return escaped[0] if escaped["second"] else f"{escaped['before']}\\ufffd"


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(number: str) -> float:
    value = float(number)
    if not isfinite(value):
        _refuse(number)
    return value
