"""Markup becomes lines that read well, whatever the markup."""

from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from tests.toolbox.scraping.kit import tree_of
from toolhaft.toolbox.scraping.text_lines import LineWriter, join_lines


def text_of(page):
    """The text of a whole page."""
    return join_lines(LineWriter(lambda _node, _tag: True, longest=10**7).write(tree_of(page).body))


READS = [
    ("Hello <b>bold</b> world", "Hello bold world"),
    ("un<i>believ</i>able", "unbelievable"),
    ("one\n   two\t three", "one two three"),
    ("a<br>b<br/>c<BR>d", "a\nb\nc\nd"),
    ("<p>a</p><p>b</p>c", "a\n\nb\n\nc"),
    ("<p>a<p>b", "a\n\nb"),
    ("<div>a<p>b</p>c</div>", "a\n\nb\n\nc"),
    ("<div>a</div><div>b</div>", "a\nb"),
    ("<span>a<div>b</div></span>c", "a\nb\nc"),
    ("<ul><li>a<li>b</ul>c", "a\nb\n\nc"),
    ("<ul>\n <li><p>a</p></li>\n <li>b</li>\n</ul>", "a\n\nb"),
    ("<dl><dt>term<dd>meaning</dl>", "term\nmeaning"),
    ("<h1> Title </h1>text", "Title\n\ntext"),
    ("<h1><a href=x>Title</a></h1><h2>Sub</h2>", "Title\n\nSub"),
    ("a<hr>b", "a\n\nb"),
    ("<blockquote>said</blockquote>he", "said\n\nhe"),
    ("<section><div>a</div></section>", "a"),
    ("<x-card>a</x-card><x-card>b</x-card>", "a\nb"),
    ("<x-card>a</x-card> <X-Card>b</X-Card> c", "a\nb\nc"),
    ("<div><x-card>Head</x-card>Text</div>", "Head\nText"),
    ("one <x-y>two</x-y>, three <x-y>four</x-y> five", "one two, three four five"),
    ("un<x-y>believ</x-y>able", "unbelievable"),
    ("<p><x-y>One</x-y> two</p><p>three <x-y>four</x-y></p>five", "One two\n\nthree four\n\nfive"),
    ("one <a href=x><x-y><x-z>two</x-z></x-y></a> three", "one two three"),
    ("one <x-y><div>two</div></x-y> three", "one\ntwo\nthree"),
    ("one <x-y>two", "one two"),  # parsers close it
    ("Title <x-y>one</x-y><x-y>two</x-y>", "Title\none\ntwo"),
    ("<unknown>a</unknown>b", "ab"),
    ("<Div>a</dIV>b<Span>c</sPAN>", "a\nbc"),
    ("<A>one</A><A>two</A> <A>three</A>", "one two three"),
    ("tags: <a>x</a>, <a>y</a>", "tags: x, y"),
    ("H<sub>2</sub>O, 10<sup>3</sup>", "H2O, 103"),
    ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"),
    ("<math><mi>a</mi><mo>=</mo><mn>2</mn></math>", "a=2"),
    ("<math><mi>a</mi></math>, <math>b", "a, b"),
    (
        "so <MATH alttext='E'><mi>E</mi><annotation encoding='application/x-tex'> E^2 &lt; 3 </annotation></MATH>.",
        "so E^2 < 3.",
    ),
    ("<math><mi>a</mi><annotation encoding=other>b</annotation></math>", "ab"),
    ("<math alttext='a<b'><mi>a</mi></math>", "a<b"),
    ("<math><mi>a</mi><annotation-xml encoding=x><ci>b</ci></annotation-xml></math>", "ab"),
    (f"<math>{'<mi>a</mi>' * 6_000}<annotation encoding=tex>b</annotation></math>", "b"),
    ("text <img alt=x> text", "text text"),
    ("a<!DOCTYPE html>b<?php echo 1 ?>c", "abc"),
    ("a</>b</ x>c", "abc"),
    ("a < b, c > d, <3, 2<3", "a < b, c > d, <3, 2<3"),
    ("<p title='a > b' class=\"c>d\" x=e'f>t</p>", "t"),
    ("<p title=it's>a</p> <p title=that's>b</p>", "a\n\nb"),
    ("cut <i class=x", "cut"),
    ("cut </p", "cut"),
    ("x < 5", "x < 5"),
    ("&lt;b&gt; &amp;amp; &copy;&nbsp;&#8364;&#x41;&eacute &unknown; AT&T", "<b> &amp; © €Aé &unknown; AT&T"),
    ("&#0;&#1;&#x1b;&#xD800;&#1114112;", "\ufffd\x01\x1b\ufffd\ufffd"),
    ("&#" + "9" * 5000 + ";", "\ufffd"),
    ("&#00000065;&#" + "0" * 5000 + "66;&#" + "0" * 5000 + ";&#000000000099999999;", "AB\ufffd\ufffd"),
    ("\x01a\x0eb\x12c\x16", "\x01a\x0eb\x12c\x16"),
    ("<p>\x02a</p>\x03", "\x02a\n\n\x03"),
    ("", ""),
    (" \n\t ", ""),
    ("<div><div></div></div>", ""),
]
TABLES = [
    ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>", "a | b\nc | d"),
    ("<table>\n <tr>\n  <th> A </th>\n  <th>B</th>\n </tr>\n</table>\nafter", "A | B\n\nafter"),
    ("<TABLE><TR><TD>1<TD>2<TR><TD>3<TD>4</TABLE>", "1 | 2\n3 | 4"),
    (
        "<table><caption>C</caption><thead><tr><th>A<th>B</thead><tbody><tr><td>1<td>2</tbody></table>",
        "C\nA | B\n1 | 2",
    ),
    ("<table><tr><td>a<td><td>c</table>", "a |  | c"),
    ("<table><tr><td><td>b</table>", "| b"),
    ("<table><tr><td>a<td><td></tr><tr><td>b</table>", "a\nb"),
    (
        "<table><tr><td><p>a</p></td><td>\n<p>b</p>\n</td></tr><tr><td><div>c</div></td><td><ul><li>d</li></ul></td></tr></table>",
        "a | b\nc | d",
    ),
    ("<table><tr><td>a</td><td><p>b</p><p>c</p></td></tr><tr><td>d</td></tr></table>", "a | b\n\nc\nd"),
    ("<table><tr><td>a<table><tr><td>b<td>c</table></td><td>d</table>", "a\nb | c\n\nd"),
    ("<table><tr><td>a<td></table>x", "a\n\nx"),
    (
        "<table><tr><td>a</td><td><ul><li>b</li><li>c</li></ul></td><td>d</td></tr><tr><td>e</td></tr></table>",
        "a | b\nc | d\ne",
    ),
    ("<table><tr><td>a</td><td><p></p></td><td>c</td></tr></table>", "a |  | c"),
    ("<table><tr><td><p> </p></td><td><ul></ul></td><td>c</td></tr><tr><td>d</td></tr></table>", "|  | c\nd"),
    ("<table><tr><td>a<td><div></div><td><td>d<td><p></p></tr><tr><td>e</table>", "a |  |  | d\ne"),
    ("intro<table><tr><td>a</table>", "intro\n\na"),
    ("<td>a</td><td>b</td>", "ab"),  # parsers ignore cells outside of tables
    ("<table><tr></tr></table>x", "x"),
    ("<table><tr>a<td>b</table>", "a\n\nb"),  # parsers move text between cells to the front
]
KEPT = [
    ("<pre>\n  a\n    b\n\n  c\t d  \n</pre>", "  a\n    b\n\n  c\t d"),
    ("x<pre>a\nb</pre>y", "x\n\na\nb\n\ny"),
    ("<pre><code>if <b>a</b> &lt; b:\r\n  c()</code></pre>", "if a < b:\n  c()"),
    ("<pre><div>a</div><div>b</div></pre>", "a\nb"),
    ("<pre><div>a\n</div><div>b\n</div></pre>", "a\nb"),
    ("<pre><div>a</div><div><br></div><div>  b</div></pre>", "a\n\n  b"),
    ("<pre><code><span class=line>a</span>\n<span class=line>b</span></code></pre>", "a\nb"),
    ("<pre>a<br>b</pre>", "a\nb"),
    ("<pre>a<br><br>b</pre>", "a\n\nb"),
    ("<pre>a\n b", "a\n b"),
    ("<pre>  </pre>x", "x"),
    ("<pre>a</pre><pre>b</pre>", "a\n\nb"),
    ("a</pre>b", "ab"),
    ("<pre>\x14a\n</pre>", "\x14a"),
]


