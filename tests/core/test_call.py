"""A call, its caller and its surroundings, as values."""

import pickle

import pytest

from tests.cases import each_case
from toolhaft import Effect, Principal, ToolCall, ToolContext
from toolhaft.errors import ResourceError
from toolhaft.schema import UnreadArguments


def test_calls_are_equal_by_their_parts():
    """`ToolCall(id, name, arguments)` and `extras`, carried through untouched."""
    call = ToolCall("1", "add", "{}", extras={"signature": "x"})
    assert call == ToolCall(id="1", name="add", arguments="{}", extras={"signature": "x"})
    assert call != ToolCall(id="2", name="add", arguments="{}", extras={"signature": "x"})
    assert call != "add"
    assert repr(ToolCall(id="1", name="add")) == "ToolCall(id='1', name='add', arguments='{}')"


def test_an_empty_key_becomes_none_and_a_name_becomes_plain_text():
    call = ToolCall(name=Effect.READ, idempotency_key="")
    assert (call.name, type(call.name), call.idempotency_key) == ("read", str, None)


@each_case("name", [{"a": 1}, 5, None, b"add", ["add"]])
def test_a_name_that_is_not_text_is_refused_with_the_right_spelling(name):
    """Also for `ToolCall("add", {"a": 1})`, whose first argument is the id."""
    with pytest.raises(TypeError, match=r"the name of a ToolCall is text, not .*; write ToolCall") as caught:
        ToolCall("add", name)
    assert repr(name) in str(caught.value)


def test_a_dictionary_instead_of_the_fields_is_refused():
    with pytest.raises(
        TypeError, match=r"the id of a ToolCall is text, not \{'name': 'add'\}; write ToolCall"
    ):
        ToolCall({"name": "add"})


@each_case("nothing", ["", None, b""])
def test_empty_arguments_mean_that_there_are_none(nothing):
    call = ToolCall(name="now", arguments=nothing)
    assert (call.arguments, call.malformed) == ("{}", None)
    assert call == ToolCall(name="now") == ToolCall(name="now", arguments={})


def test_a_principal_is_a_value_with_sets_of_names():
    caller = Principal(id="ada", scopes=["a", "b"], sees=["x"], allow=[], expires_at=1)
    assert caller == Principal(id="ada", scopes={"b", "a"}, sees=("x",), allow=(), expires_at=1)
    assert caller.has_expired
    assert not Principal().has_expired


@each_case("what", ["scopes", "sees", "allow"])
def test_a_text_is_not_accepted_as_a_list_of_names(what):
    with pytest.raises(
        TypeError, match=f"{what} is a list of names, not the text 'admin'; write \\['admin'\\]"
    ):
        Principal(**{what: "admin"})
    with pytest.raises(TypeError, match=f"{what} is a list of names, and 5 is not a name"):
        Principal(**{what: [5]})


@each_case("moment", ["tomorrow", True])
def test_a_principal_expires_at_a_number_of_seconds(moment):
    with pytest.raises(TypeError, match="expires_at is seconds since the epoch"):
        Principal(expires_at=moment)


def test_a_context_without_an_executor_ignores_beat_and_has_no_resources():
    context = ToolContext()
    context.beat()
    context.progress(1, 2, "half")
    with pytest.raises(ResourceError, match="no resources were given"):
        _ = context.filesystem


def test_a_key_is_put_on_a_copy_of_the_call():
    call = ToolCall("1", "pay", '{"amount": 5}', extras={"x": 1})
    keyed = call.with_key("k")
    assert keyed == ToolCall("1", "pay", '{"amount": 5}', extras={"x": 1}, idempotency_key="k")
    assert call.idempotency_key is None


def test_arguments_that_could_not_be_read_are_a_frozen_value():
    unread = UnreadArguments('{"a": ', "the stream ended in the middle")
    assert unread == UnreadArguments(text='{"a": ', problem="the stream ended in the middle")
    assert unread != UnreadArguments('{"a": ', "something else")
    assert unread != '{"a": '
    assert len({unread, UnreadArguments('{"a": ', "the stream ended in the middle")}) == 1
    assert pickle.loads(pickle.dumps(unread)) == unread  # noqa: S301 -- our own bytes
    assert repr(unread) == """UnreadArguments(text='{"a": ', problem='the stream ended in the middle')"""
    with pytest.raises(AttributeError, match="cannot assign to field 'text'"):
        unread.text = "{}"
    call = ToolCall("1", "add", unread)
    assert call == ToolCall("1", "add", unread)
    assert call.with_key("k").arguments is unread


@each_case(
    ("arguments", "problem"),
    [
        ("{}", None),
        ('{"a": 1}', None),
        ('"{\\"a\\": 1}"', None),
        ({"a": 1}, None),
        (b'{"a": 1}', None),
        (UnreadArguments("{", "the stream ended in the middle"), "the stream ended in the middle"),
        (UnreadArguments("{}", "its id is no text"), "its id is no text"),
        (" ", "not valid JSON: EOF while parsing a value at line 1 column 1"),
        ('{"a": ', "not valid JSON: EOF while parsing a value at line 1 column 6"),
        ('{"a": 1} {}', "not valid JSON: trailing characters at line 1 column 10"),
        ('{"a": NaN}', "not valid JSON: expected value at line 1 column 7"),
        ('"\ud800"', "not valid JSON: a lone surrogate"),
        ("[1]", "not a JSON object: got [1]"),
        ("null", "not a JSON object: got null"),
        ('"text"', 'not a JSON object: got "text"'),
        ('"[1]"', 'not a JSON object: got "[1]"'),
        (b"[]", "not a JSON object: got []"),
        (5, "not a JSON object: got 5"),
        ([1], "not a JSON object: got [1]"),
    ],
    ids=repr,
)
def test_a_call_says_what_is_wrong_with_its_arguments(arguments, problem):
    """Arguments that are not JSON give a ToolCall marked malformed."""
    assert ToolCall("1", "add", arguments).malformed == problem
