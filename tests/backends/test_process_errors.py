"""Exceptions cross from a worker to the host by name and text."""

from tests.cases import in_case
from toolhaft.backends.process_data import decode_error, encode, encode_error
from toolhaft.backends.process_errors import WorkerError
from toolhaft.errors import (
    DefinitionError,
    FileMissingError,
    ToolError,
    ToolExecutionError,
    ToolValidationError,
    UnknownToolError,
    VisibilityExpansionRequired,
)


def find(name):
    """No type is known."""


class WordError(ConnectionError):
    pass


class OwnError(ToolValidationError):
    pass


class OwnToolError(ToolError):
    pass


def later(error, **attributes):
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


ERRORS_SENT = (
    (ValueError("a", 1), ValueError, "('a', 1)"),
    (KeyError("a"), KeyError, "'a'"),
    (FileNotFoundError(2, "no", "x.txt"), FileNotFoundError, "[Errno 2] no: 'x.txt'"),
    (ToolValidationError("bad"), ToolValidationError, "bad"),
    (OwnError("bad"), ToolValidationError, "bad"),
    (FileMissingError("a.txt: missing"), FileMissingError, "a.txt: missing"),
    (UnknownToolError("no tool"), UnknownToolError, "no tool"),
    (DefinitionError("bad", tool="t", fix="f"), DefinitionError, "tool 't': bad. Fix: f"),
    (WordError("gone"), ConnectionError, "WordError: gone"),
    (UnicodeDecodeError("utf-8", b"x", 0, 1, "r"), UnicodeDecodeError, None),
    (OwnToolError("bad"), ToolExecutionError, "bad"),
    (ExceptionGroup("many", [ValueError("a")]), WorkerError, "ExceptionGroup: many (1 sub-exception)"),
    (KeyboardInterrupt(), WorkerError, "KeyboardInterrupt"),
    (SystemExit(3), WorkerError, "the handler called sys.exit(3)"),
    (ValueError(object), ValueError, "<class 'object'>"),
)


def test_an_exception_crosses_by_name_and_text():
    for error, kind, text in ERRORS_SENT:
        with in_case(error):
            received = decode_error(encode_error(error), find)
            assert type(received) is kind
            assert str(received) == (str(error) if text is None else text)


def test_an_exception_keeps_the_attributes_that_are_data():
    asked = VisibilityExpansionRequired("more", requested_overrides={("a", "b"): "full"}, reason="r")
    received = decode_error(encode_error(asked), find)
    assert (received.requested_overrides, received.reason) == ({("a", "b"): "full"}, "r")
    late = later(ToolExecutionError("later"), retry_after=3, nothing_happened=True, session=print)
    received = decode_error(encode_error(late), find)
    assert (received.retry_after, received.nothing_happened) == (3, True)
    assert not hasattr(received, "session")
    hostile = [["ToolExecutionError", "t", ["t"], {"add_note": 1, "with_traceback": 1, "__notes__": 1}], ""]
    received = decode_error(encode(hostile), find)
    assert callable(received.add_note)
    for wrong in ([], 5, [["SystemExit", "x", [], {}], ""], [["OSError", 1, 2, 3], ""]):
        assert isinstance(decode_error(encode(wrong), find), ToolExecutionError)
