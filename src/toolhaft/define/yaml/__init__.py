"""Door 5: a tool in a YAML file, loaded, and saved with its comments."""

from toolhaft.define.running.spec import RunSpec
from toolhaft.define.yaml.files import dump_tool, lint_file, load_tool, load_tools
from toolhaft.define.yaml.parsing import Remark, lint_text, parse_tool
from toolhaft.define.yaml.tool import YamlTool
from toolhaft.define.yaml.writing import tool_fields, write_tool

__all__ = [
    "Remark",
    "RunSpec",
    "YamlTool",
    "dump_tool",
    "lint_file",
    "lint_text",
    "load_tool",
    "load_tools",
    "parse_tool",
    "tool_fields",
    "write_tool",
]
