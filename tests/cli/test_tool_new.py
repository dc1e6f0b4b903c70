"""`lk tool new` and `lk tool rm`: templates for scripts, questions on a terminal."""

import json
import os

import pexpect
import pytest

from tests.cases import in_case
from tests.cli.kit import BIN, ECHO, clean_environment, run_lk, start_lk, write_yaml
from toolhaft import load_tool
from toolhaft.cli.errors import CommandError
from toolhaft.cli.main import run
from toolhaft.cli.tool_files import create_file
from toolhaft.define.yaml import emitter


def test_template_is_valid(tmp_path):
    cases = [("--http", "http"), ("--argv", "argv"), ("--python", "python"), (None, None)]
    for number, (kind, run_kind) in enumerate(cases):
        with in_case(kind, run_kind):
            here = tmp_path / str(number)
            here.mkdir()
            done = run_lk("tool", "new", "my-tool", *([kind] if kind else []), cwd=here)
            assert done == (
                0,
                "local-kit/tools/my-tool.yaml: written\n",
                "  next: lk tool check local-kit/tools/my-tool.yaml\n",
            )
            tool = load_tool(here / "local-kit/tools/my-tool.yaml")
            assert (tool.name, tool.title, tool.run.kind if tool.run else None) == (
                "my-tool",
                "My tool",
                run_kind,
            )
            checked = run_lk("tool", "check", cwd=here)
            assert (checked.exit, checked.err) == (
                0,
                f"1 file, 0 errors, {0 if kind else 1} warning{'s' if kind else ''}\n",
            )


def test_template_without_a_kind_shows_all_run_kinds(tmp_path):
    run_lk("tool", "new", "my-tool", cwd=tmp_path)
    file = tmp_path / "local-kit/tools/my-tool.yaml"
    emitter = file.read_text(encoding="utf-8")
    assert "# nothing runs it yet" in emitter
    # each of the lines that are offered makes a tool that runs
    offered = [line.removeprefix("# ") for line in emitter.splitlines() if line.startswith("# run: ")]
    assert len(offered) == 3
    for line in offered:
        file.write_text(f"{emitter}{line}\n", encoding="utf-8")
        assert run_lk("tool", "check", cwd=tmp_path).exit == 0, line
        assert load_tool(file).handler is not None


def test_argv_template_runs(tmp_path):
    run_lk("tool", "new", "my-tool", "--argv", cwd=tmp_path)
    done = run_lk("call", "my-tool", "--text", "hello; echo $HOME", cwd=tmp_path)
    assert (done.exit, done.out.strip()) == (0, "hello; echo $HOME")


def test_new_file_is_printed_as_json(tmp_path):
    done = run_lk("tool", "new", "my-tool", "--json", cwd=tmp_path)
    assert (json.loads(done.out), done.err) == ({"id": "my-tool", "file": "local-kit/tools/my-tool.yaml"}, "")


