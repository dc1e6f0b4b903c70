"""Parses dates, times and UUIDs, and checks string formats, by one rule for both validation engines."""

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from functools import lru_cache
from typing import Final
from uuid import UUID

import jsonschema_rs

_DATE: Final = r"\d{4}-\d\d-\d\d"
_TIME: Final = r"\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:?\d\d)?"

FORMAT_EXAMPLES: Final = {
    "date-time": "2024-01-31T09:30:00Z",
    "date": "2024-01-31",
    "time": "09:30:00",
    "email": "ada@example.com",
    "uri": "https://example.com/page",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "duration": "PT1H30M",
}
"""One example of each format, for messages."""
EMAIL_OPTIONS: Final = jsonschema_rs.EmailOptions(allow_display_text=False)


def _parser(pattern: str, parse: Callable[[str], object]) -> Callable[[str], object]:
    """Make a function that parses texts of this pattern, and raises ValueError for any other."""
    allowed = re.compile(pattern, re.ASCII)

    def read(text: str) -> object:
        if not allowed.fullmatch(text):
            raise ValueError(text)
        return parse(text.upper())

    return read


read_datetime: Final = _parser(f"{_DATE}[Tt ]{_TIME}", datetime.fromisoformat)
"""An ISO 8601 date and time; the offset is optional."""
read_date: Final = _parser(_DATE, date.fromisoformat)
"""A date such as `2024-01-31`; no shorter or longer form is accepted."""
read_time: Final = _parser(_TIME, time.fromisoformat)
"""A time such as `09:30`; seconds, fraction and offset are optional."""
read_uuid: Final = _parser(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", UUID)
"""A UUID with dashes; a model that sends another form has most likely invented the value."""


def _accepts(read: Callable[[str], object]) -> Callable[[str], bool]:
    def accepts(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return accepts


OWN_FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date-time": _accepts(read_datetime),
    "date": _accepts(read_date),
    "time": _accepts(read_time),
    "uuid": _accepts(read_uuid),
}
"""The formats that we check ourselves; the JSON Schema engine checks all others."""


@lru_cache
def format_check(name: str) -> Callable[[str], bool]:
    """Return the check of a format, the same one that raw JSON Schemas use."""
    if name in OWN_FORMATS:
        return OWN_FORMATS[name]
    return jsonschema_rs.validator_for(
        {"format": name}, validate_formats=True, offline=True, email_options=EMAIL_OPTIONS
    ).is_valid
