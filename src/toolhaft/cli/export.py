"""`export`: prints tools in a provider's format, and reports everything that the format loses."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from toolhaft.cli import output
from toolhaft.cli.completion import complete_ids
from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.shell import Shell, json_option, pass_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool
    from toolhaft.formats import Export


class FormatName(click.ParamType[str]):
    """The name of a format; the error for an unknown one suggests the nearest."""

    name = "format"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Check the name."""
        from toolhaft.formats.registry import FORMATS
        from toolhaft.schema.nearest import nearest

        if value in FORMATS:
            return value
        close = nearest(value, FORMATS)
        hint = f"; did you mean {close!r}?" if close else "."
        return self.fail(f"no format {value!r}{hint} Formats: {', '.join(FORMATS)}.", param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 -- click's signature
        param: click.Parameter,  # noqa: ARG002 -- the same
        incomplete: str,
    ) -> list[CompletionItem]:
        """The formats with this prefix."""
        from toolhaft.formats.registry import FORMATS

        return [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]


format_option = click.option(
    "--format",
    "-f",
    type=FormatName(),
    required=True,
    metavar="FORMAT",
    help="openai_chat, openai_responses, anthropic, gemini, bedrock, mistral, cohere, ollama, mcp or native.",
)


@click.command("export", help="Print tools in a provider's format; without ids, the project's own tools.")
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=complete_ids)
@format_option
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write to this file.")
@click.option("--all", "with_all", is_flag=True, help="Export every tool that this project can find.")
@click.option("--strict", is_flag=True, help="Use the provider's strict mode.")
@click.option(
    "--strict-where-possible",
    is_flag=True,
    help="Use strict mode for the tools that can use it, and send the others without it.",
)
@click.option("--dialect", metavar="NAME", help="A variant of the format, if it has several.")
@click.option("--model", metavar="NAME", help="Apply the limits of this model.")
@click.option(
    "--examples", is_flag=True, help="Add examples to descriptions if the format has no place for them."
)
@json_option
@pass_shell
def command(
    shell: Shell,
    *,
    ids: tuple[str, ...],
    format: str,
    out: str | None,
    with_all: bool,
    strict: bool,
    strict_where_possible: bool,
    dialect: str | None,
    model: str | None,
    examples: bool,
    as_json: bool,
) -> int:
    """Print the payload or write it to a file; report what it loses."""
    from toolhaft.errors import WireError
    from toolhaft.formats import export_tools

    tools = _tools(shell, ids, with_all=with_all)
    try:
        export = export_tools(
            tools,
            format,
            strict="where_possible" if strict_where_possible else strict,
            dialect=dialect,
            model=model,
            examples=examples,
        )
    except WireError as error:  # an unknown dialect
        raise CommandError(str(error), next="export --help") from None
    _write_export(export, out, as_json=as_json)
    if not export.refused:
        return Exit.OK
    if not as_json:
        output.print_note(f"  try: {shell.command_line('tool show ID')}, or another --format")
    return Exit.FAILED


def _tools(shell: Shell, ids: tuple[str, ...], *, with_all: bool) -> list[AnyTool]:
    if ids and with_all:
        raise CommandError("--all and ids exclude each other: give one of them", next="export --help")
    wanted = dict.fromkeys(ids)
    if not ids:
        entries = shell.catalog.entries()
        wanted = dict.fromkeys(entry.id for entry in entries if with_all or entry.store == "project")
        if not wanted:
            raise CommandError("the project has no tools: give ids, or --all", next="tool ls")
    return [shell.catalog.get_tool(id) for id in wanted]


def _write_export(export: Export, out: str | None, *, as_json: bool) -> None:
    if out is not None:
        _write_file(out, output.to_json(export.payload, indent=2) + "\n")
    if as_json:
        output.print_json(
            {
                "format": export.format,
                "payload": export.payload,
                "losses": [loss._asdict() for loss in export.losses],
                "policy_fields": [field._asdict() for field in export.policy_fields],
                "refused": [refusal._asdict() for refusal in export.refused],
                "names": dict(export.names),
            }
        )
        return
    if out is None:
        output.print_json(export.payload)
    for loss in export.losses:
        output.print_note(f"loss: {output.printable(str(loss))}")
    for refusal in export.refused:
        output.print_note(f"refused: {output.printable(str(refusal))}")


def _write_file(file: str, text: str) -> None:
    """Replace a file atomically, so that a full disk keeps the old one; write to a device directly."""
    from pathlib import Path

    from toolhaft.define.yaml.emitter import write_file

    target = Path(file)
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
        else:
            write_file(file, text)
    except OSError as error:  # it names a temporary file, not the user's
        code = Exit.PERMISSION if isinstance(error, PermissionError) else Exit.FAILED
        message = f"--out {file}: cannot be written: {error.strerror}"
        raise CommandError(message, exit=code, next="export --help") from error
