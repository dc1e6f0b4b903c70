"""Short ways to call the file tools in tests."""

from contextlib import contextmanager

import pytest

from toolhaft import execute_tool
from toolhaft.resources import Filesystem, MemoryFilesystem
from toolhaft.toolbox import file_reader
from toolhaft.toolbox.files import lines, paging


def call(tool, fs, **arguments):
    """The whole result of one call."""
    return execute_tool(tool, arguments, resources={Filesystem: fs})


def value_of(tool, fs, **arguments):
    """The value of a call that works."""
    result = call(tool, fs, **arguments)
    assert result.success, result.message
    return result.value


def refusal(tool, fs, **arguments):
    """The words of the error of a call that fails."""
    result = call(tool, fs, **arguments)
    assert not result.success, result.message
    assert len(result.render().encode()) <= 2048
    return str(result.failure.error)


def memory(**files):
    """Files in memory, with names that Python can say: 'a_txt' is 'a.txt'."""
    return MemoryFilesystem({name.replace("_", "."): content for name, content in files.items()})


def texts(content):
    """One file in memory, 'a'."""
    return MemoryFilesystem({"a": content})


def all_pages(fs, path="a", **arguments):
    """Every page of a file, as a model would have them."""
    found, offset = [], 0
    while offset is not None:
        value = value_of(file_reader, fs, path=path, offset=offset, **arguments)
        found.append(value["content"])
        following = value.get("next_offset")
        assert following is None or following > offset
        offset = following
    return found


@contextmanager
def small_pages(most, chunk):
    """file_reader with pages of so few bytes, found in parts of so few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "LONGEST_LINE", most)
        patch.setattr(lines, "_BLOCK", most // 2)
        patch.setattr(paging, "MAX_BYTES", most)
        patch.setattr(paging, "_FIRST_CHUNK", chunk)
        patch.setattr(paging, "_CHUNK", chunk)
        yield
