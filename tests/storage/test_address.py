"""Database URLs: which are valid, and that no message contains a password."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import in_case
from toolhaft.errors import StorageError
from toolhaft.storage import open_database
from toolhaft.storage.address import DatabaseAddress, parse_address


def test_valid_urls_are_parsed():
    cases = [
        ("sqlite://", DatabaseAddress(dialect="sqlite", target="", display_name="sqlite:// (in memory)")),
        (
            "sqlite:///srv/a.db",
            DatabaseAddress(dialect="sqlite", target="/srv/a.db", display_name="/srv/a.db"),
        ),
        (
            "sqlite:////srv/a.db",
            DatabaseAddress(dialect="sqlite", target="/srv/a.db", display_name="/srv/a.db"),
        ),
        (
            "SQLite:///srv/a%20b%3F.db",
            DatabaseAddress(dialect="sqlite", target="/srv/a b?.db", display_name="/srv/a b?.db"),
        ),
        (
            "postgresql://u:secret@db.example:5432/name",
            DatabaseAddress(
                dialect="postgresql",
                target="postgresql://u:secret@db.example:5432/name",
                display_name="postgresql://db.example:5432/name",
            ),
        ),
        (
            "postgres://u:secret@[::1],10.0.0.1:5433/name?password=secret&sslmode=require",
            DatabaseAddress(
                dialect="postgresql",
                target="postgresql://u:secret@[::1],10.0.0.1:5433/name?password=secret&sslmode=require",
                display_name="postgresql://[::1],10.0.0.1:5433/name",
            ),
        ),
        (
            "postgresql:///name?host=/run",
            DatabaseAddress(
                dialect="postgresql", target="postgresql:///name?host=/run", display_name="postgresql:///name"
            ),
        ),
    ]
    for url, address in cases:
        with in_case(url, address):
            assert parse_address(url) == address


def test_invalid_url_is_refused_without_quoting_it():
    cases = [
        "",
        "secret",
        "mysql://u:secret@h/d",
        "secret://x",
        "sqlite:/srv/a.db",
        "sqlite://srv/a.db",
        "sqlite:///srv/",
        "sqlite:///srv/a.db?mode=ro",
        "sqlite:///srv/a%00.db",
        "postgresql:secret",
    ]
    for url in cases:
        with in_case(url):
            with pytest.raises(StorageError, match=r"sqlite|SQLite") as caught:
                open_database(url)
            assert "secret" not in str(caught.value)


def test_password_is_never_in_the_display_name():
    cases = ["h/d?password=secret", "u:secret@h:5432/d", "u:secret@/d", "secret@h", "u:%73ecret@h,secure/d"]
    for rest in cases:
        with in_case(rest):
            address = parse_address(f"postgresql://{rest}")
            assert "secret" not in address.display_name + repr(address)


def test_ambiguous_password_is_refused_without_quoting_it():
    cases = [
        "u:secret",
        "u:se/secret@h/d",
        "u:12/secret@h/d",
        "u:se?secret@h/d",
        "u:se#secret@h/d",
        "u:se@secret@h/d",
        "h/d?password=x@secret",
        "u@h:secret/d",
        "u:x@h/d#secret",
        "[secret",
        "h/u:secret",
        "u:se%zzsecret@h/d",
        "h/d?nonsense=secret",
    ]
    for rest in cases:
        with in_case(rest):
            with pytest.raises(StorageError, match="%40 for @") as caught:
                open_database(f"postgresql://{rest}")
            assert "secret" not in str(caught.value)
            assert caught.value.__cause__ is None
            assert caught.value.__suppress_context__ or caught.value.__context__ is None


@given(st.text(min_size=1).map(lambda text: f"<{text}>"))
def test_unescaped_password_is_never_in_the_display_name(password):
    try:
        display_name = parse_address(f"postgresql://user:{password}@host/name").display_name
    except StorageError as error:
        display_name = str(error)
    assert password not in display_name
