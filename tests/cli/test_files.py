"""`files recover`: undo interrupted calls on request."""

import json
import os
import shutil

from tests.cli.kit import run_lk
from tests.resources.faults import abandon
from toolhaft.resources import HostFilesystem


def interrupt(folder):
    folder.mkdir(exist_ok=True)
    (folder / "a.txt").write_text("old")
    fork = HostFilesystem(folder, durable=False).fork()
    fork.write("a.txt", "changed")
    abandon(fork)


def recover(*typed, cwd):
    state = {"TOOLHAFT_STATE": os.environ["TOOLHAFT_STATE"]}
    done = run_lk("files", "recover", *typed, cwd=cwd, env=state)
    return done.exit, done.out, done.err


def test_interrupted_calls_are_undone(tmp_path):
    interrupt(tmp_path / "root")
    assert recover("root", cwd=tmp_path) == (0, "1 interrupted call undone\n", "")
    assert (tmp_path / "root/a.txt").read_text() == "old"
    _, out, _ = recover("root", "--json", cwd=tmp_path)
    assert json.loads(out) == {"undone": 0, "stuck": [], "aside": 0}


def test_a_copied_journal_is_undone_only_with_accept(tmp_path):
    interrupt(tmp_path / "root")
    shutil.copytree(tmp_path / "root", tmp_path / "copy")
    code, out, err = recover("copy", cwd=tmp_path)
    assert (code, out) == (0, "0 interrupted calls undone\n")
    assert "--accept undoes their calls" in err
    assert (tmp_path / "copy/a.txt").read_text() == "changed"
    assert recover("copy", "--accept", cwd=tmp_path)[:2] == (0, "1 interrupted call undone\n")
    assert (tmp_path / "copy/a.txt").read_text() == "old"


def test_what_cannot_be_restored_is_reported_until_it_is_dropped(tmp_path):
    root = tmp_path / "a root"
    interrupt(root)
    (root / "a.txt").unlink()
    (root / "a.txt").mkdir()
    (root / "a.txt/x").touch()
    code, out, err = recover("a root", "--json", cwd=tmp_path)
    assert (code, json.loads(out)["stuck"]) == (1, ["a.txt: Is a directory"])
    assert "files recover 'a root' --drop" in err
    assert recover("a root", "--drop", cwd=tmp_path)[0] == 0
    assert recover("a root", cwd=tmp_path)[0] == 0
    assert (root / "a.txt/x").exists()
