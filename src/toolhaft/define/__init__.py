"""Ways to define a tool: decorator, class, raw schema and YAML file; a typed tool is a `core.Tool`."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.define.config import ToolConfig as ToolConfig
    from toolhaft.define.config import create_tool as create_tool
    from toolhaft.define.config import validate_tool_input as validate_tool_input
    from toolhaft.define.config import validate_tool_output as validate_tool_output
    from toolhaft.define.decorator import tool as tool
    from toolhaft.define.spec import ToolParam as ToolParam
    from toolhaft.define.spec import ToolReturn as ToolReturn
    from toolhaft.define.spec import ToolSpec as ToolSpec
    from toolhaft.define.toolspec import BaseTool as BaseTool
    from toolhaft.define.toolspec import Toolkit as Toolkit
    from toolhaft.define.toolspec import ToolResponse as ToolResponse
    from toolhaft.define.yaml import YamlTool as YamlTool
    from toolhaft.define.yaml import dump_tool as dump_tool
    from toolhaft.define.yaml import load_tool as load_tool
    from toolhaft.define.yaml import load_tools as load_tools
    from toolhaft.define.yaml import parse_tool as parse_tool
    from toolhaft.define.yaml import write_tool as write_tool

_HOMES = {
    "BaseTool": "toolspec",
    "ToolConfig": "config",
    "ToolParam": "spec",
    "ToolResponse": "toolspec",
    "ToolReturn": "spec",
    "ToolSpec": "spec",
    "Toolkit": "toolspec",
    "YamlTool": "yaml",
    "create_tool": "config",
    "dump_tool": "yaml",
    "load_tool": "yaml",
    "load_tools": "yaml",
    "parse_tool": "yaml",
    "tool": "decorator",
    "validate_tool_input": "config",
    "validate_tool_output": "config",
    "write_tool": "yaml",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, listed once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
