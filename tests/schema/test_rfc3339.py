"""Dates and times as RFC 3339 has them: in both engines, in types and in formats."""

import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import product
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from tests.cases import each_case, in_case
from toolhaft import InvalidArguments, ToolConfig, ValidArguments, create_tool, tool
from toolhaft.schema import string_formats
from toolhaft.schema.problems import Problem


class Event(BaseModel):
    value: datetime


def tools(format, *annotations):
    """Tools that take such a value: a raw schema, a text with this format, a type."""
    schema = {"type": "object", "properties": {"value": {"type": "string", "format": format}}}
    yield create_tool(ToolConfig(name="raw", description="Raw.", input_schema=schema))
    for annotation in (Annotated[str, Field(json_schema_extra={"format": format})], *annotations):

        def take(value: Any) -> None:
            """Take."""

        take.__annotations__["value"] = annotation
        yield tool(take)


DATE_TIMES = [*tools("date-time", datetime)]
TIMES = [*tools("time", time)]
DATES = [*tools("date", date)]


def verdicts(made, text):
    return {isinstance(one.validate({"value": text}), ValidArguments) for one in made}


@each_case(
    "text",
    [
        "1998-12-31T23:59:60Z",
        "1998-12-31T23:59:60.5Z",
        "1998-12-31T15:59:60-08:00",
        "2016-12-31T23:59:60+00:00",
        "2016-12-31T23:59:60-00:00",
        "2017-01-01T09:29:60+09:30",
        "2015-06-30t23:59:60z",
        "2024-01-31T09:30:00.123456789012345678901234567890Z",
        "2024-01-31T09:30:00." + "9" * 5000 + "+01:00",
        "2024-02-29T00:00:00+23:59",
        "2024-02-29T00:00:00-00:00",
        "9999-12-31T23:59:60Z",
        "2024-01-31T09:30:00",
        "2024-01-31 09:30",
    ],
)
def test_date_times_of_rfc_3339_are_accepted_by_both_engines(text):
    assert verdicts(DATE_TIMES, text) == {True}


@each_case(
    "text",
    [
        "2024-01-31T09:30:00+10:60",
        "2024-01-31T09:30:00+1060",
        "2024-01-31T09:30:00+24:00",
        "2024-01-31T09:30:00-25:00",
        "2024-01-31T09:30:00+1:00",
        "2024-01-31T09:30:61Z",
        "2024-01-31T24:00:00Z",
        "2024-01-31T09:60:00Z",
        "1998-12-31T23:58:60Z",
        "1998-12-31T22:59:60Z",
        "1998-12-31T23:59:60+01:00",
        "1998-12-30T23:59:60Z",
        "2023-02-29T00:00:00Z",
        "2024-01-31T09:30:00.Z",
        "2024-01-31T09:30:00,5Z",
        "2024-01-31T09:30:00ZZ",
        "2024-01-31TT09:30:00Z",
        "9999-12-31T23:59:60-08:00",
        "0001-01-01T00:29:60+00:30",
        "\u0662\u0660\u0662\u0664-01-31T09:30:00Z",
    ],
)
def test_other_date_times_are_refused_by_both_engines(text):
    assert verdicts(DATE_TIMES, text) == {False}


@each_case(
    "text, is_valid",
    [
        ("23:59:60Z", True),
        ("23:59:60.999Z", True),
        ("01:29:60+01:30", True),
        ("15:59:60-08:00", True),
        ("23:29:60+23:30", True),
        ("09:30:00.123456789123Z", True),
        ("09:30:00z", True),
        ("09:30:00-00:00", True),
        ("23:59:60+01:00", False),
        ("22:59:60Z", False),
        ("23:58:60Z", False),
        ("23:59:61Z", False),
        ("09:30:00+10:60", False),
        ("09:30:00+24:00", False),
        ("24:00:00Z", False),
    ],
)
def test_times_of_rfc_3339(text, is_valid):
    assert verdicts(TIMES, text) == {is_valid}


@each_case(
    "text, is_valid",
    [("2024-02-29", True), ("2023-02-29", False), ("2024-13-01", False), ("2024-1-1", False)],
)
def test_dates_of_rfc_3339(text, is_valid):
    assert verdicts(DATES, text) == {is_valid}


def test_a_leap_second_becomes_the_moment_before_it_in_python():
    taken = {
        made.name: made.validate({"value": "2017-01-01T00:59:60.25+01:00"}).params["value"]
        for made in DATE_TIMES[1:]
    }
    zone = timezone(timedelta(hours=1))
    assert taken["take"] == datetime(2017, 1, 1, 0, 59, 59, 999_999, tzinfo=zone)
    assert DATE_TIMES[0].validate({"value": "2016-12-31T23:59:60Z"}).params == {
        "value": "2016-12-31T23:59:60Z"
    }
    assert TIMES[-1].validate({"value": "23:59:60Z"}).params["value"] == time(23, 59, 59, 999_999, tzinfo=UTC)


