"""`tool check`: lists every problem of YAML files, with line and fix."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click

from toolhaft.cli.errors import CommandError, Exit
from toolhaft.cli.forwarding import has_no_handler
from toolhaft.cli.output import print_data, print_json, print_note, printable
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.cli.tool_files import ENDINGS, display_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.define.yaml import LintProblem


@click.command("check", help="List every problem of YAML files; without PATH, of the project's files.")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@json_option
@pass_shell
def command(shell: Shell, *, paths: tuple[str, ...], as_json: bool) -> int:
    """Check the files; exits with 1 if there is an error, not for warnings."""
    files = list(_files(shell, paths))
    remarks: list[LintProblem] = []
    files_by_id: dict[tuple[Path, str], Path] = {}
    for file in files:
        found, id = _check_file(shell, file)
        remarks += found
        if id is not None and (first := files_by_id.setdefault((file.parent, id), file)) is not file:
            what = f"the id {id!r} is taken by {display_path(first)}"
            remarks.append(_remark(file, what, "give each tool a different id"))
    errors = sum(remark.level == "error" for remark in remarks)
    if as_json:
        print_json([_to_json(remark) for remark in remarks])
    else:
        for remark in remarks:
            print_data(printable(f"{remark.place}: {remark.level}: {remark.problem}. Fix: {remark.fix}"))
        print_note(_summary(len(files), errors, len(remarks) - errors))
    if not files:
        shell.suggest("tool new my-tool")
    return Exit.FAILED if errors else Exit.OK


def _files(shell: Shell, paths: tuple[str, ...]) -> Iterator[Path]:
    if not paths:
        yield from _in_folder(shell.project.tools_folder)
    for path in map(Path, paths):
        if path.is_dir():
            yield from _in_given_folder(path)
        elif path.exists():
            yield path
        else:
            raise CommandError(f"there is no file or folder {path}", next="tool check")


def _in_given_folder(folder: Path) -> list[Path]:
    """The files of a folder that the user named; for a project's folder, those of the project.

    Raises:
        CommandError: if there are none.
    """
    candidates = (
        folder / "local-kit" / "tools",
        *([folder / "tools"] if folder.resolve().name == "local-kit" else []),
    )
    files = list(_in_folder(next((one for one in candidates if one.is_dir()), folder)))
    if not files:
        raise CommandError(f"there is no YAML file in {folder}", next="tool new my-tool")
    return files


def _in_folder(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        names = sorted(os.listdir(folder))  # noqa: PTH208 -- sorted by name
        yield from (folder / name for name in names if name.endswith(ENDINGS) and not name.startswith("."))


def _check_file(shell: Shell, file: Path) -> tuple[list[LintProblem], str | None]:
    """The problems of a file, and its tool's id if it has no errors."""
    from toolhaft.define.yaml import lint_file, load_tool

    if file.is_dir():
        what = "this is a folder, not a file"
        return [_remark(file, what, "rename it, or move it elsewhere")], None
    path = display_path(file)
    remarks = lint_file(path)
    if any(remark.level == "error" for remark in remarks):
        return remarks, None
    tool = load_tool(path)
    id = tool.name
    if id != file.stem:
        what = f"the file is named {file.name}, but its tool {id!r}"
        remarks.append(_remark(file, what, f"name it {id}.yaml", level="warning"))
    if has_no_handler(shell, tool):
        fix = f"add a run: block, or publish it with: {shell.command_line(f'tool set {id} --endpoint URL')}"
        remarks.append(_remark(file, "nothing runs it", fix, level="warning"))
    return remarks, id


def _remark(
    file: Path, problem: str, fix: str, *, level: Literal["error", "warning"] = "error"
) -> LintProblem:
    from toolhaft.define.yaml import LintProblem as Made

    return Made(place=f"{display_path(file)}:1", line=1, problem=problem, fix=fix, level=level)


def _to_json(remark: LintProblem) -> dict[str, object]:
    return {name: getattr(remark, name) for name in ("place", "line", "level", "problem", "fix")}


def _summary(files: int, errors: int, warnings: int) -> str:
    return f"{_count(files, 'file')}, {_count(errors, 'error')}, {_count(warnings, 'warning')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
