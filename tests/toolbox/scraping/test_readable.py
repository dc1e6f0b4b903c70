"""What is worth reading on a page is found: the main part, or the densest, without what nobody reads."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.own_time import within_own_s
from tests.toolbox.scraping.kit import LONG, SHOWN, read
from toolhaft.toolbox.scraping import readable
from toolhaft.toolbox.scraping.readable import read_page
from toolhaft.toolbox.scraping.source import Source

MENU = "".join(f'<div><a href="/{number}">Menu entry {number}</a></div>' for number in range(30))


MAIN = [
    f"<div>{MENU}</div><main><p>{LONG}</p></main><div>{MENU}</div>",
    f"<div>{MENU}</div><article><p>{LONG}</p></article><div>{MENU}</div>",
    f"<div>{MENU}</div><div role=main><div><p>{LONG}</p></div></div><div>{MENU}</div>",
    f"<div>{MENU}</div><div role='main' id=x><p>{LONG}</p></div><div>{MENU}</div>",
    f"<article><a>teaser</a></article><article><article>nested</article><p>{LONG}</p></article><article><a>teaser</a></article>",
    f"{MENU}<main><p>{LONG}</p>",
    f"<div>{MENU}</div><div><p>{LONG}</p></div><div>{MENU}</div>",
    f"<main></main>{MENU}<div><p>{LONG}</p></div>",
    f"<body><mainly>{MENU}</mainly><p>{LONG}</p></body>",
]


@pytest.mark.parametrize("page", MAIN)
def test_main_part_is_found(page):
    assert read(page).removeprefix("nested\n\n") == SHOWN


def test_words_about_the_main_part_are_none():
    assert (
        read(f"<p>Write role=main in the tag.</p><p>{LONG}</p>") == f"Write role=main in the tag.\n\n{SHOWN}"
    )
    assert read(f"role=main <p>{LONG}</p>") == f"role=main\n\n{SHOWN}"


def test_main_part_with_hardly_any_text_is_not_the_whole_of_a_page():
    assert read(f"<main><p>short</p></main><div><p>{LONG}</p></div>{MENU}") == f"short\n\n{SHOWN}"


HIDDEN_MAINS = [
    f"<div title='> <main>{LONG} of an attribute</main>'>x</div><article><p>{LONG}</p></article>",
    f'<div data-t="<main>{LONG} of an attribute</main>">x</div><article><p>{LONG}</p></article>',
    f"<template><main>{LONG} of a template</main></template><main><p>{LONG}</p></main>",
    f"<textarea><main>{LONG} of a form</main></textarea><main><p>{LONG}</p></main>",
    f"<main hidden>{LONG} hidden</main><main><p>{LONG}</p></main>",
    f"<main style='display: none'>{LONG} hidden</main><main><p>{LONG}</p></main>",
]


def test_main_part_after_too_many_that_nobody_sees_is_not_looked_for():
    assert read(f"{'<img title=<main>' * 20}<main><p>{LONG}</p></main><p>two</p>") == f"{SHOWN}\n\ntwo"


@pytest.mark.parametrize("page", HIDDEN_MAINS)
def test_main_part_that_nobody_sees_is_none(page):
    assert read(page).removeprefix("x\n\n") == SHOWN


def test_short_lines_without_links_are_part_of_a_page():
    shop = f"<div>{MENU}</div><div>Kettle</div><div>EUR 49.90</div><div>In stock</div><p>{LONG}</p><div>2 kW</div>{MENU}"
    assert read(shop) == f"Kettle\nEUR 49.90\nIn stock\n\n{SHOWN}\n\n2 kW"


def test_head_of_a_main_part_goes_where_it_is_a_menu_and_stays_where_it_is_a_byline():
    words = "Some words of the text itself. " * 20
    menu = "<ul><li><a href=/>Home</a></li><li><a href=/n>News</a></li></ul>"
    read = [
        read_page(Source(f"<main><header>{head}</header><p>{words}</p></main>".encode()), longest=5000).text
        for head in (menu, "<p>By Jane Doe</p>")
    ]
    assert [text[:10] for text in read] == ["Some words", "By Jane Do"]


def test_short_main_part_of_a_short_page_is_enough():
    assert read("<main>Hello.</main><p>Bye.</p>") == "Hello."


def test_several_articles_of_one_size_are_all_read():
    page = "".join(f"<article><h2>{number}</h2><p>{LONG}</p></article>" for number in range(3))
    assert read(page) == "\n\n".join(f"{number}\n\n{SHOWN}" for number in range(3))


def test_page_of_short_lines_is_read_whole():
    assert read("<p>one</p><p>two</p><div><a>three</a></div>") == "one\n\ntwo\n\nthree"


def test_lines_around_the_densest_part_are_left_out_but_not_its_headings():
    page = f"<div>{MENU}</div><h1>Title</h1><div>short</div><p>{LONG}</p><h2>More</h2><p>{LONG}</p><div>{MENU}</div>"
    assert read(page) == f"Title\n\nshort\n\n{SHOWN}\n\nMore\n\n{SHOWN}"


def test_dense_text_in_two_far_places_is_read_whole():
    page = f"<p>{LONG}</p>{MENU * 3}<p>{LONG}</p>{MENU * 3}<p>{LONG}</p>"
    assert read(page).count(SHOWN) == 3


def test_text_in_front_of_the_body_is_found_too():
    assert read("<head><title>t</title></head>words") == "words"
    assert read("<title>t</title>words") == "words"
    assert read("words") == "words"


def test_no_more_is_looked_at_than_is_wanted():
    page = "<main>" + f"<p>{LONG}</p>" * 4_000 + "</main>"
    found = read_page(Source(page.encode()), longest=1_000)
    assert not found.is_whole
    assert 1_000 < len(found.text) < 200_000
    assert read_page(Source(page.encode()), longest=10_000_000).is_whole


def test_main_part_that_ends_early_is_whole():
    page = f"<main><p>{LONG}</p></main>" + "<p>other</p>" * 100_000
    assert read_page(Source(page.encode()), longest=1_000) == (SHOWN, True)


PARTS = [
    "<p>",
    "</p>",
    "<div hidden>",
    "<div>",
    "</div>",
    "<nav>",
    "</nav>",
    "word ",
    "<b>x</b>",
    "<!-- c -->",
]
PARTS += [
    "<h3>",
    "<button>",
    "<button aria-expanded=false>",
    "</button>",
    "</h3>",
    "<blockquote>",
    "<footer>",
    "</footer>",
    "</blockquote>",
    "<aside>",
    "</aside>",
    "<script>s</script>",
    "<pre> k\n",
    "</pre>",
    "<table><tr><td>",
    "</table>",
    "&amp;",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=40, max_size=150))
def test_text_does_not_depend_on_how_much_is_taken_at_once(parts):
    body = "".join(parts).encode()
    once = read_page(Source(body), longest=10**6)
    with mock.patch.object(readable, "_FIRST_BYTES", 16):
        in_pieces = read_page(Source(body), longest=60)
    assert in_pieces == once or len(once.text) > 60


def test_a_question_at_the_border_of_a_piece_is_read():
    parts = ["<p>"] * 26 + ["<button aria-expanded=false>word </nav><button>"] + ["<p>"] * 10
    with mock.patch.object(readable, "_FIRST_BYTES", 16):
        assert read_page(Source("".join(parts).encode()), longest=60).text == "word"


QUESTION = "<dl><dt><button aria-expanded=false>Why?</button></dt><dd>Because.</dd></dl>"


@pytest.mark.parametrize("inside", ["", "<button>Share</button>"])
@pytest.mark.parametrize("beside", ["", QUESTION, "<dl><dt>T</dt><dd>D</dd></dl>"])
def test_a_note_is_read_whatever_questions_stand_beside_it(inside, beside):
    note = f"<aside><p>A note that is long enough to be read by anybody.</p>{inside}</aside>"
    page = f"<main><p>Text of the page.</p>{note}{beside}</main>"
    text = read_page(Source(page.encode()), longest=1000).text
    assert "A note that is long enough" in text
    assert ("Why?" in text, "Share" in text) == (beside == QUESTION, False)


def test_questions_nested_in_much_else_are_judged_quickly():
    opened = "<button aria-expanded=false>"
    nest = (opened + "<nav>" * 16) * 17 + ("</nav>" * 16 + "</button>") * 17
    page = f"<main><dl><dt>x</dt></dl><nav>{nest}{'<p>a b c</p>' * 80_000}"
    with within_own_s(3.0):
        read_page(Source(page.encode()), longest=10_000)


def test_page_with_little_text_is_read_to_its_end_piece_by_piece():
    empty = '<div class="card"><a href="/x"><img src="/y"></a></div>' * 10_000
    hidden = f"<div hidden>{'<b>no</b>' * 30_000}</div>"
    late = "<div hidden>kept, since it never ends"
    page = f"<p>first</p>{empty}{hidden}<p>middle</p>{empty}<p>last</p>{late}"
    assert read_page(Source(page.encode()), longest=1_000) == (
        "first\n\nmiddle\n\nlast\n\nkept, since it never ends",
        True,
    )


def test_what_is_to_be_dropped_is_not_read_where_only_its_start_was_seen():
    menu = "<li><a href=/x>Entry of a very large menu</a></li>\n" * 20_000
    assert read(f"<nav><ul>{menu}</ul></nav><p>{LONG}</p>", longest=500) == SHOWN


def test_text_of_a_page_without_tags_is_taken_in_pieces():
    found = read_page(Source(("чай " * 600_000).encode()), longest=1_000)
    assert not found.is_whole
    assert set(found.text) == set("чай ")


def test_elements_nested_deeper_than_they_are_dropped_leave_no_marks():
    page = f"<main><p>{LONG}</p>{'<nav>x' * 30}{'</nav>' * 30}</main>"
    assert set(read(page)) == set(SHOWN) | {"\n", "x"}


def test_article_that_cannot_be_read_is_no_main_part():
    assert read(f"<article {'x' * 20_000}><p>{LONG}</p></article>") == SHOWN
    assert read(f"<p>{LONG}</p><article") == SHOWN


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_a_page(body):
    found = read_page(Source(body), longest=100)
    assert isinstance(found.text, str)
    found.text.encode()
