"""Pages made to hang, crash or fill a reader are read or refused within seconds and little memory."""

import subprocess
import sys

import pytest

# Each in a process of its own: a crash of the library would take the tests along.
SCRIPT = """
import sys, time
from toolhaft.errors import ToolExecutionError
from toolhaft.toolbox.scraping.readable import read_page
from toolhaft.toolbox.scraping.selecting import select
from toolhaft.toolbox.scraping.selector_reader import read_selector
from toolhaft.toolbox.scraping.source import Source
from toolhaft.toolbox.scraping.titles import title_of

body = eval(sys.argv[1])
assert 900_000 < len(body) < 1_200_000, len(body)
started = time.process_time()
read_page(Source(body), longest=100_000)
title_of(Source(body))
try:
    select(body, read_selector(sys.argv[2]), longest=100_000)
except ToolExecutionError:
    pass
took = time.process_time() - started
# not what getrusage says: that counts the process which started this one too
used_mb = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) // 1024
assert took < 2, f"{took:.1f} s"
assert used_mb < 256, f"{used_mb} MB"
"""
WORST = "x div div div p:has(~ b):nth-child(2n+1), :has(:has(:has(x))), p ~ p ~ p ~ x, *:not(div *)"
PAGES = {
    "nested divs": 'b"<div>" * 200_000',
    "nested divs with ends": 'b"<div>" * 90_000 + b"x" + b"</div>" * 90_000',
    "nested lists": 'b"<ul><li>" * 125_000',
    "nested tables": 'b"<table><tr><td>" * 66_000',
    "nested spans": 'b"<span>x" * 140_000',
    "misnested": 'b"<x><div></x></div>" * 55_000',
    "a million attributes": 'b"<p " + b" ".join(b"%d" % n for n in range(145_000)) + b">x"',
    "attributes in quotes": 'b"<p " + b" ".join(b"%d=\'>\'" % n for n in range(92_000)) + b">x"',
    "open formatting": 'b"<p>" + b"".join(b"<b a=%d>" % n for n in range(5_000)) + b"</p>" + b"<p>x" * 240_000',
    "open links": 'b"<a><b>" * 160_000',
    "unclosed tags": 'b"<a " * 340_000',
    "unclosed quotes": 'b"<a b=\\"" * 160_000',
    "unclosed comments": 'b"<!--" * 250_000',
    "many comments": 'b"<!---->" * 140_000',
    "comments that end oddly": 'b"<!--x--!>" * 110_000',
    "unclosed metas": 'b"<body>" + b"<meta " * 170_000 + b">"',
    "unclosed titles": 'b"<body>" + b"<title " * 150_000 + b">"',
    "unclosed annotations": '(b"<math>" + b"<annotation " * 4_100 + b"</math>") * 20',
    "roles in tags": '(b"<p " + b"role=x " * 280 + b"a " * 4_000 + b">") * 100',
    "many banners": '(b"<p><div class=cookie-bar>" * 4000 + b"<div></div>" * 5900 + b"x" * 20_001 + b"</div>" * 4000) * 5',
    "many scripts": 'b"<script></SCRIPT>" * 60_000',
    "unclosed scripts": 'b"<script>" * 125_000',
    "one huge text": 'b"x" * 1_000_000',
    "entities": 'b"&a" * 500_000',
    "endless entity": 'b"&#" + b"9" * 1_000_000',
    "hidden elements before much text": "(b'<br>' * 20_000 + b'<li hidden></li><li role=menu></li>' * 6_000"
    " + '<p>\\U0001f600'.encode() + b' ' * 700_000)",
    "hidden elements": 'b"<p hidden>x" * 90_000',
    "hidden rows": 'b"<tr hidden><td>" * 66_000',
    "hidden parts without an end": 'b"<li hidden><div>" * 60_000',
    "hidden words": 'b"hidden " * 140_000',
    "stray ends": 'b"</p>" * 250_000',
    "many siblings": 'b"<p>" * 330_000',
    "many names": 'b"".join(b"<x%d>" % n for n in range(120_000))',
    "cells": 'b"<td>" * 250_000',
    "headings": 'b"<h1>" * 250_000',
    "pieces to keep": 'b"<pre>x" * 170_000',
    "controls": 'b"\\x01\\x0e\\x12" * 333_000',
    "foreign": 'b"<svg><g>" * 125_000',
    "templates": 'b"<template>" * 100_000',
    "values around comments": 'b"<p a=\\"> <!-- -->\\" b=\\"<script>\\">" * 32_000',
    "open values before comments": 'b"<p a=\\"><!-- --> x=" * 56_000',
    "quotes before comments": 'b"=  \\"<!---->" * 91_000',
    "formulas": 'b"<math></math>" * 77_000',
    "open formulas": 'b"<math>" * 166_000',
    "annotations": 'b"<math><annotation encoding=tex>x</annotation></math>" * 19_000',
    "elements of its own": 'b"a <x-y>" * 130_000',
    "buttons in headings": 'b"<h1><button><svg>" * 58_000',
    "questions": 'b"<dt><button>x</button>" * 45_000',
    "unclosed questions": 'b"<p><button aria-expanded=" * 40_000',
    "notes": 'b"<aside>x</aside>" * 62_000',
    "quotations": 'b"<blockquote><footer>" * 50_000',
    "empty cells": 'b"<td><p></p></td>" * 62_000',
    "unspoken": 'b"<div aria-hidden=true><h1></h1></div>" * 27_000',
    "nested unspoken": 'b"<div aria-hidden=true>" * 30_000 + b"<h1>x</h1>" + b"</div>" * 60_000',
}


@pytest.mark.parametrize("name", PAGES)
def test_hostile_page_is_read_in_bounded_time_and_memory(name):
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, PAGES[name], WORST],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
