"""Pages such as people put on the web, made up for these tests, and the text that a reader would copy from each."""

from tests.toolbox.scraping.short_pages import SHORT_LINES

NEWS = """<!DOCTYPE html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Harbour bridge opens a year early | The Quay Courier</title>
  <meta property="og:title" content="Harbour bridge opens a year early">
  <script>window.dataLayer = window.dataLayer || []; if (1 < 2) { document.write("<div>ad</div>"); }</script>
  <style>.lead { font-weight: bold } nav > a::before { content: "<" }</style>
</head>
<body class="has-cookie-bar">
  <a class="skip" href="#main" hidden>Skip to content</a>
  <div id="cookie-consent" role="dialog"><p>We use cookies to make this site work. <button>Accept all</button></p></div>
  <header>
    <a href="/"><img src="/logo.svg" alt="The Quay Courier"></a>
    <nav><ul><li><a href="/news">News</a></li><li><a href="/sport">Sport</a></li><li><a href="/tide">Tides</a></li></ul></nav>
  </header>
  <main id="main">
    <article>
      <header>
        <h1>Harbour bridge opens a year early</h1>
        <p class="byline">By <a href="/staff/ines">Ines Albrecht</a>, <time datetime="2031-05-02">2 May 2031</time></p>
      </header>
      <p class="lead">The new bridge across the old harbour carried its first
        bus on Friday, <em>twelve months</em> before the date in the contract.</p>
      <div class="share-bar" aria-hidden="true"><a href="#">Share</a> <a href="#">Send</a></div>
      <p>Engineers put the gain down to a dry winter and to
        <a href="/docs/prefab">parts that were cast on land</a>.<!-- related --> The city paid &euro;48&nbsp;million, 3&#8239;% less than planned.</p>
      <figure>
        <img src="/bridge.jpg" alt="The bridge at dawn">
        <figcaption>The bridge at dawn, seen from the fish market.</figcaption>
      </figure>
      <h2>What changes for passengers</h2>
      <ul>
        <li>Line 4 stops at <b>Quay&nbsp;East</b> every ten minutes.</li>
        <li>The ferry keeps its <i>summer</i> timetable.</li>
        <li>Bicycles cross free of charge.</li>
      </ul>
      <blockquote><p>&ldquo;I have waited for this since I was at school.&rdquo;</p></blockquote>
      <noscript><img src="/pixel.gif"></noscript>
      <aside><h3>Read more</h3><p><a href="/a">How the ferry began</a></p></aside>
      <p>The old toll house becomes a café in autumn.</p>
    </article>
  </main>
  <aside class="teasers"><h2>Most read</h2><ol><li><a href="/1">Gull steals sandwich</a></li></ol></aside>
  <footer><p>&copy; 2031 The Quay Courier. <a href="/imprint">Imprint</a></p></footer>
  <script src="/app.js"></script>
</body>
</html>
"""
NEWS_TEXT = """\
Harbour bridge opens a year early

By Ines Albrecht, 2 May 2031

The new bridge across the old harbour carried its first bus on Friday, twelve months before the date in the contract.

Engineers put the gain down to a dry winter and to parts that were cast on land. The city paid €48 million, 3\u202f% less than planned.

The bridge at dawn, seen from the fish market.

What changes for passengers

Line 4 stops at Quay East every ten minutes.
The ferry keeps its summer timetable.
Bicycles cross free of charge.

\u201cI have waited for this since I was at school.\u201d

The old toll house becomes a café in autumn."""

DOCS = """<!doctype html>
<html><head><title>copy() &#8212; toolkit 2.4 documentation</title></head>
<body>
<div class="sphinx-like">
 <div role="navigation" aria-label="related"><a href="index.html">index</a> | <a href="next.html">next</a></div>
 <div role="main">
  <section id="copy">
   <h1>copy()<a class="headerlink" href="#copy" aria-hidden="true">¶</a></h1>
   <dl><dt><code>copy(source, target, *, <em>follow</em>=True)</code></dt>
   <dd><p>Copy one file. Raises <code>FileExistsError</code> where the target <strong>is there</strong>.</p></dd></dl>
   <h2>Example</h2>
   <div class="highlight"><pre><span class="kn">from</span> <span class="nn">toolkit</span> <span class="kn">import</span> <span class="n">copy</span>

<span class="k">if</span> <span class="n">size</span> <span class="o">&lt;</span> <span class="mi">10</span><span class="p">:</span>
    <span class="n">copy</span><span class="p">(</span><span class="s1">'a.txt'</span><span class="p">,</span> <span class="s1">'b.txt'</span><span class="p">)</span>
</pre></div>
   <table><thead><tr><th>argument</th><th>default</th><th>meaning</th></tr></thead>
   <tbody><tr><td><code>follow</code></td><td>True</td><td><p>links are followed</p></td></tr>
   <tr><td><code>mode</code></td><td></td><td>as the<br>source has it</td></tr></tbody></table>
   <p>See also <a href="move.html">move()</a>.</p>
  </section>
 </div>
 <div class="sphinxsidebar" role="complementary"><h3>Contents</h3><ul><li><a href="#">copy()</a></li></ul></div>
</div>
<div class="footer" role="contentinfo">Made with a generator.</div>
</body></html>
"""
DOCS_TEXT = """\
copy()

copy(source, target, *, follow=True)

Copy one file. Raises FileExistsError where the target is there.

Example

from toolkit import copy

if size < 10:
    copy('a.txt', 'b.txt')

argument | default | meaning
follow | True | links are followed
mode |  | as the
source has it

See also move()."""

