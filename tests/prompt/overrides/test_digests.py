"""A digest depends on the content only: not on the process, the order of keys or a memory address."""

import datetime as dt
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from tests.cases import each_case
from tests.prompt.overrides.kit import BY_PATH, DETAILS, LONG, Found, Query, add, search
from toolhaft import Tool
from toolhaft.prompt.overrides import section_digest, tool_digest


def raw(**parts):
    given = {"name": "t", "description": "Does.", "input_schema": {"type": "object"}, **parts}
    return Tool(**given)


def shown(output):
    return tool_digest(raw(examples=[{"input": {}, "output": output}]))


def test_a_digest_is_sixteen_hexadecimal_digits():
    for digest in (DETAILS, tool_digest(search), tool_digest(add)):
        assert len(digest) == 16
        assert set(digest) <= set("0123456789abcdef")


def test_digests_stay_what_they_were_when_files_were_written():
    """A change here makes every stored override stale: it needs a line in the changelog."""
    assert DETAILS == "a1a0c2aa0594d08a"
    assert tool_digest(raw()) == "d985d71f109a5527"


@pytest.mark.parametrize(
    "change", [{"template": "Other."}, {"template": None}, {"summary": "Other."}, {"summary": None}]
)
def test_a_section_with_another_text_has_another_digest(change):
    assert section_digest(replace(BY_PATH["guidance.details"], **change)) != DETAILS


def test_swapping_text_and_summary_changes_the_digest():
    node = BY_PATH["guidance.details"]
    swapped = replace(node, template=node.summary, summary=node.template)
    assert section_digest(swapped) != DETAILS


def test_a_section_keeps_its_digest_whatever_else_changes():
    node = BY_PATH["guidance.details"]
    assert section_digest(replace(node, path=("x",), tools=(), children=(), params_type=None)) == DETAILS


@each_case(
    "change",
    [
        {"name": "u"},
        {"description": "Does more."},
        {"input_schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
        {"output_schema": {"type": "string"}},
        {"examples": [{"input": {}}]},
        {"examples": [{"input": {}, "description": "One"}]},
        {"examples": [{"input": {}, "output": 1}]},
    ],
)
def test_a_tool_with_another_contract_has_another_digest(change):
    assert tool_digest(raw(**change)) != tool_digest(raw())


def test_a_parameter_with_another_description_makes_another_digest():
    one, other = (
        raw(input_schema={"type": "object", "properties": {"a": {"type": "string", "description": said}}})
        for said in ("x", "y")
    )
    assert tool_digest(one) != tool_digest(other)


@pytest.mark.parametrize("change", [{"timeout_s": 1}, {"effect": "read"}, {"title": "T"}, {"tags": ["a"]}])
def test_the_handler_and_policy_do_not_change_the_digest(change):
    assert tool_digest(raw(**change)) == tool_digest(raw())


@settings(max_examples=1_000 if LONG else 30)
@given(
    st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4) | st.booleans(), max_size=5),
    st.randoms(use_true_random=False),
)
def test_a_digest_does_not_depend_on_the_order_of_keys(members, random):
    keys = list(members)
    random.shuffle(keys)
    assert shown({key: members[key] for key in keys}) == shown(members)


@pytest.mark.external
def test_a_digest_is_the_same_in_every_process(tmp_path):
    code = (
        "from dataclasses import dataclass\n"
        "from toolhaft import Tool\n"
        "from toolhaft.prompt.overrides import tool_digest\n"
        "@dataclass\n"
        "class Words:\n"
        "    words: set\n"
        "tool = Tool(name='t', description='Does.', examples=[\n"
        "    {'input': {}, 'output': Words({'one', 'two', 'three', 'four', 'five'})}])\n"
        "print(tool_digest(tool))\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1


class Colour(Enum):
    RED = "red"
    MIXED = frozenset(("red", "blue", "green", "white"))


@dataclass
class Kept:
    found: Found
    colours: frozenset[str]


class Model(BaseModel):
    names: set[str]
    on: dt.date


class Plain:
    pass


def test_examples_are_digested_by_their_json():
    assert shown(Found(titles=["a"])) == shown({"titles": ["a"]})
    assert shown(Kept(Found(titles=[]), frozenset("ba"))) == shown(
        {"found": {"titles": []}, "colours": ["a", "b"]}
    )
    assert shown(Colour.RED) == shown("red")
    assert shown(Colour.MIXED) == shown(["blue", "green", "red", "white"])
    assert shown((1, 2)) == shown([1, 2])
    said = {"names": ["a", "b"], "on": "2026-01-02"}
    assert shown(Model(names={"b", "a"}, on=dt.date(2026, 1, 2))) == shown(said)
    assert shown({1: "a"}) == shown({"1": "a"})
    assert shown(Path("a/b")) == shown("a/b")


def test_an_output_without_a_json_form_is_digested_by_its_type():
    assert shown(Plain()) == shown(Plain())
    assert shown(Plain()) != shown(object())
    assert shown(b"\xff") == shown(b"\xfe")  # no text, so only its kind is known


def test_an_output_that_contains_itself_is_digested():
    endless: list[Any] = []
    endless.append(endless)
    assert shown(endless) == shown([endless]) != shown([])


def test_the_same_typed_tool_made_twice_has_one_digest():
    again = Tool[Query, Found](
        name="search",
        description="Search the shelves.",
        examples=[
            {"description": "One", "input": {"query": "hafts", "limit": 1}, "output": {"titles": ["hafts"]}}
        ],
    )
    assert tool_digest(again) == tool_digest(search)
