"""Seed 002, Tool Specification: its three commands, its built-in tools and its principles, as a person types them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.cli.kit import run_lk, write_yaml
from tests.seeds.test_seed_002 import MINIMAL_VALID, YAML_DEFINITION
from toolhaft import Catalog, ToolCall, ToolExecutor, load_tool

pytestmark = pytest.mark.external

PLATFORM = "http://127.0.0.1:8420"


def test_ls_lists_all_tools_the_built_in_ones_and_ones_own(tmp_path):
    write_yaml(tmp_path, "my-tool", YAML_DEFINITION)
    done = run_lk("tool", "ls", cwd=tmp_path)
    assert (done.exit, done.err) == (0, "")
    listed = {row.split()[0]: row for row in done.out.splitlines()}
    assert {"file_reader", "calculator", "my-tool"} <= listed.keys()
    assert "utility, custom" in listed["my-tool"]
    assert "A custom tool" in listed["my-tool"]
    [own] = json.loads(run_lk("tool", "ls", "--owner", "user-123", "--json", cwd=tmp_path).out)
    assert (own["id"], own["share"], own["tags"]) == ("my-tool", "private", ["utility", "custom"])


@pytest.mark.parametrize("id", ["file_reader", "calculator"])
def test_get_activates_a_built_in_tool(tmp_path, id):
    assert run_lk("tool", "get", id, cwd=tmp_path).exit == 0
    tool = load_tool(tmp_path / "local-kit" / "tools" / f"{id}.yaml")
    assert (tool.name, tool.is_active, tool.endpoint) == (id, True, f"{PLATFORM}/v3/tool/{id}")


def test_get_clones_a_tool(tmp_path):
    write_yaml(tmp_path, "my-tool", YAML_DEFINITION)
    assert run_lk("tool", "get", "my-tool", "my-other-tool", cwd=tmp_path).exit == 0
    tool = load_tool(tmp_path / "local-kit/tools/my-other-tool.yaml")
    assert (tool.name, tool.title, tool.owner, tool.share) == ("my-other-tool", "My Tool", None, "private")
    assert (tool.is_active, tool.endpoint) == (True, "https://agent.api.lyzr.app/v3/tool/xyz789")


def test_set_updates_the_whole_sample_and_keeps_its_comments(tmp_path):
    file = write_yaml(tmp_path, "my-tool", YAML_DEFINITION)
    done = run_lk("tool", "set", "my-tool", cwd=tmp_path)
    assert (done.exit, done.out.splitlines()[0]) == (0, f"my-tool: published at {PLATFORM}/v3/tool/my-tool")
    tool = load_tool(file)
    assert (tool.owner, tool.created_at) == ("user-123", "2024-01-01T00:00:00Z")
    assert tool.updated_at > "2024-01-01T00:00:00Z"
    assert (tool.is_active, tool.endpoint) == (True, f"{PLATFORM}/v3/tool/my-tool")
    text = file.read_text(encoding="utf-8")
    assert "# ============ PARAMETERS ============" in text
    assert "# Unique identifier (snake_case)" in text


def test_set_updates_the_minimal_sample(tmp_path):
    file = write_yaml(tmp_path, "my-tool", MINIMAL_VALID)
    assert run_lk("tool", "set", "my-tool", cwd=tmp_path).exit == 0
    tool = load_tool(file)
    assert (tool.is_active, tool.endpoint) == (True, f"{PLATFORM}/v3/tool/my-tool")
    assert tool.created_at == tool.updated_at is not None
    assert file.read_text(encoding="utf-8").startswith('id: "my-tool"\nname: "My Tool"\n')


def test_agents_reference_tools_by_id(tmp_path):
    run_lk("tool", "get", "calculator", cwd=tmp_path)
    with ToolExecutor(["calculator"], catalog=Catalog(project=tmp_path)) as executor:
        result = executor.execute(ToolCall(id="1", name="calculator", arguments={"expression": "6 * 7"}))
    assert result.success
    assert result.value == {"result": 42}


class Service(BaseHTTPRequestHandler):
    """Answers as the sample says: the text, in capitals where that is asked for."""

    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        output = given["input"].upper() if given["uppercase"] else given["input"]
        body = json.dumps({"output": output}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def service():
    server = HTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_tools_execute_via_their_endpoints(tmp_path, service):
    text = YAML_DEFINITION.replace("https://agent.api.lyzr.app/v3/tool/xyz789", f"http://{service}/any")
    write_yaml(tmp_path, "my-tool", text)
    (tmp_path / "toolhaft.toml").write_text(f'http_allow = ["{service}"]\n', encoding="utf-8")
    done = run_lk("call", "my-tool", "--input", "hello", "--uppercase", cwd=tmp_path)
    assert (done.exit, json.loads(done.out)) == (0, {"output": "HELLO"})
    # published, its endpoint is the platform's, and the service still answers behind it
    assert run_lk("tool", "set", "my-tool", cwd=tmp_path).exit == 0
    done = run_lk("call", "my-tool", '{"input": "hello"}', cwd=tmp_path)
    assert (done.exit, json.loads(done.out)) == (0, {"output": "hello"})


def test_parameters_are_validated_before_anything_is_called(tmp_path):
    write_yaml(tmp_path, "my-tool", YAML_DEFINITION)
    done = run_lk("call", "my-tool", '{"input": 5}', cwd=tmp_path)
    assert (done.exit, done.out) == (2, "")
    assert "input" in done.err
