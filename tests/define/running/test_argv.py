"""`run: argv`: every argument arrives unchanged, and the program gets only the variables that its file names."""

import json
import os
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.define.running.kit import call, parameter, tool_of
from toolhaft.define.running import Environment

pytestmark = pytest.mark.external

TEXT = [parameter("text")]
OUTPUT = [{"name": "output", "type": "string", "description": "What it printed."}]
ECHO = "import sys, json; print(json.dumps(sys.argv[1:]))"


def python(code, *arguments, **more):
    return {"argv": [sys.executable, "-c", code, *arguments], **more}


def test_output_is_text_without_its_last_newline():
    made = tool_of({"argv": ["printf", "%s\\n\\n", "${text}"]}, TEXT)
    result = call(made, {"text": "a b; rm -rf $(x) `y` 'z' \"q\" *"})
    assert result.value == "a b; rm -rf $(x) `y` 'z' \"q\" *\n"
    assert result.untrusted is True


def test_a_single_string_field_gets_the_output():
    made = tool_of({"argv": ["echo", "${text}"]}, TEXT, OUTPUT)
    assert call(made, {"text": '{"output": "x"}'}).value == {"output": '{"output": "x"}'}


def test_several_returned_fields_are_read_from_json():
    returns = [{"name": name, "type": "number", "description": "A number."} for name in ("a", "b")]
    made = tool_of(python('print(\'{"a": 1, "b": 2, "c": 3}\')'), returns=returns)
    assert call(made).value == {"a": 1, "b": 2}
    made = tool_of({"argv": ["echo", "{"]}, returns=returns)
    assert "echo printed no JSON, and JSON was expected" in call(made).message


def test_one_returned_number_takes_the_whole_output():
    made = tool_of({"argv": ["echo", "42"]}, returns=[{"name": "n", "type": "integer", "description": "It."}])
    assert call(made).value == {"n": 42}


@settings(max_examples=10, deadline=None)
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4))
def test_any_text_is_passed_unchanged_as_one_argument(texts):
    names = [f"t{number}" for number in range(len(texts))]
    made = tool_of(python(ECHO, *(f"${{{name}}}" for name in names)), [parameter(name) for name in names])
    result = call(made, dict(zip(names, texts, strict=True)))
    assert json.loads(result.value) == texts


def test_values_other_than_text_are_written_as_json():
    kinds = [
        parameter("a", "array"),
        parameter("b", "boolean"),
        parameter("n", "number"),
        parameter("o", "object"),
    ]
    made = tool_of(python(ECHO, "${a}", "--b=${b}", "${n}", "${o}", 5, True, "$${a}"), kinds)
    result = call(made, {"a": [1, "é"], "b": True, "n": 1.5, "o": {"k": None}})
    assert json.loads(result.value) == ['[1,"é"]', "--b=true", "1.5", '{"k":null}', "5", "true", "${a}"]


def test_an_argument_with_a_missing_parameter_is_left_out():
    some = [parameter("size", required=False), parameter("unit", required=False, default="px")]
    made = tool_of(python(ECHO, "--size=${size}", "${size}", "${unit}", "end"), some)
    assert json.loads(call(made, {}).value) == ["px", "end"]
    assert json.loads(call(made, {"size": "3"}).value) == ["--size=3", "3", "px", "end"]


def test_a_nul_is_refused_before_anything_is_run():
    result = call(tool_of({"argv": ["echo", "${text}"]}, TEXT), {"text": "a\0b"})
    assert (result.failure.kind, "NUL" in result.message) == ("invalid_arguments", True)


def test_arguments_that_are_too_long_are_refused():
    result = call(tool_of({"argv": ["echo", "${text}"]}, TEXT), {"text": "x" * 3_000_000})
    assert result.failure.kind == "invalid_arguments"
    assert "longer than a program can take" in result.message


def test_stdin_is_empty_unless_it_is_given():
    assert call(tool_of({"argv": ["cat"]})).value == ""
    made = tool_of({"argv": ["cat"], "stdin": "${text}"}, [parameter("text", required=False)])
    assert call(made, {}).value == ""
    long = "é" * 500_000
    assert call(made, {"text": long[:400_000]}).value == long[:400_000]


def test_a_program_may_ignore_its_input():
    made = tool_of({"argv": ["true"], "stdin": "${text}"}, TEXT)
    assert call(made, {"text": "x" * 1_000_000}).success


