"""Committed files hold no unfinished work and nothing that belongs to one machine."""

import re
import shutil
import subprocess

import pytest

# one letter of each word in brackets: the pattern must not find itself
UNFINISHED = re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b")
PACKAGE_INDEX = re.compile(r"index-ur[l]|find-link[s]|simpl[e]/\S*#sha256=")


def visible(path):
    return not any(part.startswith((".", "__pycache__")) for part in path.parts)


def listed(root):
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        # an unpacked archive, or a machine without git
        return [path for path in root.rglob("*") if visible(path.relative_to(root))]
    # new files count too: a check before the commit is worth more than one after it
    command = [git, "-c", "safe.directory=*", "ls-files", "-z", "-c", "-o", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return [root / name for name in names.split("\0") if name]


@pytest.fixture(scope="module")
def texts(pytestconfig):
    root = pytestconfig.rootpath
    files = [path for path in listed(root) if path.is_file()]
    return {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8", errors="replace") for p in files}


def holding(texts, pattern):
    return [path for path, text in texts.items() if pattern.search(text)]


def test_no_file_is_left_unfinished(texts):
    assert holding(texts, UNFINISHED) == []


def test_no_file_names_the_folder_that_it_was_written_in(texts, pytestconfig):
    folder = re.escape(pytestconfig.rootpath.as_posix())
    assert holding(texts, re.compile(rf"(?<![\w.]){folder}(?!\w)")) == []


def test_no_file_names_a_package_index(texts):
    assert holding(texts, PACKAGE_INDEX) == []


def test_this_file_is_among_the_checked_files(texts):
    assert "tests/codebase/test_tracked_files.py" in texts


def test_without_git_every_file_that_is_not_hidden_is_checked(tmp_path):
    for name in ("seen.md", ".venv/hidden.py", "src/seen.py", "src/__pycache__/hidden.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    files = {path.relative_to(tmp_path).as_posix() for path in listed(tmp_path) if path.is_file()}
    assert files == {"seen.md", "src/seen.py"}
