"""Measures how long a worker takes for a 1 MB page, compared with the HTML library's own parse and text.

Fetching the page and sending it to the worker is not included.
"""

import random
from collections.abc import Callable
from functools import partial

from selectolax.lexbor import LexborHTMLParser

from benchmarks.measure import Case
from toolhaft.toolbox.scraping.config import ScraperConfig
from toolhaft.toolbox.scraping.page_reader import PageRequest, read_page
from toolhaft.toolbox.text_encoding import page_to_utf8
from toolhaft.toolbox.untrusted_text import show_untrusted

_SIZE = 1_000_000
_TARGET = 40.0
"""Not a promise: it shows when reading becomes much slower."""
_WORDS = (
    "tide",
    "harbour",
    "bridge",
    "winter",
    "engine",
    "paper",
    "garden",
    "kettle",
    "window",
    "letter",
    "stone",
)
_MENU = "".join(
    f'<li class="menu__item"><a href="/topic/{number}">Topic {number}</a></li>\n' for number in range(60)
)


def cases() -> list[Case]:
    """One case per kind of page."""
    return [_case(name, make()) for name, make in _KINDS.items()]


def _case(name: str, body: bytes) -> Case:
    assert abs(len(body) - _SIZE) < _SIZE // 50, len(body)
    text, title = _extract(body)
    whole = LexborHTMLParser(body).text()
    assert title
    assert set(text.replace("|", " ").split()[:-1]) <= set(whole.split())  # the last word may be cut
    return Case(f"page_{name}", partial(_extract, body), partial(_by_library, body), _TARGET)


def _extract(body: bytes) -> tuple[str, str]:
    longest = ScraperConfig().max_chars
    page = page_to_utf8(body, "text/html; charset=utf-8").body
    found = read_page(
        PageRequest(
            body=page,
            url="https://a.example/",
            is_xhtml=False,
            selector=None,
            extractor="readable",
            longest=longest,
        )
    )
    return show_untrusted(found.text, longest=longest).text, show_untrusted(found.title, longest=300).text


def _by_library(body: bytes) -> str:
    found = LexborHTMLParser(body).body
    return "" if found is None else found.text()


def _page(content: Callable[[random.Random, int], str], head: str = "") -> bytes:
    """A page of that size around a content that is made piece by piece."""
    chance = random.Random(1)
    start = f"<!DOCTYPE html><html><head><meta charset=utf-8><title>A page</title>{head}</head><body>"
    start += f"<header><nav><ul>{_MENU}</ul></nav></header>\n"
    pieces, size, number = [start], len(start.encode()), 0
    while size < _SIZE:
        number += 1
        pieces.append(content(chance, number))
        size += len(pieces[-1].encode())
    return "".join((*pieces, "<footer><p>The end of a page</p></footer></body></html>")).encode()


def _say(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(_WORDS, k=count))


def _prose(chance: random.Random, number: int) -> str:
    say = partial(_say, chance)
    match number % 5:
        case 0:
            items = "".join(f'  <li><a href="/x/{item}">{say(3)}</a> {say(6)}</li>\n' for item in range(6))
            return f'<ul class="list">\n{items}</ul>\n'
        case 1:
            return f'<h2 id="s{number}"><span class="headline">{say(4)}</span></h2>\n'
        case 2:
            cells = "".join(f'<td class="cell">{say(2)}</td>' for _ in range(5))
            return f'<table class="data"><tbody>\n{f"<tr>{cells}</tr>" * 6}\n</tbody></table>\n'
        case _:
            link = f'<a href="/wiki/{number}" title="{say(2)}">{say(2)}</a>'
            return (
                f'<p class="text">{say(30)} {link} {say(25)} <b>{say(1)}</b> {say(10)} &amp; {say(8)}</p>\n'
            )


def _markup(chance: random.Random, number: int) -> str:
    return (
        f'<div class="grid__item col-{number % 12}" data-id="{number}"><div class="card card--hover">'
        f'<a class="card__link" href="/products/{number}?ref=grid&amp;pos={number}"><div class="card__media">'
        f'<img class="card__image lazy" src="/img/{number}.jpg" srcset="/img/{number}.png 2x" alt=""></div>'
        f'<div class="card__body"><span class="card__title">{_say(chance, 3)}</span></div></a>'
        '<button type="button" class="btn"><svg class="icon" aria-hidden="true" viewBox="0 0 24 24">'
        '<path d="M12 2L2 7l10 5 10-5-10-5z"></path></svg></button></div></div>\n'
    )


def _scripts(chance: random.Random, number: int) -> str:
    if number % 2:
        return f"<p>{_say(chance, 70)}</p>\n"
    return f"<script>{'(function(a){for(var i=0;i<a;i++){b.push(i&&a)}})(9);' * 350}</script>\n"


def _letters(chance: random.Random, number: int) -> str:
    text = "".join(chr(ord(letter) + 0x3CF) if letter.isalpha() else letter for letter in _say(chance, 60))
    return f'<div class="entry" id="e{number}"><p>{text}</p></div>\n'


_KINDS = {
    "prose": partial(_page, _prose),
    "markup": partial(_page, _markup),
    "scripts": partial(_page, _scripts),
    "letters": partial(_page, _letters),
}
