"""What is worth reading on a page is found: the main part, or the densest, without what nobody reads."""

from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolbox.scraping.pages import CORPUS
from toolhaft.toolbox.scraping import readable
from toolhaft.toolbox.scraping import source as source_module
from toolhaft.toolbox.scraping.readable import read_page
from toolhaft.toolbox.scraping.source import Source

LONG = "This sentence is long enough to be what somebody came to the page for. " * 4
SHOWN = LONG.strip()
MENU = "".join(f'<div><a href="/{number}">Menu entry {number}</a></div>' for number in range(30))


def read(page, longest=100_000):
    return read_page(Source(page.encode()), longest=longest).text


DROPPED = [
    "<script>var x = '<p>not this</p>';</script>",
    "<SCRIPT>not this</SCRIPT>",
    "<script>not this</SCRIPT><script>nor this</SCRIPT>",
    "<STYLE>not this</style><style>nor this</STYLE>",
    "<style>p { color: red }</style>",
    "<!-- not this -->",
    "<!-- <p>not this</p> -->",
    "<noscript>not this</noscript>",
    "<template><p>not this</p></template>",
    "<svg><title>not this</title><text>nor this</text></svg>",
    "<iframe>not this</iframe>",
    "<nav><ul><li>not this</li></ul></nav>",
    "<NAV>not this</NAV>",
    "<footer>not this</footer>",
    "<aside><p>not this</p></aside>",
    "<form><label>not this</label><input><button>nor this</button></form>",
    "<button>not this</button>",
    "<select><option>not this</option></select>",
    "<textarea>not this</textarea>",
    "<header><a href=/>not this</a></header>",
    "<div hidden>not this</div>",
    "<div hidden=''><div>not this</div></div>",
    "<p><span hidden>not this</span></p>",
    "<div aria-hidden=true>not this</div>",
    "<div aria-hidden='true'><div>not</div> this</div>",
    "<div style='display:none'>not this</div>",
    "<div style='color: red; display : none'>not this</div>",
    "<div style='visibility: hidden'>not this</div>",
    "<div role=navigation>not this</div>",
    "<div role='dialog'>not this</div>",
    "<div role=contentinfo>not this</div>",
    "<div class='cookie-banner'>not this</div>",
    "<section id=cookieConsent><p>not this</p></section>",
    "<video>not this</video>",
    "<object>not this</object>",
    "<nav>not<nav>this</nav></nav>",
    "<aside>not<nav>this</nav></aside>",
]


@pytest.mark.parametrize("junk", DROPPED)
@pytest.mark.parametrize("frame", ["<main>{}</main>", "<body>{}</body>", "{}"])
def test_what_nobody_reads_is_dropped(junk, frame):
    assert read(frame.format(f"<p>{LONG}</p>{junk}<p>{LONG}</p>")) == f"{SHOWN}\n\n{SHOWN}"


KEPT = [
    ("<div hidden=until-found>this</div>", "this"),
    ("<div aria-hidden=false>this</div>", "this"),
    ("<div class='hidden md:block'>this</div>", "this"),
    ("<div style='display:block'>this</div>", "this"),
    ("<p>display: none; hidden; role=dialog; a cookie</p>", "display: none; hidden; role=dialog; a cookie"),
    ("<div role=note>this</div>", "this"),
    ("<p class=cookies-recipe data-x=1>", ""),
    ("<input hidden>this", "this"),
    ("<img aria-hidden=true>this", "this"),
    ("<div hidden>this has no end", "this has no end"),
    ("<nav>this has no end", "this has no end"),
    ("<header><h1>Headline</h1></header>", "Headline"),
    (f"<form><p>{SHOWN}</p></form>", SHOWN),
    ("<!-->this", "this"),
    ("<!--->this", "this"),
    ("<script>x</script >this", "this"),
    ("<scripty>this</scripty>", "this"),
    ("<details><summary>more</summary>this</details>", "more\nthis"),
]


@pytest.mark.parametrize(("page", "text"), KEPT)
def test_what_only_looks_like_it_is_kept(page, text):
    assert read(f"<main><p>{LONG}</p>{page}</main>") == f"{SHOWN}\n\n{text}".strip()


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
    f'<div data-t="<main>{LONG} of an attribute</main>">x</div><article><p>{LONG}</p></article>',
    f"<template><main>{LONG} of a template</main></template><main><p>{LONG}</p></main>",
    f"<textarea><main>{LONG} of a form</main></textarea><main><p>{LONG}</p></main>",
    f"<main hidden>{LONG} hidden</main><main><p>{LONG}</p></main>",
    f"<main style='display: none'>{LONG} hidden</main><main><p>{LONG}</p></main>",
]


