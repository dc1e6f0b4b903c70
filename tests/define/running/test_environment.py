"""Variables: where they come from, how a `.env` file is parsed, and that no message shows a value."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from toolhaft.define.running import Environment
from toolhaft.define.running.environment import project_of, read_env, read_env_file
from toolhaft.errors import DefinitionError, ToolExecutionError


def test_variables_of_the_process_win_over_the_env_file(tmp_path, monkeypatch):
    file = tmp_path / ".env"
    file.write_text("A=file\nB=file\n", encoding="utf-8")
    monkeypatch.setenv("A", "process")
    monkeypatch.delenv("B", raising=False)
    env = Environment(file=file)
    assert (env.get("A"), env.get("B")) == ("process", "file")
    assert Environment({"A": "given"}, file=file).get("A") == "given"
    assert env.find("NOT_THERE_AT_ALL") is None
    assert Environment(file=tmp_path / "none").find("B") is None


def test_a_missing_variable_is_reported_with_both_places_to_set_it():
    with pytest.raises(
        ToolExecutionError, match=r"the variable KEY is not set\. Fix: .*environment.*\.env file"
    ):
        Environment({}).get("KEY")


def test_only_allowed_names_can_be_read(tmp_path):
    env = Environment({"A": "1", "B": "2"}, names=["A"])
    assert (env.get("A"), env.find("B"), env.allows("B")) == ("1", None, False)
    with pytest.raises(ToolExecutionError, match="the variable B may not be used here"):
        env.get("B")
    with pytest.raises(ToolExecutionError, match="may not be used"):
        Environment({"A": "1"}, names=()).get("A")


def test_repr_shows_no_value():
    env = Environment({"KEY": "s3cret"})
    assert "s3cret" not in repr(env) + str(env)
    assert pickle.loads(pickle.dumps(env)).get("KEY") == "s3cret"  # noqa: S301 -- written here


@each_case(
    ("line", "value"),
    [
        ("KEY=value", "value"),
        ("  KEY = value  ", "value"),
        ("export KEY=value", "value"),
        ("KEY=", ""),
        ("KEY=a b # comment", "a b"),
        ("KEY=a#b", "a#b"),
        ("KEY= # nothing", ""),
        ("KEY='a # b' # comment", "a # b"),
        ("KEY='a\\n$X'", "a\\n$X"),
        ('KEY="a\\nb\\t\\"c\\" \\\\ # $X"', 'a\nb\t"c" \\ # $X'),
        ("KEY=a=b=c", "a=b=c"),
        ("KEY=${OTHER}", "${OTHER}"),
        ("KEY=é", "é"),
        ("KEY=1\r", "1"),
    ],
)
def test_each_form_of_a_line_is_parsed(line, value):
    assert read_env(f"# first\n\n{line}\nLAST=1\n") == {"KEY": value, "LAST": "1"}


@each_case("line", ["KEY", "1KEY=x", "KEY VALUE", "=s3cret", "KEY-A=s3cret", "KEY=s3\0cret", '{"s3cret": 1}'])
def test_an_invalid_line_is_reported_without_its_text(line):
    with pytest.raises(
        DefinitionError, match=r"^\.env:2: this line sets no variable\. Fix: write NAME=value"
    ) as caught:
        read_env(f"A=1\n{line}\n")
    assert "s3" not in str(caught.value)


@pytest.mark.parametrize("line", ["KEY='s3cret", 'KEY="s3cret', "KEY='s3cret' more", 'KEY="s3cret\\"'])
def test_an_open_quote_is_reported_without_its_text(line):
    with pytest.raises(DefinitionError, match=r"^\.env:1: a quote is not closed") as caught:
        read_env(line)
    assert "s3cret" not in str(caught.value)


def test_a_file_that_cannot_hold_variables_is_reported(tmp_path):
    assert read_env_file(tmp_path / "none") == {}
    with pytest.raises(DefinitionError, match="not a regular file"):
        read_env_file(tmp_path)
    file = tmp_path / ".env"
    file.write_bytes(b"A=1\nB=\xff\n")
    with pytest.raises(DefinitionError, match=r"\.env:2: the text is not UTF-8") as caught:
        read_env_file(file)
    assert caught.value.__cause__ is None
    file.write_bytes(b"#" * 1_000_001)
    with pytest.raises(DefinitionError, match="larger than 1 MB"):
        read_env_file(file)
    file.write_bytes(b"\xef\xbb\xbfA=1\n")
    assert read_env_file(file) == {"A": "1"}
    with pytest.raises(DefinitionError, match="cannot be read"):
        read_env_file("a\0b")


def test_a_file_that_cannot_be_read_fails_the_call_that_needs_it(tmp_path):
    file = tmp_path / ".env"
    file.write_text("oops", encoding="utf-8")
    with pytest.raises(ToolExecutionError, match=r"\.env:1: this line sets no variable"):
        Environment({}, file=file).get("KEY")
    assert Environment({"KEY": "x"}, file=file).get("KEY") == "x"


@given(st.text(st.characters(exclude_characters="\0\n\r", exclude_categories=["Cs"])))
def test_any_value_can_be_written_in_double_quotes(value):
    written = value.replace("\\", "\\\\").replace('"', '\\"')
    assert read_env(f'KEY="{written}"') == {"KEY": value}


def test_a_folder_of_tools_belongs_to_its_project(tmp_path, monkeypatch):
    assert project_of(str(tmp_path / "local-kit" / "tools")) == str(tmp_path)
    assert project_of(str(tmp_path / "tools")) == str(tmp_path / "tools")
    monkeypatch.chdir(tmp_path)
    assert project_of(None) == str(Path.cwd())
    assert project_of("x") == str(tmp_path / "x")
