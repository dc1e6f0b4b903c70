"""`tool set`: checks a tool of the project, publishes it, and updates the file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import click

from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.forwarding import has_no_handler
from toolhaft.cli.output import print_data, print_json, print_note, printable
from toolhaft.cli.shell import Shell, file_option, json_option, own_id_argument, pass_shell
from toolhaft.cli.tool_files import (
    display_path,
    file_of,
    is_platforms_endpoint,
    load_file,
    remember_endpoint,
    replace_file,
)
from toolhaft.errors import ConfigError, ConflictError, DefinitionError, ForbiddenError, ToolExecutionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.platform import AnyPublishedTool
    from toolhaft.catalog.published import AnyYamlTool

_PLATFORM_FIELDS: Final = ("owner", "created_at", "updated_at", "is_active", "endpoint")


@click.command("set", help="Check a tool of the project and publish it; updates the file's updated_at.")
@own_id_argument
@click.option(
    "--endpoint", metavar="URL", help="The address that answers calls, for a tool without a run block."
)
@file_option
@click.option("--force", is_flag=True, help="Overwrite changes that others have published.")
@json_option
@pass_shell
def command(
    shell: Shell, *, id: str, endpoint: str | None, path: str | None, force: bool, as_json: bool
) -> None:
    """Publish the tool."""
    file = Path(path) if path else file_of(shell, id)
    tool = load_file(shell, id, file, verb="set", to="publish")
    from toolhaft.define.yaml import write_tool

    before = tool.text
    changed = tool if endpoint is None else _with_endpoint(tool, endpoint, file)
    warnings = _warnings(before, file)
    _print_warnings(warnings, as_json=as_json)
    published = _put(shell, changed, write_tool(changed), path, force=force)
    is_written = _write_back(file, before, _text_for_file(shell, changed, published))
    # a platform looks up the tool that an endpoint names only when it is called
    is_active = published.tool.is_active and not _leads_nowhere(shell, changed)
    late_warnings = _late_warnings(shell, changed, published, is_active=is_active)
    warnings += late_warnings
    url = published.tool.endpoint
    if as_json:
        at = published.updated_at
        print_json(
            {
                "id": id,
                "file": display_path(file),
                "endpoint": url,
                "is_active": is_active,
                "updated_at": at,
                "is_written": is_written,
                "warnings": warnings,
            }
        )
        return
    print_data(f"{id}: published at {url}" if url else f"{id}: published, not active")
    _print_warnings(late_warnings, as_json=False)
    if not is_written:
        print_note(f"warning: {display_path(file)} changed meanwhile and was not updated")
        shell.suggest(f"tool set {id} --force")
        return
    print_data(f"{display_path(file)}: updated")
    if is_active:
        shell.suggest(f"call {id} --help")
    else:
        shell.suggest(f"tool get {id}" if url else f"tool set {id} --endpoint URL")


def _print_warnings(warnings: list[str], *, as_json: bool) -> None:
    for warning in () if as_json else warnings:
        print_note(printable(warning))


def _with_endpoint(tool: AnyYamlTool, endpoint: str, file: Path) -> AnyYamlTool:
    """The tool with an endpoint.

    Raises:
        CommandError: if that is not a valid address, or the tool has a run block.
    """
    if tool.run is not None:
        raise CommandError(
            f"{display_path(file)} has a run block, which overrides --endpoint: remove the run block to "
            "use the endpoint, or omit --endpoint",
            next=f"tool set {tool.name}",
        )
    from toolhaft.define.yaml import parse_tool, write_tool

    try:
        changed = tool.replace(endpoint=endpoint)
        parse_tool(write_tool(changed))
    except DefinitionError as error:
        raise CommandError(
            f"--endpoint: {error.problems[0].problem}",
            next=f"tool set {tool.name} --endpoint https://example.com/{tool.name}",
        ) from error
    return changed


def _text_for_file(shell: Shell, tool: AnyYamlTool, published: AnyPublishedTool) -> str:
    """The published text; if the file's author gave an endpoint, the file with the other new fields."""
    if tool.endpoint is None or is_platforms_endpoint(shell, tool.name, tool.endpoint):
        remember_endpoint(shell, tool.name, published.tool.endpoint)
        return published.text
    from toolhaft.define.yaml import write_tool

    made = published.tool
    return write_tool(
        tool.replace(
            owner=made.owner,
            created_at=made.created_at,
            updated_at=made.updated_at,
            is_active=made.is_active_in_file,
        )
    )


