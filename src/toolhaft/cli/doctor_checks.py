"""What `doctor` looks at, one function a subject, each going on where another found trouble.

Knows the rooms; does not print.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from stat import S_IMODE
from typing import Final

from toolhaft.cli.doctor_finding import Finding
from toolhaft.cli.doctor_needs import needs
from toolhaft.cli.errors import tell
from toolhaft.cli.exits import Exit
from toolhaft.cli.shell import Shell
from toolhaft.cli.version import PACKAGES, version_of
from toolhaft.define.running.environment import read_env_file
from toolhaft.errors import DefinitionError, ToolhaftError, UnknownToolError
from toolhaft.storage.address import read_address

_SOON: Final = {"cli": "the command line", "serve": "toolhaft serve", "web": "tools that use the web"}
"""The extras whose absence most projects notice, and what they are for."""
_ENTRY_POINT: Final = "entry point "
"""What the place of an installed tool begins with."""


def findings(shell: Shell) -> Iterator[Finding]:
    """Everything, one after the other; without a readable configuration there is no project to look at."""
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
        needs,
        _shadowed,
        _installed,
        _platform,
        _keys,
    )
    told: set[str] = set()
    for check in checks:
        for one in _looked_at(check, shell):
            if one.state != "problem" or one.detail not in told:  # one fault may stop many of these
                yield one
            told.add(one.detail)


def _looked_at(check: Callable[[Shell], Iterator[Finding]], shell: Shell) -> Iterator[Finding]:
    try:
        yield from check(shell)
    except (ToolhaftError, OSError, ImportError) as error:  # told, and the others are still looked at
        yield _problem(check.__name__.lstrip("_"), error)


def _problem(about: str, error: BaseException, *, code: Exit | None = None) -> Finding:
    told = tell(error)
    if told is None:
        return Finding(about=about, state="problem", detail=f"{type(error).__name__}: {error}")
    return Finding(
        about=about,
        state="problem",
        detail=told.error,
        fix="" if told.fix == "doctor" else told.fix,
        is_command=told.is_command,
        exit=code or told.exit,
    )


def _extras() -> Iterator[Finding]:
    own = version_of("toolhaft")
    here = [extra for extra, packages in PACKAGES.items() if all(map(version_of, packages))]
    yield Finding(about="toolhaft", detail=f"{own}, with {', '.join(here)}")
    for extra, what in _SOON.items():
        missing = [package for package in PACKAGES[extra] if version_of(package) is None]
        if missing:
            yield Finding(
                about="extras",
                state="warning",
                detail=f"{', '.join(missing)} not installed: no {what}",
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
    """The .env file, and what the environment says."""
    project = shell.project
    try:
        values = read_env_file(project.env_file)
        url = project.platform_url
        database = project.database_url
        read_address(database)
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
    if url is not None and project.api_key is None:
        yield Finding(
            about="config",
            state="problem",
            detail=f"a platform is configured, {url}, and no key for it",
            fix="set TOOLHAFT_API_KEY in the environment or in .env",
            exit=Exit.CONFIGURATION,
        )
    if database.startswith("postgres") and version_of("psycopg") is None:
        yield Finding(
            about="config",
            state="problem",
            detail="TOOLHAFT_DATABASE_URL names a PostgreSQL, and psycopg is not installed",
            fix="pip install 'toolhaft[postgres]'",
            exit=Exit.CONFIGURATION,
        )
    yield Finding(about="config", detail=f"platform: {url or 'embedded'}")


def _state(shell: Shell) -> Iterator[Finding]:
    folder = shell.project.state_folder
    place = folder if folder.exists() else folder.parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        yield Finding(
            about="project",
            state="problem",
            detail=f"{folder} cannot be written: nothing can be published or undone here",
            fix="check what it is, and its rights",
        )


def _files(shell: Shell) -> Iterator[Finding]:
    """Files that do not load, whole ones counted."""
    count = sum(entry.store == "project" for entry in shell.catalog.entries())
    for error in shell.catalog.problems:
        if not isinstance(error, DefinitionError) or error.place.startswith(_ENTRY_POINT):
            continue  # the troubles of the platform and of what is installed, which are looked at below
        for line in str(error).splitlines():
            yield Finding(about="files", state="problem", detail=line, fix="tool check", is_command=True)
    yield Finding(about="files", detail=f"{count} of the project's tools load")


def _shadowed(shell: Shell) -> Iterator[Finding]:
    for entry in shell.catalog.entries():
        for hidden in entry.shadows:
            yield Finding(
                about=entry.id,
                state="warning",
                detail=f"{entry.store} ({entry.place}) hides the tool of the same id in {hidden}",
            )


def _installed(shell: Shell) -> Iterator[Finding]:
    """Whether what others installed can be loaded."""
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
    published = shell.platform.list()
    yield Finding(about="platform", detail=f"{shell.platform.url}: {len(published)} tools published")


def _keys(shell: Shell) -> Iterator[Finding]:
    project = shell.project
    is_own = project.database_url == f"sqlite:///{project.database_file.as_posix()}"
    if not shell.platform.is_embedded or (is_own and not project.database_file.exists()):
        return
    from time import time  # noqa: PLC0415 -- where there is a platform of its own

    from toolhaft.serve.keys import Keys  # noqa: PLC0415 -- the same
    from toolhaft.storage import open_database  # noqa: PLC0415 -- the same

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
