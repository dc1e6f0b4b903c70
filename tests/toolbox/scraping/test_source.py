"""No script, style sheet or comment is read, and nothing else is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from tests.toolbox.scraping.kit import LONG, SHOWN, read
from tests.toolbox.scraping.pages import CORPUS
from toolhaft.toolbox.scraping import source as source_module
from toolhaft.toolbox.scraping.flat import flatten
from toolhaft.toolbox.scraping.readable import read_page
from toolhaft.toolbox.scraping.settling import settle
from toolhaft.toolbox.scraping.source import Source

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


@pytest.mark.parametrize(("page", "text"), NOT_IN_TAGS)
def test_quotes_in_a_text_hide_no_comment(page, text):
    assert read(page) == text


@pytest.mark.parametrize("page", SWALLOWED)
def test_nothing_of_a_page_is_swallowed_by_what_only_looks_like_it(page):
    assert read(page).split() == f"{SHOWN} two".split()


def test_no_value_is_cut_where_a_page_is_taken_in_pieces():
    body = b'<p title="a > b <i> c">one</p><p>two</p>'
    for size in range(1, len(body)):
        source = Source(body)
        source.take(size)
        assert (
            source.text in ("", '<p title="a > b <i> c">', '<p title="a > b <i> c">one')
            or ">one<" in source.text
        )


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


def test_script_without_an_end_takes_the_rest():
    assert read(f"<p>{LONG}</p><script>no end <p>x</p>") == SHOWN
    assert read(f"<p>{LONG}</p><!-- no end <p>x</p>") == SHOWN
    assert read(f"<p>{LONG}</p><script type=math/tex>{'no formula ' * 1_000}</script>") == SHOWN


def test_long_tag_is_never_cut():
    picture = f'<img src="data:image/png;base64,{"QUJD" * 400_000}">'
    assert read(f"<p>before</p>{picture}<p>after</p>", longest=100) == "before\n\nafter"


def test_page_with_more_comments_than_are_passed_over_is_not_whole(monkeypatch):
    monkeypatch.setattr(source_module, "_MOST_RAW", 10)
    found = read_page(Source(b"<p>seen</p>" + b"<!--x-->" * 20 + b"<p>unseen</p>"), longest=1_000)
    assert found == ("seen", False)


VALUES = st.lists(
    st.sampled_from(["x", " > ", "<b>", "<script>", "<!-- ", "-->", "<style>", "=", "'", "<", "/"]),
    max_size=4,
)
TAGS = st.builds(
    lambda equals, value: f'<p title{equals}"{"".join(value)}">', st.sampled_from(["=", " = "]), VALUES
)
OTHERS = st.sampled_from(
    ["one ", "<!-- <p> -->", '<!-- =" -->', "<script>a<b</Script>", "<style>'</style>", "</p>"]
)


@given(st.lists(TAGS | OTHERS, max_size=12), st.integers(min_value=1, max_value=200))
def test_every_word_is_read_whatever_is_in_values_and_comments(pieces, step):
    page = f"<body>{''.join(pieces)}</body>"
    tree = LexborHTMLParser(page)
    for element in tree.css("script, style"):
        element.decompose()
    source = Source(page.encode())
    while source.left:
        source.take(step)
    assert settle(flatten(source.text)).split() == tree.body.text(separator=" ").split()
