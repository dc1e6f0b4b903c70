"""Door 5: a tool in a YAML file, loaded, and saved with its comments."""

from toolhaft.define.yaml.files import YamlTool, dump_tool, load_tool, load_tools

__all__ = ["YamlTool", "dump_tool", "load_tool", "load_tools"]
