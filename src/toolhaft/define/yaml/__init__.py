"""Tools in YAML files: loaded, checked, and saved with their comments."""

from toolhaft.define.running.run_block import RunSpec
from toolhaft.define.yaml.files import (
    dump_tool,
    lint_file,
    load_definition,
    load_quick_fields,
    load_tool,
    load_tools,
)
from toolhaft.define.yaml.parsing import LintProblem, lint_text, parse_tool
from toolhaft.define.yaml.tool import YamlTool
from toolhaft.define.yaml.tool_fields import quick_fields, tool_fields, write_tool

Remark = LintProblem  # the name in earlier versions

__all__ = [
    "LintProblem",
    "Remark",
    "RunSpec",
    "YamlTool",
    "dump_tool",
    "lint_file",
    "lint_text",
    "load_definition",
    "load_quick_fields",
    "load_tool",
    "load_tools",
    "parse_tool",
    "quick_fields",
    "tool_fields",
    "write_tool",
]
