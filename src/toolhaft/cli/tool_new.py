"""`tool new`: writes the YAML file of a new tool, from answers on a terminal, else from a template."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, cast

import click

from toolhaft.cli.errors import CommandError
from toolhaft.cli.output import print_data, print_json, print_note, printable, to_json
from toolhaft.cli.shell import Shell, ask, json_option, pass_shell
from toolhaft.cli.tool_files import already_exists, check_id, create_file, display_path, file_of
from toolhaft.errors import DefinitionError

DraftKind: TypeAlias = Literal["http", "argv", "python"]


_NO_RUN_LINES: Final = (
    "# nothing runs it yet: uncomment one of these lines, or publish it with --endpoint URL:",
    '# run: {argv: ["printf", "--", "%s", "${text}"]}',
    '# run: {python: "my_module:my_function"}',
    '# run: {http: {method: "POST", url: "https://api.example.com/v1/echo", body: {text: "${text}"}}}',
)
"""Comment lines in place of `run`, for a tool without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a new tool."""

    name: str
    type: str = "string"
    is_required: bool = True
    description: str

    def to_lines(self) -> list[str]:
        """The YAML lines of the parameter."""
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
    """The lines of its `run` block and `effect`."""

    def to_text(self) -> str:
        """The text of the file."""
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
        return "\n".join([*lines, *(self.run or _NO_RUN_LINES), ""])


def title_of(id: str) -> str:
    """A readable name made from an id."""
    return id.replace("_", " ").replace("-", " ").strip().capitalize()


def run_http(method: str, url: str, query: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The lines of a tool that calls a web service; a GET has the effect `read`."""
    effect = ('effect: "read"  # read | idempotent | reversible | irreversible',) if method == "GET" else ()
    lines = ["run:", "  http:", f"    method: {to_json(method)}", f"    url: {to_json(url)}"]
    if query:
        part = "query" if method == "GET" else "body"
        lines += [f"    {part}:", *(f'      {to_json(name)}: "${{{name}}}"' for name in query)]
    return (*effect, *lines)


def run_argv(argv: list[str]) -> tuple[str, ...]:
    """The lines of a tool that runs a program."""
    return ("run:", f"  argv: {to_json(argv)}")


def run_python(function: str) -> tuple[str, ...]:
    """The lines of a tool that calls a Python function."""
    return ("run:", f"  python: {to_json(function)}")


_TEMPLATE_RUNS: Final[dict[DraftKind, tuple[str, ...]]] = {
    "http": (
        *run_http("GET", "https://api.example.com/v1/echo", ("text",)),
        "    # put a key into the environment or .env, never here:",
        '    # headers: {Authorization: "Bearer ${env:EXAMPLE_KEY}"}',
    ),
    "argv": run_argv(["printf", "--", "%s", "${text}"]),
    "python": run_python("my_module:my_function"),
}


def template_of(id: str, kind: DraftKind | None) -> Draft:
    """A draft with placeholders."""
    text = Parameter(name="text", description="Describe this parameter")
    return Draft(
        id=id,
        name=title_of(id),
        description="Describe what it does and when to use it",
        parameters=(text,),
        run=_TEMPLATE_RUNS[kind] if kind else (),
    )


_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object")
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


def ask_draft(id: str, kind: DraftKind | None) -> Draft:
    """Ask the user for a new tool, one question at a time.

    Raises:
        click.Abort: at the end of the input.
    """
    title = title_of(id)
    named = _ask("Name", lambda name: Draft(id=id, name=name, description="-", parameters=()), default=title)
    draft = _ask("What does it do", lambda text: replace(named, description=text))
    print_note("Its parameters, one at a time; an empty name ends the list.")
    while (extended := _ask_parameter(draft)) is not None:
        draft = extended
    chosen = kind or _ask_kind()
    match chosen:
        case "http":
            return _ask_http(draft)
        case "argv":
            return _ask(
                "Program and arguments, ${name} for a parameter",
                lambda line: replace(draft, run=run_argv(shlex.split(line))),
            )
        case "python":
            return _ask("Function, as module:function", lambda name: replace(draft, run=run_python(name)))
        case None:
            return draft


