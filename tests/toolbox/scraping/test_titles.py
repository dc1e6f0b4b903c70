"""The title is what the page says it is, else what it tells social networks, else its first heading."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhaft.toolbox.scraping.source import Source
from toolhaft.toolbox.scraping.titles import title_of

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
    ("<h1>no end", ""),
    ("<h2>Not this</h2>", ""),
    ("<p>nothing", ""),
    ("", ""),
    ("<title> </title><h1>Heading</h1>", "Heading"),
    ("<meta property=og:title content='<i>x</i>'>", "<i>x</i>"),
    ("<meta data-x='<title>no</title>'><title>yes</title>", "yes"),
    ("<template><template></template><title>no</title></template><title>yes</title>", "yes"),
    ("<noscript><title>no</title></noscript><title>yes</title>", "yes"),
    ("<textarea><title>no</title></textarea><h1>yes</h1>", "yes"),
    ('<title data-x="a>b">yes</title>', "yes"),
    ("<h1><svg><title>Logo</title></svg>Heading</h1>", "Heading"),
    ("<h1><button>Heading</button></h1>", "Heading"),
    ("<body><svg class=i /><p>x</p><title>late</title><title>later</title>", "late"),
    ("<head></head><body><title>late</title><h1>Heading</h1>", "late"),
    ("<title>unclosed <h1>Heading</h1>", "unclosed <h1>Heading</h1>"),
    ("<title", ""),
]


@pytest.mark.parametrize(("page", "title"), TITLES)
def test_title_is_found(page, title):
    assert title_of(Source(page.encode())) == title


def test_social_title_is_looked_for_in_so_many_tags_only():
    social = "<meta property=og:title content=Tea>"
    assert title_of(Source(f"{'<meta name=x>' * 200}{social}".encode())) == "Tea"
    assert title_of(Source(f"{'<meta name=x>' * 400}{social}".encode())) == ""
    assert title_of(Source(f"<meta {'x' * 20_000}>{social}".encode())) == "Tea"


@given(st.binary(max_size=200))
def test_title_of_any_bytes_is_on_one_line(body):
    assert "\n" not in title_of(Source(body))
