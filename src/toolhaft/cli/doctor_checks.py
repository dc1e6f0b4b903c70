"""The checks of `doctor`, one function per subject; all run, also after one has found a problem."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from importlib.machinery import PathFinder
from stat import S_IMODE
from typing import Final, cast
from urllib.parse import urlsplit

from toolhaft.catalog.listing import Listing
from toolhaft.cli.agreements import listed, not_agreed, not_bound, sendings_of, sendings_to_agree_to
from toolhaft.cli.doctor import Finding
from toolhaft.cli.errors import Exit, describe_error
from toolhaft.cli.forwarding import forwarding_chain
from toolhaft.cli.output import count_of
from toolhaft.cli.shell import Shell
from toolhaft.cli.version import PACKAGES, version_of
from toolhaft.core.conversion import AnyTool
from toolhaft.define.running.activation import why_inactive
from toolhaft.define.running.environment import Environment, read_env_file
from toolhaft.define.running.platform_keys import stored_addresses
from toolhaft.define.running.project_modules import hidden_module
from toolhaft.define.yaml import YamlTool
from toolhaft.errors import DefinitionError, ToolhaftError, UnknownToolError
from toolhaft.storage.address import parse_address

_COMMON_EXTRAS: Final = {
    "cli": "the command line",
    "serve": "toolhaft serve",
    "web": "tools that use the web",
}
"""The extras that most projects need, and what for."""
_ANSWER_WITHIN_S: Final = 2.0
_ENTRY_POINT: Final = "entry point "
"""The start of `place` in the errors of installed tools."""


def findings(shell: Shell) -> Iterator[Finding]:
    """Run all checks; those of the project only if its configuration can be read."""
    yield Finding(about="python", detail=f"{platform.python_version()}, {sys.executable}")
    yield from _extras()
    try:
        _ = shell.project
    except (ToolhaftError, OSError) as error:
        yield _problem("config", error, code=Exit.CONFIGURATION)
        return
    checks: tuple[Callable[[Shell], Iterator[Finding]], ...] = (
        _project,
        _settings,
        _state,
        _files,
        _requirements,
        _bindings,
        _shadowed,
        _installed,
        _platform,
        _keys,
    )
    reported: set[str] = set()
    for check in checks:
        for one in _run_check(check, shell):
            if one.state != "problem" or one.detail not in reported:  # one problem may fail several checks
                yield one
            reported.add(one.detail)


def _run_check(check: Callable[[Shell], Iterator[Finding]], shell: Shell) -> Iterator[Finding]:
    try:
        yield from check(shell)
    except (ToolhaftError, OSError, ImportError) as error:  # a finding, so that the other checks still run
        yield _problem(check.__name__.lstrip("_"), error)


def _problem(about: str, error: BaseException, *, code: Exit | None = None) -> Finding:
    report = describe_error(error)
    if report is None:
        return Finding(about=about, state="problem", detail=f"{type(error).__name__}: {error}")
    return Finding(
        about=about,
        state="problem",
        detail=report.error,
        fix="" if report.fix == "doctor" else report.fix,
        is_command=report.is_command,
        exit=code or report.exit,
    )


def _extras() -> Iterator[Finding]:
    own = version_of("toolhaft")
    complete = [extra for extra, packages in PACKAGES.items() if all(map(version_of, packages))]
    yield Finding(about="toolhaft", detail=f"{own}, with {', '.join(complete)}")
    for extra, what in _COMMON_EXTRAS.items():
        missing = [package for package in PACKAGES[extra] if version_of(package) is None]
        if missing:
            yield Finding(
                about="extras",
                state="warning",
                detail=f"{', '.join(missing)} not installed: needed for {what}",
                fix=f"pip install 'toolhaft[{extra}]'",
            )


def _project(shell: Shell) -> Iterator[Finding]:
    project = shell.project
    if project.tools_folder.is_dir():
        yield Finding(about="project", detail=str(project.root))
    else:
        yield Finding(
            about="project",
            state="warning",
            detail=f"{project.root} has no local-kit/tools",
            fix="tool new ID",
            is_command=True,
        )


def _settings(shell: Shell) -> Iterator[Finding]:
    """The .env file, and the settings in the environment."""
    project = shell.project
    try:
        values = read_env_file(project.env_file)
        url, access = project.platform_url, project.access
        database = project.database_url
        parse_address(database)
    except (ToolhaftError, OSError) as error:
        yield _problem("config", error, code=Exit.CONFIGURATION)
        return
    if values and os.name == "posix" and S_IMODE(project.env_file.stat().st_mode) & 0o077:
        yield Finding(
            about="config",
            state="warning",
            detail=".env can be read by other users of this machine",
            fix="chmod 600 .env",
        )
    if url is not None and access.key is None:
        yield Finding(
            about="config",
            state="problem",
            detail=access.refusal or f"the platform {url} is configured, but no key for it",
            fix=f"login {url}",
            is_command=True,
            exit=Exit.CONFIGURATION,
        )
    if database.startswith("postgres") and version_of("psycopg") is None:
        yield Finding(
            about="config",
            state="problem",
            detail="TOOLHAFT_DATABASE_URL is a PostgreSQL address, but psycopg is not installed",
            fix="pip install 'toolhaft[postgres]'",
            exit=Exit.CONFIGURATION,
        )
    yield Finding(about="config", detail=f"platform: {url or 'embedded'}")
    yield from (Finding(about="login", detail=f"a key is stored for {one}") for one in stored_addresses())


def _state(shell: Shell) -> Iterator[Finding]:
    folder = shell.project.state_folder
    place = folder if folder.exists() else folder.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        yield Finding(
            about="project",
            state="problem",
            detail=f"{folder} is not writable: publishing and rollback do not work",
            fix="check that it is a folder, and its permissions",
        )


def _files(shell: Shell) -> Iterator[Finding]:
    """Files that do not load, and the number of those that do."""
    count = sum(entry.store == "project" for entry in shell.catalog.entries())
    for error in shell.catalog.problems:
        if not isinstance(error, DefinitionError) or error.place.startswith(_ENTRY_POINT):
            continue  # problems of the platform and of installed tools have their own checks
        for line in str(error).splitlines():
            yield Finding(about="files", state="problem", detail=line, fix="tool check", is_command=True)
    yield Finding(about="files", detail=f"{count} of the project's tools load")


def _shadowed(shell: Shell) -> Iterator[Finding]:
    for entry in shell.catalog.entries():
        for hidden in entry.shadows:
            is_edited = entry.store == "project" and hidden.startswith("platform")
            yield Finding(
                about=entry.id,
                state="warning",
                detail=f"{entry.store} ({entry.place}) hides the tool of the same id in {hidden}",
                fix=f"tool diff {entry.id}" if is_edited else "",
                is_command=True,
            )


def _installed(shell: Shell) -> Iterator[Finding]:
    """Whether the installed tools can be loaded."""
    count = 0
    for entry in shell.catalog.entries():
        if entry.store not in ("built-in", "installed"):
            continue
        try:
            shell.catalog.get_tool(entry.id)
            count += 1
        except (DefinitionError, UnknownToolError) as error:
            yield _problem(entry.id, error, code=Exit.FAILED)
    yield Finding(about="installed", detail=f"{count} tools load")


def _platform(shell: Shell) -> Iterator[Finding]:
    platform = shell.platform
    published = count_of(len(platform.list()), "tool")  # a request, if it is not the embedded one
    if not platform.is_embedded:
        yield Finding(about="platform", detail=f"{platform.url} answers and offers {published}")
        return
    yield Finding(about="platform", detail=f"the project's own, without a server: {published} published")
    yield server_at(platform.url)


def server_at(url: str) -> Finding:
    """Whether a server answers at the address that published tools have; `lk` itself needs none."""
    parts = urlsplit(url)
    try:
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_ANSWER_WITHIN_S)
        connection.request("GET", "/healthz")
        status = connection.getresponse().status
        connection.close()
    except (OSError, HTTPException):
        detail = f"nothing answers at {url}: lk runs its tools without it, other callers need toolhaft serve"
        return Finding(about="server", detail=detail)
    if status == HTTPStatus.OK:
        return Finding(about="server", detail=f"{url} answers")
    return Finding(
        about="server",
        state="warning",
        detail=f"another program answers at {url}, which is the address of the published tools",
        fix="stop it, or use: toolhaft serve --port PORT",
    )


def _keys(shell: Shell) -> Iterator[Finding]:
    project = shell.project
    is_own = project.database_url == f"sqlite:///{project.database_file.as_posix()}"
    if not shell.platform.is_embedded or (is_own and not project.database_file.exists()):
        return
    from time import time

    from toolhaft.serve.keys import Keys
    from toolhaft.storage import open_database

    database = open_database(project.database_url)
    try:
        infos = Keys(database).list()
    finally:
        database.close()
    for info in infos:
        if info.is_expired(time()):
            yield Finding(
                about="keys",
                state="warning",
                detail=f"key {info.id} of {info.owner} expired at {info.expires_at}",
                fix=f"key rm {info.id}",
                is_command=True,
            )
    yield Finding(about="keys", detail=f"{len(infos)} stored")


def _requirements(shell: Shell) -> Iterator[Finding]:
    """Missing requirements of the project's own tools."""
    environment = Environment(file=shell.project.env_file)
    for entry in shell.catalog.entries():
        if entry.store != "project":
            continue
        tool = shell.catalog.get_tool(entry.id)
        last = forwarding_chain(shell, tool)[-1]
        if last.handler is None:
            yield _inactive(shell, entry, last)
        if isinstance(tool, YamlTool):
            missing = _missing(cast("YamlTool[object, object]", tool), shell, environment)
            yield from (
                Finding(about=entry.id, state="problem", detail=what, fix=fix) for what, fix in missing
            )


