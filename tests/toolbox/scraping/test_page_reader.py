"""The title of a page, the targets of a page without text, and the elements that a selector matches."""

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolbox.scraping.kit import tree_of
from tests.toolbox.scraping.pages import CORPUS, FORUM, NEWS, PRODUCT
from toolhaft.errors import ToolExecutionError, ToolValidationError
from toolhaft.toolbox.scraping.page_reader import PageRequest, find_title, read_page, select_text
from toolhaft.toolbox.scraping.selectors import check_selector


def read(page, selector=None, *, longest=100_000, is_xhtml=False, url="https://a.example/"):
    """What a worker reads of a page."""
    body = page if isinstance(page, bytes) else page.encode()
    checked = None if selector is None else check_selector(selector)
    return read_page(PageRequest(body, url, is_xhtml, checked, "readable", longest))


def test_page_of_the_corpus_reads_as_a_person_would_copy_it():
    for name, (page, title, text) in CORPUS.items():
        found = read(page)
        assert (found.text, found.title, found.is_whole) == (text, title, True), name


def test_no_more_text_is_returned_than_one_character_beyond_what_is_wanted():
    assert len(read("<p>" + "x" * 1_000, longest=100).text) == 101


TITLES = [
    ("<title>Tea</title>", "Tea"),
    ("<TITLE lang=en>\n  Tea &amp;\n more </TITLE>", "Tea & more"),
    ("<head><!-- <title>Old</title> --><script>'<title>no</title>'</script><title>New</title>", "New"),
    ("<title>The <b> tag</title>", "The <b> tag"),
    ("<title>a</title><title>b</title>", "a"),
    ("<title>cut off", "cut off"),
    ("<titles>no</titles><title>yes</title>", "yes"),
    ("<head></head><body><svg><title>Logo</title></svg><h1>Heading</h1>", "Heading"),
    ("<svg><title>icon</title></svg><h1>Heading</h1>", "Heading"),
    ("<svg><g><title>icon</title></g></svg><title>Tea</title>", "Tea"),
    ("<svg></svg><title>Tea</title>", "Tea"),
    (
        "<title></title><meta property='og:title' content='Social &quot;tea&quot;'><h1>Heading</h1>",
        'Social "tea"',
    ),
    ("<meta name=og:title content=Tea>", "Tea"),
    ("<meta property=og:title><h1>Heading</h1>", "Heading"),
    ("<meta property=og:type content=article><h1>A <i>fine</i> heading</h1>", "A fine heading"),
    ("<h1></h1><h1><img></h1><h1>Third</h1>", "Third"),
    ("<h1>no end", "no end"),
    ("<h2>Not this</h2>", ""),
    ("<p>nothing", ""),
    ("", ""),
    ("<title> </title><h1>Heading</h1>", "Heading"),
    ("<meta property=og:title content='<i>x</i>'>", "<i>x</i>"),
    ("<meta data-x='<title>no</title>'><title>yes</title>", "yes"),
    ("<template><template></template><title>no</title></template><title>yes</title>", "yes"),
    ("<p>x</p><noscript><title>no</title></noscript><title>yes</title>", "yes"),
    ("<textarea><title>no</title></textarea><h1>yes</h1>", "yes"),
    ('<title data-x="a>b">yes</title>', "yes"),
    ("<h1><svg><title>Logo</title></svg>Heading</h1>", "Heading"),
    ("<h1><button>Heading</button></h1>", "Heading"),
    ("<body><svg class=i /><p>x</p><title>late</title><title>later</title>", "late"),
    ("<head></head><body><title>late</title><h1>Heading</h1>", "late"),
    ("<title>unclosed <h1>Heading</h1>", "unclosed <h1>Heading</h1>"),
    ("<title", ""),
]


def test_title_is_found():
    for page, title in TITLES:
        assert find_title(tree_of(page)) == title, page


def test_social_title_after_many_tags_is_found():
    social = "<meta property=og:title content=Tea>"
    assert find_title(tree_of(f"{'<meta name=x>' * 400}{social}")) == "Tea"
    assert find_title(tree_of(f"<meta {'x' * 20_000}>{social}")) == "Tea"


