"""Completion: the scripts, their results, and a real bash."""

import json
import os
import socket
import subprocess

import pexpect
import pytest

from tests.cases import in_case
from tests.cli.kit import BIN, ECHO, clean_environment, run_lk, write_yaml


@pytest.fixture
def project(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    write_yaml(tmp_path, "echo-twice", ECHO.replace('"echo"', '"echo-twice"'))
    return tmp_path


def complete(folder, line: str, program: str = "lk") -> list[str]:
    """What bash is answered for a line whose last word is not finished."""
    words = line.split(" ")
    variables = {
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
        f"_{program.upper()}_COMPLETE": "bash_complete",
    }
    done = run_lk(cwd=folder, env=variables, program=program)
    assert (done.exit, done.err) == (0, "")
    return [item.partition(",")[2] for item in done.out.split()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_covers_both_program_names(tmp_path, shell):
    done = run_lk("completion", shell, cwd=tmp_path)
    assert (done.exit, done.err) == (0, "")
    assert f"_LK_COMPLETE={shell}_complete" in done.out
    assert f"_TOOLHAFT_COMPLETE={shell}_complete" in done.out


def test_unknown_shell_is_a_usage_error(tmp_path):
    done = run_lk("completion", "csh", cwd=tmp_path)
    assert (done.exit, "bash" in done.err) == (2, True)


@pytest.mark.parametrize("program", ["lk", "toolhaft"])
def test_ids_are_completed_for_verbs_that_take_ids(project, program):
    for verbs in ("call", "tool show", "export"):
        assert complete(project, f"{program} {verbs} ec", program) == ["echo", "echo-twice"]


def test_completion_connects_to_no_server_that_the_project_names(project):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        host = f"127.0.0.1:{server.getsockname()[1]}"
        (project / ".env").write_text("", encoding="utf-8")
        assert run_lk("login", f"http://{host}", cwd=project, stdin="th_stored-key").exit == 0
        for setting in (
            f"TOOLHAFT_PLATFORM_URL=http://{host}",
            f"TOOLHAFT_DATABASE_URL=postgresql://me:own@{host}/x?connect_timeout=1",
        ):
            (project / ".env").write_text(f"{setting}\n", encoding="utf-8")
            for line in ("lk call ec", "lk call remote --", "lk call echo --te", "lk tool show r"):
                with in_case(setting, line):
                    complete(project, line)
                    with pytest.raises(TimeoutError):
                        server.accept()


def test_verbs_complete_what_they_can_take(project):
    write_yaml(
        project, "mine", ECHO.replace('"echo"', '"mine"') + "tags: [loud]\nrequires: [billing:write]\n"
    )
    assert run_lk("tool", "set", "mine", cwd=project).exit == 0
    key = json.loads(run_lk("key", "new", "--owner", "ann", "--json", cwd=project).out)["id"]
    (project / "local-kit/tools/mine.yaml").rename(project / "local-kit/tools/mine2.yaml")
    cases = {
        "lk tool set ": ["echo", "echo-twice", "mine"],
        "lk tool diff ": ["echo", "echo-twice", "mine"],
        "lk tool rm c": [],
        "lk tool versions ": ["mine"],
        "lk tool rollback ": ["mine"],
        "lk serve --allow-run ": ["argv", "python"],
        "lk tool get calc": ["calculator"],
        "lk tool ls --tag l": ["loud"],
        "lk tool search x --tag l": ["loud"],
        "lk key rm ": [key],
        "lk key new --scope tools:r": ["tools:read", "tools:run"],
        "lk key new --scope b": ["billing:write"],
    }
    for line, offered in cases.items():
        with in_case(line):
            assert complete(project, line) == offered
    (project / "local-kit/tools/mine2.yaml").unlink()
    assert complete(project, "lk tool rm mi") == []
    assert complete(project, "lk tool rm --published mi") == ["mine"]


def test_typed_ids_are_not_offered_again(project):
    assert complete(project, "lk export echo ec") == ["echo-twice"]


def test_flags_of_tools_and_of_call_are_completed(project):
    assert complete(project, "lk call echo --te") == ["--text"]
    assert complete(project, "lk call --dr") == ["--dry-run"]
    assert "call" in complete(project, "lk c")


def test_formats_are_completed(project):
    assert complete(project, "lk export echo --format openai_") == ["openai_chat", "openai_responses"]


def test_completion_uses_the_folder_of_the_option(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert complete(elsewhere, f"lk -C {project} call ec") == ["echo", "echo-twice"]


@pytest.mark.parametrize(
    ("file", "text"), [("toolhaft.toml", "nonsense"), ("local-kit/tools/bad.yaml", "id: [")]
)
def test_completion_in_a_broken_project_offers_nothing(project, file, text):
    (project / file).write_text(text, encoding="utf-8")
    assert complete(project, "lk call calc") in ([], ["calculator"])
    assert complete(project, "lk call nowhere --x") == []


def test_completion_sends_no_request_to_a_platform(project):
    (project / "toolhaft.toml").write_text('platform_url = "http://127.0.0.1:9"\n', encoding="utf-8")
    assert complete(project, "lk call ec") == ["echo", "echo-twice"]


def started_bash(project):
    """A bash that completes the program's commands."""
    bash = pexpect.spawn(
        "bash",
        ["--norc", "--noprofile", "-i"],
        cwd=str(project),
        env=clean_environment(PS1="READY ", TERM="dumb", INPUTRC=os.devnull),
        encoding="utf-8",
        timeout=20,
    )
    bash.expect("READY ")
    bash.sendline('eval "$(lk completion bash)"')
    bash.expect("READY ")
    return bash


@pytest.mark.external
def test_completion_works_in_bash(project):
    bash = started_bash(project)
    bash.send("lk call calc\t")
    bash.expect("calculator ")
    bash.send("--exp\t")
    bash.expect("--expression ")
    bash.send("6*7\n")
    bash.expect("42")
    bash.sendline("exit")
    bash.expect(pexpect.EOF)
    bash.close()


@pytest.mark.external
def test_value_with_spaces_is_one_word_in_bash(project):
    units = "[{name: unit, type: string, enum: [imperial units, $(touch made), metric], description: Which}]"
    run = 'run: {argv: [printf, "%s", "<${unit}>"]}'
    write_yaml(project, "units", f"id: units\nname: Units\ndescription: D\nparameters: {units}\n{run}\n")
    bash = started_bash(project)
    bash.send("lk call units --unit i\t")
    bash.expect(r"imperial\\ units ")
    bash.send("\n")
    bash.expect("<imperial units>")
    bash.sendline("exit")
    bash.expect(pexpect.EOF)
    bash.close()
    assert not (project / "made").exists()


def test_terminal_output_says_how_to_install_the_script(tmp_path):
    lk = pexpect.spawn(
        str(BIN / "toolhaft"), ["completion", "zsh"], cwd=str(tmp_path), env=clean_environment(), timeout=20
    )
    lk.expect(r"toolhaft completion zsh\)\" in ~/.zshrc")
    lk.expect(pexpect.EOF)
    lk.close()
    assert lk.exitstatus == 0


def test_script_is_valid_bash(tmp_path):
    script = run_lk("completion", "bash", cwd=tmp_path).out
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
