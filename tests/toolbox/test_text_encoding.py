"""The charset of a page is found as browsers find it; UTF-8 with a few bad bytes is still read as UTF-8."""

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhaft.toolbox.charset_labels import find_charset
from toolhaft.toolbox.text_encoding import (
    NotTextError,
    ReplacedBytes,
    decode_text,
    is_mostly_utf8,
    page_to_utf8,
    replace_bad_bytes,
)

UTF8 = "text/html; charset=utf-8"

# bytes, header, text, note
READ = [
    (b"<p>tea", "", "<p>tea", ""),
    ("<p>café".encode(), UTF8, "<p>café", ""),
    ("<p>café".encode(), "text/html;charset='UTF8'", "<p>café", ""),
    ("<p>café".encode(), "", "<p>café", "no charset declared, read as utf-8"),
    ("<p>café".encode("latin-1"), "", "<p>café", "no charset declared, read as windows-1252"),
    ("<p>“café”".encode("cp1252"), "text/html; charset=ISO-8859-1", "<p>“café”", "charset windows-1252"),
    ("<p>“café”".encode("cp1252"), "text/html; charset=us-ascii", "<p>“café”", "charset windows-1252"),
    (
        "<meta charset=windows-1251><p>чай".encode("cp1251"),
        "text/html",
        "<meta charset=windows-1251><p>чай",
        "charset windows-1251",
    ),
    ("<META CHARSET='koi8-r'>чай".encode("koi8-r"), "", "<META CHARSET='koi8-r'>чай", "charset koi8-r"),
    (
        b'<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">' + "茶①".encode("cp932"),
        "text/html",
        '<meta http-equiv="Content-Type" content="text/html; charset=shift_jis">茶①',
        "charset shift_jis",
    ),
    ("<meta charset=gb2312>茶镕".encode("gb18030"), "", "<meta charset=gb2312>茶镕", "charset gb18030"),
    ("<meta charset=euc-kr>차똠".encode("cp949"), "", "<meta charset=euc-kr>차똠", "charset euc-kr"),
    ("<meta charset=big5>茶".encode("big5"), "", "<meta charset=big5>茶", "charset big5"),
    ("茶".encode("iso2022_jp"), "text/html; charset=iso-2022-jp", "茶", "charset iso-2022-jp"),
    ("茶".encode("euc_jp"), "text/html; charset=EUC-JP", "茶", "charset euc-jp"),
    (
        "<?xml version='1.0' encoding='iso-8859-2'?><p>čaj".encode("iso8859-2"),
        "",
        "<?xml version='1.0' encoding='iso-8859-2'?><p>čaj",
        "charset iso-8859-2",
    ),
    (codecs.BOM_UTF8 + "café".encode(), "text/html; charset=windows-1251", "café", ""),
    (codecs.BOM_UTF16_LE + "<p>чай".encode("utf-16-le"), UTF8, "<p>чай", ""),
    (codecs.BOM_UTF16_BE + "<p>чай".encode("utf-16-be"), "", "<p>чай", ""),
    ("<p>чай".encode("utf-16-le"), "text/html; charset=utf-16", "<p>чай", "charset utf-16le"),
    # the server's word counts more than the page's own
    ("<meta charset=koi8-r>café".encode(), UTF8, "<meta charset=koi8-r>café", ""),
    # a page that was read as ASCII up to here is not in UTF-16
    ("<meta charset=utf-16>café".encode(), "", "<meta charset=utf-16>café", ""),
    # names that are no charset of the web are not believed
    (b"+ADw-script+AD4-", "text/html; charset=utf-7", "+ADw-script+AD4-", ""),
    (b"aGVsbG8=", "text/html; charset=base64", "aGVsbG8=", ""),
    (b"uryyb", "text/html; charset=rot13", "uryyb", ""),
    (b"x", "text/html; charset=idna", "x", ""),
    ("café".encode(), "text/html; charset=unknown-8bit", "café", "no charset declared, read as utf-8"),
    (
        "<!-- <meta charset=koi8-r> --><meta charset=utf-8>café".encode(),
        "",
        "<!-- <meta charset=koi8-r> --><meta charset=utf-8>café",
        "",
    ),
    (
        "<meta charset=nonsense><meta charset=latin1>\xe9".encode("latin-1"),
        "",
        "<meta charset=nonsense><meta charset=latin1>é",
        "charset windows-1252",
    ),
    (
        b" " * 3_000 + b"<meta charset=cp1251>\xf7",
        "",
        " " * 3_000 + "<meta charset=cp1251>ч",
        "charset windows-1251",
    ),
    (
        b" " * 5_000 + b"<meta charset=cp1251>\xf7",
        "",
        " " * 5_000 + "<meta charset=cp1251>÷",
        "no charset declared, read as windows-1252",
    ),
    # a page may speak of charsets
    (
        '<meta name=description content="charset=koi8-r explained"><meta charset=utf-8>café'.encode(),
        "",
        '<meta name=description content="charset=koi8-r explained"><meta charset=utf-8>café',
        "",
    ),
    (
        "Write <meta charset=koi8-r>. café".encode(),
        "text/plain",
        "Write <meta charset=koi8-r>. café",
        "no charset declared, read as utf-8",
    ),
    # bytes that the charset does not have
    (b"a\x81b", "text/html; charset=windows-1252", "a\x81b", "charset windows-1252"),
    (b"a\xaab\x81", "text/html; charset=windows-1253", "a\ufffdb\x81", "charset windows-1253"),
    (b"\x81 a", "text/html; charset=shift_jis", "\ufffd a", "charset shift_jis"),
]


