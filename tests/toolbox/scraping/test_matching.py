"""Elements are found as CSS defines it: held against the definition itself, tried on every element of small pages."""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from toolhaft.toolbox.scraping.matching import Elements
from toolhaft.toolbox.scraping.selector_reader import MOST_PARTS, read_selector
from toolhaft.toolbox.scraping.selectors import Among, Has

PAGE = """<!doctype html><title>t</title><body>
<main id=m><h1>H</h1><p class="a">1<p class="a b">2<b>bold <i>both</i></b><p>3<a href=x>l</a></main>
<ul><li>1<li class=a>2<li>3<ul><li>4</ul></ul><table><tr><td>1<td>2<tr><td>3</table>
<!-- c --><div></div><input checked disabled required><x-y data-z="Q">c</x-y>"""

FOUND = [
    ("p", ["1", "2bold both", "3l"]),
    ("p.a", ["1", "2bold both"]),
    ("p.a.b", ["2bold both"]),
    (".a:not(p)", ["2"]),
    ("#m > p", ["1", "2bold both", "3l"]),
    ("main b i", ["both"]),
    ("main > i", []),
    ("h1 + p", ["1"]),
    ("h1 ~ p", ["1", "2bold both", "3l"]),
    ("p:has(a)", ["3l"]),
    ("p:has(> i)", []),
    ("p:has(+ p)", ["1", "2bold both"]),
    ("p:has(~ p a)", ["1", "2bold both"]),
    ("main:has(h1 + p > b) a", []),
    ("main:has(h1 + p + p > b) a", ["l"]),
    ("ul > li", ["1", "2", "34"]),
    ("li", ["1", "2", "34"]),
    ("li li", ["4"]),
    ("li:nth-child(2)", ["2"]),
    ("li:last-child", ["34"]),
    ("ul ul li:only-child", ["4"]),
    ("p:nth-of-type(odd)", ["1", "3l"]),
    ("p:nth-child(2)", ["1"]),
    ("p:nth-last-child(-n+2)", ["2bold both", "3l"]),
    (":nth-child(2 of .a)", ["2bold both"]),
    ("table > tbody > tr:first-child > td:nth-child(2)", ["2"]),
    ("td, b", ["bold both", "1", "2", "3"]),
    ("b, i, b", ["bold both"]),
    ("[data-z]", ["c"]),
    ("[data-z=q]", []),
    ("[data-z=q i]", ["c"]),
    ("[href^=x], :link", ["l"]),
    ("div:empty", [""]),
    ("input:checked:disabled:required", []),
    ("input:disabled:required", [""]),
    ("title", ["t"]),
    ("nav", []),
    ("X-Y", ["c"]),
]


@pytest.mark.parametrize(("selector", "texts"), FOUND)
def test_elements_are_found_in_order_and_none_inside_another(selector, texts):
    found = Elements(PAGE.encode()).find(read_selector(selector))
    assert [element.text().replace("\n", "") for element in found] == texts


def test_root_and_everything():
    elements = Elements(PAGE.encode())
    assert [element.tag for element in elements.find(read_selector(":root"))] == ["html"]
    assert [element.tag for element in elements.find(read_selector("*"))] == ["html"]


def test_empty_page_has_nothing():
    assert Elements(b"").find(read_selector("p")) == []


# --- the definition ---------------------------------------------------------------------------------------


class Node:
    """An element of a page as the definition sees it."""

    def __init__(self, page, element):
        self.page, self.element = page, element

    @property
    def parent(self):
        above = self.element.parent
        return None if above is None or above.tag == "-document" else Node(self.page, above)

    def siblings(self):
        first = self.element
        while first.prev is not None:
            first = first.prev
        found = []
        while first is not None:
            if first.is_element_node:
                found.append(Node(self.page, first))
            first = first.next
        return found

    def reached_from(self, way):
        """The elements from which this one is reached in a way."""
        if way in (" ", ">"):
            above, found = self.parent, []
            while above is not None:
                found.append(above)
                above = above.parent
            return found if way == " " else found[:1]
        before = []
        for sibling in self.siblings():
            if sibling.element.mem_id == self.element.mem_id:
                break
            before.append(sibling)
        return before if way == "~" else before[-1:]


def fits(node, compound, simple_of):
    if node.element.mem_id not in simple_of(compound.simple):
        return False
    return all(holds(node, check, simple_of) for check in compound.checks)


