"""Tests of toolhaft.serve.keys on both databases."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.cases import in_case
from tests.postgres import new_url
from tests.serve.kit import DATABASES
from toolhaft.catalog.published import PlatformUser
from toolhaft.resources.clock import FakeClock
from toolhaft.serve.keys import KeyInfo, Keys
from toolhaft.storage import open_database

pytestmark = pytest.mark.external


@pytest.fixture(params=DATABASES)
def database(request, tmp_path):
    with open_database(new_url(request.param, tmp_path)) as database:
        yield database


@pytest.fixture
def clock():
    return FakeClock(epoch_s=1_800_000_000.0)


@pytest.fixture
def keys(database, clock):
    return Keys(database, clock=clock)


def test_key_is_found_by_its_text(keys):
    info, text = keys.create(
        owner="ann", org="acme", scopes=["tools:run", "tools:read", "tools:run"], name="laptop"
    )
    assert re.fullmatch(r"th_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", text)
    assert info == KeyInfo(
        id=text[3:11],
        owner="ann",
        org="acme",
        scopes=frozenset({"tools:read", "tools:run"}),
        created_at="2027-01-15T08:00:00.000000Z",
        expires_at=None,
        name="laptop",
    )
    assert keys.find(text) == info
    assert keys.list() == [info]
    assert info.viewer == PlatformUser(owner="ann", org="acme", scopes=info.scopes)


def test_key_text_is_not_in_the_database(keys, database):
    _, text = keys.create(owner="ann")
    kept = repr(database.read("SELECT * FROM toolhaft_keys"))
    assert text not in kept
    assert text[12:] not in kept
    assert text[12:] not in repr(keys.list())


def test_operator_scope_makes_an_operator(keys):
    info, _ = keys.create(owner="op", scopes=["operator"])
    assert info.viewer.is_operator


def test_invalid_key_texts_find_nothing(keys):
    _, text = keys.create(owner="ann")
    other, _ = keys.create(owner="bob")
    wrong = text[:-1] + ("A" if text[-1] != "A" else "B")
    mixed = f"th_{other.id}_{text[12:]}"
    for tried in (
        "",
        "th_",
        wrong,
        mixed,
        f"{text}\n",
        f" {text}",
        text.upper(),
        "\ud800",
        "a\0b",
        "th_00000000_" + "A" * 43,
        "x" * 10**6,
    ):
        assert keys.find(tried) is None


def test_expired_key_is_not_found(keys, clock):
    info, text = keys.create(
        owner="ann", expires_at=datetime.fromtimestamp(clock.time(), UTC) + timedelta(hours=1)
    )
    assert info.expires_at == "2027-01-15T09:00:00.000000Z"
    clock.advance(3599)
    assert keys.find(text) == info
    assert not info.is_expired(clock.time())
    clock.advance(1)
    assert keys.find(text) is None
    assert info.is_expired(clock.time())
    assert keys.list() == [info]


def test_expiry_is_stored_in_utc(keys):
    cases = [
        "2027-01-15T09:00:00Z",
        "2027-01-15T11:00:00+02:00",
        datetime(2027, 1, 15, 11, tzinfo=timezone(timedelta(hours=2))),
    ]
    for moment in cases:
        with in_case(moment):
            info, _ = keys.create(owner="ann", expires_at=moment)
            assert info.expires_at == "2027-01-15T09:00:00.000000Z"
            assert info in keys.list()


def test_revoking_a_key_removes_only_that_key(keys):
    info, text = keys.create(owner="ann")
    other, other_text = keys.create(owner="ann")
    assert keys.revoke(info.id)
    assert keys.find(text) is None
    assert keys.find(other_text) == other
    assert not keys.revoke(info.id)
    assert not keys.revoke("a\0b")
    assert keys.list() == [other]


def test_keys_are_listed_oldest_first(keys, clock):
    made = []
    for name in ("a", "b", "c"):
        made.append(keys.create(owner="ann", name=name)[0])
        clock.advance(1)
    assert keys.list() == made


def test_changing_keys_advances_the_revision(keys, database):
    before = database.revision()
    info, _ = keys.create(owner="ann")
    keys.revoke(info.id)
    assert database.revision() == before + 2
    keys.revoke(info.id)
    keys.find("th_00000000_" + "A" * 43)
    assert database.revision() == before + 2


def test_invalid_key_fields_are_refused(keys):
    cases = [
        ({"owner": ""}, "needs an owner"),
        ({"owner": "a\0b"}, "owner of a key"),
        ({"owner": " ann"}, "owner of a key"),
        ({"owner": "x" * 201}, "owner of a key"),
        ({"org": "a\nb"}, "org of a key"),
        ({"name": "\ud800"}, "name of a key"),
        ({"scopes": ["tools:read tools:run"]}, "a scope is one word"),
        ({"scopes": [""]}, "a scope is one word"),
        ({"scopes": "operator"}, r"write \['operator'\]"),
        ({"expires_at": "soon"}, "2027-01-31T09:30:00Z"),
        ({"expires_at": "2027-01-31T09:30:00"}, "no time zone"),
        ({"expires_at": datetime(2027, 1, 31)}, "no time zone"),  # noqa: DTZ001 -- without one is the point
    ]
    for wrong, said in cases:
        with in_case(wrong, said):
            with pytest.raises(ValueError, match=said):
                keys.create(**{"owner": "ann", **wrong})
            assert keys.list() == []


def test_key_ids_are_unique(keys, monkeypatch):
    given = iter(["aaaaaaaa", "aaaaaaaa", "bbbbbbbb"])
    monkeypatch.setattr("secrets.token_hex", lambda size: next(given))
    assert keys.create(owner="ann")[0].id == "aaaaaaaa"
    assert keys.create(owner="ann")[0].id == "bbbbbbbb"
