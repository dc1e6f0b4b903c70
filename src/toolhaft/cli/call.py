"""`call`: runs a tool in this process; each tool has a command made from its schema."""

from __future__ import annotations

from math import isnan
from typing import Any, Final, cast

import click
from click.shell_completion import CompletionItem

from toolhaft.cli import output
from toolhaft.cli.completion import complete_tool_ids, local_catalog, local_listings, shell_of
from toolhaft.cli.errors import CommandError
from toolhaft.errors import ToolhaftError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool

_MAX_LISTED: Final = 40
_MAX_LINE_CHARS: Final = 70


class Seconds(click.FloatRange):
    """A number of seconds; click's FloatRange would accept NaN."""

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse the number."""
        seconds = super().convert(value, param, ctx)
        return self.fail(f"{value} is not a number of seconds.", param, ctx) if isnan(seconds) else seconds


def _call_options() -> list[click.Option]:
    """Options that may come before or after the id."""
    return [
        click.Option(
            ["--dry-run"],
            is_flag=True,
            help="Check the arguments and show what would be sent or run, without doing it.",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the whole result as JSON."),
        click.Option(
            ["--timeout", "timeout_s"],
            type=Seconds(min=0, min_open=True, max=86_400),
            metavar="SECONDS",
            help="Time limit of the call; the tool's own limit applies too.",
        ),
    ]


class ToolCommand(click.Command):
    """The command of one tool."""

    def __init__(self, tool: AnyTool) -> None:
        from toolhaft.cli.call_flags import flags_of

        self.tool = tool
        self.flags = flags_of(tool.input_schema)
        flags = [flag.option for flag in self.flags if flag.option is not None]
        self._parameters = tuple(flags)
        super().__init__(
            tool.name,
            params=[
                click.Argument(["arguments"], required=False, metavar="[JSON|@FILE|-]"),
                *flags,
                click.Option(
                    ["--arg-json", "parts"],
                    multiple=True,
                    metavar="NAME=JSON",
                    help="One parameter as a JSON value.",
                ),
                *_call_options(),
            ],
            callback=_call,
            help=_help_text(tool),
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; errors name this tool's command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = ctx
            option = error.option_name if isinstance(error, click.BadOptionUsage) else None
            usage = next((flag.switch_usage for flag in self.flags if flag.is_switch(option)), "")
            if usage:
                raise click.UsageError(usage, ctx) from None
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the tool's parameters first, then the options of every call."""
        parameters = [param.get_help_record(ctx) for param in self._parameters]
        others = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        options = [param.get_help_record(ctx) for param in others if param not in self._parameters]
        json_only = [flag for flag in self.flags if flag.option is None]
        rows = [record for record in parameters if record is not None]
        rows += [(f"--arg-json {output.printable(flag.parameter)}=JSON", flag.help) for flag in json_only]
        if rows:
            with formatter.section("Parameters"):
                formatter.write_dl(rows)
        with formatter.section("Options"):
            formatter.write_dl([record for record in options if record is not None])


@click.pass_context
def _call(context: click.Context, /, **params: Any) -> int:  # noqa: ANN401 -- click's parameters
    from toolhaft.cli.call_flags import read_arguments
    from toolhaft.cli.call_run import dry_run, run

    command = cast("ToolCommand", context.command)
    before = cast("click.Context", context.parent).params
    try:
        arguments = read_arguments(
            command.flags, params, text=params.pop("arguments"), parts=params.pop("parts")
        )
    except CommandError as error:
        raise CommandError(str(error), next=f"call {command.tool.name} --help") from None
    shell = shell_of(context)
    as_json = bool(params["as_json"] or before["as_json"])
    if params["dry_run"] or before["dry_run"]:
        return dry_run(shell, command.tool, arguments, as_json=as_json)
    timeout_s = params["timeout_s"] or before["timeout_s"]
    return run(shell, command.tool, arguments, as_json=as_json, timeout_s=timeout_s)


class CallGroup(click.Group):
    """`call`, whose commands are the tools that this project can find."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a tool and make its command.

        Raises:
            UnknownToolError: if there is no tool of that id.
        """
        from toolhaft.cli.call_run import load_tool

        if not ctx.resilient_parsing:
            return ToolCommand(load_tool(shell_of(ctx), cmd_name))
        try:
            return ToolCommand(local_catalog(ctx).get_tool(cmd_name))
        except (ToolhaftError, OSError):  # during completion, errors cannot be shown
            return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take the first word as the id, also if it looks like an option."""
        return args[0], self.get_command(ctx, args[0]), args[1:]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete ids from listings; click would load every tool for its help."""
        return [*complete_tool_ids(ctx, incomplete), *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the tools with one line each, without loading them."""
        entries = local_listings(ctx)
        with formatter.section("Tools"):
            rows = [(output.printable(entry.id), _line(entry.description)) for entry in entries[:_MAX_LISTED]]
            formatter.write_dl(rows)
            if len(entries) > _MAX_LISTED:
                formatter.write_text(f"... and {len(entries) - _MAX_LISTED} more: tool ls, tool search WORDS")


@click.pass_context
def _start(context: click.Context, **_: object) -> None:
    if context.invoked_subcommand is None:
        raise CommandError("call needs the id of a tool", next="tool ls")


command = CallGroup(
    "call",
    callback=_start,
    invoke_without_command=True,
    params=[*_call_options()],
    subcommand_metavar="ID [JSON|@FILE|-] [--PARAMETER VALUE]...",
    help=(
        "Run a tool in this process. Its arguments are one JSON object, @FILE to read it from a file, - to"
        " read it from standard input, or flags named after its parameters; `call ID --help` lists those."
        " The value of a flag may be @FILE too."
    ),
    epilog="Exit codes: 0 succeeded, 1 failed, 2 wrong arguments, 3 configuration, 4 network, 5 not allowed.",
)


def _help_text(tool: AnyTool) -> str:
    """The help of the tool's command."""
    texts = [tool.description, *([f"When to use: {tool.when_to_use}"] if tool.when_to_use else [])]
    return "\n\n".join(output.printable(" ".join(text.split())) for text in texts)


def _line(text: str) -> str:
    line = output.printable(" ".join(text.split()))
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[: _MAX_LINE_CHARS - 3]}..."
