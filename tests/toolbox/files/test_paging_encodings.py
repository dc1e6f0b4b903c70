"""file_reader: the pages of a text in any encoding are the text, and each page names its own encoding."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolbox.files.calls import all_pages, call, refusal, small_pages, texts, value_of
from toolhaft.toolbox import file_reader, read_file


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_paged_too(encoding):
    text = "some lines\n" * 30 + "grün 日本 😀\n" * 3
    fs = texts(text.encode(encoding))
    assert "".join(all_pages(fs, limit=7)) == text
    assert (
        f"({len(text.encode(encoding)):,} bytes in all, {encoding[:6].upper()}; "
        in call(file_reader, fs, path="a").message
    )


def test_a_wide_text_that_is_too_large_is_refused():
    fs = texts("abc\n".encode("utf-16") * 100)
    fs._limits = type(fs._limits)(max_file_bytes=300)  # noqa: SLF001 -- as if somebody else had written it
    assert refusal(file_reader, fs, path="a") == (
        "File too large: a is in utf-16-le, so only smaller files are paged; convert it to UTF-8"
    )


def test_a_page_that_is_not_utf_8_says_where():
    fs = texts(b"plain\n" * 10 + b"caf\xe9\n" + b"plain\n" * 10)
    assert "(125 bytes in all, here ASCII)" in call(file_reader, fs, path="a", limit=10).message
    result = call(file_reader, fs, path="a", offset=10)
    assert result.value["content"] == "café\n" + "plain\n" * 10
    assert "here not UTF-8 (see byte 63), read as windows-1252, which is a guess" in result.message


def test_a_page_with_nul_bytes_is_refused_and_those_around_it_are_not():
    fs = texts(b"text\n" * 10_000 + b"\0" * 500 + b"\nmore\n")
    assert "Not a text file: a: it seems to be binary data (it holds NUL bytes)" in refusal(
        file_reader, fs, path="a", offset=10_000
    )
    assert value_of(file_reader, fs, path="a", offset=10_001)["content"] == "more\n"


def test_single_nul_far_into_a_text_is_a_character_of_it_for_pages_as_for_the_whole():
    fs = texts(b"line of text\n" * 9000 + b"x\0y\n")
    assert value_of(file_reader, fs, path="a", offset=8999)["content"] == "line of text\nx\0y\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"plain\n" * 4, ("ASCII", "ASCII")),
        ("grün\n".encode() * 4, ("UTF-8", "UTF-8")),
        ("\ufeffgrün\n".encode() + "grün\n".encode() * 3, ("UTF-8 with a byte order mark", "UTF-8")),
        (b"plain\n" * 2 + "grün\n".encode() * 2, ("ASCII", "UTF-8")),
        (b"plain\n" * 2 + "\ufeffgrün\n".encode() * 2, ("ASCII", "UTF-8")),
    ],
)
def test_encoding_note_of_a_page_is_about_its_lines_only(content, told):
    fs = texts(content)
    for offset, name in zip((0, 2), told, strict=True):
        message = call(file_reader, fs, path="a", offset=offset, limit=2).message
        assert f"({len(content)} bytes in all, here {name}). " in message
    assert f"({len(content)} bytes in all, UTF-8" in call(file_reader, fs, path="a").message


def test_bad_byte_on_a_page_without_others_is_judged_by_what_is_around():
    text = "Grüße\n" * 30 + "plain\n" * 30
    fs = texts(text.encode() + "grün".encode()[:3])
    last = call(file_reader, fs, path="a", offset=60)
    assert last.value["content"] == "gr\ufffd" == value_of(read_file, fs, path="a")["content"][-3:]
    assert "here UTF-8 except for 1 place (the first at byte 422), shown as U+FFFD" in last.message


def test_bad_byte_far_from_all_others_is_judged_by_the_beginning_of_the_file():
    plain = "plain text\n" * 60_000
    fs = texts(f"grün\n{plain}".encode() + b"\xc3")
    assert value_of(file_reader, fs, path="a", offset=60_001)["content"] == "\xc3"
    fs = texts(f"Grüße und schöne Tage\n{plain}".encode() + b"\xc3")
    assert value_of(file_reader, fs, path="a", offset=60_001)["content"] == "\ufffd"


def test_lines_of_another_encoding_in_a_text_in_utf_8_are_read_as_what_they_are():
    western = "caf\xe9 na\xefve d\xe9j\xe0\n"
    fs = texts("Grüße und schöne Tage\n".encode() * 50 + western.encode("cp1252"))
    assert value_of(file_reader, fs, path="a", offset=50)["content"] == western


def test_page_of_a_western_text_with_one_letter_that_looks_like_utf_8_is_read_as_the_rest():
    lines = ["caf\xe9 na\xefve\n", "pr\xe9s\n"] * 20 + ["\xc3\xa9\xc3\xa9\xc3\xa9 \xe9\n"]
    data = "".join(lines).encode("cp1252")
    assert all_pages(texts(data), limit=1)[-1] == lines[-1]


LETTERS = {
    "utf-8": "ab\n\r\té€😀\ufeff\ufffd",
    "utf-8-sig": "ab\n\r\té€😀\ufffd",
    "utf-16": "ab\n\r\té€😀",
    "utf-32": "ab\n\r\té€😀",
    "cp1252": "ab\n\r\tÀéüÿ",
}
"""Of Western letters those that are never part of a character of UTF-8: with others, one may be read for it."""


@pytest.mark.parametrize("encoding", LETTERS)
@settings(max_examples=25)
@given(data=st.data(), limit=st.integers(1, 7), most=st.integers(4, 40), chunk=st.integers(41, 90))
def test_all_pages_of_a_text_in_any_encoding_are_the_text(encoding, data, limit, most, chunk):
    text = data.draw(st.text(st.sampled_from(LETTERS[encoding]), max_size=120))
    mark = "\ufeff" if encoding == "utf-8-sig" else ""
    with small_pages(most, chunk):
        found = all_pages(texts(text.encode(encoding)), limit=limit)
    assert "".join(found) == mark + text


PIECES = [
    b"a",
    b"\n",
    b"\r",
    "é".encode(),
    "😀".encode(),
    b"\x80",
    b"\xe9",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"abcdefgh",
]


@settings(max_examples=25)
@given(
    data=st.lists(st.sampled_from([*PIECES, b"\0"]), max_size=60).map(b"".join),
    limit=st.integers(1, 3),
    most=st.integers(4, 40),
)
def test_pages_of_any_bytes_get_on_to_the_end_or_are_refused(data, limit, most):
    fs, offset = texts(data), 0
    with small_pages(most, 50):
        while offset is not None and offset <= len(data):
            result = call(file_reader, fs, path="a", offset=offset, limit=limit)
            if result.success:
                following = result.value.get("next_offset")
                assert following is None or offset < following <= offset + limit
                offset = following
            else:
                assert result.message.startswith(("Not a text file: a: ", "offset: ")), result.message
                offset += 1
