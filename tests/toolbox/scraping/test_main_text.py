"""The main text of a page: its declared main part, or the lines with the most text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.toolbox.scraping.kit import LONG, SHOWN, read, tree_of
from toolhaft.toolbox.scraping.main_text import read_main_text

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


def test_main_part_is_found():
    for page in MAIN:
        assert read(page).removeprefix("nested\n\n") == SHOWN, page


def test_text_that_mentions_role_main_is_not_a_main_part():
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
    f"<div hidden><main>{LONG} hidden</main></div><main><p>{LONG}</p></main>",
    f"{'<img title=<main>' * 20}<main><p>{LONG}</p></main><p>two</p>",
]


def test_hidden_main_part_is_ignored():
    for page in HIDDEN_MAINS:
        assert read(page).removeprefix("x\n\n") == SHOWN, page


def test_short_lines_without_links_are_part_of_a_page():
    shop = f"<div>{MENU}</div><div>Kettle</div><div>EUR 49.90</div><div>In stock</div><p>{LONG}</p><div>2 kW</div>{MENU}"
    assert read(shop) == f"Kettle\nEUR 49.90\nIn stock\n\n{SHOWN}\n\n2 kW"


def test_head_of_a_main_part_goes_where_it_is_a_menu_and_stays_where_it_is_a_byline():
    words = "Some words of the text itself. " * 20
    menu = "<ul><li><a href=/>Home</a></li><li><a href=/n>News</a></li></ul>"
    heads = (menu, "<p>By Jane Doe</p>")
    texts = [read(f"<main><header>{head}</header><p>{words}</p></main>") for head in heads]
    assert [text[:10] for text in texts] == ["Some words", "By Jane Do"]


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


def test_no_more_is_read_than_is_wanted():
    page = tree_of("<main>" + f"<p>{LONG}</p>" * 4_000 + "</main>")
    found = read_main_text(page, longest=1_000)
    assert not found.is_whole
    assert 1_000 < len(found.text) < 2_000
    assert read_main_text(page, longest=10_000_000).is_whole


def test_main_part_that_ends_early_is_whole():
    page = f"<main><p>{LONG}</p></main>" + "<p>other</p>" * 10_000
    assert read_main_text(tree_of(page), longest=1_000) == (SHOWN, True)


QUESTION = "<dl><dt><button aria-expanded=false>Why?</button></dt><dd>Because.</dd></dl>"


def test_a_note_is_read_whatever_questions_are_next_to_it():
    for inside in ("", "<button>Share</button>"):
        for beside in ("", QUESTION, "<dl><dt>T</dt><dd>D</dd></dl>"):
            note = f"<aside><p>A note that is long enough to be read by anybody.</p>{inside}</aside>"
            text = read(f"<main><p>Text of the page.</p>{note}{beside}</main>")
            assert "A note that is long enough" in text, (inside, beside)
            assert ("Why?" in text, "Share" in text) == (beside == QUESTION, False), (inside, beside)


def test_page_with_little_text_is_read_to_its_end():
    empty = '<div class="card"><a href="/x"><img src="/y"></a></div>' * 2_000
    hidden = f"<div hidden>{'<b>no</b>' * 3_000}</div>"
    page = f"<p>first</p>{empty}{hidden}<p>middle</p>{empty}<p>last</p>"
    assert read_main_text(tree_of(page), longest=1_000) == ("first\n\nmiddle\n\nlast", True)


def test_large_menu_does_not_use_up_the_wanted_text():
    menu = "<li><a href=/x>Entry of a very large menu</a></li>\n" * 2_000
    assert read(f"<nav><ul>{menu}</ul></nav><p>{LONG}</p>", longest=500) == SHOWN


def test_text_of_a_page_without_tags_is_read():
    assert set(read("чай " * 6_000, longest=1_000)) == set("чай ")


def test_nested_menus_are_left_out():
    assert read(f"<main><p>{LONG}</p>{'<nav>x' * 30}{'</nav>' * 30}</main>") == SHOWN


def test_article_with_a_broken_tag_is_read():
    assert read(f"<article {'x' * 20_000}><p>{LONG}</p></article>") == SHOWN
    assert read(f"<p>{LONG}</p><article") == SHOWN


SWALLOWED = [
    f'<p title="a > b <!-- c">{LONG}</p><p>two</p>',
    f"<p title='a > b <script> c'>{LONG}</p><p>two</p>",
    f'<p data-a="<b>x</b>" data-b= "<style>">{LONG}</p><p>two</p>',
    f'<p title="> <!-- <!-- <script>" lang="<!--">{LONG}</p><p>two</p>',
    f'<p title="<"/><p>{LONG}</p><!-- x="--><p>two</p><!-- y" -->',
    f"<p>{LONG} two<s--x></s--x><!script ></p>",
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


NOT_IN_TAGS = [
    (f'<p>Write <b>a="</b><!-- <p title="x"> --> or b=\'<!-- \' -->{LONG}</p>', f"Write a=\" or b='{SHOWN}"),
    (f'<p>{LONG} x = "<!-- no end', f'{SHOWN} x = "'),
    (f"<p>{LONG} a <b", SHOWN + " a"),
]


def test_quotes_in_a_text_hide_no_comment():
    for page, text in NOT_IN_TAGS:
        assert read(page) == text, page


def test_nothing_of_a_page_is_swallowed_by_what_only_looks_like_a_script_or_a_comment():
    for page in SWALLOWED:
        assert read(page).split() == f"{SHOWN} two".split(), page


def test_script_without_an_end_takes_the_rest():
    assert read(f"<p>{LONG}</p><script>no end <p>x</p>") == SHOWN
    assert read(f"<p>{LONG}</p><!-- no end <p>x</p>") == SHOWN


def test_long_tag_is_read():
    picture = f'<img src="data:image/png;base64,{"QUJD" * 400_000}">'
    assert read(f"<p>before</p>{picture}<p>after</p>", longest=100) == "before\n\nafter"


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=400))
def test_any_bytes_are_a_page(body):
    read_main_text(tree_of(body), longest=100).text.encode()
