"""Short ways to call the file tools in tests."""

from toolhaft import execute_tool
from toolhaft.resources import Filesystem, MemoryFilesystem


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
