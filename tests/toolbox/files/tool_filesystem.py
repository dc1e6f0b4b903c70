"""A filesystem that reads and writes through the file tools, for the conformance kit.

What the tools do not offer is asked of the filesystem below.
"""

from toolhaft import execute_tool
from toolhaft.errors import FilesystemError, ToolExecutionError
from toolhaft.resources import Filesystem, FileText
from toolhaft.toolbox import file_info, list_directory, read_file, write_file


class RefusedEarly(Exception):  # noqa: N818 -- a way out, no fault
    """The arguments were refused before any file was reached."""


def run(tool, fs, **arguments):
    """The value that a tool gives, or the refusal of the filesystem below it."""
    result = execute_tool(tool, arguments, resources={Filesystem: fs})
    if result.success:
        assert result.failure is None
        return result.value
    if result.failure.cause is None:
        assert result.failure.kind == "invalid_arguments"
        raise RefusedEarly
    error = result.failure.error
    if isinstance(error, ToolExecutionError) and error.__cause__ is not None:
        assert str(error) == str(error.__cause__), "worded as the filesystem words it"
        raise error.__cause__
    raise error


class ToolFilesystem:
    def __init__(self, below):
        self.below = below

    def __getattr__(self, name):
        return getattr(self.below, name)

    def fork(self, *, read_only=False):
        return ToolFilesystem(self.below.fork(read_only=read_only))

    def read(self, path, *, offset=0, limit=None):
        if offset or limit is not None:
            return self.below.read(path, offset=offset, limit=limit)
        try:
            value = run(read_file, self.below, path=path)
        except RefusedEarly:
            return self.below.read(path)
        return FileText(value["content"], value["size"], None)

    def write(self, path, content, *, mode="overwrite"):
        if mode != "overwrite" or not isinstance(content, str):
            return self.below.write(path, content, mode=mode)
        try:
            return run(write_file, self.below, path=path, content=content)["bytesWritten"]
        except RefusedEarly:
            return self.below.write(path, content)

    def list(self, path=".", *, recursive=False, limit=None):
        if limit is None:
            self.compare(path, recursive=recursive)
        return self.below.list(path, recursive=recursive, limit=limit)

    def compare(self, path, *, recursive):
        """The tool tells what the filesystem below tells, or refuses as it does."""
        try:
            expected = self.below.list(path, recursive=recursive, limit=10_000)
        except FilesystemError as error:
            expected = error
        try:
            entries = run(list_directory, self.below, path=path, recursive=recursive)["entries"]
        except RefusedEarly:
            return
        except FilesystemError as error:
            assert (type(error), str(error)) == (type(expected), str(expected))  # noqa: PT017 -- both may fail
            return
        base = self.below.stat(path).path
        prefix = "" if base == "." else f"{base}/"
        told = [(prefix + entry["name"], entry["type"], entry["size"]) for entry in entries]
        assert told == [entry[:3] for entry in expected]

    def stat(self, path):
        try:
            value = run(file_info, self.below, path=path)
        except RefusedEarly:
            return self.below.stat(path)
        if not value["exists"] or not (value["is_file"] or value["is_directory"]):
            assert value["size"] == 0
            return self.below.stat(path)
        found = self.below.stat(path)
        assert value == {
            "exists": True,
            "is_file": found.kind == "file",
            "is_directory": found.kind == "directory",
            "size": found.size_bytes,
        }
        return found

    def exists(self, path):
        try:
            return run(file_info, self.below, path=path)["exists"]
        except RefusedEarly:
            return self.below.exists(path)
