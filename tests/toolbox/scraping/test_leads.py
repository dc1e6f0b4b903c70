"""A page without text says where it leads, and an empty document that it is one."""

import pytest

from tests.toolbox.scraping.kit import HTML, scrape, site
from toolhaft.toolbox.scraping.leads import leads_of

HERE = "https://a.example/old/page?key=1"
LEADS = [
    (
        "<meta http-equiv=refresh content='0; url=/new?key=2#x'>",
        ["https://a.example/new (its query is left out)"],
    ),
    ("<META HTTP-EQUIV='Refresh' CONTENT='5;URL=\"next\"'>", ["https://a.example/old/next"]),
    (
        "<meta http-equiv=refresh content='0;https://b.example/?a=b&amp;c=d'>",
        ["https://b.example/ (its query is left out)"],
    ),
    (
        "<frameset><frame src=menu.htm><frame src='text.htm'></frameset>",
        ["https://a.example/old/menu.htm", "https://a.example/old/text.htm"],
    ),
    (
        "<frame src=a><frame src=a><frame src=b><frame src=c><frame src=d>",
        [f"https://a.example/old/{name}" for name in "abc"],
    ),
    ("<meta http-equiv=refresh content=30>", []),
    ("<meta http-equiv=refresh content='0; url=/old/page?key=2'>", []),
    ("<meta http-equiv=refresh content='0; url=javascript:go()'>", []),
    ("<meta http-equiv=refresh content='0; url=https://[x/'>", []),
    ("<meta http-equiv=refresh content='0; url=https://me:secret@b.example/'>", []),
    ("<meta name=refresh content='0; url=/new'>", []),
    ("<frame><iframe src=x></iframe>", []),
    (f"<meta http-equiv=refresh content='0;url=/&#{'9' * 5000};'>", []),
    (f"<frame src={'x' * 300}><frame src=y>", ["https://a.example/old/y"]),
    ("", []),
]


@pytest.mark.parametrize(("page", "leads"), LEADS)
def test_page_leads_where_it_says(page, leads):
    assert leads_of(page, HERE) == leads


def test_page_that_only_sends_on_names_where_to():
    page = "<html><head><meta http-equiv=refresh content='0; url=/new?key=secret'></head><body></body></html>"
    with site({"/": page}) as served:
        result = served.scrape("/")
        message = result.message
        assert result.untrusted, "it names what the page says"
        assert f"the page has no text of its own, and leads to {served.web.url}/new" in message
    assert "secret" not in message
    frames = scrape(
        "<frameset><frame src=https://a.example/menu><frame src=https://a.example/text></frameset>"
    )
    assert "leads to https://a.example/menu and https://a.example/text" in frames.message


def test_text_after_much_white_space_is_read():
    with site({"/": (200, {"Content-Type": "text/plain"}, b"\n" * 2_000_000 + b"text")}) as served:
        assert served.scrape("/").value["text"] == "text"


@pytest.mark.parametrize("body", [b"", b" \r\n\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("headers", [HTML, {"Content-Type": "text/plain"}])
@pytest.mark.parametrize("selector", [None, "p"])
def test_empty_document_says_that_it_is_one(body, headers, selector):
    with site({"/": (200, headers, body)}) as served:
        result = served.scrape("/", selector if headers is HTML else None)
    assert not result.success
    assert "the document is empty" in result.message
    assert "script" not in result.message
    assert "selector" not in result.message
