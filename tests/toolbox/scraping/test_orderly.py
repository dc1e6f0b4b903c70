"""A page put in order is the page it was, but bounded in depth, attributes and formatting, whatever it was."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from tests.toolbox.scraping.pages import CORPUS
from toolhaft.toolbox.scraping import nesting
from toolhaft.toolbox.scraping.harmless import MOST_ATTRIBUTES, is_harmless
from toolhaft.toolbox.scraping.orderly import put_in_order

ORDER = [
    ("<p>a<p>b", "<p>a</p><p>b"),
    ("<p>a<div>b</div>", "<p>a</p><div>b</div>"),
    ("<ul><li>a<li>b<ul><li>c</ul></ul>", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"),
    ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
    (
        "<table><tr><td>1<td>2<tr><td>3</table>",
        "<table><tr><td>1</td><td>2</td></tr><tr><td>3</td></tr></table>",
    ),
    (
        "<table><thead><tr><th>a<tbody><tr><td>b</table>",
        "<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>",
    ),
    (
        "<table><tr><td><table><tr><td>x</table></table>",
        "<table><tr><td><table><tr><td>x</td></tr></table></td></tr></table>",
    ),
    ("<div><table><tr><td></div>x</table></div>", "<div><table><tr><td>x</td></tr></table></div>"),
    ("<b><p>x</b></p>y", "<b><p>x</p></b>y"),
    ("<b>1<p>2</b>3</p>4", "<b>1<p>23</p></b>4"),
    ("<b>1<p>2</b>3<p>4</p>5", "<b>1<p>23</p></b><p>4</p>5"),
    ("<b><i>1<div>2</i></b>3<u>4</div>5", "<b><i>1<div>23<u>4</u></div></i></b>5"),
    ("<b>1<b>2<p>3</b>4</b>5</p>6", "<b>1<b>2<p>345</p></b></b>6"),
    ("<a href=1><div>2</a>3<a>4</a></div>5", '<a href="1"><div>23</div></a><a>4</a>5'),
    ("<b><div></b>" * 13, "<b><div>" * 12 + "</div></b>" * 12 + "<b><div>"),
    ("<span><div>x</span>y</div>", "<span><div>xy</div>"),
    ("<a>1<a>2</a>", "<a>1</a><a>2</a>"),
    ("<h1>a<h2>b", "<h1>a</h1><h2>b"),
    ("<select><option>a<option>b</select>", "<select><option>a</option><option>b</option></select>"),
    ("<button>a<button>b", "<button>a</button><button>b"),
    ("<form>a<form>b</form>c", "<form>ab</form>c"),
    ("a</div></p></table>b", "ab"),
    ("a<br/>b<hr>c<img src=x>", 'a<br>b<hr>c<img src="x">'),
    ("<p>a<hr>b", "<p>a</p><hr>b"),
    ('<div a=1 A=2 b c=\'x"y\' d=<z e="&lt;">', '<div a="1" b="" c="x&quot;y" d="<z" e="&lt;">'),
    ('<div class="a b" id="c">', '<div class="a b" id="c">'),
    ("<div \" b'=1 x>", '<div x="">'),
    ("<svg><path d=1 /><path/></svg>", '<svg><path d="1"></path><path></path></svg>'),
    ("<math><col><input></math>", "<math><col></col><input></input></math>"),
    (
        "<title>a <b> c</title><textarea><p></textarea>",
        "<title>a &lt;b> c</title><textarea>&lt;p></textarea>",
    ),
    ("<script>if (a<b) x('</div>')</script>", "<script>if (a\\u003cb) x('\\u003c/div>')</script>"),
    ("<script>no end<p>x", "no end<p>x"),
    ("<script>a('<!--', '<style>')</script>x", "<script>a('\\u003c!--', '\\u003cstyle>')</script>x"),
    ("<SCRIPT><!-- a //--></SCRIPT>x<!-- b -->y", "<script>\\u003c!-- a //--></script>xy"),
    ("<style>a<b</style><!-- c --><iframe><p></iframe>x", "<iframe> </iframe>x"),
    ("<iframe><p>a</p></iframe><xmp>b <i>c</i> d<e</xmp>", "<iframe> a </iframe><xmp>b  c  d e</xmp>"),
    ("<html lang=en><body><html><body class=x>x", '<html lang="en"><body>x'),
    ("a < b <3 <", "a &lt; b &lt;3 &lt;"),
    ('<we"ird>x</we"ird><x:y>z', "x<x:y>z"),
    ("<!doctype html><?php ?>x", "x"),
    ("", ""),
]


@pytest.mark.parametrize(("page", "ordered"), ORDER)
def test_page_is_closed_in_order(page, ordered):
    assert put_in_order(page.encode()).body.decode() == f"<!DOCTYPE html>{ordered}"


@pytest.mark.parametrize("name", [name for name in CORPUS if name != "table"])
def test_page_in_order_has_the_same_elements_as_before(name):
    body = CORPUS[name][0].encode()
    before = [(element.tag, element.attributes) for element in LexborHTMLParser(body).css("body *")]
    after = [
        (element.tag, element.attributes)
        for element in LexborHTMLParser(put_in_order(body).body).css("body *")
    ]
    told = [(tag, {key: value or "" for key, value in attributes.items()}) for tag, attributes in before]
    assert [
        (tag, {key: value or "" for key, value in attributes.items()}) for tag, attributes in after
    ] == told


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


NAMES = [
    "div",
    "p",
    "b",
    "i",
    "a",
    "em",
    "font",
    "nobr",
    "span",
    "x",
    "li",
    "ul",
    "ol",
    "dl",
    "dd",
    "dt",
    "table",
    "tr",
    "td",
    "th",
    "tbody",
    "thead",
    "caption",
    "select",
    "option",
    "optgroup",
    "button",
    "form",
    "h1",
    "svg",
    "math",
    "mi",
    "foreignObject",
    "desc",
    "title",
    "textarea",
    "script",
    "style",
    "iframe",
    "xmp",
    "noscript",
    "template",
    "object",
    "marquee",
    "applet",
    "body",
    "html",
    "head",
    "frameset",
    "plaintext",
    "pre",
    "br",
    "hr",
    "img",
    "input",
    "center",
    "ruby",
    "rt",
    "rp",
    "details",
    "g",
    "path",
    "col",
]
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


@settings(deadline=None, max_examples=300)
@given(soups())
def test_no_page_is_nested_deeper_or_has_more_elements_than_it_may(soup):
    with mock.patch.object(nesting, "DEEPEST", 24):
        ordered = put_in_order(soup.encode())
    deepest, count = depth_of(ordered.body)
    assert deepest <= 3 * 24 + 5  # a parser adds a body and a row to a table
    assert count <= (nesting.MOST_FORMATS + 3) * (soup.count("<") + 3)


def test_tags_are_counted_up_to_a_limit():
    ordered = put_in_order(b"<p>x</p>" * 100, most_tags=20)
    assert not ordered.is_whole
    assert ordered.body.count(b"<p>") == 10


def test_attributes_of_a_tag_are_bounded():
    body = ("<p " + " ".join(f"a{number}" for number in range(1_000)) + ">x").encode()
    (element,) = LexborHTMLParser(put_in_order(body).body).css("p")
    assert len(element.attributes) == MOST_ATTRIBUTES


@pytest.mark.parametrize(
    ("body", "harmless"),
    [
        (b"", True),
        (b"<p>x</p>" * 1_000, True),
        (b"<div>" * 4_000, True),
        (b"<div>" * 5_000, False),
        (b"<div>" * 3_000 + b"</p>" * 5_000, False),
        (b"</p>" * 200_000, False),
        (b"<b>x</b>" * 200, True),
        (b"<b>x</b>" * 400, False),
        (b"<p " + b" ".join(b"a%d" % number for number in range(64)) + b">", True),
        (b"<p " + b" ".join(b"a%d" % number for number in range(65)) + b">", False),
        (b"<p " + b" ".join(b"a%d='>'" % number for number in range(65)) + b">", False),
        (b"<!-- <p " + b"/".join(b"a%d" % number for number in range(65)) + b">", False),
    ],
    ids=str,
)
def test_harmless_pages_are_told_by_counting(body, harmless):
    assert is_harmless(body) is harmless
