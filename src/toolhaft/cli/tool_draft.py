"""A new tool as text: its fields in the order that people read them, with a word on what may be there.

Knows how YAML is written; does not ask and does not check.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from toolhaft.cli.output import to_json

Kind: TypeAlias = Literal["http", "argv", "python"]


_NOTHING_YET: Final = (
    "# nothing runs it yet; take one of these lines, without its #, or publish it with --endpoint URL:",
    '# run: {argv: ["printf", "--", "%s", "${text}"]}',
    '# run: {python: "my_module:my_function"}',
    '# run: {http: {method: "POST", url: "https://api.example.com/v1/echo", body: {text: "${text}"}}}',
)
"""What stands in the place of `run` where it is not known yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a new tool."""

    name: str
    type: str = "string"
    is_required: bool = True
    description: str

    def to_lines(self) -> list[str]:
        """The item of the list of parameters."""
        return [
            f"  - name: {to_json(self.name)}",
            f"    type: {to_json(self.type)}",
            f"    required: {to_json(self.is_required)}",
            f"    description: {to_json(self.description)}",
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A new tool."""

    id: str
    name: str
    description: str
    parameters: tuple[Parameter, ...]
    run: tuple[str, ...] = ()
    """The lines of its `run` block, and of what goes with it."""

    def to_text(self) -> str:
        """The whole file."""
        lines = [
            f"id: {to_json(self.id)}",
            f"name: {to_json(self.name)}",
            f"description: {to_json(self.description)}",
            'share: "private"  # private | org | public',
            "tags: []",
        ]
        if self.parameters:
            lines += ["parameters:  # string | number | integer | boolean | array | object"]
            lines += [line for parameter in self.parameters for line in parameter.to_lines()]
        return "\n".join([*lines, *(self.run or _NOTHING_YET), ""])


def title_of(id: str) -> str:
    """A name for people, made from an id."""
    return id.replace("_", " ").replace("-", " ").strip().capitalize()


def run_http(method: str, url: str, query: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The block of a tool that calls a web service; what changes nothing there says so."""
    effect = ('effect: "read"  # read | idempotent | reversible | irreversible',) if method == "GET" else ()
    lines = ["run:", "  http:", f"    method: {to_json(method)}", f"    url: {to_json(url)}"]
    if query:
        part = "query" if method == "GET" else "body"
        lines += [f"    {part}:", *(f'      {to_json(name)}: "${{{name}}}"' for name in query)]
    return (*effect, *lines)


def run_argv(argv: list[str]) -> tuple[str, ...]:
    """The block of a tool that runs a program."""
    return ("run:", f"  argv: {to_json(argv)}")


def run_python(function: str) -> tuple[str, ...]:
    """The block of a tool that calls a function."""
    return ("run:", f"  python: {to_json(function)}")


_RUNS: Final[dict[Kind, tuple[str, ...]]] = {
    "http": (
        *run_http("GET", "https://api.example.com/v1/echo", ("text",)),
        "    # a key stands in the environment or in .env, never here:",
        '    # headers: {Authorization: "Bearer ${env:EXAMPLE_KEY}"}',
    ),
    "argv": run_argv(["printf", "--", "%s", "${text}"]),
    "python": run_python("my_module:my_function"),
}


def template_of(id: str, kind: Kind | None) -> Draft:
    """A draft to be filled in by hand."""
    text = Parameter(name="text", description="Say what this is")
    return Draft(
        id=id,
        name=title_of(id),
        description="Say what it does and when to use it",
        parameters=(text,),
        run=_RUNS[kind] if kind else (),
    )
