"""Pages of short lines between links, without a main part, and the text that a person would copy from them."""

LONG = (
    "The workshop stands behind the old fish market, where the tram turns, and its door is the one that was "
    "painted green again last spring. "
)
SHOWN = LONG.strip()

CONTACT = f"""<html><head><title>Contact</title></head><body>
<div class="top"><h1>Contact us</h1></div>
<div class="address"><div>Quay Workshop</div><div>1 Harbour Street</div><div>Tel. 020 7946 0000</div></div>
<div><a href="mailto:us@quay.example">us@quay.example</a></div><div><a href="/map">Show on map</a></div>
<div><a href="/news">News</a></div><div><a href="/friends">Friends</a></div>
<h2>How to find us</h2><p>{LONG}</p><p>{LONG}</p></body></html>
"""
CONTACT_TEXT = f"""\
Contact us

Quay Workshop
1 Harbour Street
Tel. 020 7946 0000
us@quay.example
Show on map
News
Friends

How to find us

{SHOWN}

{SHOWN}"""

RECIPE = f"""<html><head><title>Tomato soup</title></head><body><div id="content"><h1>Tomato soup</h1>
<p>Serves 4</p><p>20 minutes</p>
<p><a href="#print">Print</a></p><p><a href="#save">Save</a></p><p><a href="#rate">Rate this recipe</a></p>
<h2>Ingredients</h2>
<ul><li>2 onions<li>1 kg tomatoes<li>500 ml <a href="/stock">vegetable stock</a><li>1 <a href="/bay">bay leaf</a><li>salt</ul>
<p><a href="/shop">Buy the ingredients</a></p>
<h2>Method</h2><p>{LONG}</p><p>{LONG}</p><p><a href="#print">Print this recipe</a></p>
<h2>Nutrition</h2><ul><li>120 kcal<li>3 g fat</ul></div></body></html>
"""
RECIPE_TEXT = f"""\
Tomato soup

Serves 4

20 minutes

Print

Save

Rate this recipe

Ingredients

2 onions
1 kg tomatoes
500 ml vegetable stock
1 bay leaf
salt

Buy the ingredients

Method

{SHOWN}

{SHOWN}

Print this recipe

Nutrition

120 kcal
3 g fat"""

WIKI = f"""<html><head><title>Green door - Wiki</title></head><body><div id="content"><h1>Green door</h1><p>{LONG}</p>
<h2>History<span>[<a href="/e1">edit</a>]</span></h2><p>Built in 1901.</p><p>Closed in 1950.</p>
<h2>See also<span>[<a href="/e2">edit</a>]</span></h2><ul><li><a href="/1">Door</a></li><li><a href="/2">Green</a></li></ul>
<h2>Notes<span>[<a href="/e3">edit</a>]</span></h2><p>It had 3 hinges.</p></div></body></html>
"""
WIKI_TEXT = f"""\
Green door

{SHOWN}

History[edit]

Built in 1901.

Closed in 1950.

See also[edit]

Door
Green

Notes[edit]

It had 3 hinges."""

SHORT_LINES = {
    "contact": (CONTACT, "Contact", CONTACT_TEXT),
    "recipe": (RECIPE, "Tomato soup", RECIPE_TEXT),
    "wiki": (WIKI, "Green door - Wiki", WIKI_TEXT),
}
