"""`login` and `logout`: a key is stored for one address, and sent to no other."""

import json
from unittest import mock

import pytest

from tests.cases import in_case
from tests.cli.kit import run_lk, served
from tests.cli.test_completion import complete

KEY = "th_00000000_" + "x" * 43


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    """A home folder of each test: keys outlive a run."""
    monkeypatch.setattr("tests.cli.kit.home", lambda: str(tmp_path / "home"))
    return tmp_path / "home" / ".config" / "toolhaft" / "keys.json"


def test_a_key_is_stored_for_its_address_and_removed(tmp_path, config):
    done = run_lk("login", "https://Tools.example.com:443/", cwd=tmp_path, stdin=f"{KEY}\n")
    assert done == (0, "a key is stored for https://tools.example.com\n", "")
    assert json.loads(config.read_text()) == {"https://tools.example.com": KEY}
    assert complete(tmp_path, "lk logout ht") == ["https://tools.example.com"]
    shown = run_lk("doctor", cwd=tmp_path)
    assert ("a key is stored for https://tools.example.com" in shown.out, KEY in shown.out) == (True, False)
    done = run_lk("logout", "https://tools.example.com", "--json", cwd=tmp_path)
    assert (done.exit, json.loads(done.out)) == (0, {"url": "https://tools.example.com"})
    done = run_lk("logout", "https://tools.example.com", cwd=tmp_path)
    assert (done.exit, "no key is stored for https://tools.example.com" in done.err) == (1, True)


def test_a_key_is_asked_for_without_showing_it(tmp_path, config):
    with mock.patch("click.termui.hidden_prompt_func", return_value=KEY) as asked:
        done = run_lk("login", "https://tools.example.com", "--json", cwd=tmp_path, at_terminal=True)
    assert (done.exit, json.loads(done.out)) == (0, {"url": "https://tools.example.com"})
    assert "https://tools.example.com" in asked.call_args.args[0]
    assert json.loads(config.read_text()) == {"https://tools.example.com": KEY}


def test_no_error_repeats_a_key(tmp_path, config):
    for words, stdin, hint in (
        (["https://tools.example.com", KEY], "", "login https://tools.example.com"),
        ([KEY], "", "login https://tools.example.com"),
        ([f"https://{KEY}@tools.example.com"], "", "login https://tools.example.com"),
        (["https://tools.example.com"], "", "login https://tools.example.com"),
        (["https://tools.example.com"], f"{KEY} {KEY}", "login https://tools.example.com"),
        (["https://tools.example.com"], f"{KEY}ü", "login https://tools.example.com"),
        (["http://tools.example.com"], KEY, "login https://tools.example.com"),
        (["ftp://tools.example.com"], KEY, "login https://tools.example.com"),
        (["https://tools.example.com", "--key", KEY], "", "login --help"),
    ):
        with in_case(words, stdin):
            done = run_lk("login", *words, cwd=tmp_path, stdin=stdin)
            assert (done.exit, done.out, KEY in done.err) == (2, "", False)
            assert done.err.endswith(f"  try: lk {hint}\n")
    assert not config.exists()


def test_a_platform_that_a_checkout_names_gets_no_key_before_login(tmp_path):
    with served(tmp_path) as platform:
        project = tmp_path / "checkout"
        project.mkdir()
        env = {"TOOLHAFT_API_KEY": platform.key}
        for name, text in (
            ("toolhaft.toml", f'platform_url = "{platform.url}"\n'),
            (".env", f"TOOLHAFT_PLATFORM_URL={platform.url}\n"),
        ):
            (project / name).write_text(text, encoding="utf-8")
            for words in (["tool", "get", "calculator"], ["tool", "rm", "x", "--published", "--yes"]):
                with in_case(name, words):
                    done = run_lk(*words, cwd=project, env=env)
                    assert (done.exit, platform.key in done.err) == (5, False)
                    assert done.err.endswith(f"  try: lk login {platform.url}\n")
            done = run_lk("tool", "ls", cwd=project, env=env)
            assert (done.exit, "calculator" in done.out) == (5, True)
            assert run_lk("call", "calculator", "--expression", "1", cwd=project, env=env).exit == 0
            (project / name).unlink()
        (project / "toolhaft.toml").write_text(f'platform_url = "{platform.url}"\n', encoding="utf-8")
        assert run_lk("login", platform.url, cwd=project, stdin=platform.key).exit == 0
        assert run_lk("tool", "get", "calculator", cwd=project).exit == 0
        assert run_lk("logout", platform.url, cwd=project).exit == 0
        assert run_lk("tool", "get", "calculator", "--force", cwd=project).exit == 5
