"""Hides the secrets of a call in whatever comes back, in every form in which it may be written there.

Knows texts and JSON values; does not know where secrets come from, nor where they were sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from toolhaft.define.running.template import shown_variable
from toolhaft.errors import HttpError
from toolhaft.resources.http.response import HttpResponse
from toolhaft.schema.json_value import JSONValue

_SHORTEST: Final = 4
_SHORTEST_NUMBER: Final = 8
"""Shorter numbers are years and counts."""
_WIDE: Final = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


class Mask:
    """What to hide, and what is shown in its place."""

    __slots__ = ("_any_case", "_exact", "_names", "_values")

    def __init__(self, names: Mapping[str, str], values: frozenset[str]) -> None:
        self._names = names
        self._values = values
        # the longest first: one secret may begin another
        each = "|".join(re.escape(form) for form in sorted(names, key=len, reverse=True))
        self._exact = re.compile(each)
        self._any_case = re.compile(each, re.IGNORECASE)

    def text(self, text: str) -> str:
        """A text without the secrets."""
        # looked for one by one: that is many times faster than the pattern, and mostly finds nothing
        if not any(form in text for form in self._names):
            return text
        return self._exact.sub(lambda found: self._names[found[0]], text)

    def words(self, text: str) -> str:
        """A short text without the secrets in any case: hosts and media types are told in lower case."""
        lower = {form.lower(): shown for form, shown in self._names.items()}
        return self._any_case.sub(lambda found: lower.get(found[0].lower(), "..."), text)

    def value(self, value: JSONValue) -> JSONValue:
        """A JSON value without the secrets, in keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self.value(item) for key, item in value.items()}
        if type(value) is int and str(value) in self._values:
            return self._names[str(value)]
        return value

    def raw(self, data: bytes) -> bytes:
        """The bytes of a text without the secrets."""
        for form in sorted(self._names, key=len, reverse=True):
            for encoding in ("utf-8", *_WIDE):
                data = data.replace(
                    form.encode(encoding, "replace"), self._names[form].encode(encoding, "replace")
                )
        return data


def mask_of(secrets: Mapping[str, str]) -> Mask | None:
    """What hides these secrets, by the names of their variables; None where there is nothing to hide."""
    names: dict[str, str] = {}
    for name, value in secrets.items():
        for form in _forms(value):
            if len(form) >= _SHORTEST:
                names.setdefault(form, shown_variable(name))
    if not names:
        return None
    numbers = frozenset(value for value in secrets.values() if len(value) >= _SHORTEST_NUMBER)
    return Mask(names, numbers)


def _forms(value: str) -> Iterator[str]:
    """A secret as it is, and as JSON and URLs write it."""
    yield value
    for is_ascii in (True, False):
        escaped = json.dumps(value, ensure_ascii=is_ascii)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
    yield quote(value, safe="", errors="replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class _MaskedResponse(HttpResponse):
    mask: Mask
    original: HttpResponse

    def json(self) -> JSONValue:
        # of what came: hidden in the raw text, a secret of digits would take a number apart
        try:
            return self.mask.value(self.original.json())
        except RecursionError as error:
            raise HttpError("the answer is nested too deeply to be looked through") from error


def hide(response: HttpResponse, mask: Mask | None) -> HttpResponse:
    """The answer without the secrets that were sent: some services send them back."""
    if mask is None:
        return response
    return _MaskedResponse(
        status=response.status,
        url=response.url,
        headers={name: mask.words(text) for name, text in response.headers.items()},
        body=mask.raw(response.body),
        mask=mask,
        original=response,
    )
