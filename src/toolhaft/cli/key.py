"""`key`: creates, lists and revokes the API keys of this project's platform."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Final

import click
from click.shell_completion import CompletionItem

from toolhaft.cli import output
from toolhaft.cli.completion import shell_of
from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.serve import database_option, database_url_of
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.errors import ToolhaftError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.serve.keys import KeyInfo, Keys

_DEFAULT_SCOPES: Final = ("tools:read", "tools:run")


def _complete_scopes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 -- click's signature
    from toolhaft.serve.keys import PLATFORM_SCOPES

    scopes = [*PLATFORM_SCOPES]
    with suppress(ToolhaftError, OSError):
        scopes += sorted(_required_scopes(shell_of(context)))
    return [scope for scope in scopes if scope.startswith(incomplete)]


def _complete_keys(
    context: click.Context,
    parameter: click.Parameter,  # noqa: ARG001 -- click's signature
    incomplete: str,
) -> list[CompletionItem]:
    """The ids of the keys in the project's own database file; completion connects to no server."""
    shell = shell_of(context)
    with suppress(ToolhaftError, OSError):
        if not shell.project.database_url.startswith("sqlite") or not shell.project.database_file.exists():
            return []
        with _keys(shell, None) as keys:
            infos = keys.list()
        return [
            CompletionItem(info.id, help=output.printable(f"{info.owner} {info.name}").strip())
            for info in infos
            if info.id.startswith(incomplete)
        ]
    return []


@click.group("key", help="Create, list and revoke API keys of the platform.")
def command() -> None:
    """Group the verbs of keys."""


@command.command("new", help="Create a key; it is shown only once.")
@click.option("--owner", required=True, metavar="NAME", help="The owner of the tools that it publishes.")
@click.option(
    "--org", default="", metavar="NAME", help="The owner's organisation, for tools shared within it."
)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    shell_complete=_complete_scopes,
    help="tools:read, tools:run, tools:write, operator, or one that tools require; default: the first two.",
)
@click.option("--days", type=click.IntRange(min=1, max=36_500), help="The days that it is valid.")
@click.option("--name", default="", metavar="TEXT", help="A note on what it is for.")
@database_option
@json_option
@pass_shell
def new(
    shell: Shell,
    *,
    owner: str,
    org: str,
    scopes: tuple[str, ...],
    days: int | None,
    name: str,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Create a key and print it."""
    unknown = _check_scopes(shell, scopes)
    expires_at = None if days is None else datetime.now(UTC) + timedelta(days=days)
    with _keys(shell, database_url) as keys:
        try:
            info, text = keys.create(
                owner=owner, org=org, scopes=scopes or _DEFAULT_SCOPES, expires_at=expires_at, name=name
            )
        except ValueError as error:
            raise CommandError(str(error), next="key new --help") from None
    if as_json:
        output.print_json({**_to_json(info), "key": text})
        return
    output.print_data(text)
    if shell.project.platform_url is not None and database_url is None:
        output.print_note(
            f"note: this is a key of the project's embedded platform, not of {shell.project.platform_url}"
        )
    output.print_note(f"key {info.id} of {output.printable(info.owner)}: {', '.join(sorted(info.scopes))}")
    if unknown:
        output.print_note(
            f"note: the platform has no scope {output.printable(', '.join(unknown))}, and no YAML file of "
            "this project requires it"
        )
    output.print_note(
        "It is not shown again. Callers store it with: lk login URL (the address of the platform)"
    )


@command.command("ls", help="List keys, without their secret texts.")
@database_option
@json_option
@pass_shell
def ls(shell: Shell, *, database_url: str | None, as_json: bool) -> None:
    """Print the keys."""
    with _keys(shell, database_url) as keys:
        infos = keys.list()
    if as_json:
        output.print_json([_to_json(info) for info in infos])
        return
    if not infos:
        output.print_note("no keys are stored")
        shell.suggest("key new --owner NAME")
        return
    shell.table(
        ["ID", "OWNER", "ORG", "SCOPES", "CREATED", "EXPIRES", "NAME"],
        [
            [
                info.id,
                info.owner,
                info.org,
                " ".join(sorted(info.scopes)),
                str(info.created_at),
                str(info.expires_at or "never"),
                info.name,
            ]
            for info in infos
        ],
    )


@command.command("rm", help="Revoke a key.")
@click.argument("id", shell_complete=_complete_keys)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@database_option
@json_option
@pass_shell
def rm(shell: Shell, *, id: str, yes: bool, database_url: str | None, as_json: bool) -> None:
    """Revoke a key."""
    with _keys(shell, database_url) as keys:
        known = {info.id: info for info in keys.list()}
        if id not in known:
            raise CommandError(f"no key {id!r:.80} is stored", exit=Exit.FAILED, next="key ls")
        if not yes:
            owner = output.printable(known[id].owner)
            shell.confirm(f"Revoke key {id} of {owner}?", hint=f"key rm {id} --yes")
        keys.revoke(id)
    if as_json:
        output.print_json(_to_json(known[id]))
        return
    output.print_note(f"key {id} is revoked")


def _check_scopes(shell: Shell, scopes: tuple[str, ...]) -> list[str]:
    """The scopes that neither the platform has nor a file of the project requires.

    Raises:
        CommandError: for a scope that is nearly one that a file requires.
    """
    from toolhaft.schema.nearest import nearest
    from toolhaft.serve.keys import PLATFORM_SCOPES

    own = [scope for scope in scopes if scope not in PLATFORM_SCOPES]
    required = sorted(_required_scopes(shell)) if own else []
    for scope in own:
        meant = nearest(scope, required)
        if meant not in (None, scope):
            raise CommandError(
                f"no tool of the project requires the scope {scope!r:.80}; did you mean {meant!r}?",
                next="key new --help",
            )
    return [scope for scope in own if scope not in required]


def _required_scopes(shell: Shell) -> set[str]:
    """The scopes that the YAML files of the project require; other tools are not loaded for this."""
    from toolhaft.catalog.folder import read_folder
    from toolhaft.define.yaml import load_tool

    found: set[str] = set()
    for entry in read_folder(shell.project).listings:
        with suppress(ToolhaftError, OSError):  # `tool check` reports it
            found.update(load_tool(str(shell.project.root / entry.place)).requires)
    return found


@contextmanager
def _keys(shell: Shell, database_url: str | None) -> Generator[Keys]:
    from toolhaft.serve.keys import Keys as Stored
    from toolhaft.storage import open_database

    database = open_database(database_url_of(shell, database_url))
    try:
        yield Stored(database)
    finally:
        database.close()


def _to_json(info: KeyInfo) -> dict[str, object]:
    return {**asdict(info), "scopes": sorted(info.scopes)}