def _bindings(shell: Shell) -> Iterator[Finding]:
    """Which variables may be sent where, and which tools wait for the user to agree."""
    for binding in shell.project.allow_env:
        yield Finding(about="variables", detail=f"tools may send {binding} (toolhaft.toml)")
    for sentence in listed(shell):
        yield Finding(about="variables", detail=f"you agreed to send {sentence}")
    for entry in shell.catalog.entries():
        if entry.store == "project":
            yield from _sendings(shell, shell.catalog.get_tool(entry.id))


def _sendings(shell: Shell, tool: AnyTool) -> Iterator[Finding]:
    """What a tool sends, and why it may not."""
    chain = forwarding_chain(shell, tool)
    unbound = list(not_bound(shell, chain))
    missing = not_agreed(shell, sendings_to_agree_to(shell, chain))
    for one in sendings_of(tool):
        if one not in (*unbound, *missing):
            yield Finding(about=tool.name, detail=f"it sends {one}")
    for one in unbound:
        yield Finding(
            about=tool.name,
            state="problem",
            detail=f"it sends {one}, and toolhaft.toml binds it to other hosts",
            fix="add the host to allow_env, if it may receive the variable",
        )
    for one in missing:
        yield Finding(
            about=tool.name,
            state="warning",
            detail=f"it would send {one}, and you have not agreed to that yet",
            fix=f"tool agree {tool.name}",
            is_command=True,
        )


