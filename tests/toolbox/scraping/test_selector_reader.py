"""Selectors are read as CSS has them; what is none is refused with its position and what to write instead."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.errors import ToolValidationError
from toolhaft.toolbox.scraping.selector_reader import read_selector
from toolhaft.toolbox.scraping.selectors import Among, Complex, Compound, Has, Nth


def simple(text):
    return Complex(steps=((" ", Compound(simple=text)),))


def checked(*checks, simple="p"):
    return (Complex(steps=((" ", Compound(simple=simple, checks=checks)),)),)


READ = [
    ("p", (simple("p"),)),
    (" * ", (simple("*"),)),
    ("p.note#first", (simple("p.note#first"),)),
    (".sm\\:flex", (simple(".sm\\:flex"),)),
    ("#straße", (simple("#straße"),)),
    ("--x", (simple("--x"),)),
    ("h1,h2 , h3", (simple("h1"), simple("h2"), simple("h3"))),
    ("[href]", (simple("[href]"),)),
    ("a[ href ^= 'https:' ]", (simple("a[href^='https:']"),)),
    ("[data-id=12]", (simple('[data-id="12"]'),)),
    ('[title="a]b" i]', (simple('[title="a]b" i]'),)),
    ("a:link:empty", (simple("a:link:empty"),)),
    ("A:LINK", (simple("A:link"),)),
    (
        "main > p + p ~ b i",
        (
            Complex(
                steps=(
                    (" ", Compound(simple="main")),
                    (">", Compound(simple="p")),
                    ("+", Compound(simple="p")),
                    ("~", Compound(simple="b")),
                    (" ", Compound(simple="i")),
                )
            ),
        ),
    ),
    ("a>b", (Complex(steps=((" ", Compound(simple="a")), (">", Compound(simple="b")))),)),
    ("p:not(.a, .b)", checked(Among(selectors=(simple(".a"), simple(".b")), is_negated=True))),
    (
        "p:is(a):where(b)",
        checked(
            Among(selectors=(simple("a"),), is_negated=False),
            Among(selectors=(simple("b"),), is_negated=False),
        ),
    ),
    (":has(a)", checked(Has(selectors=(simple("a"),)), simple="")),
    (
        "p:has( > a, + b)",
        checked(
            Has(
                selectors=(
                    Complex(steps=((">", Compound(simple="a")),)),
                    Complex(steps=(("+", Compound(simple="b")),)),
                )
            )
        ),
    ),
    ("p:nth-child(3)", checked(Nth(step=0, offset=3))),
    ("p:nth-child( odd )", checked(Nth(step=2, offset=1))),
    ("p:nth-child(EVEN)", checked(Nth(step=2, offset=0))),
    ("p:nth-child(n)", checked(Nth(step=1, offset=0))),
    ("p:nth-child(-n + 3)", checked(Nth(step=-1, offset=3))),
    ("p:nth-last-of-type(2n-1)", checked(Nth(step=2, offset=-1, is_from_end=True, is_of_type=True))),
    ("p:nth-child(+5n+0 of .x, b)", checked(Nth(step=5, offset=0, among=(simple(".x"), simple("b"))))),
    ("p:first-child", checked(Nth(step=0, offset=1))),
    (
        "p:only-of-type",
        checked(
            Nth(step=0, offset=1, is_of_type=True), Nth(step=0, offset=1, is_of_type=True, is_from_end=True)
        ),
    ),
]


@pytest.mark.parametrize(("text", "selectors"), READ)
def test_selector_is_read(text, selectors):
    assert read_selector(text) == selectors


REFUSED = [
    ("", "selector is empty"),
    ("  ", "selector is empty"),
    (">", "at position 0: '>' is not expected"),
    ("p >", "at position 3: it ends where a name, .class, #id or [attribute] is wanted"),
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
    ("p:hover", "at position 1: :hover is not matched here; leave it out"),
    ("p::before", "at position 1: ::before is not matched here"),
    ("h1::text", "leave it out: the text is read anyway"),
    ("a::attr(href)", "only text is read"),
    ("p:contains('tea')", "look for the words in its text"),
    ("li:eq(2)", "use :nth-child(1), which counts from 1"),
    ("li:first", "use :first-child or :first-of-type"),
    ("p:not", "at position 1: :not is not matched here"),
    ("p:not(", "it ends where"),
    ("p:not(a", "at position 7: a ) is missing"),
    ("p:not(> a)", "at position 6: '>' is not expected"),
    ("p:nth-child(x)", "a place is written as 3, odd, even or 2n+1"),
    ("p:nth-child(2 of)", "a ) is missing"),
    ("p:nth-of-type(2 of a)", "a place is written as"),
    ("p:first-child(2)", ":first-child( is not matched here"),
    ("p:nth-child(99999999)", "at position 18: a place has at most 6 digits"),
    ("p:nth-child(2n + 1234567)", "a place has at most 6 digits"),
    ("/* c */ p", "at position 0: comments are not read; leave it out"),
    ("p /* c */", "at position 2: comments are not read; leave it out"),
    ("//div/p", "at position 0: '/' is not expected; this looks like XPath, and CSS is wanted"),
    ("a/@href", "this looks like XPath"),
    ("svg|a", "at position 3: '|' is not expected"),
    ("p\u202e", "characters that do not show: U+202E"),
    ("p\ud800", "characters that do not show: U+D800"),
    ("p" * 501, "selector has 501 characters, at most 500 are read"),
    (".a" * 60, "it has more than 50 parts"),
    ("a " * 60, "it has more than 50 parts"),
    (":not(" * 6 + "a" + ")" * 6, "more than 5 brackets within brackets"),
]


@pytest.mark.parametrize(("text", "told"), REFUSED)
def test_what_is_no_selector_is_refused(text, told):
    with pytest.raises(ToolValidationError) as caught:
        read_selector(text)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 500


@given(st.text(max_size=60) | st.text(alphabet="ab.#[]='\"():,>+~ *-n2|\\i", max_size=40))
def test_any_text_is_read_or_refused(text):
    with suppress(ToolValidationError):
        assert read_selector(text)
