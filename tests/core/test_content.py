"""Images, audio, video and documents as parts of a result."""

import pickle
from base64 import b64encode

import pytest

from tests.cases import each_case
from toolhaft import Audio, Document, Image, ToolResult, Video
from toolhaft.core.content import Text, read_part
from toolhaft.errors import WireError

KINDS = [
    (Image, "image", "image/png"),
    (Audio, "audio", "audio/wav"),
    (Video, "video", "video/mp4"),
    (Document, "document", "application/pdf"),
]
BYTES = b"\x89PNG\x00\xff"
BASE64 = b64encode(BYTES).decode()

each_kind = each_case(("kind", "word", "media_type"), KINDS)


@each_kind
def test_a_part_has_bytes_or_a_url_and_a_media_type(kind, word, media_type):
    here, there = kind(data=BYTES), kind(url="https://example.org/x", media_type="a/b")
    assert (here.data, here.url, here.media_type, here.kind) == (BYTES, None, media_type, word)
    assert (there.data, there.url, there.media_type) == (None, "https://example.org/x", "a/b")
    assert here == kind(data=BYTES, media_type=media_type)
    assert here != there
    assert hash(here) == hash(kind(data=BYTES))
    assert pickle.loads(pickle.dumps(here)) == here  # noqa: S301 -- our own bytes


@each_kind
def test_bytes_are_written_as_base64_and_not_in_the_repr(kind, word, media_type):
    assert kind(data=BYTES).base64 == BASE64
    assert kind(data=b"").base64 == ""
    assert repr(kind(data=BYTES)) == f"{kind.__name__}(data=<6 bytes>, media_type={media_type!r})"
    assert repr(kind(url="x")) == f"{kind.__name__}(url='x', media_type={media_type!r})"
    with pytest.raises(ValueError, match="there are no bytes here, only the URL 'x'"):
        _ = kind(url="x").base64


@each_kind
@each_case(
    ("fields", "problem"),
    [
        ({}, "has neither data nor url; give one of them"),
        ({"data": b"", "url": "x"}, "has both data and url; give one of them"),
        ({"data": BASE64}, "takes data as bytes, not str"),
        ({"data": bytearray(b"x")}, "takes data as bytes, not bytearray"),
        ({"url": 5}, "takes url as str, not int"),
        ({"data": b"x", "media_type": 5}, "takes media_type as str, not int"),
    ],
)
def test_an_invalid_part_is_refused(kind, word, media_type, fields, problem):
    with pytest.raises(ValueError, match=f"^{kind.__name__} {problem}$"):
        kind(**fields)


@each_kind
@each_case(
    ("url", "data", "inside"),
    [
        (f"data:image/gif;base64,{BASE64}", BYTES, "image/gif"),
        (f"DATA:Image/GIF;charset=utf-8;BASE64,{BASE64}", BYTES, "image/gif"),
        (f"data:image/gif;base64,{BASE64[:4]}%0A{BASE64[4:].rstrip('=')}", BYTES, "image/gif"),
        (f"data:;base64,{BASE64}", BYTES, ""),
        ("data:image/svg+xml,%3Csvg/%3E", b"<svg/>", "image/svg+xml"),
        ("data:,", b"", ""),
    ],
)
def test_a_data_url_is_read_as_the_data_that_it_holds(kind, word, media_type, url, data, inside):  # noqa: PLR0917 -- two tables
    part = kind(url=url)
    assert part == kind(data=data, media_type=inside or media_type)
    assert part.url is None
    assert pickle.loads(pickle.dumps(part)) == part  # noqa: S301 -- our own bytes


@each_kind
@each_case(
    ("url", "problem"),
    [
        ("data:image/png;base64,n!", "the URL 'data:image/png;base64,n!' does not hold Base64"),
        ("data:image/png", "the URL 'data:image/png' has no data: there is no comma"),
    ],
)
def test_a_data_url_that_cannot_be_read_is_refused(kind, word, media_type, url, problem):
    with pytest.raises(ValueError, match=f"^{problem}$"):
        kind(url=url)


def test_parts_are_frozen_and_take_keywords_only():
    with pytest.raises(AttributeError):
        Image(data=b"").data = b"other"
    with pytest.raises(TypeError):
        Image(b"")


def test_a_document_has_a_name_and_may_hold_text():
    note = Document(data="héllo".encode(), media_type="text/plain", name="note.txt")
    assert (note.name, note.text) == ("note.txt", "héllo")
    assert Document(data=b"\xff", media_type="text/csv").text == "\ufffd"
    assert Document(data=b"%PDF").text is None
    assert Document(url="x", media_type="text/plain").text is None
    assert Document(data=b"%PDF").name == ""


RESOURCE = {"uri": "file:///a/b%20c.bin", "blob": BASE64}


