"""`serve`: runs the platform in this process until it is told to stop.

Knows flags; what they decide is the platform's business.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError
from toolhaft.cli.exits import Exit
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.serve.server import Started

database_option = click.option(
    "--database-url",
    metavar="URL",
    help="sqlite:////path/file.db or postgresql://...; else TOOLHAFT_DATABASE_URL, else the project's own.",
)


@click.command("serve", help="Run the platform: tools over HTTP. Only this machine reaches it by default.")
@click.option("--host", metavar="HOST", help="Where to listen; 127.0.0.1 by default.")
@click.option("--port", type=int, metavar="PORT", help="8420 by default; 0 takes a free one.")
@database_option
@click.option("--public-url", metavar="URL", help="The address that clients use, behind a proxy.")
@click.option(
    "--allow-run",
    multiple=True,
    metavar="KIND",
    help="Let published tools run argv or python; give it for each.",
)
@click.option(
    "--built-in",
    type=click.Choice(["public", "operator", "none"]),
    help="Who may use the tools that come with toolhaft: every key (the default), operators, or nobody.",
)
@click.option("--allow-env", multiple=True, metavar="NAME", help="A variable that published tools may use.")
@click.option(
    "--http-allow", multiple=True, metavar="HOST", help="A host that tools may reach, public or not."
)
@click.option(
    "--files",
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="A folder for tools that touch files, one inside it an owner.",
)
@click.option("--rate", metavar="RATE", help="What a key may do, such as 600/min (the default), or none.")
@click.option("--body-bytes", type=int, metavar="BYTES", help="The largest body of a request.")
@click.option("--max-parallel", type=int, metavar="COUNT", help="Calls that run at once.")
@click.option("--max-parallel-per-key", type=int, metavar="COUNT", help="The same for one key.")
@click.option("--max-connections", type=int, metavar="COUNT", help="Connections at once.")
@click.option("--call-timeout", "call_timeout_s", type=float, metavar="SECONDS", help="The longest call.")
@click.option(
    "--request-timeout", "request_timeout_s", type=float, metavar="SECONDS", help="The slowest client."
)
@click.option("--grace", "grace_s", type=float, metavar="SECONDS", help="For what still runs when it stops.")
@json_option
@pass_shell
def command(
    shell: Shell,
    *,
    as_json: bool,
    database_url: str | None,
    http_allow: tuple[str, ...],
    **given: Any,  # noqa: ANN401 -- as click gives them; Settings checks
) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    from toolhaft.serve import Settings, run  # noqa: PLC0415 -- needs the extra `serve`

    project = shell.project
    said = {name: value for name, value in given.items() if value not in (None, ())}
    if str(said.get("rate")).lower() == "none" and "rate" in said:
        said["rate"] = None
    url = database_url_of(shell, database_url)
    try:
        settings = Settings(
            database_url=url,
            http_allow=(*project.http_allow, *http_allow),
            env_file=project.env_file,
            **said,
        )
    except ConfigError as error:  # the project's own settings were checked when they were read
        raise CommandError(_as_typed(error, given), next="serve --help") from error
    sys.path.insert(0, str(project.root))  # what `run: {python: ...}` names, where the operator allows it
    run(settings, on_start=lambda started: tell_started(shell, started, as_json=as_json))


def _as_typed(error: ConfigError, given: dict[str, Any]) -> str:
    """What is wrong with a setting, by the name of its flag."""
    name, colon, rest = str(error).partition(": ")
    flag = name.removesuffix("_s").replace("_", "-")
    return f"--{flag}: {rest}" if colon and name in given else str(error)


def database_url_of(shell: Shell, given: str | None) -> str:
    """Where the platform keeps what is published: what was typed, else what the project says."""
    from toolhaft.errors import StorageError  # noqa: PLC0415 -- not for help
    from toolhaft.storage.address import read_address  # noqa: PLC0415 -- the same

    project = shell.project
    url = given or project.database_url
    try:
        read_address(url)
    except StorageError as error:
        code = Exit.USAGE if given else Exit.CONFIGURATION
        raise CommandError(str(error), exit=code, next="serve --help" if given else "doctor") from None
    if url == f"sqlite:///{project.database_file.as_posix()}":
        project.make_state_folder()
    return url


def tell_started(shell: Shell, started: Started, *, as_json: bool) -> None:
    """Say where it is, and the key of this run: once, and never to a log that standard output may be."""
    if as_json:
        output.note(output.to_json({"url": started.url, "key": started.key}))
        sys.stderr.flush()
        return
    output.note(f"serving on {started.url}")
    if started.key is None:
        output.note("callers need a key that is stored here")
        shell.next("key ls")
    else:
        output.note(f"key for this run, shown once: {started.key}")
        output.note(f"  try: curl -H 'Authorization: Bearer KEY' {started.url}/v3/tools")
    output.note("Ctrl-C stops it")
    sys.stderr.flush()
