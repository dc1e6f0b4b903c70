"""The words of a failure: at most 2 KB, no traceback, no path of the host's, something to act on."""

import os
import sys
import tempfile
from pathlib import Path

from tests.cases import each_case
from tests.execute.calls import both_ways, call, hear, kind_of
from tests.execute.defined_tools import add
from tests.execute.state_kit import (
    raising,
    world,
)
from toolhaft import (
    ToolCall,
    ToolExecutor,
    ToolResult,
    tool,
)
from toolhaft.errors import (
    ToolExecutionError,
)
from toolhaft.execute import failures

LONGEST_BYTES = 2048


@both_ways
@each_case("text", ["x", "é", "😀", "\\n", "\x00"], ids=repr)
@each_case("make", [ValueError, ToolExecutionError, ToolResult.error], ids=lambda make: make.__name__)
def test_a_message_is_at_most_two_kilobytes(run, text, make):
    """Threats: an error for a model is at most 2 KB."""

    @tool(max_attempts=1, name="loud")
    def loud():
        """Say far too much."""
        made = make(text * 100_000)
        if isinstance(made, ToolResult):
            return made
        raise made

    executor = ToolExecutor([loud])
    events = hear(executor)
    result = run(executor, call("loud"))
    if make is not ToolResult.error:  # an error result is the author's own text, cut where all output is
        assert len(result.message.encode()) <= LONGEST_BYTES
        assert "[cut]" in result.message
        assert "Outcome unknown: check what happened. This was attempt 1 of 1" in result.message
    assert len(events[0].message.encode()) <= LONGEST_BYTES


@each_case(
    "arguments",
    [
        '{"a": "' + "x" * 100_000 + '"}',
        "{" + ", ".join(f'"k{n}": {n}' for n in range(5000)) + "}",
        '{"' + "k" * 100_000 + '": 1}',
        "[" * 50_000,
        '{"a": "' + "😀" * 50_000 + '"}',
    ],
    ids=["long value", "many keys", "long key", "deep", "wide letters"],
)
def test_a_message_about_arguments_is_at_most_two_kilobytes(arguments):
    result = ToolExecutor([add]).execute(ToolCall(name="add", arguments=arguments))
    assert kind_of(result) == "invalid_arguments"
    assert len(result.message.encode()) <= LONGEST_BYTES


@each_case("text", ["x", "/a", "é", f"{tempfile.gettempdir()} "], ids=["letters", "slashes", "wide", "paths"])
def test_a_very_long_exception_text_is_cut(text):
    """Threats: no refusal takes more than a second or 256 MB."""
    much = text * 10_000_000

    @tool
    def loud() -> None:
        """Say far too much."""
        raise ValueError(much)

    assert len(ToolExecutor([loud]).execute(call("loud")).message.encode()) <= LONGEST_BYTES


def test_a_message_holds_no_traceback():
    def deep(n):
        if n:
            deep(n - 1)
        raise ValueError("deep down")

    @tool
    def act() -> None:
        """Fail deep down."""
        try:
            deep(5)
        except ValueError as error:
            raise RuntimeError("further up") from error

    message = ToolExecutor([act]).execute(call("act")).message
    assert "Traceback" not in message
    assert "deep down" not in message
    assert Path(__file__).name not in message
    assert message.startswith("act failed: RuntimeError: further up.")


@each_case(
    "folder",
    [
        tempfile.gettempdir(),
        str(Path("~").expanduser()),
        sys.prefix,
        str(Path.cwd()),
        "/srv/app/releases",
        "/etc",
    ],
)
def test_a_message_holds_no_path_of_the_host(folder):
    """Threats: an error holds no host path; the file's own name is enough to act on."""
    missing = str(Path(folder, "private", "data.txt"))

    @tool
    def act() -> str:
        """Open a file that is not there."""
        return Path(missing).read_text()

    message = ToolExecutor([act]).execute(call("act")).message
    assert folder not in message
    assert "FileNotFoundError" in message
    assert "data.txt" in message


@each_case("path", ["/tmp/data.txt", f"{Path.cwd()}/data.txt"])  # noqa: S108 -- the seed's own
def test_a_path_in_the_arguments_stays_in_the_message(path):

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        raise ToolExecutionError(f"File not found: {path}")

    assert (
        ToolExecutor([read_file])
        .execute(call("read_file", path=path))
        .message.startswith(f"File not found: {path}")
    )


def test_urls_and_fractions_are_not_taken_for_paths():
    text = "GET https://example.org/a/b?c=d gave 3/4 of application/json"

    @tool
    def act() -> None:
        """Fail with slashes."""
        raise ToolExecutionError(text)

    assert ToolExecutor([act]).execute(call("act")).message.startswith(text)


class Mute(Exception):  # noqa: N818 -- a stranger's exception
    def __str__(self):
        raise RuntimeError("not even this")


@both_ways
def test_an_exception_without_a_text_is_reported_by_its_type(run):
    for error in (ValueError(), Mute()):
        result = run(world(raising(error)), call("act"))
        assert f"act failed: {type(error).__name__}" in result.message


def test_the_message_of_a_group_names_its_exceptions():
    """What a failed asyncio.TaskGroup raises says itself only how many they are."""
    many = [KeyError("tea"), ValueError("x" * 1000), *(OSError(str(n)) for n in range(9))]
    result = world(raising(ExceptionGroup("unhandled errors", many))).execute(call("act"))
    told = (
        "act failed: ExceptionGroup: unhandled errors (11 sub-exceptions): KeyError: 'tea'; ValueError: xxx"
    )
    assert result.message.startswith(told)
    assert "; OSError: 2. " in result.message


def test_the_error_itself_is_kept_for_the_host():
    """`Failure.error`: what the handler raised; for the host alone."""
    error = ValueError("no")
    result = world(raising(error)).execute(call("act"))
    assert result.failure.error is error
    assert result.failure.error.__traceback__ is not None


def test_no_failure_takes_longer_than_a_second():
    """Threats: no refusal takes more than a second."""
    executor = ToolExecutor([add])
    for arguments in ("[" * 1_000_000, '{"a":' * 200_000, '{"a": ' + "9" * 1_000_000 + "}", "x" * 5_000_000):
        assert kind_of(executor.execute(ToolCall(name="add", arguments=arguments))) in (
            "invalid_arguments",
            "attempts",
        )
        executor.new_run()


def test_a_message_has_no_environment_variables():
    """Threats, *telemetry*: environment."""

    @tool
    def act() -> str:
        """Look for a variable."""
        return os.environ["NO_SUCH_VARIABLE_HERE"]

    assert "PATH" not in ToolExecutor([act]).execute(call("act")).message


def test_only_the_beginning_of_a_long_exception_is_read(monkeypatch):
    """Looking for folders of the host takes time for each character."""
    lengths = []
    hide_host = failures.hide_host
    monkeypatch.setattr(
        failures, "hide_host", lambda text, given: lengths.append(len(text)) or hide_host(text, given)
    )

    @tool
    def loud() -> None:
        """Say far too much."""
        raise ValueError("/tmp/x " * 1_000_000)  # noqa: S108 -- a folder in a message

    ToolExecutor([loud]).execute(call("loud"))
    assert lengths == [8000]


def test_an_unknown_name_is_quoted_in_part_if_it_is_long():
    message = ToolExecutor([add]).execute(call("x" * 1_000)).message
    assert f"no tool is called '{'x' * 128}'." in message
