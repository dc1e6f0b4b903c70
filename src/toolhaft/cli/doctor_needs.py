"""What the project's own tools need and do not find: programs, modules, variables, something that runs them.

Knows tools; runs none of them.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from typing import cast

from toolhaft.catalog.listing import Listing
from toolhaft.cli.call_behind import answering
from toolhaft.cli.doctor_finding import Finding
from toolhaft.cli.shell import Shell
from toolhaft.cli.version import version_of
from toolhaft.core.conversion import AnyTool
from toolhaft.define.running.environment import Environment
from toolhaft.define.yaml import YamlTool


def needs(shell: Shell) -> Iterator[Finding]:
    """What the project's own tools need and do not find."""
    environment = Environment(file=shell.project.env_file)
    for entry in shell.catalog.entries():
        if entry.store != "project":
            continue
        tool = shell.catalog.get_tool(entry.id)
        last = answering(shell, tool)[-1]
        if last.handler is None:
            yield _idle(shell, entry, last)
        if isinstance(tool, YamlTool):
            missing = _missing(cast("YamlTool[object, object]", tool), shell, environment)
            yield from (
                Finding(about=entry.id, state="problem", detail=what, fix=fix) for what, fix in missing
            )


def _idle(shell: Shell, entry: Listing, last: AnyTool) -> Finding:
    """A tool that nothing runs; `last` is what answers it."""
    if getattr(last, "says_active", None) is False:
        detail, fix = "it is switched off: is_active is false", f"write is_active: true into {entry.place}"
    else:
        command = shell.command(f"tool set {last.name} --endpoint URL")
        detail = "it is not active: it has neither run nor endpoint"
        fix = f"write `run:` into {entry.place}, or {command}"
    return Finding(about=entry.id, state="warning", detail=detail, fix=fix)


def _missing(
    tool: YamlTool[object, object], shell: Shell, environment: Environment
) -> Iterator[tuple[str, str]]:
    if tool.hosts and version_of("httpcore2") is None:
        yield "it needs the web client", "pip install 'toolhaft[web]'"
    run = tool.run
    if run is None:
        return
    if run.kind == "argv":
        yield from _missing_program(str(cast("list[object]", run.fields["argv"])[0]), shell)
    if run.kind == "python":
        yield from _missing_module(str(run.fields["python"]).partition(":")[0], shell)
    for name in _variables(run.fields):
        if environment.find(name) is None:
            yield (
                f"the variable {name} is not set",
                f"set it in the environment, or write {name}=... into .env",
            )


def _missing_program(program: str, shell: Shell) -> Iterator[tuple[str, str]]:
    if shutil.which(program) is None and not _is_in_project(shell, program):
        yield f"the program {program!r} is not on the PATH", f"install {program}, or write its whole path"


def _missing_module(module: str, shell: Shell) -> Iterator[tuple[str, str]]:
    """A module whose first part is nowhere; it is not imported: what it does then is nobody's wish."""
    first = module.partition(".")[0]
    is_built_in = first in sys.builtin_module_names
    if not is_built_in and PathFinder.find_spec(first, [str(shell.project.root), *sys.path]) is None:
        yield f"there is no module {first!r}", f"write {first}.py in the project's folder, or install it"


def _is_in_project(shell: Shell, program: str) -> bool:
    return "/" in program and os.access(shell.project.root / program, os.X_OK)


def _variables(value: object) -> list[str]:
    """The names that stand as ${env:NAME} anywhere in a block."""
    return list(dict.fromkeys(re.findall(r"(?<!\$)\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}", repr(value))))