def _leads_nowhere(shell: Shell, tool: AnyYamlTool) -> bool:
    """True if the endpoint of a tool without a `run` names a tool that is not there, or not active."""
    return tool.run is None and tool.endpoint is not None and has_no_handler(shell, tool)


def _late_warnings(
    shell: Shell, tool: AnyYamlTool, published: AnyPublishedTool, *, is_active: bool
) -> list[str]:
    """Warnings after publishing: what has no effect, and what the tool still lacks."""
    warnings: list[str] = []
    if published.tool.is_active_in_file is False:
        warnings.append("note: it is published switched off, since the file says is_active: false")
    # only the key of a publisher could have set the organisation
    if shell.platform.is_embedded and tool.share == "org" and not getattr(published, "org", ""):
        warnings.append(
            "note: share: org has no effect here, since `lk` publishes without an org; "
            "publish it with a key of the org, or use share: public"
        )
    warnings += [f"note: it sends {one} when it is called" for one in _sendings(shell, tool)]
    if published.tool.endpoint is None:
        warnings.append("warning: nothing runs it: add a run: block to the file, or give --endpoint URL")
    elif not is_active and published.tool.is_active:
        from toolhaft.define.running.activation import why_inactive

        warnings.append(f"warning: nothing runs it: {why_inactive(tool)}")
    return warnings


def _sendings(shell: Shell, tool: AnyYamlTool) -> list[str]:
    """What the tool sends; publishing it, which gives the file an owner, does not change what it may send."""
    from toolhaft.cli.agreements import agree_to_own, sendings_of

    if not tool.owner:
        with suppress(ConfigError, ToolExecutionError):  # the first call asks instead
            agree_to_own(shell, tool)
    return [str(one) for one in sendings_of(tool)]


def _warnings(text: str, file: Path) -> list[str]:
    from toolhaft.define.yaml import lint_text

    # errors would have been raised when it was loaded
    return [str(remark) for remark in lint_text(text, display_path(file)) if remark.level == "warning"]


def _put(shell: Shell, tool: AnyYamlTool, text: str, path: str | None, *, force: bool) -> AnyPublishedTool:
    try:
        return shell.platform.put(text, base=... if force else tool.updated_at)
    except ConflictError as error:
        same = _published_already(shell, tool)
        if same is not None:
            return same
        what, _, _ = str(error).partition("; get it")  # the advice for those who have no file
        raise CommandError(
            f"{what}. To see what differs from your file, compare them; to overwrite it, add --force",
            next=f"tool diff {tool.name}{f' --file {path}' if path else ''}",
            exit=Exit.FAILED,
        ) from error
    except ForbiddenError as error:
        from toolhaft.catalog.installed import is_installed

        if shell.platform.is_embedded:  # the owner in the file
            raise CommandError(str(error), next=f"tool set {tool.name}", exit=Exit.PERMISSION) from error
        if not is_installed(tool.name):
            raise
        raise CommandError(
            str(error), next=f"tool get {tool.name} {f'my-{tool.name}'[:50]}", exit=Exit.PERMISSION
        ) from error


def _published_already(shell: Shell, tool: AnyYamlTool) -> AnyPublishedTool | None:
    """The published tool if it equals the file, because an earlier `set` was interrupted."""
    from toolhaft.define.yaml import tool_fields

    published = shell.platform.get(tool.name)
    if tool.endpoint not in (None, published.tool.endpoint, getattr(published, "upstream", None)):
        return None
    ours, theirs = (
        {key: value for key, value in tool_fields(one).items() if key not in _PLATFORM_FIELDS}
        | {"is_off": one.is_active_in_file is False}
        for one in (tool, published.tool)
    )
    return published if ours == theirs else None


def _write_back(file: Path, before: str, text: str) -> bool:
    """Update the file, unless it was changed since it was read."""
    if file.read_bytes() != before.encode():
        return False
    replace_file(file, text)
    return True
