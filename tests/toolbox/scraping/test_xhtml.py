"""A page in XML is read as its author meant it, not as HTML would read the same source."""

import time

import pytest

from tests.toolbox.scraping.kit import scrape
from toolhaft.toolbox.scraping.xhtml import as_html

PAGES = [
    ('<script src="x"/><p>a</p>', '<script src="x"></script><p>a</p>'),
    ('<div/><br/><a name="x" />', '<div></div><br/><a name="x" ></a>'),
    ('<p title="a/>b"/>', '<p title="a/>b"></p>'),
    ("<BR/><Title/>", "<BR/><Title></Title>"),
    ("<p>a/</p><p>b</p>", "<p>a/</p><p>b</p>"),
    ("<p><![CDATA[a < b & <i/> ]]]></p>", "<p>a &lt; b &amp; &lt;i/&gt; ]</p>"),
    ("<!-- <i/> --><i/>", "<!-- <i/> --><i></i>"),
    ("<?xml version='1.0'?><!DOCTYPE html><p/> x", "<?xml version='1.0'?><!DOCTYPE html><p></p> x"),
    ("<!-- open <i/>", "<!-- open <i/>"),
    ("<![CDATA[open <i/>", "open &lt;i/&gt;"),
    ("no tag", "no tag"),
    ("", ""),
]


@pytest.mark.parametrize(("page", "written"), PAGES)
def test_elements_without_content_get_an_end(page, written):
    assert as_html(page.encode()) == written.encode()


def test_tag_that_is_a_whole_element_swallows_nothing_in_xml():
    page = b'<html><head><script src="x"/><title>T</title></head><body><iframe/><p>one</p></body></html>'
    read = scrape((200, {"Content-Type": "application/xhtml+xml"}, page))
    assert read.value == {"text": "one", "title": "T"}
    picked = scrape((200, {"Content-Type": "application/xhtml+xml; charset=utf-8"}, page), "body > p")
    assert picked.value == {"text": "one", "title": "T"}


def test_same_tag_swallows_what_follows_in_html():
    read = scrape('<script src="x"/><p>one</p><script></script><p>two</p>')
    assert read.value["text"] == "two"


@pytest.mark.parametrize(
    "piece", ["<!--", "<![CDATA[", "<![CDATA[ ]] ", "<a/>", '<a b="', "<a b='/>", "<!-- - -- "]
)
def test_worst_pages_take_time_in_proportion(piece):
    few, many = (_seconds(piece * (size // len(piece))) for size in (200_000, 800_000))
    assert many < 16 * max(few, 0.005)


def _seconds(page):
    started = time.process_time()
    as_html(page.encode())
    return time.process_time() - started
