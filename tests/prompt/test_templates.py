"""Templates with `$names`."""

from collections import namedtuple
from dataclasses import InitVar, dataclass, make_dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, computed_field

from tests.cases import each_case
from toolhaft.errors import PromptEvaluationError, PromptValidationError
from toolhaft.prompt import MarkdownSection, Prompt


class Colour(Enum):
    RED = "red"


@dataclass
class Trip:
    place: str
    nights: int = 3
    note: str | None = None
    colour: Colour = Colour.RED

    @property
    def title(self) -> str:
        return self.place.title()

    @cached_property
    def shout(self) -> str:
        return self.place.upper()

    def method(self) -> str:
        return "no field"


class Model(BaseModel):
    place: str

    @computed_field
    @property
    def twice(self) -> str:
        return self.place * 2


class Pair(NamedTuple):
    place: str
    nights: int


class Base:
    place: str = "Oslo"


class Derived(Base):
    nights: int = 2


OldPair = namedtuple("OldPair", ["place", "nights"])  # noqa: PYI024 -- the old way is under test


@dataclass
class Passing:
    place: str
    seed: InitVar[int] = 3
    written: "InitVar[int]" = 4


def text_of(template, params, kind=None):
    section = MarkdownSection[kind or type(params)](title="T", key="t", template=template)
    return Prompt(name="p", sections=[section]).bind(params).render().text.removeprefix("## 1. T\n\n")


@each_case(
    ("template", "text"),
    [
        ("to $place", "to oslo"),
        ("to ${place}burg", "to osloburg"),
        ("$place$place", "oslooslo"),
        ("$place, $nights nights", "oslo, 3 nights"),
        ("$$place costs $$5", "$place costs $5"),
        ("$$$place", "$oslo"),
        ("[$note]", "[]"),
        ("$colour", "red"),
        ("$title $shout", "Oslo OSLO"),
        ("no names", "no names"),
    ],
)
def test_names_are_replaced_by_values(template, text):
    assert text_of(template, Trip("oslo")) == text


@pytest.mark.parametrize(
    ("params", "text"),
    [
        (Model(place="a"), "a aa"),
        (Pair("a", 2), "a 2"),
        (OldPair("a", 2), "a 2"),
        (Derived(), "Oslo 2"),
    ],
    ids=["model", "named tuple", "old named tuple", "plain class"],
)
def test_params_may_be_of_any_kind_with_fields(params, text):
    names = "$place $twice" if isinstance(params, Model) else "$place $nights"
    assert text_of(names, params) == text


def test_names_inside_a_value_are_not_replaced():
    assert text_of("[$place]", Trip("$nights ${place} $$")) == "[$nights ${place} $$]"


def test_common_indentation_is_removed():
    assert text_of("\n        one\n          two $place\n    ", Trip("x")) == "one\n  two x"


@each_case(
    ("template", "message"),
    [
        (
            "to $plce",
            "section 'top.t': its template names $plce, which Trip does not have; did you mean $place?",
        ),
        ("$method", "section 'top.t': its template names $method, which Trip does not have; it has "),
        (
            "a\nb $5",
            "section 'top.t': '$5' is not a $name, in line 2, column 3 of its template. Fix: write $$",
        ),
        ("${place", "'${place' is not a $name, in line 1, column 1"),
        ("${a b}", "is not a $name"),
        ("cost: $", "'$' is not a $name, in line 1, column 7"),
    ],
)
def test_a_wrong_name_is_reported_by_section_path(template, message):
    inner = MarkdownSection[Trip](title="T", key="t", template=template)
    prompt = Prompt(name="p", sections=[MarkdownSection(title="Top", key="top", children=[inner])])
    with pytest.raises(PromptValidationError) as caught:
        prompt.bind(Trip("x")).render()
    assert message in str(caught.value)
    assert caught.value.section_path == ("top", "t")


def test_a_wrong_name_in_a_summary_is_reported_as_such():
    section = MarkdownSection[Trip](title="T", key="t", template="x", summary="$plce")
    with pytest.raises(PromptValidationError, match=r"section 't': its summary names \$plce"):
        Prompt(name="p", sections=[section]).bind(Trip("x")).render()


def test_a_name_without_params_is_refused():
    section = MarkdownSection(title="T", key="t", template="to $place")
    with pytest.raises(PromptValidationError) as caught:
        Prompt(name="p", sections=[section]).render()
    assert str(caught.value) == (
        "section 't': its template names $place, and the section has no params. "
        "Fix: write MarkdownSection[Params](...) with a field 'place', or $$place for the text itself"
    )


def test_a_failing_property_is_reported_with_the_section_path():
    class Bad:
        @property
        def place(self):
            raise KeyError("gone")

    with pytest.raises(
        PromptEvaluationError, match=r"section 't': \$place could not be evaluated: KeyError: 'gone'"
    ):
        text_of("$place", Bad())


@given(st.text())
def test_any_text_with_doubled_dollars_is_unchanged(text):
    written = text_of(text.replace("$", "$$"), Trip("x"))
    plain = text_of("$place", Trip(text)) if text.strip() else "## 1. T"
    assert written.split() == plain.split()


@given(st.text())
def test_any_template_gives_a_text_or_a_validation_error(template):
    where = ("t",)
    try:
        text_of(template, Trip("x"))
    except PromptValidationError as error:
        where = error.section_path
    assert where == ("t",)


@pytest.mark.parametrize("name", ["seed", "written"])
def test_an_init_var_is_not_a_name(name):
    with pytest.raises(PromptValidationError, match=rf"names \${name}, which Passing does not have"):
        text_of(f"${name}", Passing("x"))


def test_of_many_known_names_only_some_are_listed():
    many = make_dataclass("Many", [(f"field{number:02}", str, "x") for number in range(30)])
    with pytest.raises(PromptValidationError) as caught:
        text_of("$zzz", many())
    assert str(caught.value).endswith(f"it has {', '.join(f'field{number:02}' for number in range(10))}")


def test_many_dollars_are_parsed():
    # with quadratic work it would not end
    assert text_of("$$" * 200_000, Trip("x")) == "$" * 200_000