def _ask_parameter(draft: Draft) -> Draft | None:
    """The draft with one more parameter; None if there are no more."""
    while True:
        name = ask("  Parameter: ").strip()
        if not name:
            return None
        if _valid_draft(lambda name: _with(draft, Parameter(name=name, description="-")), name) is not None:
            break
    bare = Parameter(
        name=name,
        description="-",
        type=_choose("  Type", _TYPES),
        is_required=_choose("  Required", ("yes", "no")) == "yes",
    )
    return _ask("  What is it", lambda text: _with(draft, replace(bare, description=text)))


def _with(draft: Draft, parameter: Parameter) -> Draft:
    return replace(draft, parameters=(*draft.parameters, parameter))


def _ask_kind() -> DraftKind | None:
    print_note("It runs http (a web service), argv (a program), python (a function) or none of them.")
    chosen = _choose("Run", ("http", "argv", "python", "none"))
    return None if chosen == "none" else cast("DraftKind", chosen)


def _ask_http(draft: Draft) -> Draft:
    method = _choose("Method", _METHODS)

    def with_url(url: str) -> Draft:
        names = (parameter.name for parameter in draft.parameters)
        rest = tuple(name for name in names if f"${{{name}}}" not in url)
        return replace(draft, run=run_http(method, url, rest))

    return _ask("Address, ${name} for a parameter in its path", with_url)


def _ask(question: str, make: Callable[[str], Draft], *, default: str = "") -> Draft:
    """Ask until an answer makes a valid draft."""
    hint = f" [{default}]" if default else ""
    while True:
        draft = _valid_draft(make, ask(f"{question}{hint}:  ").strip() or default)
        if draft is not None:
            return draft


def _valid_draft(make: Callable[[str], Draft], answer: str) -> Draft | None:
    """The draft that an answer makes; if it is not valid, prints why and returns None."""
    from toolhaft.define.yaml import parse_tool

    try:
        draft = make(answer)
        parse_tool(draft.to_text(), f"{draft.id}.yaml")
    except DefinitionError as error:
        print_note(printable(f"  {error.problem}" + (f". {error.fix}" if error.fix else "")))
        return None
    except ValueError as error:  # unbalanced quotes
        print_note(f"  {error}")
        return None
    return draft


def _choose(question: str, choices: Sequence[str]) -> str:
    """Ask for one of the choices; an empty answer is the first."""
    from toolhaft.schema.nearest import nearest

    while True:
        answer = ask(f"{question} ({', '.join(choices)}) [{choices[0]}]: ").strip() or choices[0]
        found = [choice for choice in choices if choice.lower() == answer.lower()]
        found = found or [choice for choice in choices if choice.lower().startswith(answer.lower())]
        if len(found) == 1:
            return found[0]
        close = nearest(answer, choices)
        print_note(
            printable(
                f"  {answer!r:.80} is not one of them" + (f"; did you mean {close!r}?" if close else "")
            )
        )


@click.command("new", help="Write a new tool: asks questions on a terminal, else uses a template.")
@click.argument("id")
@click.option("--http", "kinds", flag_value="http", multiple=True, help="A tool that calls a web service.")
@click.option("--argv", "kinds", flag_value="argv", multiple=True, help="A tool that runs a program.")
@click.option("--python", "kinds", flag_value="python", multiple=True, help="A tool that calls a function.")
@click.option("--template", is_flag=True, help="Use the template, also on a terminal.")
@json_option
@pass_shell
def command(shell: Shell, *, id: str, kinds: tuple[DraftKind, ...], template: bool, as_json: bool) -> None:
    """Write the tool."""
    check_id(id)
    if len(kinds) > 1:
        raise CommandError(
            "a tool has one kind of run: give one of --http, --argv, --python", next="tool new --help"
        )
    file = file_of(shell, id)
    if file.exists():
        raise already_exists(file, id)
    kind = kinds[0] if kinds else None
    if shell.is_interactive and not template:
        text = ask_draft(id, kind).to_text()
    else:
        text = template_of(id, kind).to_text()
    _warn_of_shadow(shell, id)
    create_file(file, text, id)
    if as_json:
        print_json({"id": id, "file": display_path(file)})
        return
    print_data(f"{display_path(file)}: written")
    shell.suggest(f"tool check {display_path(file)}")


def _warn_of_shadow(shell: Shell, id: str) -> None:
    from toolhaft.catalog.catalog import Catalog

    others = Catalog(project=shell.project, platform=None)
    if id in others:
        print_note(f"note: it replaces the {others.listing(id).store} tool of that id")
