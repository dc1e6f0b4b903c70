"""The program's verbs, each in a module of its own that is loaded when it is asked for.

Knows where the verbs live and one line about each; not what they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final, NamedTuple, cast

import click

from toolhaft.cli.errors import CommandError
from toolhaft.cli.shell import Shell


class Home(NamedTuple):
    """Where a verb lives, and what the help of its group says of it."""

    module: str
    says: str


VERBS: Final[Mapping[str, Home]] = {
    "tool": Home("tool", "List, fetch, publish, write and check tools (t for short)."),
    "call": Home("call", "Run a tool."),
    "export": Home("export", "Tools in a provider's own format."),
    "import": Home("import_", "YAML files from a provider's format."),
    "prompt": Home("prompt", "Show a prompt as a model gets it."),
    "serve": Home("serve", "Run the platform."),
    "key": Home("key", "API keys of the platform."),
    "doctor": Home("doctor", "Check the installation, the project and the platform."),
    "completion": Home("completion", "Completion for a shell."),
    "version": Home("version", "Print the version."),
}
TOOL_VERBS: Final[Mapping[str, Home]] = {
    "ls": Home("tool_ls", "List every tool that can be found from here."),
    "get": Home("tool_get", "Bring a tool into the project, active, as YAML."),
    "set": Home("tool_set", "Check a tool of the project and publish it."),
    "new": Home("tool_new", "Write a new tool."),
    "show": Home("tool_show", "Show a tool."),
    "check": Home("tool_check", "Tell every problem of YAML files."),
    "search": Home("tool_search", "Find tools by words."),
    "rm": Home("tool_rm", "Remove a tool of the project."),
}
_PATH: Final = "toolhaft.cli.path"
"""Where a context keeps the verbs that were understood, for errors that do not know where they happened."""
_SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Verbs(click.Group):
    """A group whose commands are loaded by name.

    Args:
        homes: the verbs in the order that the help shows.
        short: other names of verbs, which the help does not list.
    """

    def __init__(
        self, name: str, homes: Mapping[str, Home], *, short: Mapping[str, str], **more: object
    ) -> None:
        super().__init__(name, context_settings=dict(_SETTINGS), subcommand_metavar="VERB ...", **more)  # pyright: ignore[reportArgumentType] -- click's own keywords, passed through
        self._homes = homes
        self._short = short

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        """The verbs as the help shows them."""
        return list(self._homes)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's signature
        """The verb of that name, loaded now."""
        name = self._short.get(cmd_name, cmd_name)
        if name == "tool":
            return TOOL
        home = self._homes.get(name)
        if home is None:
            return None
        command = cast("click.Command", import_module(f"toolhaft.cli.{home.module}").command)
        command.context_settings = {**_SETTINGS, **command.context_settings}
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but a name that is not there is told with the nearest one."""
        typed = args[0]
        if typed.startswith("-") or typed in self._homes or typed in self._short or ctx.resilient_parsing:
            name, command, rest = super().resolve_command(ctx, args)
            known = self._short.get(name or "", name)
            ctx.meta[_PATH] = f"{' '.join(ctx.command_path.split()[1:])} {known}".strip()
            return (known, command, rest)
        path = " ".join(ctx.command_path.split()[1:])
        close = _nearest_verb(typed, self._homes, self._short)
        said = f"{path} has no verb {typed!r}" if path else f"no verb {typed!r}"
        if close:
            raise CommandError(f"{said}; did you mean {close!r}?", next=f"{path} {close} --help".strip())
        raise CommandError(said, next=f"{path} --help".strip())

    def invoke(self, ctx: click.Context) -> object:
        """As click does, but an error that does not know where it happened is told for the verb."""
        try:
            return cast("object", super().invoke(ctx))
        except click.UsageError as error:
            if error.ctx is not None:
                raise
            raise CommandError(error.format_message(), next=f"{ctx.meta[_PATH]} --help") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- click's signature
        """The verbs with a line each, none of them loaded."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, home.says) for name, home in self._homes.items()])


def _nearest_verb(typed: str, verbs: Mapping[str, Home], short: Mapping[str, str]) -> str | None:
    """The verb that was most likely meant; verbs of two letters are mistyped too."""
    from toolhaft.schema.nearest import nearest  # noqa: PLC0415 -- only where somebody mistyped

    close = nearest(typed, [*verbs, *short])
    if close is None:
        letters = sorted(typed.lower())
        close = next(
            (
                verb
                for verb in verbs
                if verb.startswith(typed.lower()) or sorted(verb) == letters or set(verb) == set(letters)
            ),
            None,
        )
    return close if close is None else short.get(close, close)


TOOL: Final = Verbs(
    "tool",
    TOOL_VERBS,
    short={"list": "ls", "remove": "rm", "delete": "rm"},
    help="List, fetch, publish, write and check tools.",
)


@click.pass_context
def _start(context: click.Context, folder: str | None, no_color: bool) -> None:  # noqa: FBT001 -- click passes it
    context.obj = Shell(program=context.info_name or "lk", folder=folder, color=not no_color)


def _tell_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001, FBT001 -- click's signature
    if value and not context.resilient_parsing:
        context.invoke(cast("click.Command", PROGRAM.get_command(context, "version")), as_json=False)
        context.exit()


PROGRAM: Final = Verbs(
    "lk",
    VERBS,
    short={"t": "tool"},
    callback=_start,
    params=[
        click.Option(
            ["-C", "--project", "folder"],
            type=click.Path(file_okay=False),
            metavar="DIR",
            help="Work in this folder, not the current one.",
        ),
        click.Option(["--no-color"], is_flag=True, help="No colours; the variable NO_COLOR does the same."),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_tell_version,
            help="Print the version.",
        ),
    ],
    help="Define, find, run and publish tools. Its two names, lk and toolhaft, are the same program.",
)