def _inactive(shell: Shell, entry: Listing, last: AnyTool) -> Finding:
    """The finding of a tool without a handler; `last` is the tool that would answer."""
    if getattr(last, "is_active_in_file", None) is False:
        return Finding(
            about=entry.id,
            state="warning",
            detail="it is switched off: is_active is false",
            fix=f"tool get {last.name}",
            is_command=True,
        )
    command = shell.command_line(f"tool set {last.name} --endpoint URL")
    return Finding(
        about=entry.id,
        state="warning",
        detail=f"it is not active: {why_inactive(last)}",
        fix=f"write `run:` into {entry.place}, or {command}",
    )


def _missing(
    tool: YamlTool[object, object], shell: Shell, environment: Environment
) -> Iterator[tuple[str, str]]:
    if tool.hosts and version_of("httpcore2") is None:
        yield "it needs the web client", "pip install 'toolhaft[web]'"
    run = tool.run
    if run is None:
        return
    if run.kind == "argv":
        program = str(cast("list[object]", run.fields["argv"])[0])
        is_in_project = "/" in program and os.access(shell.project.root / program, os.X_OK)
        if shutil.which(program) is None and not is_in_project:
            yield f"the program {program!r} is not on the PATH", f"install {program}, or write its full path"
    if run.kind == "python":
        yield from _missing_module(str(run.fields["python"]).partition(":")[0], shell)
    for name, _ in tool.sends:
        if run.kind == "http" and environment.find(name) is None:  # a program may do without
            yield (
                f"the variable {name} is not set",
                f"set it in the environment, or write {name}=... into .env",
            )


def _missing_module(module: str, shell: Shell) -> Iterator[tuple[str, str]]:
    """A module whose top-level package cannot be found; it is not imported, since that would run its code."""
    first, root = module.partition(".")[0], str(shell.project.root)
    hidden = hidden_module(module, root)
    if hidden is not None:
        what, _, fix = hidden.rpartition("; ")
        yield what, f"{fix}, and change `python:` in the tool's file"
    elif first not in sys.builtin_module_names and PathFinder.find_spec(first, [*sys.path, root]) is None:
        yield f"there is no module {first!r}", f"write {first}.py in the project's folder, or install it"
