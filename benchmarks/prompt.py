"""Measures rendering a prompt of 100 sections and 200 tools, compared with a fixed number of microseconds.

`first` renders a new prompt, including all checks, with compiled tools; `ready` renders it again; `bound`
changes values and opens a section before each rendering. The group `define` measures compiling tools.
"""

from dataclasses import dataclass

from benchmarks.measure import Figure, measure_fixed
from toolhaft import Tool, ToolContext, ToolResult
from toolhaft.prompt import MarkdownSection, Prompt
from toolhaft.prompt.section import Section

_LIMIT_US = 5000.0
_ROOTS = 20
_CHILDREN = 4
_TOOLS = 2


@dataclass(frozen=True)
class Topic:
    """The values of every section."""

    topic: str
    place: str = "the archive"
    is_expert: bool = True


@dataclass(frozen=True)
class Query:
    """The parameters of each tool."""

    text: str


def _find(params: Query, *, context: ToolContext) -> ToolResult[str]:  # noqa: ARG001 -- the handler's shape
    return ToolResult.ok(params.text)


def run() -> list[Figure]:
    """All figures of this group."""
    sections = _sections()
    ready = Prompt(name="bench", sections=sections).bind(Topic("tea"))
    rendered = ready.render()
    assert len(rendered.visibility) == _ROOTS * (_CHILDREN + 1)
    assert len(rendered.tools) == _ROOTS * (_CHILDREN + 1) * _TOOLS
    numbers = iter(range(10**9))
    summarised = Prompt(name="bench", sections=_sections(is_summarised=True))

    def bind_and_open() -> object:
        return (
            summarised.bind(Topic(f"tea {next(numbers)}"))
            .with_visibility({"section-3": "full"})
            .render()
            .text
        )

    return [
        measure_fixed("render_ready", lambda: ready.render().text, _LIMIT_US),
        measure_fixed(
            "render_first",
            lambda: Prompt(name="bench", sections=sections).bind(Topic("tea")).render().text,
            _LIMIT_US,
        ),
        measure_fixed("render_bound", bind_and_open, _LIMIT_US),
    ]


def _sections(*, is_summarised: bool = False) -> list[Section[Topic]]:
    return [_section(number, is_summarised=is_summarised) for number in range(_ROOTS)]


def _section(number: int, *, is_summarised: bool) -> Section[Topic]:
    children = [_part(f"part-{child}", number * 10 + child + 1, ()) for child in range(_CHILDREN)]
    hidden = {"summary": "All about $topic.", "visibility": "summary"} if is_summarised else {}
    return _part(f"section-{number}", number * 10, children, **hidden)


def _part(key: str, number: int, children: object, **options: object) -> Section[Topic]:
    tools = [
        Tool[Query, str](name=f"find_{number}_{which}", description="Find notes.", handler=_find)
        for which in range(_TOOLS)
    ]
    return MarkdownSection[Topic](
        title=f"Part {number}",
        key=key,
        template="Look for $topic in $place.\n\nUse the tools below where you are not sure, and say so.",
        tools=tools,
        children=children,
        enabled=lambda topic: topic.is_expert,
        **options,
    )
