"""A key is sent only to the address that it was given for, whatever a project's files name."""

import json
from concurrent.futures import ThreadPoolExecutor
from stat import S_IMODE

import pytest

from tests.cases import each_case, in_case
from tests.define.running.kit import META, serving
from toolhaft import execute_tool, load_tool
from toolhaft.define.running import PlatformAccess
from toolhaft.define.running.environment import read_env
from toolhaft.define.running.platform_access import find_access
from toolhaft.define.running.platform_keys import (
    is_below,
    is_encrypted,
    normal_url,
    remove_key,
    store_key,
    stored_addresses,
    stored_key,
)
from toolhaft.errors import ConfigError, DefinitionError

URL, KEY = "TOOLHAFT_PLATFORM_URL", "TOOLHAFT_API_KEY"
HERE, THERE = "https://tools.example.com", "https://evil.example"


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in (URL, KEY):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "config" / "toolhaft" / "keys.json"


@each_case(
    ("environment", "env_file", "settings", "sent"),
    [
        # given together
        ({URL: HERE, KEY: "k"}, {}, None, (HERE, "k")),
        ({URL: HERE, KEY: "k"}, {URL: THERE, KEY: "f"}, THERE, (HERE, "k")),
        ({}, {URL: HERE, KEY: "f"}, THERE, (HERE, "f")),
        ({URL: "http://127.0.0.1:8420", KEY: "k"}, {}, None, ("http://127.0.0.1:8420", "k")),
        # a project's file names the address
        ({KEY: "k"}, {}, THERE, (THERE, None)),
        ({KEY: "k"}, {URL: THERE}, None, (THERE, None)),
        ({KEY: "k"}, {URL: THERE, KEY: "f"}, None, (THERE, None)),
        ({KEY: "k", URL: " "}, {URL: THERE}, THERE, (THERE, None)),
        ({}, {KEY: "f"}, THERE, (THERE, None)),
        ({URL: THERE}, {KEY: "f"}, None, (THERE, None)),
        ({KEY: " "}, {URL: THERE, KEY: "f"}, None, (THERE, None)),
        # nobody names it
        ({KEY: "k"}, {}, None, ("http://127.0.0.1:8420", None)),
        # plain http to another machine
        ({URL: "http://tools.example.com", KEY: "k"}, {}, None, ("http://tools.example.com", None)),
        ({URL: "http://127.0.0.1.evil.example", KEY: "k"}, {}, None, ("http://127.0.0.1.evil.example", None)),
        ({}, {URL: "http://10.0.0.1", KEY: "f"}, None, ("http://10.0.0.1", None)),
        ({KEY: "k"}, {}, "http://tools.example.com", ("http://tools.example.com", None)),
    ],
)
def test_a_key_from_one_source_is_not_sent_to_an_address_from_another(environment, env_file, settings, sent):
    access = find_access(environment, env_file, settings)
    assert (access.url, access.key) == sent
    has_key = environment.get(KEY, env_file.get(KEY, "")).strip()
    assert bool(access.refusal) == (bool(has_key) and access.key is None)
    if access.refusal:
        is_safe = is_encrypted(access.url)
        hint = f"type: lk login {access.url}" if is_safe else "use the platform's https address"
        assert access.refusal.endswith(hint)


def test_a_stored_key_is_sent_whoever_names_its_address():
    store_key(HERE, "stored")
    assert find_access({KEY: "k"}, {}, HERE).key == "stored"
    assert find_access({}, {URL: HERE, KEY: "planted"}, None).key == "stored"
    assert find_access({URL: HERE, KEY: "chosen"}, {}, None).key == "chosen"
    assert find_access({KEY: "k"}, {}, THERE).key is None


SAME = ("https://Tools.Example.com/", "HTTPS://tools.example.com:443", "https://tools.example.com.")
OTHER = (
    "https://tools.example.com:444",
    "https://tools.example.com/base",
    "https://sub.tools.example.com",
    "https://tools.example.com.evil.example",
    "https://toolsxexample.com",
    "https://tools.example.com@evil.example",
    "https://evil.example#tools.example.com",
    "https://evil.example/tools.example.com",
    "http://tools.example.com",
    "https://tools.example.co",
)


def test_addresses_are_compared_however_they_are_written():
    store_key(HERE, "stored")
    for url in SAME:
        with in_case(url):
            assert stored_key(url) == "stored"
    for url in OTHER:
        with in_case(url):
            assert stored_key(url) is None
    store_key("https://bücher.example/Base/", "b")
    assert stored_key("https://xn--bcher-kva.example/Base") == "b"
    assert stored_key("https://xn--bcher-kva.example/base") is None
    assert normal_url("not a url/") == "not a url"


