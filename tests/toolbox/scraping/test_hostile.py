"""Pages made to hang, crash or fill a parser are answered, or end their worker process and nothing else."""

from contextlib import suppress

import pytest

from tests.toolbox.scraping.kit import page_request
from toolhaft.core.context import ToolContext
from toolhaft.errors import ToolExecutionError, ToolTimeoutError
from toolhaft.toolbox.scraping.parse_worker import ParseWorkers
from toolhaft.toolbox.scraping.selectors import check_selector

pytestmark = pytest.mark.external

WORST = "x div div div p:has(~ b):nth-child(2n+1), :has(:has(:has(x))), p ~ p ~ p ~ x, *:not(div *)"
PAGES = {
    "nested divs": lambda: b"<div>" * 200_000,
    "nested divs with ends": lambda: b"<div>" * 90_000 + b"x" + b"</div>" * 90_000,
    "nested lists": lambda: b"<ul><li>" * 125_000,
    "nested tables": lambda: b"<table><tr><td>" * 66_000,
    "nested spans": lambda: b"<span>x" * 140_000,
    "misnested": lambda: b"<x><div></x></div>" * 55_000,
    "a million attributes": lambda: b"<p " + b" ".join(b"%d" % n for n in range(145_000)) + b">x",
    "attributes in quotes": lambda: b"<p " + b" ".join(b"%d='>'" % n for n in range(92_000)) + b">x",
    "open formatting": lambda: (
        b"<p>" + b"".join(b"<b a=%d>" % n for n in range(5_000)) + b"</p>" + b"<p>x" * 240_000
    ),
    "open links": lambda: b"<a><b>" * 160_000,
    "unclosed tags": lambda: b"<a " * 340_000,
    "unclosed quotes": lambda: b'<a b="' * 160_000,
    "unclosed comments": lambda: b"<!--" * 250_000,
    "many comments": lambda: b"<!---->" * 140_000,
    "comments that end oddly": lambda: b"<!--x--!>" * 110_000,
    "unclosed metas": lambda: b"<body>" + b"<meta " * 170_000 + b">",
    "unclosed titles": lambda: b"<body>" + b"<title " * 150_000 + b">",
    "unclosed annotations": lambda: (b"<math>" + b"<annotation " * 4_100 + b"</math>") * 20,
    "roles in tags": lambda: (b"<p " + b"role=x " * 280 + b"a " * 4_000 + b">") * 100,
    "many banners": lambda: (
        (b"<p><div class=cookie-bar>" * 4000 + b"<div></div>" * 5900 + b"x" * 20_001 + b"</div>" * 4000) * 5
    ),
    "many scripts": lambda: b"<script></SCRIPT>" * 60_000,
    "unclosed scripts": lambda: b"<script>" * 125_000,
    "one huge text": lambda: b"x" * 1_000_000,
    "entities": lambda: b"&a" * 500_000,
    "endless entity": lambda: b"&#" + b"9" * 1_000_000,
    "hidden elements before much text": lambda: (
        b"<br>" * 20_000
        + b"<li hidden></li><li role=menu></li>" * 6_000
        + "<p>\U0001f600".encode()
        + b" " * 700_000
    ),
    "hidden elements": lambda: b"<p hidden>x" * 90_000,
    "hidden rows": lambda: b"<tr hidden><td>" * 66_000,
    "hidden parts without an end": lambda: b"<li hidden><div>" * 60_000,
    "hidden words": lambda: b"hidden " * 140_000,
    "stray ends": lambda: b"</p>" * 250_000,
    "many siblings": lambda: b"<p>" * 330_000,
    "many names": lambda: b"".join(b"<x%d>" % n for n in range(120_000)),
    "cells": lambda: b"<td>" * 250_000,
    "headings": lambda: b"<h1>" * 250_000,
    "pieces to keep": lambda: b"<pre>x" * 170_000,
    "controls": lambda: b"\x01\x0e\x12" * 333_000,
    "foreign": lambda: b"<svg><g>" * 125_000,
    "templates": lambda: b"<template>" * 100_000,
    "values around comments": lambda: b'<p a="> <!-- -->" b="<script>">' * 32_000,
    "open values before comments": lambda: b'<p a="><!-- --> x=' * 56_000,
    "quotes before comments": lambda: b'=  "<!---->' * 91_000,
    "formulas": lambda: b"<math></math>" * 77_000,
    "open formulas": lambda: b"<math>" * 166_000,
    "annotations": lambda: b"<math><annotation encoding=tex>x</annotation></math>" * 19_000,
    "elements of its own": lambda: b"a <x-y>" * 130_000,
    "buttons in headings": lambda: b"<h1><button><svg>" * 58_000,
    "questions": lambda: b"<dt><button>x</button>" * 45_000,
    "unclosed questions": lambda: b"<p><button aria-expanded=" * 40_000,
    "notes": lambda: b"<aside>x</aside>" * 62_000,
    "quotations": lambda: b"<blockquote><footer>" * 50_000,
    "empty cells": lambda: b"<td><p></p></td>" * 62_000,
    "unspoken": lambda: b"<div aria-hidden=true><h1></h1></div>" * 27_000,
    "nested unspoken": lambda: b"<div aria-hidden=true>" * 30_000 + b"<h1>x</h1>" + b"</div>" * 60_000,
}
WHOLE = {"nested divs", "a million attributes", "open formatting"}
"""Pages that are read at their full size; for the others, a part is as hostile."""
PART = 400_000
TOO_LARGE = {"open formatting"}
"""Pages that take more memory than a worker has."""
REFUSED = ("the page could not be read", "selector matches")


@pytest.fixture(scope="module")
def workers():
    workers = ParseWorkers(timeout_s=60.0)
    yield workers
    workers.close()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_hostile_page_is_read(name, workers):
    body = PAGES[name]()
    assert 900_000 < len(body) < 1_200_000
    request = page_request(body if name in WHOLE else body[:PART])
    if name in TOO_LARGE:
        with pytest.raises(ToolExecutionError, match="takes more than 1,024 MB of memory"):
            workers.read(request, ToolContext())
    else:
        assert len(workers.read(request, ToolContext()).text) <= request.longest + 1
    assert workers.pool.killed == 0


def test_worst_selector_on_any_hostile_page_is_answered_or_given_up():
    hasty = ParseWorkers(timeout_s=60.0)
    selector = check_selector(WORST)
    refusals = []
    try:
        assert hasty.read(page_request(b"<p>text"), ToolContext()).text == "text"  # starts a worker
        hasty.timeout_s = 0.5
        for page in PAGES.values():
            with suppress(ToolTimeoutError):  # no worker came up in so short a time
                refusals += _refusal(hasty, page_request(page()[: PART // 4], selector=selector))
        hasty.timeout_s = 60.0
        assert hasty.read(page_request(b"<p>text"), ToolContext()).text == "text"
        assert all(refusal.startswith(REFUSED) for refusal in refusals)
        assert hasty.pool.killed == sum("within 0.5 s" in refusal for refusal in refusals) > 0
    finally:
        hasty.close()


def _refusal(workers, request):
    try:
        workers.read(request, ToolContext())
    except ToolExecutionError as error:
        return [str(error)]
    return []
