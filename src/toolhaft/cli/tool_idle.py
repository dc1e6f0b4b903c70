"""Says whether anything answers the calls of a file's tool.

Knows the platform of the project; runs nothing.
"""

from __future__ import annotations

from toolhaft.cli.shell import Shell
from toolhaft.errors import ToolhaftError, UnknownToolError

TYPE_CHECKING = False  # the YAML door is loaded when there is a file
if TYPE_CHECKING:
    from toolhaft.define.yaml import YamlTool


def runs_nothing(shell: Shell, tool: YamlTool[dict[str, object], object]) -> bool:
    """True if a call of the tool has nobody to answer it, as far as that can be told from here."""
    if tool.run is not None or tool.says_active is False:
        return False
    if tool.endpoint is None:
        return True
    if shell.project.platform_url is not None:
        return False  # who answers there, the platform knows
    from toolhaft.catalog.runnable import id_at  # noqa: PLC0415 -- few files need it

    target = id_at(shell.platform.url, tool.endpoint)
    return target is not None and _is_idle(shell, target)


def _is_idle(shell: Shell, id: str) -> bool:
    """True if the project's own platform has nothing that runs under an id."""
    from toolhaft.catalog.runnable import installed_tool  # noqa: PLC0415 -- as above

    try:
        return shell.platform.runnable(id).handler is None
    except UnknownToolError:
        return installed_tool(id) is None
    except ToolhaftError:  # a database that cannot be read is another verb's to tell
        return False