def test_a_url_is_below_an_address_only_with_its_origin_and_path():
    base = "https://tools.example.com/base"
    for url, below in (
        (f"{base}/v3/tool/x", True),
        ("https://TOOLS.example.com:443/base/x", True),
        ("https://tools.example.com/other", False),
        (f"{base}ment/x", False),
        (f"{base}/../other", False),
        (f"{base}/%2e%2e/other", False),
        (f"{base}/..%2fother", False),
        (f"{base}/%5C..%5Cother", False),
        (f"{base}/..;/other", False),
        (f"{base}/%252e%252e/other", False),
        ("http://tools.example.com/base/x", False),
        ("https://tools.example.com:8443/base/x", False),
        ("https://tools.example.com@evil.example/base/x", False),
        ("https://evil.example/base/x", False),
        ("nothing", False),
    ):
        with in_case(url):
            assert is_below(url, base) is below
    assert is_below("https://tools.example.com/anything", HERE)
    assert not is_below(HERE, "nothing")


def test_only_https_and_this_machine_are_encrypted():
    for url in (
        "https://a.example",
        "http://127.0.0.1:1",
        "http://127.8.8.8",
        "http://localhost",
        "http://[::1]:5",
        "http://[::ffff:127.0.0.1]",
    ):
        assert is_encrypted(url), url
    for url in (
        *("http://a.example", "http://localhost.evil.example", "http://10.0.0.1", "http://0.0.0.0"),
        *("http://[::ffff:10.0.0.1]", "http://2130706433", "ftp://localhost", "localhost", ""),
    ):
        assert not is_encrypted(url), url
    for url in ("http://a.example", "nothing"):
        with pytest.raises(ConfigError, match="a key is not sent over plain http"):
            PlatformAccess(url=url, key="k")
        with pytest.raises(ConfigError, match="use https"):
            store_key(url, "k")
    assert PlatformAccess(url="http://a.example").key is None


def test_the_file_of_keys_is_for_its_user_only(config):
    store_key(HERE, "secret")
    store_key("http://127.0.0.1:8420/", "other")
    assert S_IMODE(config.stat().st_mode) == 0o600
    assert S_IMODE(config.parent.stat().st_mode) == 0o700
    assert stored_addresses() == ["http://127.0.0.1:8420", HERE]
    assert (remove_key(f"{HERE}/"), remove_key(HERE), stored_key(HERE)) == (True, False, None)
    config.chmod(0o640)
    with pytest.raises(ConfigError, match=r"other users can read or change it\. Fix: chmod 600 "):
        stored_key(HERE)
    config.chmod(0o600)
    for text in ("{", "[]", '"secret"', "\udcff"):
        config.write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(ConfigError, match=r"keys\.json: the file cannot be used") as caught:
            stored_key(HERE)
        assert "secret" not in str(caught.value)
    config.write_text(json.dumps({HERE: 5}))
    assert stored_key(HERE) is None


def test_a_home_that_cannot_be_used_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    with pytest.raises(ConfigError, match="XDG_CONFIG_HOME: it is not an absolute path"):
        stored_addresses()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    assert stored_addresses() == []
    with pytest.raises(ConfigError, match="the file cannot be used"):
        store_key(HERE, "k")


def test_a_line_added_to_env_cannot_change_the_address_of_its_key():
    text = f"{URL}={HERE}\n{KEY}=k\nA=1\nA=2\n"
    assert read_env(text)["A"] == "2"
    for line in (f"{URL}={THERE}", f"export {URL} = '{THERE}'", f"{KEY}=x"):
        with pytest.raises(DefinitionError, match=r"\.env:5: TOOLHAFT_\w+ is set a second time"):
            read_env(f"{text}{line}\n")


@pytest.mark.external
def test_no_request_leaves_with_or_without_a_key_that_is_for_another_address(tmp_path, monkeypatch):
    monkeypatch.setenv(KEY, "th_key_of_mine")
    folder = tmp_path / "local-kit" / "tools"
    folder.mkdir(parents=True)
    with serving() as site:
        (folder / "sample.yaml").write_text(f'{META}endpoint: "{site.url}/v3/tool/sample"\n')
        for name, text in (("toolhaft.toml", f'platform_url = "{site.url}"'), (".env", f"{URL}={site.url}")):
            (tmp_path / name).write_text(text)
            result = execute_tool(load_tool(folder / "sample.yaml"), {})
            assert result.failure.kind == "not_allowed"
            assert f"type: lk login {site.url}" in result.message
            assert "th_key_of_mine" not in result.message
            (tmp_path / name).unlink()
        assert site.asked == []
        monkeypatch.setenv(URL, site.url)
        assert execute_tool(load_tool(folder / "sample.yaml"), {}).success
        assert site.asked[0].headers["authorization"] == "Bearer th_key_of_mine"


def test_keys_that_are_stored_at_the_same_time_are_all_kept(config):
    urls = [f"https://host{number}.example" for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda url: store_key(url, "k"), urls))
    assert stored_addresses() == sorted(urls)
    assert [file.name for file in config.parent.iterdir() if file.suffix == ".new"] == []
