"""Specs and class tools for the tests of the class tool."""

from toolhaft import BaseTool, ToolParam, ToolResponse, ToolReturn, ToolSpec


def param(name="query", type="string", **rest):
    return ToolParam(name=name, type=type, description=rest.pop("description", f"The {name}"), **rest)


def make_spec(*inputs, **changes):
    fields = {
        "name": "search",
        "description": "Searches the shelves",
        "when_to_use": "Use to find a book",
        "inputs": inputs or (param(),),
        "returns": ToolReturn(type="array", description="Titles"),
    }
    return ToolSpec(**{**fields, **changes})


def make_tool(spec=None, **options):
    def call(self, **kwargs):
        return ToolResponse(observation=kwargs)

    return type("Search", (BaseTool,), {"spec": spec or make_spec(), "__call__": call, **options})()
