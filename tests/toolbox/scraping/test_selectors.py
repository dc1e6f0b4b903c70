"""A selector is matched as CSS defines it, or refused with its position and what to write instead."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolbox.scraping.kit import tree_of
from toolhaft.errors import ToolValidationError
from toolhaft.toolbox.scraping.page_reader import find_elements
from toolhaft.toolbox.scraping.selectors import check_selector

# written, as the HTML library gets it, the parts whose matches are counted
CHECKED = [
    ("p", "p", ("p",)),
    (" * ", "*", ("*",)),
    ("p.note#first", "p.note#first", ("p.note#first",)),
    (".sm\\:flex", ".sm\\:flex", (".sm\\:flex",)),
    ("#straße", "#straße", ("#straße",)),
    ("--x", "--x", ("--x",)),
    ("h1,h2 , h3", "h1,h2,h3", ("h1", "h2", "h3")),
    ("[href]", "[href]", ("[href]",)),
    ("a[ href ^= 'https:' ]", "a[href^='https:']", ("a[href^='https:']",)),
    ("[data-id=12]", '[data-id="12"]', ('[data-id="12"]',)),
    ('[title="a]b" i]', '[title="a]b" i]', ('[title="a]b" i]',)),
    ("a:link:empty", "a:link:empty", ("a:link:empty",)),
    ("A:LINK", "A:link", ("A:link",)),
    ("main > p + p ~ b i", "main > p + p ~ b i", ("main", "p", "b", "i")),
    ("a>b", "a > b", ("a", "b")),
    ("p:not(.a, .b) q", "p:not(.a,.b) q", ("p", "q")),
    ("p:is(a):where(b)", "p:is(a):where(b)", ("p",)),
    (":has(a)", ":has(a)", ("",)),
    ("p:has( > a, + b)", "p:has( > a, + b)", ("p",)),
    ("p:nth-child( odd )", "p:nth-child( odd )", ("p",)),
    ("p:nth-child(+5n+0 of .x, b)", "p:nth-child(+5n+0 of .x,b)", ("p",)),
    ("p:first-child", "p:first-child", ("p",)),
    ("p:only-of-type.x", "p:only-of-type.x", ("p.x",)),
]


def test_selector_is_written_as_the_library_wants_it():
    for written, css, parts in CHECKED:
        assert check_selector(written) == (css, parts), written


REFUSED = [
    ("", "selector is empty"),
    ("  ", "selector is empty"),
    (">", "at position 0: '>' is not expected"),
    ("p >", "at position 3: it ends where a name, .class, #id or [attribute] is expected"),
    ("p,", "at position 2: it ends where"),
    (",p", "at position 0: ',' is not expected"),
    ("p)", "at position 1: ')' is not expected"),
    ("p {}", "at position 2: '{' is not expected"),
    (".", "at position 0: a name must follow"),
    ("#1a", "one that begins with a digit is written [id='1a']"),
    ("p[", "at position 1: an attribute is written [name] or [name='value']"),
    ("p[a=]", "an attribute is written"),
    ("p[a='b]", "an attribute is written"),
    ("p:", "at position 1: ':' is not expected"),
    ("p:hover", "at position 1: :hover is not supported; leave it out"),
    ("p::before", "at position 1: ::before is not supported"),
    ("h1::text", "leave it out: the text is read anyway"),
    ("a::attr(href)", "only text is read"),
    ("p:contains('tea')", "look for the words in its text"),
    ("li:eq(2)", "use :nth-child(1), which counts from 1"),
    ("li:first", "use :first-child or :first-of-type"),
    ("p:not", "at position 1: :not is not supported"),
    ("p:not(", "it ends where"),
    ("p:not(a", "at position 7: a ) is missing"),
    ("p:not(> a)", "at position 6: '>' is not expected"),
    ("p:nth-child(x)", "a position is written as 3, odd, even or 2n+1"),
    ("p:nth-child(2 of)", "a ) is missing"),
    ("p:nth-of-type(2 of a)", "a position is written as"),
    ("p:first-child(2)", ":first-child( is not supported"),
    ("p:nth-child(99999999)", "at position 18: a position has at most 6 digits"),
    ("p:nth-child(2n + 1234567)", "a position has at most 6 digits"),
    ("/* c */ p", "at position 0: comments are not supported; leave it out"),
    ("p /* c */", "at position 2: comments are not supported; leave it out"),
    ("//div/p", "at position 0: '/' is not expected; this looks like XPath; write CSS"),
    ("a/@href", "this looks like XPath"),
    ("svg|a", "at position 3: '|' is not expected"),
    ("p\u202e", "hidden characters: U+202E"),
    ("p\ud800", "hidden characters: U+D800"),
    ("p" * 501, "selector has 501 characters, at most 500 are read"),
    (".a" * 60, "it has more than 50 parts"),
    ("a " * 60, "it has more than 50 parts"),
    (":not(" * 6 + "a" + ")" * 6, "more than 5 brackets within brackets"),
]


def test_invalid_selector_is_refused():
    for text, message in REFUSED:
        with pytest.raises(ToolValidationError) as caught:
            check_selector(text)
        assert message in str(caught.value), text
        assert len(str(caught.value)) < 500, text


@settings(max_examples=100)
@given(st.text(max_size=60) | st.text(alphabet="ab.#[]='\"():,>+~ *-n2|\\i", max_size=40))
def test_any_text_is_a_selector_or_refused(text):
    with suppress(ToolValidationError):
        tree_of("<p>x").css(check_selector(text).css)


PAGE = """<!doctype html><title>t</title><body>
<main id=m><h1>H</h1><p class="a">1<p class="a b">2<b>bold <i>both</i></b><p>3<a href=x>l</a></main>
<ul><li>1<li class=a>2<li>3<ul><li>4</ul></ul><table><tr><td>1<td>2<tr><td>3</table>
<!-- c --><div></div><input checked disabled required><x-y data-z="Q">c</x-y>"""

FOUND = [
    ("p", ["1", "2bold both", "3l"]),
    ("p.a", ["1", "2bold both"]),
    ("p.a.b", ["2bold both"]),
    (".a:not(p)", ["2"]),
    ("#m > p", ["1", "2bold both", "3l"]),
    ("main b i", ["both"]),
    ("main > i", []),
    ("h1 + p", ["1"]),
    ("h1 ~ p", ["1", "2bold both", "3l"]),
    ("p:has(a)", ["3l"]),
    ("p:has(> i)", []),
    ("p:has(+ p)", ["1", "2bold both"]),
    ("p:has(~ p a)", ["1", "2bold both"]),
    ("main:has(h1 + p > b) a", []),
    ("main:has(h1 + p + p > b) a", ["l"]),
    ("ul > li", ["1", "2", "34"]),
    ("li", ["1", "2", "34"]),
    ("li li", ["4"]),
    ("li:nth-child(2)", ["2"]),
    ("li:last-child", ["34"]),
    ("ul ul li:only-child", ["4"]),
    ("p:nth-of-type(odd)", ["1", "3l"]),
    ("p:nth-child(2)", ["1"]),
    ("p:nth-last-child(-n+2)", ["2bold both", "3l"]),
    (":nth-child(2 of .a)", ["2bold both"]),
    ("table > tbody > tr:first-child > td:nth-child(2)", ["2"]),
    ("td, b", ["bold both", "1", "2", "3"]),
    ("b, i, b", ["bold both"]),
    ("[data-z]", ["c"]),
    ("[data-z=q]", []),
    ("[data-z=q i]", ["c"]),
    ("[href^=x], :link", ["l"]),
    ("div:empty", [""]),
    ("input:checked:disabled:required", []),
    ("input:disabled:required", [""]),
    ("title", ["t"]),
    ("nav", []),
    ("X-Y", ["c"]),
]


def test_elements_are_found_in_order_and_none_inside_another():
    tree = tree_of(PAGE)
    for selector, texts in FOUND:
        found = find_elements(tree, check_selector(selector).css)
        assert [element.text().replace("\n", "") for element in found] == texts, selector


def test_root_and_everything_is_the_whole_page():
    for selector in (":root", "*"):
        assert [element.tag for element in find_elements(tree_of(PAGE), check_selector(selector).css)] == [
            "html"
        ]


def test_empty_page_has_nothing():
    assert find_elements(tree_of(""), check_selector("p").css) == []