def test_the_program_gets_path_and_the_variables_named_in_env(monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_HOST", "s3cret")
    run = python("import os, json; print(json.dumps(dict(os.environ)))", env=["COLOUR", "NOT_SET"])
    seen = json.loads(call(tool_of(run), {}, env=Environment({"COLOUR": "red"})).value)
    seen.pop("LC_CTYPE", None)  # which Python sets for itself
    assert seen.pop("TOOLHAFT_RUN")
    assert seen == {"PATH": os.environ["PATH"], "COLOUR": "red"}


def test_a_variable_that_is_not_allowed_is_reported():
    made = tool_of({"argv": ["env"], "env": ["COLOUR"]})
    result = call(made, {}, env=Environment({"COLOUR": "red"}, names=[]))
    assert "the variable COLOUR may not be used here" in result.message


def test_a_secret_that_a_program_prints_is_masked():
    made = tool_of(
        python(
            "import os, sys; print(os.environ['API_KEY']); sys.exit(os.environ.get('CODE'))",
            env=["API_KEY", "CODE"],
        )
    )
    given = Environment({"API_KEY": "s3cret-value"})
    assert call(made, {}, env=given).value == "${env:API_KEY}"
    failing = Environment({"API_KEY": "s3cret-value", "CODE": "3"})
    made = tool_of(
        python(
            "import os, sys; print(os.environ['API_KEY'], 'is bad', file=sys.stderr); sys.exit(3)",
            env=["API_KEY", "CODE"],
        )
    )
    result = call(made, {}, env=failing)
    assert "exit code 3: ${env:API_KEY} is bad" in result.message
    assert "s3cret" not in result.message


def test_the_working_directory_is_the_project(tmp_path):
    tools = tmp_path / "local-kit" / "tools"
    tools.mkdir(parents=True)
    (tmp_path / "data").mkdir()
    assert call(tool_of({"argv": ["pwd"]}, folder=tools)).value == str(tmp_path)
    assert call(tool_of({"argv": ["pwd"], "cwd": "data"}, folder=tools)).value == str(tmp_path / "data")
    result = call(tool_of({"argv": ["pwd"], "cwd": "none"}, folder=tools))
    assert "the folder 'none' of the project does not exist" in result.message


def test_a_missing_program_is_reported():
    result = call(tool_of({"argv": ["no-such-program-here", "x"]}))
    assert "there is no program 'no-such-program-here'; install it" in result.message


def test_a_file_that_cannot_be_run_is_reported(tmp_path):
    (tmp_path / "script").write_text("no", encoding="utf-8")
    result = call(tool_of({"argv": ["./script"]}, folder=tmp_path))
    assert "the program './script' cannot be run: Permission denied" in result.message


def test_an_exit_code_is_reported_with_the_end_of_stderr():
    made = tool_of(python("import sys; sys.stderr.write('x' * 9000 + ' at\\x1b last\\n'); sys.exit(3)"))
    result = call(made)
    assert "ended with exit code 3: ...xxx" in result.message
    assert "x at? last" in result.message
    assert (result.failure.kind, result.untrusted) == ("failed", True)
    assert len(result.message) < 900


def test_a_signal_is_reported_by_its_name():
    made = tool_of(python("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"))
    assert "was killed by SIGSEGV" in call(made).message
    made = tool_of(python("import os; os.kill(os.getpid(), 40)"))
    assert "was killed by" in call(made).message


def test_output_that_is_not_utf_8_is_decoded_with_replacements():
    assert call(tool_of({"argv": ["printf", "a\\377b"]})).value == "a\ufffdb"


def test_more_output_than_allowed_is_an_error():
    made = tool_of({"argv": ["yes"], "max_output_bytes": 1000})
    result = call(made)  # it would never end
    assert "yes printed more than 1,000 bytes: it was killed" in result.message
    made = tool_of(python("print('x' * 10_000_000)"))
    assert "printed more than 1,000,000 bytes" in call(made).message
    made = tool_of(python("import sys; sys.stderr.write('x' * 10_000_000)"))
    assert "printed more than 1,000,000 bytes" in call(made).message


def test_ten_megabytes_are_read_where_they_are_allowed():
    made = tool_of(python("print('x' * 10_000_000)", max_output_bytes=20_000_000))
    assert call(made).value == "x" * 10_000_000


@pytest.mark.parametrize("isolation", ["thread", "inline", "process"])
def test_a_program_runs_with_every_isolation(isolation):
    made = tool_of({"argv": ["echo", "${text}"]}, TEXT, isolation=isolation)
    assert call(made, {"text": "hi"}).value == "hi"
