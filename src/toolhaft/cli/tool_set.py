"""`tool set`: checks a tool of the project, publishes it, and brings the file up to date.

Knows files and the platform; which of two versions came first is the platform's to say.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from toolhaft.cli.errors import CommandError
from toolhaft.cli.exits import Exit
from toolhaft.cli.output import note, say, say_json, show
from toolhaft.cli.shell import Shell, id_argument, json_option, pass_shell
from toolhaft.cli.tool_files import check_id, file_of, seen_from_here, write_whole
from toolhaft.errors import ConflictError

TYPE_CHECKING = False  # the YAML door is loaded when there is a file
if TYPE_CHECKING:
    from toolhaft.catalog.platform import PublishedTool
    from toolhaft.define.yaml import YamlTool

_GIVEN_BY_PLATFORM: Final = ("owner", "created_at", "updated_at", "is_active", "endpoint")


@click.command("set", help="Check a tool of the project and publish it; its file gets the new updated_at.")
@id_argument
@click.option("--endpoint", metavar="URL", help="Where the tool is answered, if it has nothing to run here.")
@click.option("--file", "path", metavar="PATH", help="The file, if it is not local-kit/tools/ID.yaml.")
@click.option("--force", is_flag=True, help="Publish over what somebody else changed meanwhile.")
@json_option
@pass_shell
def command(
    shell: Shell, *, id: str, endpoint: str | None, path: str | None, force: bool, as_json: bool
) -> None:
    """Publish the tool."""
    file = Path(path) if path else file_of(shell, id)
    tool = _load(shell, id, file)
    from toolhaft.define.yaml import write_tool  # noqa: PLC0415 -- the same

    before = tool.text
    changed = tool.replace(endpoint=endpoint) if endpoint else tool
    warnings = _warnings(before, file)
    if not as_json:
        for warning in warnings:
            note(show(warning))
    published = _put(shell, changed, write_tool(changed), force=force)
    is_written = _write_back(file, before, published.text)
    url = published.tool.endpoint
    if as_json:
        at = published.updated_at
        say_json(
            {
                "id": id,
                "file": seen_from_here(file),
                "endpoint": url,
                "updated_at": at,
                "is_written": is_written,
                "warnings": warnings,
            }
        )
        return
    say(f"{id}: published at {url}")
    if not is_written:
        note(f"warning: {seen_from_here(file)} changed meanwhile and was left as it is")
        shell.next(f"tool set {id} --force")
        return
    say(f"{seen_from_here(file)}: updated")
    shell.next(f"call {id} --help")


def _load(shell: Shell, id: str, file: Path) -> YamlTool[dict[str, object], object]:
    if not file.exists():
        check_id(id)
        verb = "get" if id in shell.catalog else "new"
        raise CommandError(
            f"there is no {seen_from_here(file)} to publish", next=f"tool {verb} {id}", exit=Exit.FAILED
        )
    if file.is_dir():
        raise CommandError(f"{seen_from_here(file)} is a folder", next="tool set --help")
    from toolhaft.define.yaml import load_tool  # noqa: PLC0415 -- whoever mistyped does not wait for it

    tool = load_tool(seen_from_here(file))
    if tool.name != id:
        raise CommandError(
            f"{seen_from_here(file)} defines {tool.name!r}, not {id!r}",
            next=f"tool set {tool.name} --file {seen_from_here(file)}",
            exit=Exit.CONFIGURATION,
        )
    return tool


def _warnings(text: str, file: Path) -> list[str]:
    from toolhaft.define.yaml import lint_text  # noqa: PLC0415 -- the same

    # errors were found when it was loaded
    return [str(remark) for remark in lint_text(text, seen_from_here(file)) if remark.level == "warning"]


def _put(shell: Shell, tool: YamlTool[dict[str, object], object], text: str, *, force: bool) -> PublishedTool:
    try:
        return shell.platform.put(text, base=... if force else tool.updated_at)
    except ConflictError as error:
        there = _same_there(shell, tool)
        if there is not None:
            return there
        theirs = f"{tool.name[:43]}-theirs"
        raise CommandError(
            f"{error}. To see what is published, get it under another id; to publish over it, add --force",
            next=f"tool get {tool.name} {theirs}",
            exit=Exit.FAILED,
        ) from error


def _same_there(shell: Shell, tool: YamlTool[dict[str, object], object]) -> PublishedTool | None:
    """What is published, if it says the same: an earlier `set` that was cut off before it wrote the file."""
    from toolhaft.define.yaml import tool_fields  # noqa: PLC0415 -- as above

    there = shell.platform.get(tool.name)
    if tool.endpoint not in (None, there.tool.endpoint):
        return None
    ours, theirs = (
        {key: value for key, value in tool_fields(one).items() if key not in _GIVEN_BY_PLATFORM}
        for one in (tool, there.tool)
    )
    return there if ours == theirs else None


def _write_back(file: Path, before: str, text: str) -> bool:
    """Bring the file up to date, unless somebody has changed it since it was read."""
    if file.read_bytes() != before.encode():
        return False
    write_whole(file, text)
    return True
