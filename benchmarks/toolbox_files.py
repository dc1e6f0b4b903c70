"""Measures calls of the file tools on real files, compared with reading and listing them directly."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Case
from toolhaft import ToolCall, ToolExecutor
from toolhaft.resources import Filesystem, HostFilesystem
from toolhaft.toolbox import list_directory, read_file

_LINE = "A line of a file as people write them, with a number at its end: 0123456789.\n"
_MEGABYTE = 1_000_000
_ENTRIES = 10_000
_held: list[TemporaryDirectory[str]] = []
"""Removed when the process ends."""


def cases() -> list[Case]:
    """One case each for reading, listing and appending."""
    folder = TemporaryDirectory(prefix="toolhaft-benchmark-")
    _held.append(folder)
    root = Path(folder.name)
    return [_reading(root), _listing(root), _appending(root)]


def _reading(root: Path) -> Case:
    file = root / "megabyte.txt"
    file.write_text((_LINE * (_MEGABYTE // len(_LINE) + 1))[:_MEGABYTE], encoding="utf-8")
    executor = ToolExecutor([read_file], resources={Filesystem: HostFilesystem(root)})
    call = ToolCall(id="1", name="read_file", arguments='{"path": "megabyte.txt"}')
    assert executor.execute(call).value == {"content": file.read_text(encoding="utf-8"), "size": _MEGABYTE}
    # not a promise, the target shows a call that becomes much slower; read_text itself takes 0.1 or 0.9 ms,
    # depending on whether the process keeps freed memory
    return Case(
        "read_1_mb", lambda: executor.execute(call), lambda: file.read_text(encoding="utf-8"), target=30.0
    )


def _listing(root: Path) -> Case:
    folder = root / "entries"
    folder.mkdir()
    for number in range(_ENTRIES):
        (folder / f"file_{number:05}.txt").write_bytes(b"x" * (number % 50))
    executor = ToolExecutor([list_directory], resources={Filesystem: HostFilesystem(root)})
    call = ToolCall(id="1", name="list_directory", arguments='{"path": "entries"}')
    assert executor.execute(call).value == {"entries": _scanned(folder)}
    return Case("list_10000", lambda: executor.execute(call), lambda: _scanned(folder), target=2.0)


def _appending(root: Path) -> Case:
    """Append a line to a file of 1 GB, compared with a file of one line: its size must not matter."""
    with (root / "large.log").open("wb") as file:
        file.truncate(1000 * _MEGABYTE)  # sparse
    (root / "small.log").write_text(_LINE, encoding="utf-8")
    files = HostFilesystem(root, durable=False)

    def append(path: str) -> None:
        files.write(path, _LINE, mode="append")

    return Case("append_to_1_gb", lambda: append("large.log"), lambda: append("small.log"), target=1.5)


def _scanned(folder: Path) -> list[dict[str, object]]:
    with os.scandir(folder) as entries:
        found = [
            {
                "name": entry.name,
                "type": "directory" if entry.is_dir(follow_symlinks=False) else "file",
                "size": entry.stat(follow_symlinks=False).st_size,
            }
            for entry in entries
        ]
    found.sort(key=lambda entry: entry["name"])
    return found
