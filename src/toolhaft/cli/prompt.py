"""`prompt show`: renders a prompt from a Python module as a model receives it."""

from __future__ import annotations

from typing import Any, Final, cast

import click

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.errors import PromptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

    from toolhaft.prompt import OutlinedSection, Prompt

_HELP_COMMAND: Final = "prompt show --help"


@click.group("prompt", help="Show prompts.")
def command() -> None:
    """Group the verbs of prompts."""


@command.command(
    "show", help="Show the prompt MODULE:NAME as a model receives it; installed modules come first."
)
@click.argument("place", metavar="MODULE:NAME")
@click.option("--outline", is_flag=True, help="Show the sections and tools as a tree, without the text.")
@json_option
@pass_shell
def show(shell: Shell, *, place: str, outline: bool, as_json: bool) -> None:
    """Print the text, or the tree."""
    from toolhaft.define.running.project_modules import importable

    with importable(str(shell.project.root)):
        prompt = load(shell, place)
        try:
            tree = prompt.outline()
            rendered = None if outline else prompt.render()
        except PromptError as error:
            hint = _HELP_COMMAND if outline else f"prompt show {place} --outline"
            raise CommandError(f"{place}: {error}", exit=Exit.FAILED, next=hint) from error
    if as_json:
        fields: dict[str, Any] = {"name": prompt.name, "sections": [_to_json(one) for one in tree.sections]}
        if rendered is not None:
            tools = [{"name": tool.name, "description": tool.description} for tool in rendered.tools]
            fields |= {"text": rendered.text, "tools": tools}
        output.print_json(fields)
        return
    output.print_data(output.for_terminal(str(tree) if rendered is None else rendered.text))
    if rendered is not None and rendered.tools:
        output.print_note(f"tools: {', '.join(tool.name for tool in rendered.tools)}")


def load(shell: Shell, place: str) -> Prompt[Any]:
    """Load the prompt at `module:name`; if that is a function, its return value.

    Raises:
        CommandError: if it does not exist, is not a prompt, or the module is broken.
    """
    from toolhaft.prompt import Prompt as Kind

    found: Any = load_object(shell, place)
    if not isinstance(found, Kind) and not isinstance(found, type) and callable(found):
        found = _call(found, place)
    if not isinstance(found, Kind):
        message = f"{place} is a {type(found).__name__}, not a Prompt"
        raise CommandError(message, exit=Exit.CONFIGURATION, next=_HELP_COMMAND)
    return cast("Prompt[Any]", found)


def load_object(shell: Shell, place: str) -> object:
    """Load what `module:name` names.

    Raises:
        CommandError: if it does not exist, or the module is broken.
    """
    module_name, colon, name = place.partition(":")
    if not colon or not module_name or not name:
        raise CommandError(f"{place}: write MODULE:NAME, such as app.prompts:assistant", next=_HELP_COMMAND)
    root = str(shell.project.root)
    found: Any = _import(module_name, root)
    for part in name.split("."):
        found = _attribute(found, part, place, hidden=_hidden(module_name, root))
    return found


def _hidden(module: str, root: str) -> str:
    """The end of an error if an installed module is used instead of the project's; else empty."""
    from toolhaft.define.running.project_modules import hidden_module

    reason = hidden_module(module, root)
    return f"; {reason}" if reason else ""


def _import(name: str, root: str) -> ModuleType:
    from importlib import import_module

    try:
        return import_module(name)
    except KeyboardInterrupt:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            message = f"there is no module {name!r}, neither installed nor in the project's folder"
            message += _hidden(name, root)
            raise CommandError(message, exit=Exit.CONFIGURATION, next=_HELP_COMMAND) from None
        raise _broken(f"module {name!r} cannot be loaded", error) from error
    except BaseException as error:
        raise _broken(f"module {name!r} cannot be loaded", error) from error


def _attribute(holder: object, name: str, place: str, *, hidden: str) -> object:
    from toolhaft.schema.nearest import nearest

    try:
        return getattr(holder, name)
    except AttributeError:
        close = nearest(name, [one for one in dir(holder) if not one.startswith("_")])
        hint = f"; did you mean {close!r}?" if close else ""
        message = f"{place}: there is no {name!r}{hidden or hint}"
        raise CommandError(message, exit=Exit.CONFIGURATION, next=_HELP_COMMAND) from None


def _call(function: Any, place: str) -> object:  # noqa: ANN401 -- whatever the user names
    try:
        return function()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _broken(f"{place} cannot be called", error) from error


def _broken(what: str, error: BaseException) -> CommandError:
    """The error of the user's code, with the last line that ran instead of a traceback."""
    frames: list[tuple[str, int]] = []
    trace = error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    where = ""
    if isinstance(error, SyntaxError) and error.filename:
        where = f" ({error.filename}:{error.lineno})"
    elif frames and not frames[-1][0].startswith("<"):
        where = f" ({frames[-1][0]}:{frames[-1][1]})"
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    message = f"{what}: {type(error).__name__}: {text:.500}{where}"
    return CommandError(message, exit=Exit.CONFIGURATION, next=_HELP_COMMAND)


def _to_json(section: OutlinedSection) -> dict[str, Any]:
    return {
        "key": section.path[-1],
        "path": list(section.path),
        "title": section.title,
        "is_enabled": section.is_enabled,
        "visibility": None if section.visibility is None else str(section.visibility.value),
        "tools": list(section.tools),
        "has_hidden_tools": section.has_hidden_tools,
        "sections": [_to_json(child) for child in section.children],
    }
