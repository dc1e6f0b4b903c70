"""`tool diff`: shows how a file of the project differs from the tool that it came from."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.output import print_data, print_json, print_note, printable
from toolhaft.cli.shell import Shell, file_option, json_option, own_id_argument, pass_shell
from toolhaft.cli.tool_files import display_path, file_of, is_platforms_endpoint, load_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.platform import AnyPublishedTool
    from toolhaft.catalog.published import AnyYamlTool
    from toolhaft.core.conversion import AnyTool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """The tool that a file came from, with the fields that a platform sets as they are in the file."""

    tool: AnyYamlTool
    kind: Literal["published", "installed"]
    name: str
    """What it is called in sentences."""
    updated_at: str | None = None


@click.command("diff", help="Show how a file of the project differs from the tool that it came from.")
@own_id_argument
@file_option
@json_option
@pass_shell
def command(shell: Shell, *, id: str, path: str | None, as_json: bool) -> int:
    """Compare the file, and return the exit code: 1 if it differs."""
    from toolhaft.define.yaml import tool_fields

    file = Path(path) if path else file_of(shell, id)
    own = load_file(shell, id, file, verb="diff", to="compare")
    origin = _find_origin(shell, own)
    before, after = tool_fields(origin.tool), tool_fields(own)
    names = [name for name in {**before, **after} if before.get(name, ...) != after.get(name, ...)]
    text = _text(origin.tool, own)
    lines = diff_lines(text, own.text, origin.name, display_path(file)) if names else []
    is_newer = origin.updated_at != own.updated_at
    if as_json:
        print_json(
            {
                "id": id,
                "file": display_path(file),
                "compared_with": origin.kind,
                "is_same": not names,
                "fields": names,
                "diff": "\n".join(lines),
                "published_at": origin.updated_at,
                "based_on": own.updated_at,
            }
        )
    elif not names:
        but = "" if text == own.text else ", apart from comments and layout"
        print_data(f"{display_path(file)}: the same as {origin.name}{but}")
    else:
        print_diff(shell, lines)
        if origin.kind == "published":
            _suggest(shell, id, path, is_newer=is_newer)
    return Exit.FAILED if names else Exit.OK


def _suggest(shell: Shell, id: str, path: str | None, *, is_newer: bool) -> None:
    again = f"tool set {id}{f' --file {path}' if path else ''}"
    if is_newer:
        print_note(
            "note: the file is not based on the published version. Copy what you want to keep of that, the "
            f"lines with -, into the file; then overwrite it: {shell.command_line(again)} --force"
        )
    else:
        shell.suggest(again)


def diff_lines(old: str, new: str, old_name: str, new_name: str) -> list[str]:
    """The lines of a unified diff of two texts."""
    from difflib import unified_diff

    return [*unified_diff(old.splitlines(), new.splitlines(), old_name, new_name, lineterm="")]


def print_diff(shell: Shell, lines: list[str]) -> None:
    """Print the lines of a unified diff, on a terminal with colors; control characters are escaped."""
    from toolhaft.cli.output import console, is_terminal

    if not is_terminal():
        for line in lines:
            print_data(printable(line))
        return
    from rich.text import Text

    styles = {"-": "red", "+": "green", "@": "cyan"}
    screen = console(color=shell.color)
    for number, line in enumerate(lines):
        style = "bold" if number < 2 else styles.get(line[:1], "")  # noqa: PLR2004 -- the lines with the names
        screen.print(Text(printable(line), style=style), soft_wrap=True)


def _find_origin(shell: Shell, own: AnyYamlTool) -> _Origin:
    """The tool that a file came from: the published one, else the one that it is a copy of.

    Raises:
        CommandError: if there is none.
    """
    published = _published(shell, own.name)
    if published is not None:
        theirs = _with_own_fields(published.tool, own, endpoint=_published_endpoint(shell, published, own))
        if not published.updated_at:  # nobody published it: it is installed where the platform runs
            return _Origin(tool=theirs, kind="installed", name=f"the installed tool {own.name}")
        return _Origin(
            tool=theirs, kind="published", name="the published version", updated_at=published.updated_at
        )
    from toolhaft.catalog.installed import installed_tool
    from toolhaft.define.running.platform_settings import RUN_PATH

    _, _, copied = (own.endpoint or "").rpartition(RUN_PATH)  # on whatever platform
    original = _published(shell, copied) if copied else None
    if original is not None:
        return _copied(shell, original.tool, own, "published")
    installed = (copied and installed_tool(copied)) or installed_tool(own.name)
    if installed is not None:
        return _copied(shell, installed, own, "installed")
    raise CommandError(
        f"{own.name} is not published, and not a copy of another tool: there is nothing to compare it with",
        next=f"tool set {own.name}",
        exit=Exit.FAILED,
    )


def _published(shell: Shell, id: str) -> AnyPublishedTool | None:
    from toolhaft.errors import UnknownToolError

    try:
        return shell.platform.get(id)
    except UnknownToolError:
        return None


def _copied(
    shell: Shell, source: AnyTool, own: AnyYamlTool, kind: Literal["published", "installed"]
) -> _Origin:
    from toolhaft.catalog.yaml_export import activated_yaml
    from toolhaft.define.running.platform_settings import RUN_PATH
    from toolhaft.define.yaml import parse_tool

    clone = parse_tool(activated_yaml(source, id=own.name, url=shell.platform.url).text)
    is_platforms = (own.endpoint or "").endswith(f"{RUN_PATH}{source.name}")
    is_replaced = own.endpoint is None and own.run is not None
    endpoint = own.endpoint if is_platforms or is_replaced else clone.endpoint
    theirs = _with_own_fields(clone, own, endpoint=endpoint)
    return _Origin(tool=theirs, kind=kind, name=f"the {kind} tool {source.name}")


def _published_endpoint(shell: Shell, published: AnyPublishedTool, own: AnyYamlTool) -> str | None:
    """The endpoint of the published tool: the file's, unless their authors gave different ones."""
    from toolhaft.catalog.addresses import tool_id_at

    if not hasattr(published, "upstream"):  # a platform with an address does not tell what the author gave
        return own.endpoint
    given: str | None = getattr(published, "upstream", None)
    if own.endpoint is None:
        return given
    url = shell.platform.url
    is_same = own.endpoint == given or (tool_id_at(url, own.endpoint) or "") == tool_id_at(url, given)
    if is_same or is_platforms_endpoint(shell, own.name, own.endpoint):
        return own.endpoint
    return given or published.tool.endpoint


def _with_own_fields(tool: AnyYamlTool, own: AnyYamlTool, *, endpoint: str | None) -> AnyYamlTool:
    """The tool with the fields that a platform sets as they are in the file, so that only edits differ."""
    changes: dict[str, object] = {
        "created_at": own.created_at,
        "updated_at": own.updated_at,
        "endpoint": endpoint,
    }
    if own.owner is None:
        changes["owner"] = None
    is_off, is_own_off = (one.is_active_in_file is False for one in (tool, own))
    if is_off is is_own_off:
        changes["is_active"] = own.is_active_in_file
    return tool.replace(**changes)


def _text(tool: AnyYamlTool, own: AnyYamlTool) -> str:
    """The text of the tool; an equal field that a platform sets is written as in the file."""
    from toolhaft.define.yaml import write_tool
    from toolhaft.errors import DefinitionError

    try:
        text = write_tool(tool)
    except DefinitionError:  # another value is an alias of a changed field
        return tool.text
    for field in ("owner", "endpoint"):
        line = re.compile(rf"^{field}:.*$", re.MULTILINE)
        written = line.search(own.text)
        if written is not None and getattr(tool, field) == getattr(own, field):
            text = line.sub(lambda _, same=written[0]: same, text, count=1)
    return text