def test_no_more_of_a_long_title_is_read_than_could_be_shown():
    for page in ("<title>{}</title>", "<meta property=og:title content={}>", "<h1>{}"):
        assert len(find_title(tree_of(page.format("x" * 50_000)))) <= 2_001, page


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=200))
def test_title_of_any_bytes_is_on_one_line(body):
    assert "\n" not in find_title(tree_of(body))


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
        "<frameset><frame src=a><frame src=a><frame src=b><frame src=c><frame src=d>",
        [f"https://a.example/old/{name}" for name in "abc"],
    ),
    ("<meta http-equiv=refresh content=30>", []),
    ("<meta http-equiv=refresh content='0; url=/old/page?key=2'>", []),
    ("<meta http-equiv=refresh content='0; url=javascript:go()'>", []),
    ("<meta http-equiv=refresh content='0; url=https://[x/'>", []),
    ("<meta http-equiv=refresh content='0; url=https://me:secret@b.example/'>", []),
    ("<meta name=refresh content='0; url=/new'>", []),
    ("<frameset><frame><iframe src=x></iframe>", []),
    (f"<meta http-equiv=refresh content='0;url=/&#{'9' * 5000};'>", ["https://a.example/%EF%BF%BD"]),
    (f"<frameset><frame src={'x' * 300}><frame src=y>", ["https://a.example/old/y"]),
    ("", []),
]


def test_targets_of_a_page_without_text_are_found():
    for page, leads in LEADS:
        assert list(read(page, url=HERE).targets) == leads, page


def test_page_with_text_has_no_targets():
    assert read("<meta http-equiv=refresh content='0; url=/new'><p>text").targets == ()


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


def test_selected_elements_read_well():
    for page, selector, text in SELECTED:
        assert read(page, selector).text == text, selector


def test_script_that_is_empty_has_no_text():
    with pytest.raises(ToolExecutionError, match="selector matches nothing"):
        read(NEWS, "body > script:not([src])")


MISNESTED = [
    ("<b>one<p>two</b>three</p>", "p", "twothree"),
    ("<iframe><p>frame</p></iframe>", "iframe", "<p>frame</p>"),
    ("<xmp><b>literal</b></xmp>", "xmp", "<b>literal</b>"),
]


def test_large_page_reads_as_a_small_one():
    for page, selector, text in MISNESTED:
        for padding in (0, 500_001):
            assert read(f"{page}<!--{'x' * padding}-->", selector).text == text, (selector, padding)


def test_every_element_of_a_large_page_is_searched():
    page = "<i>x</i>" * 60_000 + "<b>end</b>"
    assert read(page, "b").text == "end"
    assert read(page, "i:first-child").text == "x"


def test_place_that_no_element_has_is_not_counted_for_its_name():
    with pytest.raises(ToolExecutionError, match="'p' alone matches 3"):
        read("<p>a<p>b<p>c", "p:nth-child(9)")


def test_selector_that_matches_nothing_says_what_its_parts_match():
    assert read(NEWS, "article > .lede, main p").text  # the second one matches
    with pytest.raises(ToolExecutionError) as caught:
        read(NEWS, "article > .lede b")
    assert str(caught.value) == (
        "selector matches nothing; 'article' alone matches 1, '.lede' alone matches 0, 'b' alone matches 1; "
        "try without a selector"
    )


def test_only_the_first_parts_of_a_long_selector_are_counted():
    with pytest.raises(ToolExecutionError) as caught:
        read("<p>x", "a b c d e f g h")
    assert str(caught.value).count("alone matches") == 6


def test_selector_that_matches_only_what_has_no_text_says_so():
    with pytest.raises(
        ToolExecutionError, match="matches 5 elements that have no text; select what is around them"
    ):
        read(NEWS, "img, meta")
    with pytest.raises(
        ToolExecutionError, match="matches 1 element that has no text; select what is around it"
    ):
        read(NEWS, "article img[alt^=The]")


def test_no_more_text_is_selected_than_is_wanted():
    found = select_text(tree_of(b"<p>word</p>" * 1_000), check_selector("p"), longest=50)
    assert not found.is_whole
    assert len(found.text) < 200
    one = select_text(
        tree_of(b"<div>" + b"<p>word</p>" * 1_000 + b"</div>"), check_selector("div"), longest=50
    )
    assert not one.is_whole
    assert len(one.text) < 200


XHTML = '<html><head><script src="x"/><title>T</title></head><body><iframe/><p>one</p></body></html>'


def test_tag_that_is_a_whole_element_swallows_nothing_in_xml():
    for selector in (None, "body > p"):
        assert read(XHTML, selector, is_xhtml=True)[:2] == ("one", "T"), selector


def test_same_tag_swallows_what_follows_in_html():
    assert read('<script src="x"/><p>one</p><script></script><p>two</p>').text == "two"


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=200), st.text(alphabet="pdiv.#[]='():,>+~ *-n2", max_size=20))
def test_any_page_and_any_selector_give_text_or_a_refusal(body, selector):
    with suppress(ToolValidationError, ToolExecutionError):
        read(body, selector).text.encode()
