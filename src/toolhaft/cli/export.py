"""`export`: tools in a provider's own format, with every loss told.

Knows files and streams; what a format carries is the formats' business.
"""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from toolhaft.cli import output
from toolhaft.cli.completion import complete_ids
from toolhaft.cli.errors import CommandError
from toolhaft.cli.exits import Exit
from toolhaft.cli.shell import Shell, json_option, pass_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool
    from toolhaft.formats import Export


class FormatName(click.ParamType[str]):
    """The name of a format, told with the nearest one where it is none."""

    name = "format"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name itself."""
        from toolhaft.formats.registry import FORMATS  # noqa: PLC0415 -- not for help
        from toolhaft.schema.nearest import nearest  # noqa: PLC0415 -- the same

        if value in FORMATS:
            return value
        close = nearest(value, FORMATS)
        hint = f"; did you mean {close!r}?" if close else "."
        return self.fail(f"no format {value!r}{hint} There are {', '.join(FORMATS)}.", param, ctx)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 -- click's signature
        param: click.Parameter,  # noqa: ARG002 -- the same
        incomplete: str,
    ) -> list[CompletionItem]:
        """The formats that begin so."""
        from toolhaft.formats.registry import FORMATS  # noqa: PLC0415 -- not for help

        return [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]


format_option = click.option(
    "--format",
    "-f",
    type=FormatName(),
    required=True,
    metavar="FORMAT",
    help="openai_chat, openai_responses, anthropic, gemini, bedrock, mistral, cohere, ollama, mcp or native.",
)


@click.command("export", help="Tools in a provider's own format; without ids, all of the project's own.")
@click.argument("ids", nargs=-1, metavar="[ID]...", shell_complete=complete_ids)
@format_option
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write it here.")
@click.option("--all", "with_all", is_flag=True, help="Every tool that can be found.")
@click.option("--strict", is_flag=True, help="For the provider's strict mode.")
@click.option("--dialect", metavar="NAME", help="A variant of the format, where it has several.")
@click.option("--model", metavar="NAME", help="For limits that one model has and the format has not.")
@click.option("--examples", is_flag=True, help="Put examples into descriptions if need be.")
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
    dialect: str | None,
    model: str | None,
    examples: bool,
    as_json: bool,
) -> int:
    """Print the payload, or write it; tell what it does not carry."""
    from toolhaft.errors import WireError  # noqa: PLC0415 -- not for help
    from toolhaft.formats import export_tools  # noqa: PLC0415 -- the same

    tools = _tools(shell, ids, with_all=with_all)
    try:
        export = export_tools(tools, format, strict=strict, dialect=dialect, model=model, examples=examples)
    except WireError as error:  # an unknown dialect
        raise CommandError(str(error), next="export --help") from None
    _hand_out(export, out, as_json=as_json)
    if not export.refused:
        return Exit.OK
    if not as_json:
        output.note(f"  try: {shell.command('tool show ID')}, or another --format")
    return Exit.FAILED


def _tools(shell: Shell, ids: tuple[str, ...], *, with_all: bool) -> list[AnyTool]:
    if ids and with_all:
        raise CommandError("--all and ids are too much: give one of them", next="export --help")
    wanted = dict.fromkeys(ids)
    if not ids:
        entries = shell.catalog.entries()
        wanted = dict.fromkeys(entry.id for entry in entries if with_all or entry.store == "project")
        if not wanted:
            raise CommandError("the project has no tools of its own: name ids, or give --all", next="tool ls")
    return [shell.catalog.get_tool(id) for id in wanted]


def _hand_out(export: Export, out: str | None, *, as_json: bool) -> None:
    if out is not None:
        _write(out, output.to_json(export.payload, indent=2) + "\n")
    if as_json:
        output.say_json(
            {
                "format": export.format,
                "payload": export.payload,
                "losses": [loss._asdict() for loss in export.losses],
                "refused": [refusal._asdict() for refusal in export.refused],
                "names": dict(export.names),
            }
        )
        return
    if out is None:
        output.say_json(export.payload)
    for loss in export.losses:
        output.note(f"loss: {output.show(str(loss))}")
    for refusal in export.refused:
        output.note(f"refused: {output.show(str(refusal))}")


def _write(file: str, text: str) -> None:
    """Put a file in place whole, so that a full disk leaves the old one; a device or a pipe is written to."""
    from pathlib import Path  # noqa: PLC0415 -- most exports are printed

    from toolhaft.define.yaml.text import write_file  # noqa: PLC0415 -- the same

    target = Path(file)
    try:
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
        else:
            write_file(file, text)
    except OSError as error:  # it names a draft, which nobody has heard of
        code = Exit.PERMISSION if isinstance(error, PermissionError) else Exit.FAILED
        message = f"--out {file}: it cannot be written: {error.strerror}"
        raise CommandError(message, exit=code, next="export --help") from error