def test_page_reads_as_a_person_would_type_it():
    for page, text in [*READS, *TABLES, *KEPT]:
        assert text_of(page) == text, page


def test_writing_stops_after_as_much_text_as_is_wanted():
    writer = LineWriter(lambda _node, _tag: True, longest=20)
    text = join_lines(writer.write(tree_of("<p>0123456789</p>" * 1_000).body))
    assert (text.count("0123456789"), writer.is_whole) == (3, False)


NAMES = st.sampled_from(
    ["p", "div", "b", "i", "span", "li", "ul", "td", "tr", "table", "h1", "pre", "section", "em"]
)
WORDS = st.text(alphabet="abcdefg é&;<>=\"'\n\t/-!", max_size=12)


@st.composite
def nested(draw, depth=3):
    """A well-formed page, in which every element is closed."""
    if depth == 0:
        return draw(WORDS).replace("<", "&lt;").replace(">", "&gt;")
    inside = "".join(draw(st.lists(nested(depth=depth - 1), max_size=3)))
    name = draw(NAMES)
    return f'<{name} title="x > y">{inside}</{name}>'


@settings(max_examples=50)
@given(nested())
def test_every_letter_of_a_page_is_in_its_text(page):
    page = page.replace("<table", "<div").replace("<tr", "<div").replace("<td", "<div")
    page = page.replace("</table", "</div").replace("</tr", "</div").replace("</td", "</div")
    whole = LexborHTMLParser(page).body.text()
    assert "".join(text_of(page).split()) == "".join(whole.split())


@settings(max_examples=50)
@given(st.text(max_size=300))
def test_text_has_only_characters_of_the_page(page):
    text = text_of(page)
    text.encode()  # none of those that stand for cells and kept blanks
    assert set(text) <= set(page) | set(" |\n\t\ufffd") or "&" in page
