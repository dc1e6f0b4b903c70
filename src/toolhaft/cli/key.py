"""`key`: who may call the platform of this project.

Knows the table of keys; a key's own text is shown once, when it is made, and kept nowhere.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

import click

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError
from toolhaft.cli.exits import Exit
from toolhaft.cli.serve import database_option, database_url_of
from toolhaft.cli.shell import Shell, json_option, pass_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.serve.keys import KeyInfo, Keys

_DEFAULT_SCOPES: Final = ("tools:read", "tools:run")


@click.group("key", help="API keys of the platform.")
def command() -> None:
    """Hold what is done with keys."""


@command.command("new", help="Make a key; it is shown once.")
@click.option("--owner", required=True, metavar="NAME", help="Whose tools it reads, runs and publishes.")
@click.option("--org", default="", metavar="NAME", help="The owner's organisation, for tools shared with it.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help="tools:read, tools:run, tools:write, operator, or what tools require; the first two by default.",
)
@click.option("--days", type=click.IntRange(min=1, max=36_500), help="How long it is valid.")
@click.option("--name", default="", metavar="TEXT", help="What it is for.")
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
    """Make a key and print it."""
    until = None if days is None else datetime.now(UTC) + timedelta(days=days)
    with _keys(shell, database_url) as keys:
        try:
            info, text = keys.create(
                owner=owner, org=org, scopes=scopes or _DEFAULT_SCOPES, expires_at=until, name=name
            )
        except ValueError as error:
            raise CommandError(str(error), next="key new --help") from None
    if as_json:
        output.say_json({**_told(info), "key": text})
        return
    output.say(text)
    if shell.project.platform_url is not None and database_url is None:
        output.note(f"note: it is a key of this folder's own platform, not of {shell.project.platform_url}")
    output.note(f"key {info.id} of {output.show(info.owner)}: {', '.join(sorted(info.scopes))}")
    output.note("It is not shown again. Callers keep it as TOOLHAFT_API_KEY, in the environment or in .env")


@command.command("ls", help="List keys, without their texts.")
@database_option
@json_option
@pass_shell
def ls(shell: Shell, *, database_url: str | None, as_json: bool) -> None:
    """Print who has keys."""
    with _keys(shell, database_url) as keys:
        infos = keys.list()
    if as_json:
        output.say_json([_told(info) for info in infos])
        return
    if not infos:
        output.note("no keys are stored")
        shell.next("key new --owner NAME")
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


@command.command("rm", help="Revoke a key: it is refused from now on.")
@click.argument("id")
@click.option("--yes", is_flag=True, help="Do not ask.")
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
            owner = output.show(known[id].owner)
            shell.confirm(f"Revoke key {id} of {owner}?", hint=f"key rm {id} --yes")
        keys.revoke(id)
    if as_json:
        output.say_json(_told(known[id]))
        return
    output.note(f"key {id} is revoked")


@contextmanager
def _keys(shell: Shell, database_url: str | None) -> Generator[Keys]:
    from toolhaft.serve.keys import Keys as Stored  # noqa: PLC0415 -- not for help
    from toolhaft.storage import open_database  # noqa: PLC0415 -- the same

    database = open_database(database_url_of(shell, database_url))
    try:
        yield Stored(database)
    finally:
        database.close()


def _told(info: KeyInfo) -> dict[str, object]:
    return {
        "id": info.id,
        "owner": info.owner,
        "org": info.org,
        "scopes": sorted(info.scopes),
        "created_at": info.created_at,
        "expires_at": info.expires_at,
        "name": info.name,
    }