def test_long_fractions_are_cut_to_microseconds_in_python():
    moment = DATE_TIMES[-1].validate({"value": "2024-01-31T09:30:00.123456789Z"}).params["value"]
    assert moment == datetime(2024, 1, 31, 9, 30, 0, 123_456, tzinfo=UTC)


def test_models_and_constrained_types_read_the_same():
    @tool
    def take(event: Event, aware: AwareDatetime) -> None:
        """Take."""

    leap = "2016-12-31T23:59:60Z"
    valid = take.validate({"event": {"value": leap}, "aware": leap})
    assert (
        valid.params["event"].value
        == valid.params["aware"]
        == datetime(2016, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    )
    for wrong in ("2024-01-31T09:30:00+10:60", "2016-12-31T22:59:60Z"):
        with in_case(wrong):
            assert isinstance(take.validate({"event": {"value": wrong}, "aware": leap}), InvalidArguments)
            assert isinstance(take.validate({"event": {"value": leap}, "aware": wrong}), InvalidArguments)


def python_calls_of(call):
    """The names of the functions of `string_formats` that run during a call."""
    names = []

    def profile(frame, event, _):
        if event == "call" and frame.f_code.co_filename == string_formats.__file__:
            names.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


def test_common_date_times_and_times_are_parsed_without_a_python_function():
    for made, text in (
        (DATE_TIMES[-1], "2024-01-31T09:30:00Z"),
        (DATE_TIMES[-1], "2024-01-31T09:30:00.123456-08:00"),
        (DATE_TIMES[-1], "2024-01-31 09:30"),
        (TIMES[-1], "09:30:00"),
        (TIMES[-1], "09:30:00.5+01:00"),
    ):
        with in_case(text):
            assert python_calls_of(lambda made=made, text=text: made.validate({"value": text})) == []
    assert python_calls_of(lambda: TIMES[-1].validate({"value": "23:59:60Z"})) != []


def test_common_and_other_forms_of_a_time_have_the_values_of_one_rule():
    clocks = ("00:00", "23:59", "24:00", "09:30", "9:30", "12:60")
    seconds = ("", ":00", ":59", ":60", ":61", ":7", ":07.1", ":07.123456", ":07.1234567", ":07.", ":07,5")
    offsets = ("", "Z", "z", "+00:00", "-00:00", "+23:59", "-08:00", "+0530", "+24:00", "+10:60", "+01", " Z")
    times = ["".join(parts) for parts in product(clocks, seconds, offsets)]
    days = ("2024-02-29", "2023-02-29", "0001-01-01", "9999-12-31", "0000-01-01", "2024-1-1", "2016-12-31")
    moments = [f"{day}{mark}{time}" for day, mark, time in product(days, ("T", "t", " ", "_"), times[::7])]
    ends = ("1", " ", "\n", "\u0661")
    for made, read, texts in (
        (TIMES[-1], string_formats.read_time, times),
        (DATE_TIMES[-1], string_formats.read_datetime, moments),
    ):
        for text in (*texts, *(texts[0] + end for end in ends), *(end + texts[0] for end in ends)):
            with in_case(text):
                assert taken(made, text) == read_by_rule(read, text)


def taken(made, text):
    verdict = made.validate({"value": text})
    value = verdict.params["value"] if isinstance(verdict, ValidArguments) else None
    return repr(value)


def read_by_rule(read, text):
    try:
        return repr(read(text))
    except ValueError:
        return repr(None)


class Stripped(BaseModel):
    model_config = ConfigDict(str_strip_whitespace=True, regex_engine="python-re", str_max_length=3)

    value: Decimal


def test_decimals_are_read_by_one_rule_whatever_a_model_says_about_strings():
    @tool
    def take(plain: Decimal, model: Stripped) -> None:
        """Take."""

    for given, value in (
        ("1.50", "1.50"),
        ("-0", "-0"),
        ("+.5", "0.5"),
        ("5.", "5"),
        ("0001234567890.123", "1234567890.123"),
        (12, "12"),
        (1.25, "1.25"),
    ):
        with in_case(given):
            params = take.validate({"plain": given, "model": {"value": given}}).params
            assert (str(params["plain"]), str(params["model"].value)) == (value, value)
    for wrong in ("1e5", " 1", "1 ", "1\n", "", ".", "NaN", "Infinity", "\u0661", [], {"a": 1}):
        with in_case(wrong):
            assert [
                problem.path
                for problem in take.validate({"plain": wrong, "model": {"value": wrong}}).problems
            ] == ["plain", "model.value"]


def test_a_wrong_date_time_is_one_problem():
    assert DATE_TIMES[-1].validate({"value": "soon"}).problems == (
        Problem(
            "value",
            '"soon" is not a valid date-time',
            "a string in date-time format, such as 2024-01-31T09:30:00Z",
        ),
    )
    assert DATE_TIMES[-1].validate({"value": []}).problems[0].what == "got []"
