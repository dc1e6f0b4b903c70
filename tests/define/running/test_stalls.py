"""Programs with `stall_s`: what they write is a sign of life."""

import json
import sys

import pytest

from toolhaft import Tool, ToolCall, ToolContext, ToolExecutor, dump_tool, load_tool
from toolhaft.define.running.http_handler import DEFAULT_S, request_timeout_s

QUIET = "import time; print('begun', flush=True); time.sleep(60)"
LOUD = "import time\nfor _ in range(6):\n    print('.', end='', flush=True)\n    time.sleep(0.2)"


@pytest.mark.external
def test_a_program_goes_on_as_long_as_it_writes(tmp_path):
    tools = []
    for name, code in (("quiet", QUIET), ("loud", LOUD)):
        fields = {"id": name, "name": name, "description": "Write.", "timeout_s": None, "stall_s": 1}
        file = tmp_path / f"{name}.yaml"
        file.write_text(
            json.dumps({**fields, "effect": "read", "run": {"argv": [sys.executable, "-c", code]}})
        )
        tools.append(load_tool(str(file)))
    quiet, loud = ToolExecutor(tools).execute_all([ToolCall(name="quiet"), ToolCall(name="loud")])
    assert quiet.message.startswith("quiet stalled: it gave no sign of life for 1 s (it was cancelled)")
    assert loud.value == "......"


def test_a_request_without_a_time_limit_is_left_to_the_stall_limit():
    assert request_timeout_s(ToolContext(call=ToolCall(name="a"))) > 10_000
    assert request_timeout_s(ToolContext()) == request_timeout_s(None) == DEFAULT_S


def test_a_file_keeps_that_there_is_no_time_limit(tmp_path):
    made = Tool(name="a", description="Work.", timeout_s=None, stall_s=30)
    dump_tool(made, tmp_path / "a.yaml")
    text = (tmp_path / "a.yaml").read_text()
    assert "timeout_s: null\nstall_s: 30" in text.replace("30.0", "30")
    loaded = load_tool(tmp_path / "a.yaml")
    assert (loaded.timeout_s, loaded.stall_s) == (None, 30.0)