FORUM = """<html><head><title>Squeaky hinge - Workshop forum</title></head><body>
<div id="top"><div class="menu"><a href="/">Forum</a><a href="/new">New posts</a><a href="/faq">Questions</a><a href="/login">Log in</a></div></div>
<div id="wrap">
<div class="crumbs"><a href="/">Forum</a> &raquo; <a href="/home">At home</a></div>
<h1>Squeaky hinge</h1>
<div class="post" id="p1"><div class="who"><a href="/u/1">marlene</a><br>12 posts</div>
<div class="body">Our kitchen door squeaks whenever the heating is on.<br>
I have tried oil twice, and it helps for about a week each time.<br><br>
What else could I do about it?</div><div class="tools"><button>Quote</button><button>Report</button></div></div>
<div class="post" id="p2"><div class="who"><a href="/u/2">old_tom</a><br>2,041 posts</div>
<div class="body"><blockquote>I have tried oil twice</blockquote>
Oil runs out of the hinge again. Take the pin out, clean it, and rub <b>graphite</b> from a soft pencil on it.
That lasts for years.</div><div class="tools"><button>Quote</button></div></div>
<div class="post" id="p3"><div class="who"><a href="/u/1">marlene</a><br>13 posts</div>
<div class="body">Graphite did it, thank you! Not a sound for three days now, even with the heating on.</div></div>
</div>
<div id="bottom"><a href="/terms">Terms</a><a href="/privacy">Privacy</a><a href="/contact">Contact</a></div>
</body></html>
"""
FORUM_TEXT = """\
Squeaky hinge

marlene
12 posts
Our kitchen door squeaks whenever the heating is on.
I have tried oil twice, and it helps for about a week each time.
What else could I do about it?
old_tom
2,041 posts

I have tried oil twice

Oil runs out of the hinge again. Take the pin out, clean it, and rub graphite from a soft pencil on it. That lasts for years.
marlene
13 posts
Graphite did it, thank you! Not a sound for three days now, even with the heating on."""

PRODUCT = """<!DOCTYPE html><html><head><title>Kettle K2 &ndash; Hob &amp; Home</title></head><body>
<header class="site"><a href="/">Hob &amp; Home</a><form action="/search"><label for="q">Search</label><input id="q"><button>Go</button></form>
<nav><a href="/kettles">Kettles</a><a href="/pans">Pans</a></nav></header>
<main>
<h1>Kettle K2</h1>
<p class="price"><span class="currency">£</span><span>39</span>.<span>90</span></p>
<div class="gallery"><svg viewBox="0 0 1 1"><title>zoom</title><path d="M0 0"/></svg><img src="k2.jpg" alt=""></div>
<form><select><option>Red</option><option>Steel</option></select><button type="submit">Add to basket</button></form>
<p>Boils a litre in two minutes and pours without a drip.</p>
<h2>Details</h2>
<table>
<tr><th>Volume</th><td>1.2&nbsp;l</td></tr>
<tr><th>Weight</th><td>840&nbsp;g</td></tr>
<tr><th>Cable</th><td>75&nbsp;cm</td></tr>
</table>
<details><summary>Care</summary><p>Descale with vinegar once a month.</p></details>
<div style="display: none">Out of stock</div><div hidden>SKU 4711</div>
<h2>Reviews</h2>
<div class="review"><p><b>Ruth:</b> Quiet, and light enough for me.</p></div>
</main>
<footer>Prices include tax.</footer>
</body></html>
"""
PRODUCT_TEXT = """\
Kettle K2

£39.90

Boils a litre in two minutes and pours without a drip.

Details

Volume | 1.2 l
Weight | 840 g
Cable | 75 cm

Care

Descale with vinegar once a month.

Reviews

Ruth: Quiet, and light enough for me."""

TABLE = """<HTML><HEAD><TITLE>Tides, June</TITLE></HEAD><BODY BGCOLOR="#FFFFFF">
<CENTER><FONT SIZE="+2">Tides at the old quay, June</FONT></CENTER>
<TABLE BORDER=1>
<TR><TH>Day<TH>High<TH>Low
<TR><TD>1<TD>06:12<TD>12:31
<TR><TD>2<TD>07:02<TD>13:20
<TR><TD>3<TD>&nbsp;<TD>14:05
<TR><TD>4<TD>08:40<TD>14:51
</TABLE>
<P>Times are local.<BR>Add one hour at the <A HREF="lock.htm">lock</A>.
</BODY></HTML>
"""
TABLE_TEXT = """\
Tides at the old quay, June

Day | High | Low
1 | 06:12 | 12:31
2 | 07:02 | 13:20
3 |  | 14:05
4 | 08:40 | 14:51

Times are local.
Add one hour at the lock."""

LINKS = """<!doctype html><title>Useful links</title><body><h1>Useful links</h1>
<ul><li><a href="https://a.example">Town library</a></li><li><a href="https://b.example">Bus times</a></li>
<li><a href="https://c.example">Swimming pool</a></li></ul>
<h2>Clubs</h2><p><a href="https://d.example">Rowing</a><a href="https://e.example">Chess</a> <a href="https://f.example">Choir</a></p>
"""
LINKS_TEXT = """\
Useful links

Town library
Bus times
Swimming pool

Clubs

Rowing Chess Choir"""

CORPUS = {
    "news": (NEWS, "Harbour bridge opens a year early | The Quay Courier", NEWS_TEXT),
    "docs": (DOCS, "copy() — toolkit 2.4 documentation", DOCS_TEXT),
    "forum": (FORUM, "Squeaky hinge - Workshop forum", FORUM_TEXT),
    "product": (PRODUCT, "Kettle K2 \u2013 Hob & Home", PRODUCT_TEXT),
    "table": (TABLE, "Tides, June", TABLE_TEXT),
    "links": (LINKS, "Useful links", LINKS_TEXT),
    **SHORT_LINES,
}
