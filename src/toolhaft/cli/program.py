"""The verbs of the program; the module of a verb is imported when the verb is used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final, NamedTuple, cast

import click

from toolhaft.cli.errors import CommandError
from toolhaft.cli.shell import Shell


class VerbModule(NamedTuple):
    """The module of a verb, its line in the help, and the name of its command in the module."""

    module: str
    help: str
    attribute: str = "command"


VERBS: Final[Mapping[str, VerbModule]] = {
    "tool": VerbModule("tool", "List, fetch, publish, write and check tools (t for short)."),
    "call": VerbModule("call", "Run a tool."),
    "export": VerbModule("export", "Print tools in a provider's format."),
    "import": VerbModule("import_", "Write YAML files from a provider's format."),
    "prompt": VerbModule("prompt", "Show a prompt as a model receives it."),
    "serve": VerbModule("serve", "Run the platform."),
    "key": VerbModule("key", "Create, list and revoke API keys of the platform."),
    "login": VerbModule("login", "Store the API key of a platform, for its address only.", "login"),
    "logout": VerbModule("login", "Remove the stored API key of a platform.", "logout"),
    "files": VerbModule("files", "Restore files after an interrupted call."),
    "doctor": VerbModule("doctor", "Check the installation, the project and the platform."),
    "completion": VerbModule("completion", "Print a shell completion script."),
    "version": VerbModule("version", "Print the version."),
}
TOOL_VERBS: Final[Mapping[str, VerbModule]] = {
    "ls": VerbModule("tool_list", "List every tool that this project can find.", "ls"),
    "get": VerbModule("tool_get", "Activate a file of the project, or add any other tool to it."),
    "set": VerbModule("tool_set", "Check a tool of the project and publish it."),
    "diff": VerbModule("tool_diff", "Show how a file differs from the tool that it came from."),
    "new": VerbModule("tool_new", "Write a new tool."),
    "show": VerbModule("tool_show", "Show a tool."),
    "agree": VerbModule("tool_agree", "Agree that a tool sends environment variables."),
    "check": VerbModule("tool_check", "List every problem of YAML files."),
    "search": VerbModule("tool_list", "Search tools by words.", "search"),
    "rm": VerbModule("tool_rm", "Remove a tool from the project."),
    "versions": VerbModule("tool_versions", "List the published versions of a tool.", "versions"),
    "rollback": VerbModule("tool_versions", "Restore an earlier published version of a tool.", "rollback"),
}
_PATH: Final = "toolhaft.cli.path"
"""Key of the click context's metadata for the verbs parsed so far, for errors that do not name them."""
_SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class VerbGroup(click.Group):
    """A group whose commands are imported when they are used.

    Args:
        verbs: the verbs in the order of the help.
        aliases: other names of verbs, which the help does not list.
    """

    def __init__(
        self, name: str, verbs: Mapping[str, VerbModule], *, aliases: Mapping[str, str], **more: object
    ) -> None:
        super().__init__(name, context_settings=dict(_SETTINGS), subcommand_metavar="VERB ...", **more)  # pyright: ignore[reportArgumentType] -- click's keywords, passed through
        self._verbs = verbs
        self._aliases = aliases

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        """The verbs in the order of the help."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's signature
        """Import the verb of that name."""
        name = self._aliases.get(cmd_name, cmd_name)
        if name == "tool":
            return TOOL
        verb = self._verbs.get(name)
        if verb is None:
            return None
        command = cast("click.Command", getattr(import_module(f"toolhaft.cli.{verb.module}"), verb.attribute))
        command.context_settings = {**_SETTINGS, **command.context_settings}
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click, but the error for an unknown verb suggests the nearest one."""
        typed = args[0]
        if typed.startswith("-") or typed in self._verbs or typed in self._aliases or ctx.resilient_parsing:
            name, command, rest = super().resolve_command(ctx, args)
            known = self._aliases.get(name or "", name)
            ctx.meta[_PATH] = f"{' '.join(ctx.command_path.split()[1:])} {known}".strip()
            return (known, command, rest)
        path = " ".join(ctx.command_path.split()[1:])
        close = _nearest_verb(typed, self._verbs, self._aliases)
        message = f"{path} has no verb {typed!r}" if path else f"no verb {typed!r}"
        if close:
            raise CommandError(f"{message}; did you mean {close!r}?", next=f"{path} {close} --help".strip())
        raise CommandError(message, next=f"{path} --help".strip())

    def invoke(self, ctx: click.Context) -> object:
        """Like click, but a usage error without a context suggests the help of the verb."""
        try:
            return cast("object", super().invoke(ctx))
        except click.UsageError as error:
            if error.ctx is not None:
                raise
            raise CommandError(error.format_message(), next=f"{ctx.meta[_PATH]} --help") from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- click's signature
        """List the verbs with one line each, without importing them."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, verb.help) for name, verb in self._verbs.items()])


def _nearest_verb(typed: str, verbs: Mapping[str, VerbModule], aliases: Mapping[str, str]) -> str | None:
    """The verb that a mistyped one is most like, also for verbs of two letters."""
    from toolhaft.schema.nearest import nearest

    close = nearest(typed, [*verbs, *aliases])
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
    return close if close is None else aliases.get(close, close)


TOOL: Final = VerbGroup(
    "tool",
    TOOL_VERBS,
    aliases={"list": "ls", "remove": "rm", "delete": "rm"},
    help="List, fetch, publish, write and check tools.",
)


@click.pass_context
def _start(context: click.Context, folder: str | None, no_color: bool) -> None:  # noqa: FBT001 -- click's signature
    shell = context.obj = Shell(program=context.info_name or "lk", folder=folder, color=not no_color)
    context.call_on_close(shell.close)


def _print_version(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001, FBT001 -- click's signature
    if value and not context.resilient_parsing:
        context.invoke(cast("click.Command", PROGRAM.get_command(context, "version")), as_json=False)
        context.exit()


PROGRAM: Final = VerbGroup(
    "lk",
    VERBS,
    aliases={"t": "tool"},
    callback=_start,
    params=[
        click.Option(
            ["-C", "--project", "folder"],
            type=click.Path(file_okay=False),
            metavar="DIR",
            help="Use the project in this folder instead of the current one.",
        ),
        click.Option(["--no-color"], is_flag=True, help="Print without colors, like the variable NO_COLOR."),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version.",
        ),
    ],
    help="Define, find, run and publish tools. lk and toolhaft are the same program.",
)
