"""Short names for a tool and a result of any type, inside this room."""

from typing import Any, TypeAlias

from toolhaft.core.result import ToolResult
from toolhaft.core.tool import Tool

AnyTool: TypeAlias = Tool[Any, Any]
AnyResult: TypeAlias = ToolResult[Any]
