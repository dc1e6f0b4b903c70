"""The time limits of tools on the platform."""

from tests.cases import each_case
from toolhaft import Tool
from toolhaft.serve.runners import ToolRunner


@each_case(
    ("given", "used"),
    [
        ((None, 5), (60.0, 5.0)),
        ((None, 600), (60.0, None)),
        ((600, 600), (60.0, None)),
        ((30, 5), (30.0, 5.0)),
        ((30, None), (30.0, None)),
    ],
)
def test_a_tool_without_a_time_limit_gets_that_of_the_platform(given, used):
    made = []
    tool = Tool(name="a", description="Work.", timeout_s=given[0], stall_s=given[1])
    ToolRunner(tool, made.append, version=1, call_timeout_s=60.0, token="")
    assert (made[0].timeout_s, made[0].stall_s) == used
