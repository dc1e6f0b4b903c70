"""Errors of Toolhaft compare by value, so that a test or a cache can hold them."""

import inspect
import pickle

import pytest

from tests.cases import in_case
from toolhaft import errors
from toolhaft.errors import (
    ConflictError,
    DefinitionError,
    FilesystemError,
    PromptEvaluationError,
    ToolError,
    ToolExecutionError,
    ToolhaftError,
    ToolValidationError,
    UnknownToolError,
    VisibilityExpansionRequired,
    WireError,
)

CLASSES = [
    found for found in vars(errors).values() if inspect.isclass(found) and issubclass(found, ToolhaftError)
]

PAIRS = (
    (
        DefinitionError("bad", tool="t", place="p", fix="f"),
        DefinitionError("bad", tool="u", place="p", fix="f"),
    ),
    (ConflictError("changed", current="1"), ConflictError("changed", current="2")),
    (WireError("odd", path="a"), WireError("odd", path="b")),
    (FilesystemError(2, "no", "a.txt"), FilesystemError(2, "no", "b.txt")),
    (PromptEvaluationError("no", section_path=("a",)), PromptEvaluationError("no", section_path=("b",))),
    (VisibilityExpansionRequired("more", reason="r"), VisibilityExpansionRequired("more", reason="s")),
    (ToolExecutionError("a", {"not": "hashable"}), ToolExecutionError("a", {"not": "the same"})),
)


def test_errors_of_the_same_class_and_text_are_equal():
    for kind in CLASSES:
        with in_case(kind):
            assert kind("no") == kind("no")
            assert hash(kind("no")) == hash(kind("no"))
            assert kind("no") != kind("yes")
            assert kind("no") not in (None, "no", ValueError("no"))
            assert len({kind("no"), kind("no"), kind("yes")}) == 2


def test_errors_of_other_classes_are_not_equal():
    assert ToolError("no") != ToolExecutionError("no")
    assert ToolValidationError("no") != ValueError("no")
    assert UnknownToolError("no") != KeyError("no")


def test_attributes_are_compared_too():
    for one, other in PAIRS:
        with in_case(one):
            again = pickle.loads(pickle.dumps(one))  # noqa: S301 -- written here
            assert one == again
            assert hash(one) == hash(again)
            assert one != other


def test_errors_are_equal_after_pickling():
    for kind in CLASSES:
        with in_case(kind):
            copy = pickle.loads(pickle.dumps(kind("no")))  # noqa: S301 -- written here
            assert (type(copy), str(copy), copy) == (kind, "no", kind("no"))


def test_where_an_error_was_raised_is_not_compared():
    noted = ToolExecutionError("no")
    noted.add_note("in the worker process")
    with pytest.raises(ToolExecutionError) as caught:
        raise noted from ValueError("cause")
    assert caught.value == ToolExecutionError("no")
