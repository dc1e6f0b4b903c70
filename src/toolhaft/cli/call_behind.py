"""What answers a tool: itself, or what stands behind it on the platform of the project.

Knows the catalog; runs nothing, and prints nothing.
"""

from __future__ import annotations

from ipaddress import ip_address

from toolhaft.cli.shell import Shell
from toolhaft.core.conversion import AnyTool
from toolhaft.errors import ToolhaftError


def answering(shell: Shell, tool: AnyTool) -> list[AnyTool]:
    """The tool, and the published ones that its call is handed on to in this process; the last answers."""
    found = [tool]
    if not hasattr(tool, "endpoint") or not shell.platform.is_embedded:
        return found
    from toolhaft.catalog.runnable import id_at  # noqa: PLC0415 -- what others installed needs no platform

    platform = shell.platform
    id = tool.name if _store_of(shell, tool) == "platform" else _named(tool, platform.url)
    seen: set[str] = set()
    while id is not None and id not in seen:
        seen.add(id)
        try:
            published = platform.get(id)
            found.append(platform.runnable(id))
        except (ToolhaftError, OSError):  # the call itself tells it
            break
        has_run = published.tool.run is not None
        id = None if has_run else id_at(platform.url, getattr(published, "upstream", None))
    return found


def own_hosts(shell: Shell, tool: AnyTool) -> list[str]:
    """The servers of this machine that a tool of the project's own files or platform names.

    Whoever wrote it wants them reached. What a platform elsewhere says of this machine is not asked for.
    """
    own_stores = ("project", "platform") if shell.platform.is_embedded else ("project",)
    if not _hosts(tool) or _store_of(shell, tool) not in own_stores:
        return []
    return [host for one in answering(shell, tool) for host in _hosts(one) if is_here(host)]


def _store_of(shell: Shell, tool: AnyTool) -> str:
    """Where the tool was found; a platform elsewhere is not asked only to know that."""
    from toolhaft.catalog.catalog import Catalog  # noqa: PLC0415 -- as above

    is_near = shell.platform.is_embedded
    catalog = shell.catalog if is_near else Catalog(project=shell.project, platform=None)
    try:
        return catalog.listing(tool.name).store
    except ToolhaftError:  # it came, or went, this moment, or is of a platform elsewhere
        return ""


def _named(tool: AnyTool, url: str) -> str | None:
    """The id of the published tool that a file's endpoint is."""
    from toolhaft.catalog.runnable import id_at  # noqa: PLC0415 -- as above

    return None if getattr(tool, "run", None) is not None else id_at(url, getattr(tool, "endpoint", None))


def _hosts(tool: AnyTool) -> tuple[str, ...]:
    return getattr(tool, "hosts", ())


def is_here(authority: str) -> bool:
    """True if a `host:port` is this machine by its name or its number; other names may lead anywhere."""
    host = authority.rpartition(":")[0].strip("[]")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
