"""The tool verbs when files, disks or platforms change meanwhile."""

import json
import os
import socket
import subprocess
from contextlib import suppress

import pytest

from tests.cli.kit import BIN, ECHO, Done, clean_environment, interrupt, run_lk, start_lk, write_yaml
from toolhaft import load_tool
from toolhaft.catalog.embedded import EmbeddedPlatform
from toolhaft.cli import tool_list
from toolhaft.cli.main import run


@pytest.fixture
def edited_meanwhile(tmp_path, monkeypatch):
    """A project whose file is edited while it is being published."""
    monkeypatch.chdir(tmp_path)
    file = write_yaml(tmp_path, "echo", ECHO)
    put = EmbeddedPlatform.put

    def put_and_edit(self, text, *, base=...):
        done = put(self, text, base=base)
        file.write_text(ECHO + "# more\n", encoding="utf-8")
        return done

    monkeypatch.setattr(EmbeddedPlatform, "put", put_and_edit)
    return file


def test_file_edited_during_set_is_not_overwritten(edited_meanwhile, capsys):
    assert run(["tool", "set", "echo"]) == 0
    told = capsys.readouterr()
    assert told.out == "echo: published at http://127.0.0.1:8420/v3/tool/echo\n"
    assert told.err == (
        "warning: local-kit/tools/echo.yaml changed meanwhile and was not updated\n  next: lk tool set echo --force\n"
    )
    assert edited_meanwhile.read_text(encoding="utf-8") == ECHO + "# more\n"


def test_file_edited_during_set_is_reported_as_json(edited_meanwhile, capsys):
    assert run(["tool", "set", "echo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_written"] is False


def test_broken_pipe_reaches_the_caller_of_run(tmp_path, monkeypatch):
    def leave(*_, **__):
        raise BrokenPipeError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tool_list, "print_listings", leave)
    with pytest.raises(BrokenPipeError):
        run(["tool", "ls"])


def test_missing_module_without_an_extra_is_a_bug(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ModuleNotFoundError("No module named 'odd'", name="odd")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tool_list, "print_listings", fail)
    with pytest.raises(ModuleNotFoundError):
        run(["tool", "ls"])


def with_no_room(folder, *words):
    """Run the program where no file may grow, as on a full disk."""
    script = f'ulimit -f 0; exec {BIN}/lk "$@"'
    environment = {name: value for name, value in clean_environment().items() if not name.startswith("COV")}
    done = subprocess.run(
        ["bash", "-c", script, "lk", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.external
def test_full_disk_leaves_no_partial_file(tmp_path):
    done = with_no_room(tmp_path, "tool", "new", "my-tool")
    assert done == (1, "", "error: local-kit/tools/my-tool.yaml: File too large\n  try: lk doctor\n")
    assert list((tmp_path / "local-kit" / "tools").iterdir()) == []


@pytest.mark.external
def test_full_disk_keeps_the_published_tool(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0
    before = file.read_text(encoding="utf-8").replace("Says what", "Repeats what")
    file.write_text(before, encoding="utf-8")
    done = with_no_room(tmp_path, "tool", "set", "echo")
    assert (done.exit, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert file.read_text(encoding="utf-8") == before
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0


@pytest.mark.external
def test_ctrl_c_during_a_request_exits_with_130(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = start_lk("tool", "set", "echo", cwd=tmp_path, env={"TOOLHAFT_PLATFORM_URL": url})
        silent.settimeout(60)
        connection, _ = silent.accept()
        with connection:
            interrupt(process)
            out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert file.read_text(encoding="utf-8") == ECHO


@pytest.mark.external
def test_deleted_current_folder_is_reported_and_dash_c_works(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    gone = f"mkdir gone; cd gone; rmdir ../gone; {BIN}/lk tool ls; echo $?; {BIN}/lk -C {project} tool new my-tool; echo $?"
    done = subprocess.run(
        ["bash", "-c", gone],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"3\n{project}/local-kit/tools/my-tool.yaml: written\n0\n"
    assert done.stderr.startswith("error: the current folder is gone\n")


@pytest.mark.external
@pytest.mark.parametrize(
    "delay_s", [0.25, 0.35, 0.45, 0.6] if os.environ.get("TOOLHAFT_LONG") else [0.25, 0.45]
)
def test_killed_set_can_be_repeated(tmp_path, delay_s):
    file = write_yaml(tmp_path, "echo", ECHO)
    process = start_lk("tool", "set", "echo", cwd=tmp_path)
    with suppress(subprocess.TimeoutExpired):
        process.wait(delay_s)
    process.kill()
    process.communicate()
    text = file.read_text(encoding="utf-8")
    assert text == ECHO or load_tool(file).updated_at
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0
    settled = load_tool(file).updated_at
    file.unlink()
    assert json.loads(run_lk("tool", "show", "echo", "--json", cwd=tmp_path).out)["updated_at"] == settled