@pytest.mark.parametrize(
    "words", [["tool", "new", "my-tool", "--argv"], ["tool", "get", "calculator", "my-tool"]]
)
def test_one_of_two_concurrent_creations_is_refused(tmp_path, monkeypatch, capsys, words):
    """Both have looked, and found no file there."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "local-kit" / "tools" / "my-tool.yaml"
    write = emitter.write_file

    def write_late(path, said):
        write(path, said)
        if not file.exists():
            file.write_text("of somebody else", encoding="utf-8")

    monkeypatch.setattr(emitter, "write_file", write_late)
    assert run(words) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "error: exists: local-kit/tools/my-tool.yaml\n  try: lk tool show my-tool\n"
    assert file.read_text(encoding="utf-8") == "of somebody else"
    assert [one.name for one in file.parent.iterdir()] == ["my-tool.yaml"]


@pytest.mark.external
def test_many_concurrent_creations_make_one_file(tmp_path):
    (tmp_path / "local-kit" / "tools").mkdir(parents=True)
    kinds = ["--argv", "--python", "--http"]
    running = [start_lk("tool", "new", "my-tool", kind, cwd=tmp_path) for kind in kinds]
    told = [one.communicate(timeout=60) for one in running]
    exits = [one.returncode for one in running]
    assert sorted(exits) == [0, 1, 1], told
    assert load_tool(tmp_path / "local-kit/tools/my-tool.yaml").run.kind == kinds[exits.index(0)][2:]
    assert all("exists: local-kit/tools/my-tool.yaml" in err for _, err in told if "error" in err)


def test_file_system_without_hard_links_works(tmp_path, monkeypatch, capsys):
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "link", refuse)
    assert run(["tool", "new", "my-tool"]) == 0
    assert load_tool(tmp_path / "local-kit/tools/my-tool.yaml").name == "my-tool"
    (tmp_path / "local-kit/tools/my-tool.yaml").write_text("mine", encoding="utf-8")
    with pytest.raises(CommandError, match=r"exists: local-kit/tools/my-tool\.yaml"):
        create_file(tmp_path / "local-kit/tools/my-tool.yaml", "other", "my-tool")
    assert [one.name for one in (tmp_path / "local-kit/tools").iterdir()] == ["my-tool.yaml"]
    assert (tmp_path / "local-kit/tools/my-tool.yaml").read_text(encoding="utf-8") == "mine"
    assert capsys.readouterr().out == "local-kit/tools/my-tool.yaml: written\n"


def test_file_in_place_of_the_folder_is_reported(tmp_path):
    (tmp_path / "local-kit").write_text("in the way", encoding="utf-8")
    done = run_lk("tool", "new", "my-tool", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert done.err.startswith("error: local-kit/tools/my-tool.yaml: ")


def test_existing_file_is_not_changed(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    done = run_lk("tool", "new", "echo", cwd=tmp_path)
    assert done == (1, "", "error: exists: local-kit/tools/echo.yaml\n  try: lk tool show echo\n")
    assert file.read_text(encoding="utf-8") == ECHO


def test_two_run_kinds_are_a_usage_error(tmp_path):
    done = run_lk("tool", "new", "my-tool", "--http", "--argv", cwd=tmp_path)
    assert (done.exit, done.out) == (2, "")
    assert "one of --http, --argv, --python" in done.err


def test_new_tool_that_shadows_another_is_noted(tmp_path):
    done = run_lk("tool", "new", "calculator", cwd=tmp_path)
    assert done.exit == 0
    assert "note: it replaces the built-in tool of that id\n" in done.err


def test_folder_that_cannot_be_created_is_reported(tmp_path):
    (tmp_path / "local-kit").write_text("in the way", encoding="utf-8")
    done = run_lk("tool", "new", "my-tool", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert done.err.startswith("error: local-kit/tools/my-tool.yaml: ")


class Answers:
    """The answers of a person at a terminal, given to the program in this process."""

    def __init__(self, folder, *words):
        self.folder = folder
        self.words = words
        self.exchange = []

    def answer(self, *exchange):
        self.exchange += exchange
        return self

    def end(self):
        """The exit code and all that was printed, once every question was asked in turn."""
        lines = "".join(f"{answer}\n" for _, answer in self.exchange)
        done = run_lk(*self.words, cwd=self.folder, stdin=lines, at_terminal=True)
        place = 0
        for question, _ in self.exchange:
            place = done.err.index(question, place) + len(question)
        return done.exit, done.out + done.err


class Terminal:
    """A person at a real terminal, who waits for each question."""

    def __init__(self, folder, *words):
        self.child = pexpect.spawn(
            str(BIN / "lk"), [*words], cwd=str(folder), env=clean_environment(TERM="xterm"), timeout=60
        )
        self.child.setwinsize(50, 200)

    def answer(self, *exchange):
        for question, answer in exchange:
            self.child.expect_exact(question)
            self.child.sendline(answer)
        return self

    def end(self):
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus, self.child.before.decode()


WORDS = (("Name [Weather now]: ", ""), ("What does it do: ", "Tells the weather"))
CITY = (
    ("  Parameter: ", "city"),
    ("  Type (", ""),
    ("  Required (", ""),
    ("  What is it: ", "Where to look"),
)
UNITS = (
    ("  Parameter: ", "units"),
    ("  Type (", "str"),
    ("  Required (", "no"),
    ("  What is it: ", 'metric or "imperial"'),
)


@pytest.mark.external
def test_new_asks_for_the_fields_of_a_web_service(tmp_path):
    code, _ = (
        Terminal(tmp_path, "tool", "new", "weather_now")
        .answer(*WORDS, *CITY, *UNITS, ("  Parameter: ", ""))
        .answer(("Run (", "http"), ("Method (", ""), ("Address", "https://api.example.com/v1/${city}"))
        .end()
    )
    assert code == 0
    tool = load_tool(tmp_path / "local-kit/tools/weather_now.yaml")
    assert (tool.title, tool.description, str(tool.effect)) == ("Weather now", "Tells the weather", "read")
    assert tool.input_schema["required"] == ["city"]
    assert tool.input_schema["properties"]["units"]["description"] == 'metric or "imperial"'
    assert tool.preview({"city": "Rome", "units": "metric"})["http"]["query"] == {"units": "metric"}
    assert run_lk("tool", "check", cwd=tmp_path).exit == 0


def test_invalid_answer_repeats_the_question_with_a_reason(tmp_path):
    asked = Answers(tmp_path, "tool", "new", "weather_now")
    asked.answer(
        ("Name [", "x" * 101), ("use 1 to 100", ""), ("What does it do: ", ""), ("is empty", "Tells")
    )
    asked.answer(
        ("  Parameter: ", "n" * 60),
        ("use 1 to 50", "city"),
        ("  Type (", "strnig"),
        ("did you mean 'string'?", "s"),
    )
    asked.answer(
        ("  Required (", "perhaps"),
        ("is not one of them", "y"),
        ("  What is it: ", "Where"),
        ("  Parameter: ", "city"),
    )
    asked.answer(
        ("  Parameter: ", ""), ("Run (", "argv"), ("Program", 'say "${city}'), ("quotation", "say -- ${town}")
    )
    asked.answer(("city", "say -- ${city}"))
    code, _ = asked.end()
    assert code == 0
    tool = load_tool(tmp_path / "local-kit/tools/weather_now.yaml")
    assert tool.preview({"city": "New York"})["argv"] == ["say", "--", "New York"]


def test_given_run_kind_is_not_asked_for(tmp_path):
    code, _ = (
        Answers(tmp_path, "tool", "new", "weather_now", "--python")
        .answer(*WORDS, ("  Parameter: ", ""), ("Function", "weather:now"))
        .end()
    )
    assert code == 0
    assert load_tool(tmp_path / "local-kit/tools/weather_now.yaml").run.kind == "python"


def test_tool_without_run_can_be_written(tmp_path):
    asked = Answers(tmp_path, "tool", "new", "weather_now").answer(
        *WORDS, ("  Parameter: ", ""), ("Run (", "none")
    )
    assert asked.end()[0] == 0
    assert load_tool(tmp_path / "local-kit/tools/weather_now.yaml").run is None


def test_template_flag_skips_the_questions(tmp_path):
    assert Answers(tmp_path, "tool", "new", "weather_now", "--template").end()[0] == 0
    assert (tmp_path / "local-kit/tools/weather_now.yaml").exists()


@pytest.mark.external
def test_ctrl_c_at_a_question_writes_nothing(tmp_path):
    asked = Terminal(tmp_path, "tool", "new", "weather_now").answer(*WORDS)
    asked.child.expect_exact("  Parameter: ")
    asked.child.sendintr()
    code, said = asked.end()
    assert code == 130
    assert "Traceback" not in said
    assert not (tmp_path / "local-kit").exists()


@pytest.mark.parametrize(
    ("answer", "code", "is_there"), [("y", 0, False), ("YES", 0, False), ("", 1, True), ("n", 1, True)]
)
def test_rm_asks_for_confirmation_on_a_terminal(tmp_path, answer, code, is_there):
    file = write_yaml(tmp_path, "echo", ECHO)
    asked = Answers(tmp_path, "tool", "rm", "echo").answer(
        ("Remove local-kit/tools/echo.yaml? [y/N] ", answer)
    )
    ended, said = asked.end()
    assert (ended, file.exists()) == (code, is_there)
    assert ("removed" in said) is not is_there
    assert ("nothing was changed" in said) is is_there


def test_rm_with_yes_does_not_ask(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    done = run_lk("tool", "rm", "echo", cwd=tmp_path, stdin="y\n")
    assert (done.exit, done.out) == (2, "")
    assert done.err.endswith("  try: lk tool rm echo --yes\n")
    assert file.exists()
    done = run_lk("tool", "rm", "echo", "--yes", cwd=tmp_path)
    assert done == (0, "removed local-kit/tools/echo.yaml\n", "  next: lk tool ls\n")
    assert not file.exists()


def test_rm_keeps_the_published_tool_by_default(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    run_lk("tool", "set", "echo", cwd=tmp_path)
    run_lk("tool", "rm", "echo", "--yes", cwd=tmp_path)
    done = run_lk("tool", "rm", "echo", "--yes", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert (
        done.err == "error: echo is not in this project: it is platform\n  try: lk tool rm echo --published\n"
    )
    done = run_lk("tool", "rm", "echo", "--yes", "--published", "--json", cwd=tmp_path)
    assert json.loads(done.out) == {"id": "echo", "removed": "echo on http://127.0.0.1:8420"}
    assert run_lk("tool", "show", "echo", cwd=tmp_path).exit == 1


def test_rm_published_removes_file_and_published_tool(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    run_lk("tool", "set", "echo", cwd=tmp_path)
    done = run_lk("tool", "rm", "echo", "--yes", "--published", cwd=tmp_path)
    assert done.out == "removed local-kit/tools/echo.yaml and echo on http://127.0.0.1:8420\n"
    assert run_lk("tool", "show", "echo", cwd=tmp_path).exit == 1
    write_yaml(tmp_path, "echo", ECHO)
    assert run_lk("tool", "rm", "echo", "--yes", "--published", cwd=tmp_path).exit == 0


@pytest.mark.parametrize(
    ("id", "said"),
    [
        ("calculator", "error: calculator is not in this project: it is built-in\n"),
        ("calculatr", "did you mean 'calculator'?"),
    ],
)
def test_rm_of_a_tool_outside_the_project_is_refused(tmp_path, id, said):
    for more in ([], ["--published"]):
        done = run_lk("tool", "rm", id, "--yes", *more, cwd=tmp_path)
        assert (done.exit, done.out) == (1, "")
        assert said in done.err


@pytest.mark.external
def test_questions_need_a_terminal_for_input_and_output(tmp_path):
    child = pexpect.spawn(
        "bash",
        ["-c", f"{BIN}/lk tool new my-tool </dev/null"],
        cwd=str(tmp_path),
        env=clean_environment(),
        timeout=60,
    )
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert (tmp_path / "local-kit/tools/my-tool.yaml").exists()
