"""What the user has agreed to: which environment variables the tools of a project send, and to whom.

The agreements are in the user's own configuration: others may have written a project's files, which could
agree to anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final, cast

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.forwarding import forwarding_chain
from toolhaft.cli.shell import Shell
from toolhaft.core.conversion import AnyTool
from toolhaft.define.running.environment import Environment
from toolhaft.define.running.user_file import UserFile
from toolhaft.define.running.variable_bindings import PROGRAM, binding_of, is_bound
from toolhaft.define.yaml import YamlTool

_FILE: Final = UserFile("variables.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """A variable that a tool sends."""

    variable: str
    receiver: str
    """The origin of a URL, or `argv:PROGRAM`."""
    record: str
    """The receiver as it is stored; a program with a digest, since its arguments decide what it does."""

    def __str__(self) -> str:
        who = self.receiver
        if who.startswith(PROGRAM):
            who = f"the program {who.removeprefix(PROGRAM)}"
        elif who.startswith("http:"):
            who = f"{who} (plain http)"
        return f"{self.variable} to {who}"


def sendings_of(tool: AnyTool) -> list[Sending]:
    """The variables that a tool sends, if it is from a YAML file."""
    if not isinstance(tool, YamlTool):
        return []
    made = cast("YamlTool[object, object]", tool)
    return [
        Sending(variable=name, receiver=receiver, record=_record(made, receiver))
        for name, receiver in made.sends
    ]


def _record(tool: YamlTool[object, object], receiver: str) -> str:
    if not receiver.startswith(PROGRAM) or tool.run is None:
        return receiver
    text = json.dumps(tool.run.fields, sort_keys=True)
    return f"{receiver} {sha256(text.encode(errors='replace')).hexdigest()[:32]}"


def not_agreed(shell: Shell, sendings: Iterable[Sending]) -> list[Sending]:
    """Those that the user has not agreed to in this project."""
    agreed = _agreed(shell)
    return [one for one in sendings if one.record not in agreed.get(one.variable, [])]


def agree(shell: Shell, sendings: Iterable[Sending]) -> None:
    """Store that the user agrees.

    Raises:
        ConfigError: if the file cannot be written.
    """
    with _FILE.change() as content:
        agreed = _agreed_in(content, shell)
        for one in sendings:
            agreed[one.variable] = sorted({*agreed.get(one.variable, []), one.record})
        content[str(shell.project.root)] = agreed


def sendings_to_agree_to(shell: Shell, chain: Iterable[AnyTool]) -> list[Sending]:
    """Those variables of a call that need the user's agreement.

    A file without an owner may send what the `.env` file next to it sets: both are the project's.

    Args:
        shell: the project.
        chain: the tool, and the tools that its call is forwarded to.

    Raises:
        ToolExecutionError: for a `.env` file that cannot be read.
    """
    found = [(one, getattr(step, "owner", None)) for step in chain for one in sendings_of(step)]
    of_user, of_project = _sources(shell, [one for one, _ in found])
    return [one for one, owner in found if one.variable in of_user or (owner and one.variable in of_project)]


def agree_to_own(shell: Shell, tool: AnyTool) -> None:
    """Store that a file that gets an owner may still send what the project's `.env` file sets.

    Raises:
        ConfigError: if the agreement cannot be stored.
        ToolExecutionError: for a `.env` file that cannot be read.
    """
    sendings = sendings_of(tool)
    _, of_project = _sources(shell, sendings)
    if of_project:
        agree(shell, [one for one in sendings if one.variable in of_project])


def _sources(shell: Shell, sendings: list[Sending]) -> tuple[set[str], set[str]]:
    """Those variables that are the user's, and those that the project sets in its `.env` file."""
    if not sendings:
        return set(), set()
    project = shell.project
    own, in_file = Environment(file=project.env_file).sources(one.variable for one in sendings)
    if not project.env_file.resolve().is_relative_to(project.root):
        own = {**in_file, **own}  # a link to a file that is not the project's
    return {name for name, value in own.items() if value}, in_file.keys() - own


def not_bound(shell: Shell, chain: Iterable[AnyTool]) -> Iterator[Sending]:
    """What a call sends although `toolhaft.toml` binds the variable to other hosts.

    The owner in a binding is for published tools, and does not matter here.
    """
    bindings = [replace(one, owner=None) for one in shell.project.allow_env]
    names = {one.name for one in bindings}
    for one in (one for step in chain for one in sendings_of(step)):
        if one.variable in names and not is_bound(bindings, one.variable, one.receiver):
            yield one


def environment_for_call(shell: Shell, tool: AnyTool) -> Environment:
    """The environment of a call; the user is asked before a variable is sent for the first time.

    Raises:
        CommandError: if the user does not agree, or cannot be asked; or for a variable that the project binds
            to other hosts.
    """
    chain = forwarding_chain(shell, tool)
    for one in not_bound(shell, chain):
        message = output.printable(f"{tool.name} sends {one}, and toolhaft.toml binds it to other hosts")
        raise CommandError(f"{message}; nothing was sent", next="doctor", exit=Exit.PERMISSION)
    require_agreement(shell, tool.name, sendings_to_agree_to(shell, chain), hint=f"tool agree {tool.name}")
    bindings = [binding_of(one.variable, one.receiver) for step in chain for one in sendings_of(step)]
    return Environment(bindings=bindings, file=shell.project.env_file)


def require_agreement(
    shell: Shell, id: str, sendings: list[Sending], *, hint: str, is_given: bool = False
) -> None:
    """Store that the user agrees to what a tool sends; asks about what is new, unless the answer is given.

    Raises:
        CommandError: if the user does not agree, or there is no terminal.
    """
    missing = not_agreed(shell, sendings) if sendings else []
    if not missing:
        return
    if not is_given:
        shown = output.printable(f"{id} sends {', '.join(map(str, missing))}")
        if not shell.is_interactive:
            message = f"{shown}, and you have not agreed to that yet; nothing was sent"
            raise CommandError(message, next=hint, exit=Exit.PERMISSION)
        output.print_note(shown)
        shell.confirm("Do you agree, for this project?", hint=hint)
    agree(shell, missing)


def listed(shell: Shell) -> Iterator[str]:
    """The agreements of this project, as sentences."""
    for name, records in sorted(_agreed(shell).items()):
        for record in records:
            receiver = record.partition(" ")[0]
            yield str(Sending(variable=name, receiver=receiver, record=record))


def _agreed(shell: Shell) -> dict[str, list[str]]:
    return _agreed_in(_FILE.read(), shell)


def _agreed_in(content: dict[str, object], shell: Shell) -> dict[str, list[str]]:
    found = content.get(str(shell.project.root))
    names = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    return {
        name: [record for record in cast("list[object]", records) if isinstance(record, str)]
        for name, records in names.items()
        if isinstance(records, list)
    }
