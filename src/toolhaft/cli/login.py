"""`login` and `logout`: store the API key of a platform for its address, and remove it."""

from __future__ import annotations

import re
import sys
from typing import Final

import click

from toolhaft.cli import output
from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.errors import ConfigError

_KEY: Final = re.compile(r"[!-~]{4,1000}")
_EXAMPLE: Final = "https://tools.example.com"


def _complete_addresses(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:  # noqa: ARG001 -- click's signature
    from toolhaft.define.running.platform_keys import stored_addresses

    try:
        return [address for address in stored_addresses() if address.startswith(incomplete)]
    except ConfigError:  # other verbs report it
        return []


@click.command(
    "login",
    help=(
        "Store the API key of the platform at URL. The key is sent to this address only. It is asked for, or"
        " read from standard input: lk login URL < FILE"
    ),
    context_settings={"allow_extra_args": True},
)
@click.argument("url", shell_complete=_complete_addresses)
@json_option
@click.pass_context
def login(context: click.Context, *, url: str, as_json: bool) -> None:
    """Store the key."""
    address = _check(url, "login")
    if context.args:
        raise CommandError(
            "a key is not given on the command line, where other users can read it: it is asked for",
            next=f"login {address}",
        )
    from toolhaft.define.running.platform_keys import check_encrypted, store_key

    try:
        check_encrypted(address, place="URL")
    except ConfigError as error:
        raise CommandError(str(error), next=f"login {address.replace('http:', 'https:')}") from None
    stored = store_key(address, _read_key(address))
    if as_json:
        output.print_json({"url": stored})
        return
    output.print_data(f"a key is stored for {stored}")


@click.command("logout", help="Remove the API key that is stored for the platform at URL.")
@click.argument("url", shell_complete=_complete_addresses)
@json_option
@pass_shell
def logout(shell: Shell, *, url: str, as_json: bool) -> None:  # noqa: ARG001 -- as for every verb
    """Remove the key."""
    from toolhaft.define.running.platform_keys import normal_url, remove_key

    address = normal_url(_check(url, "logout"))
    if not remove_key(address):
        raise CommandError(f"no key is stored for {address}", next="doctor", exit=Exit.FAILED)
    if as_json:
        output.print_json({"url": address})
        return
    output.print_data(f"the key for {address} is removed")


def _check(url: str, verb: str) -> str:
    from toolhaft.catalog.project import check_url

    try:
        return check_url(url, place="URL")
    except ConfigError as error:  # the text is not quoted: it may be the key
        raise CommandError(f"{error.place}: {error.problem}", next=f"{verb} {_EXAMPLE}") from None


def _read_key(address: str) -> str:
    """Ask for the key without showing it, or read a line of standard input."""
    if output.is_terminal(sys.stdin):
        text = str(click.prompt(f"key for {address}", hide_input=True, err=True))
    else:
        text = sys.stdin.readline()
    key = text.strip()
    if not _KEY.fullmatch(key):
        raise CommandError(
            "that is not a key: a key has 4 to 1,000 letters, digits and signs, without spaces",
            next=f"login {address}",
        )
    return key
