"""Text in UTF-8 with a few bad bytes is read as that; text in another encoding is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.toolbox.mostly_utf8 import Mended, is_mostly_utf8, mend


@pytest.mark.parametrize(
    ("data", "mended"),
    [
        (b"", Mended("", 0)),
        (b"plain", Mended("plain", 0)),
        ("grün".encode(), Mended("grün", 0)),
        ("Grüße €".encode()[:-1], Mended("Grüße \ufffd", 1)),
        ("日本".encode() + b"\xff-\xff" + "語日".encode(), Mended("日本\ufffd-\ufffd語日", 2)),
        (b"abc\xff", None),
        ("grün".encode("cp1252"), None),
        ("Привет".encode("koi8-r"), None),
    ],
)
def test_a_few_bad_bytes_are_shown_as_such_and_many_are_another_encoding(data, mended):
    assert (mend(data) if is_mostly_utf8(data) else None) == mended


def test_replacement_character_that_the_text_has_itself_is_a_good_one():
    data = "caf\ufffd na\ufffdve".encode()
    assert (is_mostly_utf8(data), mend(data)) == (True, Mended("caf\ufffd na\ufffdve", 0))
    assert mend("日本 \ufffd".encode() + b"\xff") == Mended("日本 \ufffd\ufffd", 1)


@given(st.text())
def test_every_text_in_utf_8_is_read_exactly(text):
    assert is_mostly_utf8(text.encode())
    assert mend(text.encode()) == Mended(text, 0)


@given(
    st.lists(st.sampled_from([b"a", "é".encode(), b"\xef\xbf\xbd", b"\xef\xbf", b"\xbd", b"\xff"])).map(
        b"".join
    )
)
def test_bad_places_are_counted_whatever_stands_beside_them(data):
    bad = data.decode(errors="surrogateescape")
    good = bad.encode("utf-8", "ignore")
    assert mend(data).text == data.decode(errors="replace")
    assert (mend(data).bad == 0) == (good == data)
    assert mend(good).bad == 0
