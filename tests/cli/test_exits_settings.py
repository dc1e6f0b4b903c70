"""Exit codes for invalid settings and unreachable databases."""

import json

import pytest

from tests.cases import in_case
from tests.cli.kit import ECHO, run_lk, write_yaml
from tests.cli.test_exits import closed_port

KEYED = (
    ECHO.partition("returns:")[0]
    + """\
run:
  http:
    method: "POST"
    url: "https://example.com/"
    headers: {Authorization: "Bearer ${env:KEY_X}"}
    body: {text: "${text}"}
"""
)
NAMES = [
    ["tool", "set", "echo"],
    ["tool", "get", "calculator"],
    ["tool", "rm", "echo", "--yes", "--published"],
]


def test_invalid_database_url_is_a_configuration_error(tmp_path):
    cases = ["junk", "mysql://host/name", "sqlite://relative.db", "postgresql://u:p@ss@host/name"]
    for url in cases:
        for words in NAMES:
            with in_case(url, words):
                write_yaml(tmp_path, "echo", ECHO)
                done = run_lk(*words, cwd=tmp_path, env={"TOOLHAFT_DATABASE_URL": url})
                assert (done.exit, done.out) == (3, "")
                assert done.err.startswith("error: the ")
                assert done.err.endswith("  try: lk doctor\n")


@pytest.mark.parametrize("words", NAMES)
def test_unreachable_database_server_exits_with_4(tmp_path, words):
    write_yaml(tmp_path, "echo", ECHO)
    env = {"TOOLHAFT_DATABASE_URL": f"postgresql://u:secret@127.0.0.1:{closed_port()}/name"}
    done = run_lk(*words, "--json", cwd=tmp_path, env=env)
    told = json.loads(done.err)
    assert (done.exit, done.out, told["exit"], told["fix"]) == (4, "", 4, "lk doctor")
    assert "does not answer" in told["error"]
    assert "secret" not in done.err


def test_list_without_its_database_has_the_same_exit_codes(tmp_path):
    for url, code in (("junk", 3), (f"postgresql://u@127.0.0.1:{closed_port()}/name", 4)):
        done = run_lk("tool", "ls", cwd=tmp_path, env={"TOOLHAFT_DATABASE_URL": url})
        assert done.exit == code
        assert "calculator" in done.out
        assert done.err.startswith("warning: ")
        assert done.err.endswith("  next: lk doctor\n")


def test_missing_variable_exits_with_3(tmp_path):
    write_yaml(tmp_path, "echo", KEYED)
    done = run_lk("call", "echo", "--text", "x", cwd=tmp_path)
    assert (done.exit, done.out) == (3, "")
    assert "the variable KEY_X is not set" in done.err
    (tmp_path / ".env").write_text("KEY_X\n", encoding="utf-8")
    assert run_lk("call", "echo", "--text", "x", cwd=tmp_path).exit == 3


@pytest.mark.parametrize("url", ["notaurl", "ftp://example.com/x", "https://u:p@example.com/"])
def test_invalid_endpoint_flag_is_a_usage_error(tmp_path, url):
    file = write_yaml(tmp_path, "echo", ECHO.partition("run:")[0])
    done = run_lk("tool", "set", "echo", "--endpoint", url, cwd=tmp_path)
    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("error: --endpoint: ")
    assert done.err.endswith("  try: lk tool set echo --endpoint https://example.com/echo\n")
    assert file.read_text(encoding="utf-8") == ECHO.partition("run:")[0]
