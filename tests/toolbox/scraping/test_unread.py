"""Hidden elements, menus and banners are left out; similar-looking content is read."""

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
    "<nav>not this <svg class=i /></nav>",
    "<nav>not this <svg/></nav>",
    "<dialog><p>not this</p></dialog>",
    "<p hidden>not this<p></p>",
    "<p hidden>not this",
    "<div><p hidden>not <b>this</b></div>",
    "<ul><li hidden>not<ul><li>this<li>nor this</ul> either</ul>",
    "<table><tr><td hidden>not this<td></table>",
    f"<ul><li hidden>not this{'<br>' * 600}</li></ul>",
    f"<ul><li hidden>not this{'<br>' * 600}</ul>",
    f"<div title='{'x' * 3_000}' hidden>not this</div>",
    "<dl><dt hidden>not<br>this<dd hidden>nor</p>this</div></dl>",
]


def test_hidden_elements_and_boilerplate_are_left_out():
    for junk in DROPPED:
        for frame in ("<main>{}</main>", "<body>{}</body>", "{}"):
            page = frame.format(f"<p>{LONG}</p>{junk}<p>{LONG}</p>")
            assert read(page) == f"{SHOWN}\n\n{SHOWN}", junk


KEPT = [
    ("<h3><button>Question?</button></h3>", "Question?"),
    ("<h3> <button><svg><title>no</title></svg> A <b>question</b>?</button></h3>", "A question?"),
    ("<h3>Title <button>Copy</button></h3>", "Title"),
    ("<h3><svg><title>no</title></svg></h3><button>no</button>", ""),
    ("<dl><dt><button>When?</button></dt><dd>Now.</dd></dl>", "When?\nNow."),
    ("<dl><dt>When? <button>Copy</button></dt><dd>Now.</dd></dl>", "When?\nNow."),
    (
        "<div> <button class=q aria-expanded=false><svg><title>no</title></svg>Who?</button> </div><div>Us.</div>",
        "Who?\nUs.",
    ),
    ("<div><button aria-expanded=true>One</button> and two</div>", "and two"),
    ("<nav><div><button aria-expanded=false>no</button></div>no</nav>this", "this"),
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
    ("<ul><li hidden>no<li>this</ul>", "this"),
    ("<p hidden>no<p>this</p>", "this"),
    ("<p hidden>no</p>this", "this"),
    ("<p hidden>no<div>this</div>", "this"),
    ("<table><tr hidden><td>no<tr><td>a<td style='display: none'>no<td>b</table>", "a | b"),
    ("<dialog open>this</dialog>", "this"),
    ("<p>a dialog about a dialog</p>", "a dialog about a dialog"),
    ("<div aria-hidden=false>this</div>", "this"),
    ("<div class='hidden md:block'>this</div>", "this"),
    ("<div style='display:block'>this</div>", "this"),
    ("<p>display: none; hidden; role=dialog; a cookie</p>", "display: none; hidden; role=dialog; a cookie"),
    ("<div role=note>this</div>", "this"),
    ("<p class=cookies-recipe data-x=1>", ""),
    ("<input hidden>this", "this"),
    ("<img aria-hidden=true>this", "this"),
    ("<div hidden>no end, as browsers hide it", ""),
    ("<nav>no end, as browsers read it", ""),
    ("<header><h1>Headline</h1></header>", "Headline"),
    ("<header><p>By Jane Doe</p><p>3 May 2024</p></header>", "By Jane Doe\n\n3 May 2024"),
    ("<header>By <a href=/jane>Jane</a>, on 3 May</header>", "By Jane, on 3 May"),
    ("<header>See <a href=/jane>Jane Doe</a> <a href=/may>May 2024</a></header>", ""),
    (f"<form><p>{SHOWN}</p></form>", SHOWN),
    ("<!-->this", "this"),
    ("<!--->this", "this"),
    ("<script>x</script >this", "this"),
    ("<scripty>this</scripty>", "this"),
    ("<details><summary>more</summary>this</details>", "more\nthis"),
]


def test_content_that_resembles_boilerplate_is_kept():
    for page, text in KEPT:
        assert read(f"<main><p>{LONG}</p>{page}</main>") == f"{SHOWN}\n\n{text}".strip(), page


FORMS = [
    (
        "<form method=post><div><p>Balance: 12 euro</p><p>Due: 3 May</p></div></form>",
        "Balance: 12 euro\n\nDue: 3 May",
    ),
    (
        "<div>Your order</div><form><table><tr><td>Kettle<td>39.90<tr><td>Cup<td>4.50</table></form>",
        "Your order\n\nKettle | 39.90\nCup | 4.50",
    ),
    ("<form><header>Account 7</header><p>12 euro</p></form>", "Account 7\n\n12 euro"),
    ("<header>Account 7</header>", "Account 7"),
    ("<p>Order 7</p><form><p>Kettle, red</p><p>Cup, blue</p></form>", "Order 7\n\nKettle, red\n\nCup, blue"),
    (
        "<p>Please log in to go on.</p><form><table><tr><td>Name<td><input></table></form>",
        "Please log in to go on.",
    ),
    (
        "<p>This page has a form for searching.</p><form>Search <input></form>",
        "This page has a form for searching.",
    ),
]


def test_form_is_read_where_it_is_what_the_page_is_about():
    for page, text in FORMS:
        assert read(f"<body>{page}</body>") == text, page


def test_long_header_or_form_is_read_on_a_page_without_a_main_part():
    others = f"<p>{LONG}</p>" * 3
    for name in ("header", "form"):
        for size, is_read in ((20, False), (40, True)):
            text = " ".join(["words"] * size)
            page = f"<body><{name}>{text}</{name}>{others}</body>"
            assert (text in read(page)) is is_read, (name, size)


UNSPOKEN = [
    "<html aria-hidden=true><p>{}</p>",
    "<body aria-hidden=true><p>{}</p>",
    "<div aria-hidden=true><p>{}</p></div>",
    "<div aria-hidden=true><div><p>{}</p></div></div><div hidden>no</div>",
    "<main aria-hidden=true><p>{}</p></main>",
    "<div aria-hidden=true><main><p>{}</p></main></div><p>no</p>",
]


def test_page_that_is_hidden_from_screen_readers_is_read():
    for page in UNSPOKEN:
        assert read(page.format(LONG)) == SHOWN, page


def test_page_about_cookies_is_not_taken_for_a_banner():
    assert read(f"<p>{LONG}</p><div class=cookie-bar><p>{LONG * 100}</p></div>").count("This sentence") == 404
    assert read(f"<p>{LONG}</p><div class=cookie-bar><p>{LONG}</p></div>") == SHOWN
    assert read(f"<p>{LONG}</p><div id='gdpr-cookies'><p>{LONG}</p></div>") == SHOWN
