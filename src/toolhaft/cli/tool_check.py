"""`tool check`: every problem of every file, with its line and what to do.

Knows files; what is wrong inside one is the YAML door's to say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import click

from toolhaft.cli.errors import CommandError
from toolhaft.cli.exits import Exit
from toolhaft.cli.output import note, say, say_json, show
from toolhaft.cli.shell import Shell, json_option, pass_shell
from toolhaft.cli.tool_files import ENDINGS, seen_from_here
from toolhaft.cli.tool_idle import runs_nothing

TYPE_CHECKING = False  # the YAML door is loaded when there is a file
if TYPE_CHECKING:
    from toolhaft.define.yaml import Remark


@click.command("check", help="Tell every problem of YAML files; without PATH, of the project's own.")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path())
@json_option
@pass_shell
def command(shell: Shell, *, paths: tuple[str, ...], as_json: bool) -> int:
    """Check the files. Exits with 1 where there is an error; a warning is none."""
    files = list(_files(shell, paths))
    remarks: list[Remark] = []
    claims: dict[tuple[Path, str], Path] = {}
    for file in files:
        found, id = _look_at(shell, file)
        remarks += found
        if id is not None and (first := claims.setdefault((file.parent, id), file)) is not file:
            what = f"the id {id!r} is taken by {seen_from_here(first)}"
            remarks.append(_remark(file, what, "give each file an id of its own"))
    errors = sum(remark.level == "error" for remark in remarks)
    if as_json:
        say_json([_to_json(remark) for remark in remarks])
    else:
        for remark in remarks:
            say(show(f"{remark.place}: {remark.level}: {remark.problem}. Fix: {remark.fix}"))
        note(_summary(len(files), errors, len(remarks) - errors))
    if not files:
        shell.next("tool new my-tool")
    return Exit.FAILED if errors else Exit.OK


def _files(shell: Shell, paths: tuple[str, ...]) -> Iterator[Path]:
    if not paths:
        yield from _in_folder(shell.project.tools_folder)
    for path in map(Path, paths):
        if path.is_dir():
            yield from _in_named(path)
        elif path.exists():
            yield path
        else:
            raise CommandError(f"there is no file or folder {path}", next="tool check")


def _in_named(folder: Path) -> list[Path]:
    """The files of a folder that was typed; one that holds a project means the project's.

    Raises:
        CommandError: where there is none: whoever names a folder thinks that there is.
    """
    meant = (
        folder / "local-kit" / "tools",
        *([folder / "tools"] if folder.resolve().name == "local-kit" else []),
    )
    files = list(_in_folder(next((one for one in meant if one.is_dir()), folder)))
    if not files:
        raise CommandError(f"there is no YAML file in {folder}", next="tool new my-tool")
    return files


def _in_folder(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        names = sorted(os.listdir(folder))  # noqa: PTH208 -- names are what is sorted
        yield from (folder / name for name in names if name.endswith(ENDINGS) and not name.startswith("."))


def _look_at(shell: Shell, file: Path) -> tuple[list[Remark], str | None]:
    """What is wrong with a file, and the id that it claims where nothing is."""
    from toolhaft.define.yaml import lint_file, load_tool  # noqa: PLC0415 -- see above

    if file.is_dir():
        what = "this is a folder, not a file"
        return [_remark(file, what, "give it another name, or move it elsewhere")], None
    path = seen_from_here(file)
    remarks = lint_file(path)
    if any(remark.level == "error" for remark in remarks):
        return remarks, None
    tool = load_tool(path)
    id = tool.name
    if id != file.stem:
        what = f"the file is named {file.name}, and its tool {id!r}"
        remarks.append(_remark(file, what, f"name it {id}.yaml", level="warning"))
    if runs_nothing(shell, tool):
        fix = f"add a run: block, or publish it with: {shell.command(f'tool set {id} --endpoint URL')}"
        remarks.append(_remark(file, "nothing runs it", fix, level="warning"))
    return remarks, id


def _remark(file: Path, problem: str, fix: str, *, level: Literal["error", "warning"] = "error") -> Remark:
    from toolhaft.define.yaml import Remark as Made  # noqa: PLC0415 -- see above

    return Made(place=f"{seen_from_here(file)}:1", line=1, problem=problem, fix=fix, level=level)


def _to_json(remark: Remark) -> dict[str, object]:
    return {
        "place": remark.place,
        "line": remark.line,
        "level": remark.level,
        "problem": remark.problem,
        "fix": remark.fix,
    }


def _summary(files: int, errors: int, warnings: int) -> str:
    return f"{_count(files, 'file')}, {_count(errors, 'error')}, {_count(warnings, 'warning')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
