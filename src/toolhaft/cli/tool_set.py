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
from toolhaft.cli.tool_idle import runs_nothing
from toolhaft.errors import ConflictError, DefinitionError, ForbiddenError

TYPE_CHECKING = False  # the YAML door is loaded when there is a file
if TYPE_CHECKING:
    from toolhaft.catalog.platform import PublishedTool
    from toolhaft.define.yaml import YamlTool

_GIVEN_BY_PLATFORM: Final = ("owner", "created_at", "updated_at", "is_active", "endpoint")


@click.command("set", help="Check a tool of the project and publish it; its file gets the new updated_at.")
@id_argument
@click.option("--endpoint", metavar="URL", help="Where the tool is answered, if it has nothing to run here.")
@click.option(
    "--file",
    "path",
    type=click.Path(),
    metavar="PATH",
    help="The file, if it is not local-kit/tools/ID.yaml.",
)
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
    changed = tool if endpoint is None else _at(tool, endpoint, file)
    warnings = _warnings(before, file)
    _tell(warnings, as_json=as_json)
    published = _put(shell, changed, write_tool(changed), force=force)
    is_written = _write_back(file, before, published.text)
    is_idle = _is_idle(shell, changed, published)
    afterwards = _afterwards(tool, is_idle=is_idle, is_orgless=_is_orgless(shell, published))
    warnings += afterwards
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
    _tell(afterwards, as_json=False)
    if not is_written:
        note(f"warning: {seen_from_here(file)} changed meanwhile and was left as it is")
        shell.next(f"tool set {id} --force")
        return
    say(f"{seen_from_here(file)}: updated")
    shell.next(f"tool set {id} --endpoint URL" if is_idle else f"call {id} --help")


def _tell(warnings: list[str], *, as_json: bool) -> None:
    for warning in () if as_json else warnings:
        note(show(warning))


def _at(
    tool: YamlTool[dict[str, object], object], endpoint: str, file: Path
) -> YamlTool[dict[str, object], object]:
    """The tool as it is answered at an endpoint.

    Raises:
        CommandError: where that is no address, or would not be asked.
    """
    if tool.run is not None:
        raise CommandError(
            f"{seen_from_here(file)} has a run block, which wins over --endpoint: take the run block out to "
            "have the endpoint answer, or leave --endpoint out",
            next=f"tool set {tool.name}",
        )
    from toolhaft.define.yaml import parse_tool, write_tool  # noqa: PLC0415 -- as above

    try:
        changed = tool.replace(endpoint=endpoint)
        parse_tool(write_tool(changed))
    except DefinitionError as error:
        raise CommandError(
            f"--endpoint: {error.problems[0].problem}",
            next=f"tool set {tool.name} --endpoint https://example.com/{tool.name}",
        ) from error
    return changed


def _is_idle(shell: Shell, tool: YamlTool[dict[str, object], object], published: PublishedTool) -> bool:
    """True if what was published has nobody to answer it; elsewhere, as far as the file tells."""
    if shell.platform.is_embedded:
        return runs_nothing(shell, published.tool)
    from toolhaft.catalog.runnable import installed_tool  # noqa: PLC0415 -- the same

    return runs_nothing(shell, tool) and installed_tool(tool.name) is None


def _is_orgless(shell: Shell, published: PublishedTool) -> bool:
    """True if it is shared with an organisation and has none; one that a key gave it before is kept."""
    return shell.platform.is_embedded and published.tool.share == "org" and not getattr(published, "org", "")


def _afterwards(tool: YamlTool[dict[str, object], object], *, is_idle: bool, is_orgless: bool) -> list[str]:
    """What the file said and publishing did not heed, or what it still lacks."""
    said: list[str] = []
    if tool.says_active is False:
        said.append("note: the file said is_active: false; publishing activates it: is_active: true now")
    if is_orgless:
        said.append(
            "note: share: org reaches nobody here: what is published by `lk` has no org; "
            "publish it with a key of the org, or write share: public"
        )
    if is_idle:
        said.append("warning: nothing runs it: add a run: block to the file, or give --endpoint URL")
    return said


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
        again = " --force" if file_of(shell, theirs).exists() else ""
        raise CommandError(
            f"{error}. To see what is published, get it under another id; to publish over it, add --force",
            next=f"tool get {tool.name} {theirs}{again}",
            exit=Exit.FAILED,
        ) from error
    except ForbiddenError as error:
        from toolhaft.catalog.runnable import installed_tool  # noqa: PLC0415 -- only where it is refused

        if installed_tool(tool.name) is None:
            raise
        raise CommandError(
            str(error), next=f"tool get {tool.name} {f'my-{tool.name}'[:50]}", exit=Exit.PERMISSION
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
