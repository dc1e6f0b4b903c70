"""A page is limited in depth, attributes and open formatting, and otherwise unchanged."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from tests.toolbox.scraping.pages import CORPUS
from toolhaft.toolbox.scraping import page_limits
from toolhaft.toolbox.scraping.page_limits import (
    MAX_ATTRIBUTES,
    MAX_DEPTH,
    MAX_OPEN_FORMATS,
    limit_page,
    xhtml_to_html,
)


def test_usual_page_is_left_as_it_is():
    for name, (page, _, _) in CORPUS.items():
        assert limit_page(page.encode()).decode() == page, name


UNCHANGED = [
    "<p>a<p>b" * 500,
    "<ul>" + "<li>a" * 500 + "</ul>",
    "<table>" + "<tr><td>1<td>2" * 500 + "</table>",
    "<dl>" + "<dt>a<dd>b" * 500 + "</dl>",
    "<select>" + "<option>a" * 500 + "</select>",
    "<br><img src=x><hr>" * 500,
    "<b>x</b>" * 500,
    "<div><span>x</div>" * 500,
    "a</div></x>" * 500,
    "<script>" + "if (a<b) x('<div>');" * 500 + "</script>",
    "<!-- " + "<div>" * 500 + " --><p>x",
    "<textarea>" + "<div>" * 500 + "</textarea><p>x",
    "<div title='" + "<div>" * 500 + "'>x",
    "a < b <3 <",
    "<!doctype html><?php ?>x",
    "",
]


def test_page_that_only_looks_deep_is_left_as_it_is():
    for page in UNCHANGED:
        assert limit_page(page.encode()).decode() == page, page[:40]


def test_tags_beyond_the_depth_are_left_out_with_their_ends():
    page = "<div>" * (MAX_DEPTH + 2) + "x" + "</div>" * (MAX_DEPTH + 2) + "<p>y"
    limited = "<div>" * MAX_DEPTH + "  x  " + "</div>" * MAX_DEPTH + "<p>y"
    assert limit_page(page.encode()).decode() == limited


def test_formatting_beyond_the_limit_is_left_out_with_its_ends():
    count = MAX_OPEN_FORMATS + 1
    page = "<b>" * count + "x" + "</b>" * count + "<i>y</i>"
    limited = "<b>" * MAX_OPEN_FORMATS + " x " + "</b>" * MAX_OPEN_FORMATS + "<i>y</i>"
    assert limit_page(page.encode()).decode() == limited


def test_end_tag_that_parsers_ignore_ends_nothing():
    assert depth_of(limit_page(b"<x><div></x>" * 1_000))[0] <= MAX_DEPTH + 3
    assert depth_of(limit_page(b"<b><div></b>" * 1_000))[0] <= 2 * MAX_DEPTH + 3


def test_end_tag_is_not_searched_for_further_out_than_a_page_may_nest():
    inner = "<y>" * MAX_DEPTH
    assert limit_page(f"<x>{inner}</x><div>".encode()).endswith(b" ")  # still as deep as it may be
    assert limit_page(f"<x>{inner[3:]}</x><div>".encode()).endswith(b"<div>")


def test_attributes_of_a_tag_are_bounded():
    for form in ("a{}", "a{}=1", "a{}='>'", 'a{} = "x"'):
        for name in ("p", "script"):
            written = " ".join(form.format(number) for number in range(1_000))
            body = limit_page(f"<{name} {written}>x</{name}>".encode())
            (element,) = LexborHTMLParser(body).css(name)
            assert (len(element.attributes), element.text()) == (MAX_ATTRIBUTES, "x"), (form, name)


def test_usual_attributes_are_left_as_they_are():
    page = "<p " + " ".join(f"a{number}='a longer value'" for number in range(MAX_ATTRIBUTES)) + ">x"
    assert limit_page(page.encode()).decode() == page


def depth_of(body):
    """How deep a page is nested, and how many elements it has."""
    page = LexborHTMLParser(body)
    depths = {}
    deepest = 0
    for element in page.css("*"):
        above = element.parent
        depths[element.mem_id] = depth = depths.get(above.mem_id if above is not None else 0, 0) + 1
        deepest = max(deepest, depth)
    return deepest, len(depths)


# What the pass does not follow exactly is left out: foreign content, raw text, list items in each other.
NAMES = ["div", "p", "b", "i", "a", "font", "span", "x", "li", "ul", "table", "tr", "td", "tbody", "caption"]
NAMES += ["button", "form", "h1", "object", "pre", "br", "hr", "img", "center", "details", "body", "html"]
PIECES = [
    "x",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<!x ",
    '"',
    "'",
    '<a b="',
    ">",
    "=",
    "</",
    "<",
    "/>",
    '<p a==" >',
]


@st.composite
def soups(draw):
    """The same few tags over and over, in any order."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5))
    tags = st.builds(
        lambda form, name: form.format(name),
        st.sampled_from(["<{}>", "</{}>", "<{} a=1>", "<{} b=2>"]),
        st.sampled_from(names),
    )
    unit = draw(st.lists(tags | st.sampled_from(PIECES), min_size=1, max_size=10))
    return "".join(unit) * draw(st.sampled_from([3, 60, 200]))


@settings(deadline=None, max_examples=60, derandomize=True)  # the pass need not be exact
@given(soups())
def test_no_page_is_nested_much_deeper_than_it_may(soup):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_limits, "MAX_DEPTH", 24)
        limited = limit_page(soup.encode())
    # what is not counted comes on top: a table has a body, a row and a cell for each level
    assert depth_of(limited)[0] <= 6 * 24 + 12


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


def test_elements_without_content_get_an_end():
    for page, written in PAGES:
        assert xhtml_to_html(page.encode()).decode() == written, page


def test_hostile_source_is_passed_once():
    for piece in (
        "<!--",
        "<![CDATA[",
        "<![CDATA[ ]] ",
        "<a/>",
        '<a b="',
        "<a b='/>",
        "<!-- - -- ",
        "<script>",
        "<a ",
    ):
        body = (piece * (200_000 // len(piece))).encode()
        assert len(limit_page(body)) <= 2 * len(body), piece
        assert len(xhtml_to_html(body)) <= 3 * len(body), piece