def test_page_is_read_in_its_charset():
    for body, header, text, note in READ:
        found = page_to_utf8(body, header)
        assert (found.body.decode(), found.note) == (text, note), (body, header)


def test_many_bytes_without_a_meaning_are_replaced():
    found = page_to_utf8(b"\x81\xff" * 250_000, "text/html; charset=windows-1253")
    assert found.body.decode() == "\x81\ufffd" * 250_000


def test_bytes_that_are_not_utf8_are_left_to_the_reader_where_utf8_is_declared():
    assert page_to_utf8(b"caf\xe9", UTF8) == (b"caf\xe9", "")


def test_page_that_was_cut_within_a_character_is_still_read_as_what_it_is():
    found = page_to_utf8("<p>Привет ".encode() * 30 + b"\xd0", "text/html")
    assert found.body.decode(errors="replace") == "<p>Привет " * 30 + "\ufffd"
    assert found.note == "no charset declared, read as utf-8"


def test_page_that_lost_characters_before_it_was_sent_is_still_utf_8():
    body = "<p>caf\ufffd na\ufffdve".encode()
    assert page_to_utf8(body, "text/html") == (body, "no charset declared, read as utf-8")


LABELS = [
    ("latin1", "windows-1252"),
    (" ASCII\n", "windows-1252"),
    ("iso-8859-9", "windows-1254"),
    ("tis-620", "windows-874"),
    ("GBK", "gb18030"),
    ("sjis", "shift_jis"),
    ("ks_c_5601-1987", "euc-kr"),
    ("unicode-1-1-utf-8", "utf-8"),
    ("macintosh", "macintosh"),
]


def test_labels_have_the_meaning_that_browsers_give_them():
    for label, name in LABELS:
        assert find_charset(label).name == name, label


def test_labels_that_browsers_do_not_know_are_ignored():
    labels = ["utf-7", "utf-32", "hex", "zlib", "punycode", "unicode_escape", "idna", "mbcs", "", "cp037"]
    for label in labels:
        assert find_charset(label) is None, label


@settings(max_examples=50)
@given(
    st.binary(max_size=300),
    st.sampled_from(
        [
            "",
            UTF8,
            *(
                f"text/html; charset={label}"
                for label in ("koi8-r", "shift_jis", "gb2312", "big5", "utf-16", "iso-2022-jp", "euc-kr", "x")
            ),
        ]
    ),
)
def test_any_bytes_come_back_whole(body, header):
    found = page_to_utf8(body, header)
    assert found.body.decode(errors="replace") is not None
    if "charset=" in header and "utf-8" not in header and found.note.startswith("charset"):
        found.body.decode()


REPAIRED = [
    (b"", ReplacedBytes("", 0)),
    (b"plain", ReplacedBytes("plain", 0)),
    ("grün".encode(), ReplacedBytes("grün", 0)),
    ("Grüße €".encode()[:-1], ReplacedBytes("Grüße \ufffd", 1)),
    ("日本".encode() + b"\xff-\xff" + "語日".encode(), ReplacedBytes("日本\ufffd-\ufffd語日", 2)),
    (b"abc\xff", None),
    ("éé".encode() + b"\xff", ReplacedBytes("éé\ufffd", 1)),
    ("éa".encode() + b"\xff", None),
    ("grün".encode("cp1252"), None),
    ("Привет".encode("koi8-r"), None),
]


def test_a_few_bad_bytes_are_replaced_and_many_mean_another_encoding():
    for data, repaired in REPAIRED:
        assert (replace_bad_bytes(data) if is_mostly_utf8(data) else None) == repaired, data


def test_replacement_character_that_the_text_has_itself_is_a_good_one():
    data = "caf\ufffd na\ufffdve".encode()
    assert (is_mostly_utf8(data), replace_bad_bytes(data)) == (True, ReplacedBytes("caf\ufffd na\ufffdve", 0))
    assert replace_bad_bytes("日本 \ufffd".encode() + b"\xff") == ReplacedBytes("日本 \ufffd\ufffd", 1)


@settings(max_examples=50)
@given(st.text())
def test_every_text_in_utf_8_is_read_exactly(text):
    assert is_mostly_utf8(text.encode())
    assert replace_bad_bytes(text.encode()) == ReplacedBytes(text, 0)


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from([b"a", "é".encode(), b"\xef\xbf\xbd", b"\xef\xbf", b"\xbd", b"\xff"])).map(
        b"".join
    )
)
def test_bad_places_are_counted_whatever_is_next_to_them(data):
    bad = data.decode(errors="surrogateescape")
    good = bad.encode("utf-8", "ignore")
    assert replace_bad_bytes(data).text == data.decode(errors="replace")
    assert (replace_bad_bytes(data).bad == 0) == (good == data)
    assert replace_bad_bytes(good).bad == 0


def test_a_few_control_characters_do_not_make_a_file_binary():
    assert decode_text(b"a\x07\x08" * 4).text == "a\x07\x08" * 4
    with pytest.raises(NotTextError, match="much of it is control characters"):
        decode_text(b"a\x07\x08" * 5)
