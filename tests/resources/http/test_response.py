"""Responses as JSON: a bad character is replaced, and the rest is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each_case
from tests.resources.http.servers import serve
from toolhaft import ToolContext, execute_tool, tool
from toolhaft.errors import HttpError
from toolhaft.resources.http import HttpClient, HttpResponse, http_of


def read(body):
    return HttpResponse(status=200, url="", headers={}, body=body).json()


@each_case(
    "body",
    [b"<html>", b"", b"NaN", b"[Infinity]", b"1e999", b"\xff\xfe", b"[" * 100_000, b"{} {}", rb"\ud83d"],
)
def test_body_that_is_not_json_is_an_http_error(body):
    with pytest.raises(HttpError, match=f"the response is not JSON \\(no media type, {len(body):,} bytes\\)"):
        read(body)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le"])
def test_json_in_any_encoding_that_json_may_have_is_read(encoding):
    assert read('{"a": "grün 😀"}'.encode(encoding)) == {"a": "grün 😀"}


def test_response_shows_no_query_in_a_log():
    response = HttpResponse(
        status=200, url="http://a.example/?key=SECRET", headers={"content-type": "text/html"}, body=b"12345"
    )
    assert repr(response) == "<HttpResponse 200 text/html, 5 bytes>"


@each_case(
    ("written", "text"),
    [
        (rb"\ud83d", "\ufffd"),
        (rb"\uDE00", "\ufffd"),
        (rb"a\ud83d b", "a\ufffd b"),
        (rb"\ud83d\ude00", "😀"),
        (rb"\uD83D\uDE00\uDE00", "😀\ufffd"),
        (rb"\ud83d\ud83d\ude00", "\ufffd😀"),
        (rb"\ude00\ud83d", "\ufffd\ufffd"),
        (rb"\\ud83d", r"\ud83d"),
        (rb"\\\ud83d", "\\\ufffd"),
        (rb"\ud83d\\ude00", "\ufffd\\ude00"),
        (rb"\ud55c\u00e9", "한é"),
        (b"\xed\xa0\xbd", "\ufffd\ufffd\ufffd"),
        (b"a\xff", "a\ufffd"),
        ("é".encode()[:1], "\ufffd"),
    ],
)
def test_lone_surrogate_is_read_as_replacement_character(written, text):
    assert read(b'{"' + written + b'": ["' + written + b'", "rest"]}') == {text: [text, "rest"]}


LETTERS = st.sampled_from('ad8u\\"\n\ud83d\ude00\ud800\udfffé\ufffd😀')


@given(st.recursive(st.text(LETTERS), st.lists, max_leaves=5))
def test_parsed_json_can_be_encoded_and_is_unchanged_without_surrogates(value):
    written = json.dumps(value)
    got = read(written.encode())
    assert json.dumps(got, ensure_ascii=False).encode()
    utf_16 = json.dumps(value, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
    assert got == json.loads(utf_16.decode("utf-16-le", "replace"))


def test_answer_full_of_escapes_is_read_in_linear_time():
    """A quadratic scan of this would not end."""
    for part in (rb"\ud83d", rb"\ud83d\ude00", rb"\\", rb"\\\\ud83d", rb"\ud55c", b"\\\\u"):
        body = b'"' + part * (400_000 // len(part)) + rb'\ud83d"'
        assert read(body).endswith("\ufffd"), part


@tool(effect="read")
def look(url: str, *, context: ToolContext) -> dict[str, str]:
    """Fetch titles."""
    return http_of(context).fetch(url).json()


@pytest.mark.external
def test_tool_can_return_json_with_a_lone_surrogate():
    with serve({None: (200, {}, rb'{"good": "a", "bad": "b \ud83d"}')}) as web:
        result = execute_tool(
            look, {"url": web.url}, resources={HttpClient: HttpClient(allow=[web.authority])}
        )
    assert result.value == {"good": "a", "bad": "b \ufffd"}
    assert result.success
