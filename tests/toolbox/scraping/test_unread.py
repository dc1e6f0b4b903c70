"""What nobody reads is left out of a page, and what only looks like it stays."""

import pytest

from tests.toolbox.scraping.kit import LONG, SHOWN, read

NOTE = "Note: close the valve before anything else is done here."


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
    ("<h3><button>Question?</button></h3>", "Question?"),
    ("<h3> <button><svg><title>no</title></svg> A <b>question</b>?</button></h3>", "A question?"),
    ("<h3>Title <button>Copy</button></h3>", "Title"),
    ("<h3><svg><title>no</title></svg></h3><button>no</button>", ""),
    ("<aside>Note: close the valve before anything else is done here.</aside>", NOTE),
    ("<aside><p>Note: close the valve before anything else is done here.</p><nav>no</nav></aside>", NOTE),
    ("<aside><a href=x>Read on about the valve and how it is closed in time here</a></aside>", ""),
    ("<aside><p>Our letter comes every week and brings you the best</p><form><input></form></aside>", ""),
    (
        "<blockquote><p>Said.</p><footer>A writer <button>no</button></footer></blockquote>",
        "Said.\n\nA writer",
    ),
    ("<blockquote>Said.</blockquote><footer>no</footer>", "Said."),
    (
        "<blockquote><blockquote>One.<footer>A</footer></blockquote><footer>B</footer></blockquote>",
        "One.\nA\n\nB",
    ),
    (
        "so <span style='display: none'><math alttext='x^2'><mi>x</mi></math></span><img alt=x> it is",
        "so x^2 it is",
    ),
    ("so <script type='math/tex'>a<b</script> it is", "so a<b it is"),
    ("so <script type='math/tex; mode=display'>% <![CDATA[ a %]]></script> it is", "so a it is"),
    ("<div aria-hidden=true><h1>this</h1></div>", "this"),
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


UNSPOKEN = [
    "<html aria-hidden=true><p>{}</p>",
    "<body aria-hidden=true><p>{}</p>",
    "<div aria-hidden=true><p>{}</p></div>",
    "<div aria-hidden=true><div><p>{}</p></div></div><div hidden>no</div>",
    "<main aria-hidden=true><p>{}</p></main>",
    "<div aria-hidden=true><main><p>{}</p></main></div><p>no</p>",
]


@pytest.mark.parametrize("page", UNSPOKEN)
def test_page_that_is_kept_from_screen_readers_is_read(page):
    assert read(page.format(LONG)) == SHOWN


def test_page_about_cookies_is_not_taken_for_a_banner():
    assert read(f"<p>{LONG}</p><div class=cookie-bar><p>{LONG * 100}</p></div>").count("This sentence") == 404
    assert read(f"<p>{LONG}</p><div class=cookie-bar><p>{LONG}</p></div>") == SHOWN
    assert read(f"<p>{LONG}</p><div id='gdpr-cookies'><p>{LONG}</p></div>") == SHOWN


def test_sign_of_something_unread_far_from_its_tag_is_not_looked_for():
    assert read(f"<div title='{'x' * 3_000}' hidden>{LONG}</div>") == SHOWN
