"""Finds the tool that answers a call: a YAML tool may forward to tools of the embedded platform."""

from __future__ import annotations

from toolhaft.cli.shell import Shell
from toolhaft.errors import ToolhaftError
from toolhaft.resources.http.urls import is_loopback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.catalog.published import AnyYamlTool
    from toolhaft.core.conversion import AnyTool


def forwarding_chain(shell: Shell, tool: AnyTool) -> list[AnyTool]:
    """The tool, then the published tools that its call is forwarded to; the last one answers."""
    chain = [tool]
    if not hasattr(tool, "endpoint") or not shell.platform.is_embedded:
        return chain
    from toolhaft.catalog.addresses import tool_id_at

    platform = shell.platform
    id = tool.name if _store_of(shell, tool) == "platform" else _forwarded_id(tool, platform.url)
    seen: set[str] = set()
    while id is not None and id not in seen:
        seen.add(id)
        try:
            published = platform.get(id)
            chain.append(platform.runnable(id))
        except (ToolhaftError, OSError):  # the call itself will report it
            break
        has_run = published.tool.run is not None
        id = None if has_run else tool_id_at(platform.url, getattr(published, "upstream", None))
    return chain


def local_hosts(shell: Shell, tool: AnyTool) -> list[str]:
    """The addresses on this machine that a tool of the project's own files or platform names.

    The project's author may reach local servers; a tool from a remote platform may not.
    """
    own_stores = ("project", "platform") if shell.platform.is_embedded else ("project",)
    if not _hosts(tool) or _store_of(shell, tool) not in own_stores:
        return []
    hosts = (host for one in forwarding_chain(shell, tool) for host in _hosts(one))
    return [host for host in hosts if is_loopback(host.rpartition(":")[0])]


def _store_of(shell: Shell, tool: AnyTool) -> str:
    """The store in which the tool was found, without a request to a remote platform."""
    from toolhaft.catalog.catalog import Catalog

    is_local = shell.platform.is_embedded
    catalog = shell.catalog if is_local else Catalog(project=shell.project, platform=None)
    try:
        return catalog.listing(tool.name).store
    except ToolhaftError:  # just created or removed, or on a remote platform
        return ""


def _forwarded_id(tool: AnyTool, url: str) -> str | None:
    """The id of the published tool that the endpoint of a file names."""
    from toolhaft.catalog.addresses import tool_id_at

    return (
        None if getattr(tool, "run", None) is not None else tool_id_at(url, getattr(tool, "endpoint", None))
    )


def _hosts(tool: AnyTool) -> tuple[str, ...]:
    return getattr(tool, "hosts", ())


def has_no_handler(shell: Shell, tool: AnyYamlTool) -> bool:
    """True if nothing can run the tool; False if it is switched off, or only a remote platform knows."""
    if tool.is_active_in_file is False:
        return False
    from toolhaft.catalog.runnable import run_in_process

    try:
        return not run_in_process(tool, shell.platform).is_active
    except ToolhaftError:  # other verbs report a database that cannot be read
        return False