@pytest.mark.parametrize("page", HIDDEN_MAINS)
def test_main_part_that_nobody_sees_is_none(page):
    assert read(page).removeprefix("x\n\n") == SHOWN


SWALLOWED = [
    f'<p title="<!--">{LONG}</p><p>two</p>',
    f'<p title="<script>">{LONG}</p><p>two</p>',
    f"<script>a</Script><p>{LONG}</p><p>two</p>",
    f"<Script>a</Script><p>{LONG}</p><p>two</p><script>b</script>",
    f"<sCrIpT>a</sCrIpT><p>{LONG}</p><p>two</p>",
    f"<!-- a --!><p>{LONG}</p><p>two</p><!-- b -->",
    f"<p>{LONG}</p><div class='cookie-recipe'>two</div>",
    f"<p>{LONG}</p><section id='set-cookie'>two</section>",
    f"<div id=page class='has-cookie-notice site'><p>{LONG}</p><p>two</p></div>",
    f"<main><div class='cookie-bar'><h1>{LONG}</h1><p>two</p></div></main>",
]


@pytest.mark.parametrize("page", SWALLOWED)
def test_nothing_of_a_page_is_swallowed_by_what_only_looks_like_it(page):
    assert read(page).split() == f"{SHOWN} two".split()


def test_short_lines_without_links_are_part_of_a_page():
    shop = f"<div>{MENU}</div><div>Kettle</div><div>EUR 49.90</div><div>In stock</div><p>{LONG}</p><div>2 kW</div>{MENU}"
    assert read(shop) == f"Kettle\nEUR 49.90\nIn stock\n\n{SHOWN}\n\n2 kW"


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


@pytest.mark.parametrize("name", CORPUS)
@pytest.mark.parametrize("step", [1, 7, 64, 1000])
def test_source_taken_in_pieces_is_the_same_as_in_one(name, step):
    body = CORPUS[name][0].encode()
    whole, pieces = Source(body), Source(body)
    whole.take(10**6)
    while pieces.left:
        pieces.take(step)
    assert pieces.text == whole.text
    assert pieces.is_whole


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


def test_script_without_an_end_takes_the_rest():
    assert read(f"<p>{LONG}</p><script>no end <p>x</p>") == SHOWN
    assert read(f"<p>{LONG}</p><!-- no end <p>x</p>") == SHOWN


def test_text_of_a_page_without_tags_is_taken_in_pieces():
    found = read_page(Source(("чай " * 600_000).encode()), longest=1_000)
    assert not found.is_whole
    assert set(found.text) == set("чай ")


def test_long_tag_is_never_cut():
    picture = f'<img src="data:image/png;base64,{"QUJD" * 400_000}">'
    assert read(f"<p>before</p>{picture}<p>after</p>", longest=100) == "before\n\nafter"


def test_page_about_cookies_is_not_taken_for_a_banner():
    assert read(f"<p>{LONG}</p><div class=cookie-bar><p>{LONG * 100}</p></div>").count("This sentence") == 404
    assert read(f"<p>{LONG}</p><div class=cookie-bar><p>{LONG}</p></div>") == SHOWN
    assert read(f"<p>{LONG}</p><div id='gdpr-cookies'><p>{LONG}</p></div>") == SHOWN


def test_elements_nested_deeper_than_they_are_dropped_leave_no_marks():
    page = f"<main><p>{LONG}</p>{'<nav>x' * 30}{'</nav>' * 30}</main>"
    assert set(read(page)) == set(SHOWN) | {"\n", "x"}


def test_article_that_cannot_be_read_is_no_main_part():
    assert read(f"<article {'x' * 20_000}><p>{LONG}</p></article>") == SHOWN
    assert read(f"<p>{LONG}</p><article") == SHOWN


def test_sign_of_something_unread_far_from_its_tag_is_not_looked_for():
    assert read(f"<div title='{'x' * 3_000}' hidden>{LONG}</div>") == SHOWN


def test_page_with_more_comments_than_are_passed_over_is_not_whole(monkeypatch):
    monkeypatch.setattr(source_module, "_MOST_RAW", 10)
    found = read_page(Source(b"<p>seen</p>" + b"<!--x-->" * 20 + b"<p>unseen</p>"), longest=1_000)
    assert found == ("seen", False)


@settings(deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_a_page(body):
    found = read_page(Source(body), longest=100)
    assert isinstance(found.text, str)
    found.text.encode()
