"""`serve`: runs the platform in this process until Ctrl-C or SIGTERM."""

from __future__ import annotations

import sys
from typing import Any

import click

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.serve.server import Started

database_option = click.option(
    "--database-url",
    metavar="URL",
    help="sqlite:////path/file.db or postgresql://...; default: TOOLHAFT_DATABASE_URL or the project's own.",
)


def _complete_kinds(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 -- click's signature
    return [kind for kind in ("argv", "python") if kind.startswith(incomplete)]


@click.command("serve", help="Run the platform: tools over HTTP. By default only this machine can reach it.")
@click.option("--host", metavar="HOST", help="The host to listen on; 127.0.0.1 by default.")
@click.option(
    "--port", type=int, metavar="PORT", help="The port to listen on; 8420 by default, 0 for a free one."
)
@database_option
@click.option("--public-url", metavar="URL", help="The address that clients use, behind a proxy.")
@click.option(
    "--allow-run",
    multiple=True,
    metavar="KIND",
    shell_complete=_complete_kinds,
    help="Allow published tools to run argv or python; repeat it to allow both.",
)
@click.option(
    "--built-in",
    type=click.Choice(["public", "operator", "none"]),
    help="Who may use the tools that come with toolhaft: every key (the default), operators, or nobody.",
)
@click.option(
    "--allow-env",
    multiple=True,
    metavar="NAME=HOST[,HOST][@OWNER]",
    help="An environment variable that published tools, or those of OWNER, may send to these hosts.",
)
@click.option(
    "--http-allow",
    multiple=True,
    metavar="HOST",
    help="A host that tools may reach although it is not public.",
)
@click.option(
    "--files",
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="A folder for tools that use files; each owner gets a separate folder inside it.",
)
@click.option(
    "--rate",
    metavar="RATE",
    help="Requests that a key may send, such as 600/min (the default), or none for no limit.",
)
@click.option("--body-bytes", type=int, metavar="BYTES", help="The maximum size of a request body.")
@click.option("--max-parallel", type=int, metavar="COUNT", help="The number of calls that may run at once.")
@click.option("--max-parallel-per-key", type=int, metavar="COUNT", help="The same for one key.")
@click.option("--max-connections", type=int, metavar="COUNT", help="The maximum number of connections.")
@click.option(
    "--max-connections-per-address", type=int, metavar="COUNT", help="The same for one address of clients."
)
@click.option(
    "--call-timeout", "call_timeout_s", type=float, metavar="SECONDS", help="The time limit of a call."
)
@click.option(
    "--request-timeout",
    "request_timeout_s",
    type=float,
    metavar="SECONDS",
    help="The time a client has to send a request, or to read a response.",
)
@click.option(
    "--grace",
    "grace_s",
    type=float,
    metavar="SECONDS",
    help="The time that running calls have to finish when the server stops.",
)
@json_option
@pass_shell
def command(
    shell: Shell,
    *,
    as_json: bool,
    database_url: str | None,
    http_allow: tuple[str, ...],
    allow_env: tuple[str, ...],
    **options: Any,  # noqa: ANN401 -- click's parameters, checked by Settings
) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    from toolhaft.serve import Settings, run

    project = shell.project
    chosen = {name: value for name, value in options.items() if value not in (None, ())}
    if "rate" in chosen and str(chosen["rate"]).lower() == "none":
        chosen["rate"] = None
    url = database_url_of(shell, database_url)
    try:
        settings = Settings(
            database_url=url,
            http_allow=(*project.http_allow, *http_allow),
            allow_env=(*project.allow_env, *allow_env),
            env_file=project.env_file,
            module_folder=project.root,
            **chosen,
        )
    except ConfigError as error:  # about a flag: the project's settings were checked when they were read
        flags = {**options, "allow_env": allow_env}
        raise CommandError(_name_flag(error, flags), next="serve --help") from error

    def report(started: Started) -> None:
        if not as_json:
            for binding in sorted(map(str, settings.allow_env)):
                output.print_note(f"published tools may use the variable {output.printable(binding)}")
        print_started(shell, started, as_json=as_json)

    run(settings, on_start=report)


def _name_flag(error: ConfigError, options: dict[str, Any]) -> str:
    """The message of an invalid setting, with the name of its flag."""
    name, colon, rest = str(error).partition(": ")
    flag = name.removesuffix("_s").replace("_", "-")
    return f"--{flag}: {rest}" if colon and name in options else str(error)


def database_url_of(shell: Shell, option: str | None) -> str:
    """The database of the platform: the option, else the project's setting."""
    from toolhaft.errors import StorageError
    from toolhaft.storage.address import parse_address

    project = shell.project
    url = option or project.database_url
    try:
        parse_address(url)
    except StorageError as error:
        code = Exit.USAGE if option else Exit.CONFIGURATION
        raise CommandError(str(error), exit=code, next="serve --help" if option else "doctor") from None
    if url == f"sqlite:///{project.database_file.as_posix()}":
        project.make_state_folder()
    return url


def print_started(shell: Shell, started: Started, *, as_json: bool) -> None:
    """Print the address and the key for this run to standard error: standard output may be a log."""
    if as_json:
        output.print_note(output.to_json({"url": started.url, "key": started.key}))
        sys.stderr.flush()
        return
    output.print_note(f"serving on {started.url}")
    if started.key is None:
        output.print_note("callers need a stored key")
        shell.suggest("key ls")
        shell.suggest("key new --owner NAME --scope operator")
    else:
        output.print_note(f"key for this run, shown once: {started.key}")
        output.print_note(f"  try: curl -H 'Authorization: Bearer KEY' {started.url}/v3/tools")
    output.print_note("Ctrl-C stops it")
    sys.stderr.flush()