def holds(node, check, simple_of):
    if isinstance(check, Among):
        return check.is_negated is not any(matches(node, one.steps, simple_of) for one in check.selectors)
    if isinstance(check, Has):
        everyone = [Node(node.page, element) for element in node.page.css("*")]
        return any(
            anchored(node, other, one.steps, simple_of) for one in check.selectors for other in everyone
        )
    kin = node.siblings()
    if check.is_of_type:
        kin = [sibling for sibling in kin if sibling.element.tag == node.element.tag]
    if check.among:
        kin = [
            sibling for sibling in kin if any(matches(sibling, one.steps, simple_of) for one in check.among)
        ]
    if check.is_from_end:
        kin.reverse()
    for place, sibling in enumerate(kin, 1):
        if sibling.element.mem_id == node.element.mem_id:
            return any(check.step * n + check.offset == place for n in range(200))
    return False


def matches(node, steps, simple_of):
    (way, compound), before = steps[-1], steps[:-1]
    if not fits(node, compound, simple_of):
        return False
    return not before or any(matches(other, before, simple_of) for other in node.reached_from(way))


def anchored(anchor, node, steps, simple_of):
    (way, compound), before = steps[-1], steps[:-1]
    if not fits(node, compound, simple_of):
        return False
    sources = node.reached_from(way)
    if not before:
        return any(source.element.mem_id == anchor.element.mem_id for source in sources)
    return any(anchored(anchor, source, before, simple_of) for source in sources)


def by_definition(body, selectors):
    page = LexborHTMLParser(body)
    known = {}

    def simple_of(simple):
        if simple not in known:
            known[simple] = {element.mem_id for element in page.css(simple or "*")}
        return known[simple]

    everyone = page.css("*")
    return [
        number
        for number, element in enumerate(everyone)
        if any(matches(Node(page, element), one.steps, simple_of) for one in selectors)
    ]


TREES = st.recursive(
    st.just(""),
    lambda inner: st.builds(
        lambda name, kind, inside: f"<{name}{kind}>{''.join(inside)}</{name}>",
        st.sampled_from(["div", "section", "i", "u"]),
        st.sampled_from(["", "", " class=x", " class=y", ' class="x y"', " id=k"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=12,
)


@st.composite
def compounds(draw, depth):
    text = draw(st.sampled_from(["div", "section", "i", "*", ""])) + draw(
        st.sampled_from(["", "", ".x", ".y", "#k"])
    )
    kinds = ["", "", "nth"] + (["not", "is", "has"] if depth else [])
    match draw(st.sampled_from(kinds)):
        case "nth":
            places = [
                "nth-child(2n+1)",
                "nth-last-child(-n+2)",
                "nth-of-type(2)",
                "nth-last-of-type(3n)",
                "first-child",
            ]
            text += (
                f":{draw(st.sampled_from([*places, 'only-child', 'nth-child(2 of .x, i)', 'last-of-type']))}"
            )
        case "has":
            text += f":has({draw(st.sampled_from(['', '> ', '+ ', '~ ']))}{draw(lists(depth - 1))})"
        case "not" | "is" as name:
            text += f":{name}({draw(lists(depth - 1))})"
    return text or "*"


@st.composite
def lists(draw, depth=1):
    def one():
        parts = draw(st.lists(compounds(depth), min_size=1, max_size=3))
        ways = [draw(st.sampled_from([" ", " > ", " + ", " ~ "])) for _ in parts[1:]]
        return parts[0] + "".join(way + part for way, part in zip(ways, parts[1:], strict=True))

    return ", ".join(one() for _ in range(draw(st.integers(1, 2))))


def numbers(body, selectors):
    """The numbers of all elements that are matched, those inside others too."""
    return [number for number, is_in in enumerate(Elements(body)._any(selectors)) if is_in]  # noqa: SLF001 -- `find` leaves some out


@settings(deadline=None, max_examples=250)
@given(TREES, lists())
def test_matching_agrees_with_the_definition(tree, selector):
    body = f"<!doctype html><body>{tree}</body>".encode()
    assume(len(re.findall(r"[\w*]+|[.#:]", selector)) <= MOST_PARTS)
    selectors = read_selector(selector)
    assert numbers(body, selectors) == by_definition(body, selectors)


SIMPLE = ["div", "i", ".x", "#k", "div.y", "*", "[class]", "section > i", "div i", "i + i", "i ~ u", "i, .x"]


@settings(deadline=None)
@given(TREES, st.sampled_from(SIMPLE))
def test_matching_agrees_with_the_library_on_simple_selectors(tree, selector):
    body = f"<!doctype html><body>{tree}</body>".encode()
    page = LexborHTMLParser(body)
    theirs = {element.mem_id for element in page.css(selector)}
    expected = [number for number, element in enumerate(page.css("*")) if element.mem_id in theirs]
    assert numbers(body, read_selector(selector)) == expected
