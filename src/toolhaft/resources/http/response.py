"""What came back for a request, whole.

Does not know how it was fetched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import NoReturn

from toolhaft.errors import HttpError
from toolhaft.schema.json_value import JSONValue


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

        Raises:
            HttpError: where it is none.
        """
        try:
            return json.loads(self.body, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            kind = self.media_type or "no media type"
            raise HttpError(f"the answer is not JSON ({kind}, {len(self.body):,} bytes)") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _finite(number: str) -> float:
    value = float(number)
    if not isfinite(value):
        _refuse(number)
    return value
