"""Parses dates, times and UUIDs, and checks string formats, by one rule for both validation engines."""

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

import jsonschema_rs

_DATE: Final = r"\d{4}-\d\d-\d\d"
_HOUR_AND_MINUTE: Final = r"(?:[01]\d|2[0-3]):[0-5]\d"
_OFFSET: Final = r"[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d"
_TIME: Final = rf"{_HOUR_AND_MINUTE}(?::(?:[0-5]\d|60)(?:\.\d+)?)?(?:{_OFFSET})?"
_LEAP_SECOND: Final = re.compile(r"(.*\d\d:\d\d):60(?:\.\d+)?(.*)")
_DAY_MINUTES: Final = 24 * 60
_DAYS: Final = "[0-9]+Y(?:[0-9]+M)?(?:[0-9]+D)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D"
_SECONDS: Final = r"[0-9]+(?:\.[0-9]+)?S"
_CLOCK: Final = f"T(?:[0-9]+H(?:[0-9]+M)?(?:{_SECONDS})?|[0-9]+M(?:{_SECONDS})?|{_SECONDS})"
DURATION_PATTERN: Final = f"-?P(?:[0-9]+W|(?:{_DAYS})(?:{_CLOCK})?|{_CLOCK})"
"""A duration of ISO 8601: also negative, with a fraction, or without a unit between others."""

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


def _parser(
    pattern: str,
    parse: Callable[[str], object],
    is_leap_second: Callable[[Any], bool] | None = None,
) -> Callable[[str], object]:
    """Make a function that parses texts of this pattern, and raises ValueError for any other.

    `is_leap_second` decides whether second 60 is allowed after the moment before it.
    """
    matches = re.compile(pattern, re.ASCII).fullmatch

    def read(text: str) -> object:
        if not matches(text):
            raise ValueError(text)
        try:
            return parse(text.upper())
        except ValueError:
            found = _LEAP_SECOND.fullmatch(text.upper())
            if is_leap_second is None or found is None:
                raise
        # Python has no second 60; this is the nearest moment on the same day
        before = parse(f"{found[1]}:59.999999{found[2]}")
        if not is_leap_second(before):
            raise ValueError(text)
        return before

    return read


def _ends_a_month(moment: datetime) -> bool:
    """True for the last minute of a month in UTC, where leap seconds are added."""
    try:
        utc = moment.replace(tzinfo=None) - (moment.utcoffset() or timedelta())
    except OverflowError:
        return False
    return utc.day == monthrange(utc.year, utc.month)[1] and _ends_a_day(utc.timetz())


def _ends_a_day(moment: time) -> bool:
    """True for the last minute of a day in UTC."""
    offset = (moment.utcoffset() or timedelta()) // timedelta(minutes=1)
    return (moment.hour * 60 + moment.minute - offset + 1) % _DAY_MINUTES == 0


read_datetime: Final = _parser(f"{_DATE}[Tt ]{_TIME}", datetime.fromisoformat, _ends_a_month)
"""A date and time of RFC 3339; the offset and the seconds are optional, as in ISO 8601."""
read_date: Final = _parser(_DATE, date.fromisoformat)
"""A date such as `2024-01-31`; no shorter or longer form is accepted."""
read_time: Final = _parser(_TIME, time.fromisoformat, _ends_a_day)
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
    "duration": _accepts(_parser(DURATION_PATTERN, str)),
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
