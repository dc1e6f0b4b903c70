"""What a selector matches is read as text, a paragraph an element; nothing found is told with a hint."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolbox.scraping.kit import scrape
from tests.toolbox.scraping.pages import FORUM, NEWS, PRODUCT
from toolhaft.errors import ToolExecutionError, ToolValidationError
from toolhaft.toolbox.scraping.selecting import select
from toolhaft.toolbox.scraping.selector_reader import read_selector

SELECTED = [
    (NEWS, "h1", "Harbour bridge opens a year early"),
    (
        NEWS,
        "article li",
        "Line 4 stops at Quay East every ten minutes.\n\nThe ferry keeps its summer timetable.\n\nBicycles cross free of charge.",
    ),
    (NEWS, "nav", "News\nSport\nTides"),
    (NEWS, "footer, .byline", "By Ines Albrecht, 2 May 2031\n\n© 2031 The Quay Courier. Imprint"),
    (NEWS, "[aria-hidden=true]", "Share Send"),
    (NEWS, "head > title", "Harbour bridge opens a year early | The Quay Courier"),
    (NEWS, "body > script:not([src])", None),
    (
        FORUM,
        ".post:nth-of-type(4) .body",
        "Graphite did it, thank you! Not a sound for three days now, even with the heating on.",
    ),
    (FORUM, ".post:has(blockquote) .who", "old_tom\n2,041 posts"),
    (PRODUCT, ".price", "£39.90"),
    (PRODUCT, "table", "Volume | 1.2 l\nWeight | 840 g\nCable | 75 cm"),
    (PRODUCT, "th:first-child + td", "1.2 l\n\n840 g\n\n75 cm"),
    (PRODUCT, "select > option", "Red\n\nSteel"),
    (PRODUCT, "div[hidden]", "SKU 4711"),
    ("<script type='application/ld+json'> {\"a\": 1} </script><p>x", "script[type$=json]", '{"a": 1}'),
    ("<pre> a\n  b</pre>", "pre", " a\n  b"),
    ("<div>a<div>b</div></div>", "div", "a\nb"),
    ("<p>a</p><p></p><p>b</p>", "p", "a\n\nb"),
    ("<textarea><b>x</b></textarea>", "textarea", "<b>x</b>"),
]


@pytest.mark.parametrize(("page", "selector", "text"), SELECTED)
def test_selected_elements_read_well(page, selector, text):
    result = scrape(page, selector)
    assert (result.value["text"] if result.success else None) == text


MISNESTED = [
    ("<b>one<p>two</b>three</p>", "p", "twothree"),
    ("<iframe><p>frame</p></iframe>", "iframe", "frame"),
    ("<xmp><b>literal</b></xmp>", "xmp", "literal"),
]


@pytest.mark.parametrize(("page", "selector", "text"), MISNESTED)
@pytest.mark.parametrize("padding", [0, 500_001])
def test_large_page_reads_as_a_small_one(page, selector, text, padding):
    body = f"{page}<!--{'x' * padding}-->".encode()
    assert select(body, read_selector(selector), longest=1_000).text == text


def test_place_that_no_element_has_is_not_said_of_its_name():
    assert "'p' alone matches 3" in scrape("<p>a<p>b<p>c", "p:nth-child(9)").message


def test_selector_that_matches_nothing_says_what_its_parts_match():
    result = scrape(NEWS, "article > .lede, main p")
    assert result.success  # the second one does
    result = scrape(NEWS, "article > .lede b")
    assert result.failure.kind == "failed"
    assert (
        "selector matches nothing; 'article' alone matches 1, '.lede' alone matches 0, 'b' alone matches 1; "
        "try without a selector" in result.message
    )


def test_selector_that_matches_only_what_has_no_text_says_so():
    result = scrape(NEWS, "img, meta")
    assert "selector matches 5 elements that have no text; select what is around them" in result.message
    result = scrape(NEWS, "article img[alt^=The]")
    assert "selector matches 1 element that has no text; select what is around it" in result.message


def test_bad_selector_is_refused_before_anything_is_fetched():
    result = scrape(NEWS, "p >> b")
    assert result.failure.kind == "invalid_arguments"
    assert "selector 'p >> b' cannot be read at position 3: '>' is not expected" in result.message


def test_no_more_text_is_gathered_than_is_wanted():
    found = select(b"<p>word</p>" * 1_000, read_selector("p"), longest=50)
    assert not found.is_whole
    assert len(found.text) < 200


def test_page_too_large_to_search_is_searched_in_its_first_part():
    body = b"<i>x</i>" * 60_000 + b"<b>end</b>"
    found = select(body, read_selector("i:last-child"), longest=50)
    assert (found.text, found.is_searched) == ("x", False)
    with pytest.raises(ToolExecutionError, match="in the first part of the page, which is very large"):
        select(body, read_selector("b"), longest=50)


def test_page_too_large_to_search_is_told():
    result = scrape("<i>x</i>" * 60_000 + "<b>end</b>", "i:first-child")
    assert result.value["text"] == "x"
    assert "the page is very large, and only its first part was searched" in result.message.lower()


@settings(deadline=None)
@given(st.binary(max_size=200), st.text(alphabet="pdiv.#[]='():,>+~ *-n2", max_size=20))
def test_any_page_and_any_selector_give_text_or_a_refusal(body, selector):
    with suppress(ToolValidationError, ToolExecutionError):
        select(body, read_selector(selector), longest=1_000).text.encode()
