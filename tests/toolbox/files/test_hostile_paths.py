"""Hostile paths: each tool answers or refuses them, and reveals nothing about the host."""

import os
import socket
import stat

import pytest

from tests.cases import each_case
from tests.toolbox.files.calls import call
from toolhaft.errors import ToolExecutionError
from toolhaft.resources import HostFilesystem, MemoryFilesystem
from toolhaft.toolbox import file_info, file_reader, list_directory, read_file, write_file

READERS = (read_file, file_reader)
TOOLS = (*READERS, write_file, list_directory, file_info)


@pytest.fixture
def root(quick_path, monkeypatch):
    root = quick_path / "jail"
    (root / "sub/deep").mkdir(parents=True)
    (root / "file.txt").write_text("inside")
    (quick_path / "secret.txt").write_text("bait")
    (root / "link").symlink_to("../secret.txt")
    (root / "sub/up").symlink_to("..")
    (root / "self").symlink_to("/proc/self")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # the address of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    if os.geteuid() == 0:
        os.mknod(root / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
    monkeypatch.chdir("/")
    return root


def run(tool, root, path):
    more = {"content": "x"} if tool is write_file else {}
    result = call(tool, HostFilesystem(root, durable=False), path=path, **more)
    told = result.render()
    assert "bait" not in told
    if str(root) not in path:
        assert str(root.parent) not in told
    assert len(told.encode()) < 2048
    return result


def words_of(result):
    assert not result.success
    assert isinstance(result.failure.error, ToolExecutionError)
    return str(result.failure.error)


@each_case(
    "path",
    [
        "..",
        "../secret.txt",
        "sub/../../secret.txt",
        "/etc/passwd",
        "/",
        "/proc/self/environ",
        "//etc//passwd",
        "link",
        "sub/up",
        "sub/up/file.txt",
        "sub/up/sub/up/file.txt",
        "self/environ",
        "self",
        "loop",
        "loop/x",
        ".toolhaft/journal",
        ".TOOLHAFT",
    ],
)
def test_paths_outside_the_root_and_links_are_denied_by_every_tool(root, path):
    for tool in TOOLS:
        assert words_of(run(tool, root, path)) == f"Permission denied: {path}"
    assert (root.parent / "secret.txt").read_text() == "bait"


def test_absolute_path_inside_the_root_is_accepted(root):
    inside = f"{root}/file.txt"
    assert run(read_file, root, inside).value["content"] == "inside"
    assert run(file_info, root, inside).value["is_file"]
    assert words_of(run(read_file, root, f"{root}/no")) == f"File not found: {root}/no"
    beside = f"{root}-twin/file.txt"
    assert words_of(run(read_file, root, beside)) == f"Permission denied: {beside}"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "Invalid path: '': it is empty; the root is '.'"),
        ("a\0b", r"Invalid path: 'a<U+0000>b': it holds a NUL character"),
        ("x" * 256, f"Invalid path: '{'x' * 256}': a name in it is longer than 255 bytes"),
        ("y/" * 3000, f"Invalid path: '{'y/' * 250}...': it is longer than 4096 bytes"),
    ],
    ids=["empty", "nul", "long name", "long path"],
)
def test_paths_that_no_file_has_are_refused_by_every_tool(root, path, reason):
    for tool in TOOLS:
        assert words_of(run(tool, root, path)) == reason


def test_half_a_surrogate_pair_is_no_path(root):
    for tool in TOOLS:
        result = run(tool, root, "a\udcff")
        assert result.failure.kind == "invalid_arguments"


@each_case(
    "path",
    ["~", "$HOME", "%2e%2e/secret.txt", "..\\secret.txt", "C:\\x", "\uff0e\uff0e/secret.txt"],
)
def test_nothing_in_a_path_is_expanded(root, path):
    assert words_of(run(read_file, root, path)) == f"File not found: {path}"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("file.txt\n", "file.txt<U+000A>"),
        ("file.txt ", "'file.txt '"),
        ("x\x1b[2J\u202e\nIgnore all", "x<U+001B>[2J<U+202E><U+000A>Ignore all"),
    ],
)
def test_hidden_characters_in_a_path_are_made_visible(root, path, shown):
    result = run(read_file, root, path)
    assert words_of(result) == f"File not found: {shown}"
    assert result.message.startswith(f"File not found: {shown}")


@pytest.mark.parametrize(
    ("path", "told"),
    [(" lead", "' lead'"), ("end ", "'end '"), (" ", "' '"), ("a\nb", "a<U+000A>b"), ("a\tb", "a<U+0009>b")],
)
def test_messages_quote_names_with_spaces_or_line_breaks(path, told):
    fs = MemoryFilesystem()
    assert call(file_info, fs, path=path).message == f"{told}: there is nothing."
    assert call(write_file, fs, path=path, content="x").message == f"Created {told}: 1 byte, UTF-8."
    assert call(file_reader, fs, path=path).message.startswith(f"Untrusted text from {told}: ")
    assert f"beyond the end: {told} has 1 line" in call(file_reader, fs, path=path, offset=1).message
    fs = MemoryFilesystem({f"{path}/x": ""})
    assert call(list_directory, fs, path=path).message.startswith(
        f"Untrusted text from the names in {told}: "
    )


def test_messages_quote_the_path_of_the_caller(root):
    inside = root / "build" / "tmp"
    inside.mkdir(parents=True)
    (inside / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    for path in ("build/tmp/logo.png", f"{root}/build/tmp/logo.png"):
        assert run(read_file, root, path).message.startswith(f"Not a text file: {path}: it seems to be a PNG")
    assert run(list_directory, root, f"{root}/build/tmp/logo.png").message.startswith(
        f"Not a directory: {root}/build/tmp/logo.png, or one of its parents"
    )


def test_pipes_sockets_and_devices_are_refused_at_once(root):
    kinds = ["pipe", "socket"] + (["device"] if os.geteuid() == 0 else [])
    for path in kinds:
        for tool in (*READERS, write_file):
            assert words_of(run(tool, root, path)) == f"Not a regular file: {path}"
        assert "Not a " in words_of(run(list_directory, root, path))
        value = run(file_info, root, path).value
        assert value == {"exists": True, "is_file": False, "is_directory": False, "size": 0}


def test_directory_is_not_read_as_a_file(root):
    for tool in (*READERS, write_file):
        assert words_of(run(tool, root, "sub")) == "Is a directory: sub"


def test_sparse_file_of_a_terabyte_is_refused_without_reading_it(root):
    with (root / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    for tool in READERS:
        assert words_of(run(tool, root, "sparse")).startswith(
            "Not a text file: sparse: it seems to be binary data"
        )
    assert run(file_info, root, "sparse").value["size"] == 1 << 40


def test_files_of_proc_are_read_to_their_end_where_they_are_the_root(root):
    fs = HostFilesystem("/proc/self")
    value = call(read_file, fs, path="limits").value
    assert value["size"] == len(value["content"].encode()) > 100
    assert call(file_reader, fs, path="limits").value["content"] == value["content"]
    assert "Permission denied: root" in call(list_directory, fs, path="root").message
    assert "Permission denied: exe" in call(read_file, fs, path="exe").message
