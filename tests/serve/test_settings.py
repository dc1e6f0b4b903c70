"""The settings of a platform, and how invalid ones are refused."""

import pytest

from tests.cases import in_case
from toolhaft.errors import ConfigError
from toolhaft.serve import Settings


def test_defaults_are_loopback_only_without_programs():
    settings = Settings()
    assert (settings.host, settings.port, settings.is_loopback) == ("127.0.0.1", 8420, True)
    assert settings.kinds == {"http"}
    assert settings.allow_env == frozenset()
    assert settings.url_at(8420) == "http://127.0.0.1:8420"


def test_invalid_settings_are_refused_with_a_fix():
    cases = [
        ({"port": 70_000}, "port: 70000"),
        ({"port": True}, "port: True"),
        ({"workers": 2}, "workers: 2"),
        ({"max_parallel": 0}, "max_parallel: 0"),
        ({"body_bytes": 10**9}, "body_bytes: 1,000,000,000"),
        ({"call_timeout_s": 0}, "call_timeout_s: 0"),
        ({"grace_s": float("inf")}, "grace_s: inf"),
        ({"rate": "often"}, "rate: 'often'"),
        ({"rate": "0/min"}, "rate: '0/min'"),
        ({"rate": "10/year"}, "rate: '10/year'"),
        ({"allow_run": ["shell"]}, "'shell' is not a kind of run"),
        ({"allow_run": "python"}, "allow_run is a list"),
        ({"allow_env": "HOME"}, "allow_env is a list"),
        ({"http_allow": "localhost"}, "http_allow is a list"),
        ({"public_url": "tools.example.com"}, "is not a valid address"),
        ({"public_url": "ftp://tools.example.com"}, "is not a valid address"),
        ({"public_url": "https://user:word@tools.example.com"}, "is not a valid address"),
        ({"public_url": "https://tools.example.com:port"}, "is not a valid address"),
        ({"public_url": "https://tools.example.com/a"}, "has a path"),
        ({"host": "0.0.0.0"}, "public_url"),  # noqa: S104 -- refused
        ({"host": "::"}, "public_url"),
    ]
    for wrong, told in cases:
        with in_case(wrong, told):
            with pytest.raises(ConfigError, match=r"Fix: ") as caught:
                Settings(**wrong)
            assert told in str(caught.value)


def test_accepted_hosts_follow_from_the_address():
    near = Settings().hosts_at(9000)
    assert near == {b"127.0.0.1:9000", b"[::1]:9000", b"localhost:9000"}
    far = Settings(host="0.0.0.0", public_url="https://Tools.Example.com")  # noqa: S104 -- not bound
    assert far.hosts_at(8420) == {b"tools.example.com", b"tools.example.com:443"}
    assert far.origins_at(8420) == {b"https://tools.example.com", b"https://tools.example.com:443"}
    assert far.url_at(8420) == "https://tools.example.com"
    assert not far.is_loopback


def test_all_loopback_names_are_recognised():
    for host in ["localhost", "127.8.9.1", "::1", "[::1]"]:
        with in_case(host):
            settings = Settings(host=host)
            assert settings.is_loopback
            assert settings.url_at(1).startswith("http://")
            assert "::1" not in settings.url_at(1) or settings.url_at(1) == "http://[::1]:1"


def test_similar_names_are_not_loopback():
    assert not Settings(host="127.0.0.1.example.com").is_loopback