@each_case(
    ("value", "part"),
    [
        ("plain", Text(text="plain")),
        (Text(text="x"), Text(text="x")),
        (Image(data=BYTES), Image(data=BYTES)),
        (Document(url="x"), Document(url="x")),
        ({"type": "text", "text": "hi", "annotations": {}}, Text(text="hi")),
        (
            {"type": "image", "data": BASE64, "mimeType": "image/jpeg"},
            Image(data=BYTES, media_type="image/jpeg"),
        ),
        ({"type": "audio", "data": "", "mimeType": "audio/mpeg"}, Audio(data=b"", media_type="audio/mpeg")),
        (
            {"type": "video", "data": BASE64, "mimeType": "video/webm"},
            Video(data=BYTES, media_type="video/webm"),
        ),
        (
            {
                "type": "resource",
                "resource": {"uri": "file:///a/b.md", "text": "# é", "mimeType": "text/markdown"},
            },
            Document(data="# é".encode(), media_type="text/markdown", name="b.md"),
        ),
        (
            {"type": "resource", "resource": {"uri": "memo://", "text": "x"}},
            Document(data=b"x", media_type="text/plain", name="memo:"),
        ),
        (
            {"type": "resource", "resource": RESOURCE},
            Document(data=BYTES, media_type="application/octet-stream", name="b c.bin"),
        ),
        (
            {"type": "resource", "resource": {**RESOURCE, "mimeType": "image/gif"}},
            Image(data=BYTES, media_type="image/gif"),
        ),
        (
            {
                "type": "resource_link",
                "uri": "https://x.org/a.pdf",
                "name": "a",
                "mimeType": "application/pdf",
            },
            Document(url="https://x.org/a.pdf", name="a"),
        ),
        (
            {"type": "resource_link", "uri": "https://x.org/a"},
            Document(url="https://x.org/a", media_type="application/octet-stream"),
        ),
        (
            {"type": "resource_link", "uri": "https://x.org/a", "mimeType": "audio/ogg"},
            Audio(url="https://x.org/a", media_type="audio/ogg"),
        ),
        (
            {"type": "resource_link", "uri": f"data:image/gif;base64,{BASE64}", "name": "a"},
            Image(data=BYTES, media_type="image/gif"),
        ),
        (
            {"type": "resource_link", "uri": "data:,words", "name": "a", "mimeType": "text/plain"},
            Document(data=b"words", media_type="text/plain", name="a"),
        ),
    ],
)
def test_mcp_content_blocks_become_parts(value, part):
    assert read_part(value) == part


@each_case(
    ("value", "problem"),
    [
        (
            b"bytes",
            "at content: got bytes; expected an Image, Audio, Video, Document, text, or a mapping with 'type'",
        ),
        (
            None,
            "at content: got NoneType; expected an Image, Audio, Video, Document, text, or a mapping with 'type'",
        ),
        (
            {"text": "x"},
            "at content.type: got null; expected 'text', 'image', 'audio', 'video', 'resource' or 'resource_link'",
        ),
        (
            {"type": ["text"]},
            "at content.type: got [\"text\"]; expected 'text', 'image', 'audio', 'video', 'resource' or 'resource_link'",
        ),
        ({"type": "text"}, "at content.text: got null; expected text"),
        (
            {"type": "image", "data": "no!", "mimeType": "image/png"},
            'at content.data: got "no!"; expected Base64',
        ),
        (
            {"type": "image", "data": "é", "mimeType": "image/png"},
            'at content.data: got "é"; expected Base64',
        ),
        ({"type": "image", "data": b"x", "mimeType": "image/png"}, 'at content.data: got "x"; expected text'),
        ({"type": "audio", "data": ""}, "at content.mimeType: got null; expected text"),
        (
            {"type": "resource", "uri": "x"},
            "at content.resource: got null; expected a mapping with 'uri' and 'text' or 'blob'",
        ),
        ({"type": "resource", "resource": {"uri": "x"}}, "at content.resource.blob: got null; expected text"),
        ({"type": "resource", "resource": {"text": 5}}, "at content.resource.text: got 5; expected text"),
        ({"type": "resource_link"}, "at content.uri: got null; expected text"),
        (
            {"type": "resource_link", "uri": "data:image/png;base64,n!"},
            'at content.uri: got "data:image/png;base64,n!"; expected a URL',
        ),
        ({"type": "resource_link", "uri": "x", "mimeType": 5}, "at content.mimeType: got 5; expected text"),
    ],
)
def test_invalid_content_is_refused_with_what_was_expected(value, problem):
    """A WireError with the path and what was expected there."""
    with pytest.raises(WireError) as caught:
        read_part(value)
    assert str(caught.value) == problem


def test_a_result_has_parts_besides_its_text():
    result = ToolResult(message="A chart", content=(Image(data=BYTES), "and a word"))
    assert result.content == (Image(data=BYTES), "and a word")
    assert result.render() == "A chart"
