"""The outline of a prompt."""

from dataclasses import dataclass

import pytest

from toolhaft import tool
from toolhaft.errors import PromptValidationError
from toolhaft.prompt import MarkdownSection, OutlinedSection, Prompt


@dataclass
class Params:
    topic: str


@tool
def search(query: str) -> str:
    """Search."""
    return query


def made(name):
    return search.replace(name=name)


def section(key, *tools, kind=MarkdownSection, **options):
    return kind(**{"title": key.title(), "key": key, "tools": list(tools), **options})


def prompt_of():
    typed = MarkdownSection[Params]
    return Prompt(
        name="demo",
        sections=[
            section(
                "guide",
                search,
                made("b"),
                kind=typed,
                template="$topic",
                children=[section("inner", made("c"))],
            ),
            section(
                "reference",
                made("d"),
                summary="s",
                visibility="summary",
                children=[section("deep", made("e"))],
            ),
            section("off", made("f"), enabled=False, children=[section("under")]),
            section(
                "maybe",
                kind=typed,
                summary="s",
                enabled=lambda params: params.topic == "tea",
                visibility=lambda params: "summary",
            ),
            section("shown", kind=typed, summary="s", visibility=lambda params: "summary"),
        ],
    )


def test_an_outline_shows_sections_tools_and_visibility_before_anything_is_bound():
    assert str(prompt_of().outline()) == (
        "demo\n"
        "├── guide: Guide\n"
        "│   │ tools: search, b\n"
        "│   └── inner: Inner\n"
        "│         tools: c\n"
        "├── reference: Reference [summary]\n"
        "│   │ tools: d (hidden)\n"
        "│   └── deep: Deep\n"
        "│         tools: e (hidden)\n"
        "├── off: Off [off]\n"
        "│   │ tools: f (hidden)\n"
        "│   └── under: Under\n"
        "├── maybe: Maybe [on or off, depending on params]\n"
        "└── shown: Shown [full or summary]"
    )


def test_an_outline_with_bound_params_has_no_open_questions():
    drawn = str(prompt_of().bind(Params("tea")).with_visibility({"reference": "full"}).outline())
    assert "├── reference: Reference\n│   │ tools: d\n" in drawn
    assert "├── maybe: Maybe [summary]\n└── shown: Shown [summary]" in drawn
    assert "maybe: Maybe [off]" in str(prompt_of().bind(Params("coffee")).outline())


def test_an_outline_is_data():
    outline = prompt_of().outline()
    assert outline.name == "demo"
    assert outline.sections[1] == OutlinedSection(
        path=("reference",),
        title="Reference",
        is_enabled=True,
        visibility="summary",
        tools=("d",),
        is_hidden=False,
        children=(
            OutlinedSection(
                path=("reference", "deep"),
                title="Deep",
                is_enabled=True,
                visibility="full",
                tools=("e",),
                is_hidden=True,
                children=(),
            ),
        ),
    )


def test_an_outline_of_an_invalid_prompt_is_refused():
    with pytest.raises(PromptValidationError, match=r"section 'a': its template names \$x"):
        Prompt(name="p", sections=[section("a", template="$x")]).outline()
