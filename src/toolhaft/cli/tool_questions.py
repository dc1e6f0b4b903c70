"""Asks a person at a terminal for a new tool, one question at a time; a wrong answer is asked again.

Knows the questions; whether an answer is right the YAML door says.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, cast

from toolhaft.cli.output import note, show
from toolhaft.cli.shell import ask
from toolhaft.cli.tool_draft import Draft, Kind, Parameter, run_argv, run_http, run_python, title_of
from toolhaft.define.yaml import parse_tool
from toolhaft.errors import DefinitionError
from toolhaft.schema.nearest import nearest

_TYPES: Final = ("string", "number", "integer", "boolean", "array", "object")
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


def ask_draft(id: str, kind: Kind | None) -> Draft:
    """A draft that is a sound tool.

    Raises:
        click.Abort: where the person leaves.
    """
    title = title_of(id)
    named = _ask("Name", lambda said: Draft(id=id, name=said, description="-", parameters=()), default=title)
    draft = _ask("What does it do", lambda said: replace(named, description=said))
    note("Its parameters, one after the other; an empty name ends them.")
    while (with_one_more := _ask_parameter(draft)) is not None:
        draft = with_one_more
    chosen = kind or _ask_kind()
    match chosen:
        case "http":
            return _ask_http(draft)
        case "argv":
            return _ask(
                "Program and arguments, ${name} for a parameter",
                lambda said: replace(draft, run=run_argv(shlex.split(said))),
            )
        case "python":
            return _ask("Function, as module:function", lambda said: replace(draft, run=run_python(said)))
        case None:
            return draft


def _ask_parameter(draft: Draft) -> Draft | None:
    """The draft with one more parameter, or None where there are no more."""
    while True:
        name = ask("  Parameter: ").strip()
        if not name:
            return None
        if _sound(lambda said: _with(draft, Parameter(name=said, description="-")), name) is not None:
            break
    bare = Parameter(
        name=name,
        description="-",
        type=_choose("  Type", _TYPES),
        is_required=_choose("  Required", ("yes", "no")) == "yes",
    )
    return _ask("  What is it", lambda said: _with(draft, replace(bare, description=said)))


def _with(draft: Draft, parameter: Parameter) -> Draft:
    return replace(draft, parameters=(*draft.parameters, parameter))


def _ask_kind() -> Kind | None:
    note("It runs http (a web service), argv (a program), python (a function) or none of them.")
    chosen = _choose("Run", ("http", "argv", "python", "none"))
    return None if chosen == "none" else cast("Kind", chosen)


def _ask_http(draft: Draft) -> Draft:
    method = _choose("Method", _METHODS)

    def with_url(url: str) -> Draft:
        names = (parameter.name for parameter in draft.parameters)
        rest = tuple(name for name in names if f"${{{name}}}" not in url)
        return replace(draft, run=run_http(method, url, rest))

    return _ask("Address, ${name} for a parameter in its path", with_url)


def _ask(question: str, make: Callable[[str], Draft], *, default: str = "") -> Draft:
    """The draft that an answer makes, once it makes a sound one."""
    shown = f" [{default}]" if default else ""
    while True:
        draft = _sound(make, ask(f"{question}{shown}: ").strip() or default)
        if draft is not None:
            return draft


def _sound(make: Callable[[str], Draft], answer: str) -> Draft | None:
    """The draft that an answer makes; None where it is no tool, and the person is told why not."""
    try:
        draft = make(answer)
        parse_tool(draft.to_text(), f"{draft.id}.yaml")
    except DefinitionError as error:
        note(show(f"  {error.problem}" + (f". {error.fix}" if error.fix else "")))
        return None
    except ValueError as error:  # quotes that do not close
        note(f"  {error}")
        return None
    return draft


def _choose(question: str, choices: Sequence[str]) -> str:
    """One of the choices, the first where nothing is typed."""
    while True:
        answer = ask(f"{question} ({', '.join(choices)}) [{choices[0]}]: ").strip() or choices[0]
        found = [choice for choice in choices if choice.lower() == answer.lower()]
        found = found or [choice for choice in choices if choice.lower().startswith(answer.lower())]
        if len(found) == 1:
            return found[0]
        close = nearest(answer, choices)
        note(show(f"  {answer!r:.80} is none of them" + (f"; did you mean {close!r}?" if close else "")))
