"""Measures exporting tools and decoding calls per provider format, compared with fixed microseconds.

Decoding is compared with `json.loads` of the message: a text may take 2 µs longer, and objects, which are
parsed already, at most that time in all.
"""

import json
from typing import Any

from benchmarks import workloads
from benchmarks.measure import Case, Figure, measure, measure_fixed, measure_over
from toolhaft import Tool, ToolCall, tool
from toolhaft.formats import FORMATS, decode_calls, encode_calls, export_tools

_FIRST_US = 60.0
_READY_US = 0.3
_DECODE_US = 2.0
_MANY = 1000


def run() -> list[Figure]:
    """All figures of this group."""
    return [figure for measured in (_first, _ready, _decode) for name in FORMATS for figure in measured(name)]


def _medium() -> Tool[Any, Any]:
    made = tool(workloads.search)
    made.validate  # noqa: B018 -- a function is compiled by its first use, which is no part of an export
    return made


def _first(name: str) -> list[Figure]:
    """The first export of the medium tool."""
    made = _medium()

    def export() -> bytes:
        made.export_cache.clear()  # left by an earlier round
        return export_tools([made], name).json_bytes

    return [measure_fixed(f"first_{name}", export, _FIRST_US)]


def _ready(name: str) -> list[Figure]:
    """The JSON bytes of a thousand tools that were exported before, per tool."""
    medium = _medium()
    tools = [medium.replace(name=f"search_{number}") for number in range(_MANY)]
    figure = measure_fixed(f"ready_{name}", lambda: export_tools(tools, name).json_bytes, _READY_US * _MANY)
    return [Figure(figure.case, figure.us / _MANY, _READY_US, figure.ratio, figure.target)]


def _decode(name: str) -> list[Figure]:
    """One medium call, from the text of a message and from the objects in it."""
    made = _medium()
    export = export_tools([made], name)
    # an id that every provider accepts
    call = ToolCall("a1b2c3d4e", made.name, json.loads(workloads.MEDIUM))
    messages = encode_calls([call], name, export=export)
    message: object = messages[0] if len(messages) == 1 else list(messages)
    text = json.dumps(message)

    def parse() -> object:
        return json.loads(text)

    def from_text() -> list[ToolCall]:
        return decode_calls(text, name, export=export)

    def from_objects() -> list[ToolCall]:
        return decode_calls(message, name, export=export)

    from_parsed = Case(f"decode_objects_{name}", from_objects, parse, 1.0)
    return [measure_over(f"decode_text_{name}", from_text, parse, _DECODE_US), *measure([from_parsed])]
