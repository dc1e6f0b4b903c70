"""`call`: runs a tool in this process, with a command of its own for each tool, made from its schema.

Knows the command line of a call; how it is run, watched and told stands next door.
"""

from __future__ import annotations

from math import isnan
from typing import Any, Final, cast

import click
from click.shell_completion import CompletionItem

from toolhaft.cli import output
from toolhaft.cli.completion import items_of, listed, shell_of
from toolhaft.cli.errors import CommandError
from toolhaft.errors import ToolhaftError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool

_MOST_LISTED: Final = 40
_LONGEST_LINE: Final = 70


class Seconds(click.FloatRange):
    """A time that there is: NaN is within any range."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number."""
        seconds = super().convert(value, param, ctx)
        return self.fail(f"{value} is no time.", param, ctx) if isnan(seconds) else seconds


def _own_options() -> list[click.Option]:
    """What may stand before and after the id alike."""
    return [
        click.Option(
            ["--dry-run"], is_flag=True, help="Check, show what would be sent or run, and do nothing."
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the whole result as JSON."),
        click.Option(
            ["--timeout", "timeout_s"],
            type=Seconds(min=0, min_open=True, max=86_400),
            metavar="SECONDS",
            help="Give up after so long; the tool's own limit holds too.",
        ),
    ]


class ToolCommand(click.Command):
    """The command of one tool."""

    def __init__(self, tool: AnyTool) -> None:
        from toolhaft.cli.call_flags import flags_of  # noqa: PLC0415 -- the schemas' room, for a tool at hand

        self.tool = tool
        self.flags = flags_of(cast("dict[str, Any]", tool.input_schema))
        flags = [flag.option for flag in self.flags if flag.option is not None]
        self._parameters = tuple(flags)
        super().__init__(
            tool.name,
            params=[
                click.Argument(["arguments"], required=False, metavar="[JSON|-]"),
                *flags,
                click.Option(
                    ["--arg-json", "parts"],
                    multiple=True,
                    metavar="NAME=JSON",
                    help="One parameter as a JSON value.",
                ),
                *_own_options(),
            ],
            callback=_call,
            help=_words(tool),
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed; a mistake is told as one of this tool's command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = ctx
            named = error.option_name if isinstance(error, click.BadOptionUsage) else None
            told = next((flag.told_as_switch for flag in self.flags if flag.is_switch(named)), "")
            if told:
                raise click.UsageError(told, ctx) from None
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The tool's own parameters first, then what every call takes."""
        parameters = [param.get_help_record(ctx) for param in self._parameters]
        others = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        options = [param.get_help_record(ctx) for param in others if param not in self._parameters]
        hidden = [flag for flag in self.flags if flag.option is None]
        rows = [record for record in parameters if record is not None]
        rows += [(f"--arg-json {output.show(flag.parameter)}=JSON", flag.words) for flag in hidden]
        if rows:
            with formatter.section("Parameters"):
                formatter.write_dl(rows)
        with formatter.section("Options"):
            formatter.write_dl([record for record in options if record is not None])


@click.pass_context
def _call(context: click.Context, /, **params: Any) -> int:  # noqa: ANN401 -- as click gives them
    from toolhaft.cli.call_arguments import gather  # noqa: PLC0415 -- not for help
    from toolhaft.cli.call_run import dry_run, run  # noqa: PLC0415 -- the road, not for help

    command = cast("ToolCommand", context.command)
    before = cast("click.Context", context.parent).params
    try:
        arguments = gather(command.flags, params, text=params.pop("arguments"), parts=params.pop("parts"))
    except CommandError as error:
        raise CommandError(str(error), next=f"call {command.tool.name} --help") from None
    shell = shell_of(context)
    as_json = bool(params["as_json"] or before["as_json"])
    if params["dry_run"] or before["dry_run"]:
        return dry_run(shell, command.tool, arguments, as_json=as_json)
    timeout_s = params["timeout_s"] or before["timeout_s"]
    return run(shell, command.tool, arguments, as_json=as_json, timeout_s=timeout_s)


class Calls(click.Group):
    """`call`, whose commands are the tools that can be found from here."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a tool, which is loaded for it.

        Raises:
            UnknownToolError: where there is none of that id.
        """
        from toolhaft.cli.call_run import prepare  # noqa: PLC0415 -- not for listing

        try:
            return ToolCommand(prepare(shell_of(ctx), cmd_name))
        except (ToolhaftError, OSError):
            if ctx.resilient_parsing:  # a shell asks while a person types: it cannot be told
                return None
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The first word is the id, whatever it looks like."""
        return args[0], self.get_command(ctx, args[0]), args[1:]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Ids from the listing; click would load every tool for its help."""
        return [*items_of(ctx, incomplete), *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The tools with a line each, none of them loaded."""
        entries = listed(ctx)
        with formatter.section("Tools"):
            rows = [(output.show(entry.id), _line(entry.description)) for entry in entries[:_MOST_LISTED]]
            formatter.write_dl(rows)
            if len(entries) > _MOST_LISTED:
                formatter.write_text(
                    f"... and {len(entries) - _MOST_LISTED} more: tool ls, tool search WORDS"
                )


@click.pass_context
def _start(context: click.Context, **_: object) -> None:
    if context.invoked_subcommand is None:
        raise CommandError("call needs the id of a tool", next="tool ls")


command = Calls(
    "call",
    callback=_start,
    invoke_without_command=True,
    params=[*_own_options()],
    subcommand_metavar="ID [JSON|-] [--PARAMETER VALUE]...",
    help=(
        "Run a tool here, in this process. Its arguments are one JSON object, - to read that from standard"
        " input, or flags named for its parameters; `call ID --help` lists those."
    ),
    epilog="Exit codes: 0 done, 1 failed, 2 wrong arguments, 3 configuration, 4 network, 5 not allowed.",
)


def _words(tool: AnyTool) -> str:
    """What help says of the tool."""
    said = [tool.description, *([f"When to use: {tool.when_to_use}"] if tool.when_to_use else [])]
    return "\n\n".join(output.show(" ".join(text.split())) for text in said)


def _line(text: str) -> str:
    said = output.show(" ".join(text.split()))
    return said if len(said) <= _LONGEST_LINE else f"{said[: _LONGEST_LINE - 3]}..."
