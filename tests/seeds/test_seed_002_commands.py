"""Seed 002, Tool Specification: its three commands, its built-in tools and its principles, as a person types them."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.cli.kit import run_lk, write_yaml
from tests.seeds.test_seed_002 import MINIMAL_VALID, YAML_DEFINITION
from toolhaft import Catalog, ToolCall, ToolExecutor, execute_tool, load_tool

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


def test_ls_shows_which_tools_are_active(tmp_path):
    write_yaml(tmp_path, "my-tool", YAML_DEFINITION)
    write_yaml(tmp_path, "idle", MINIMAL_VALID.replace('"my-tool"', '"idle"'))
    write_yaml(
        tmp_path,
        "off",
        YAML_DEFINITION.replace('"my-tool"', '"off"').replace("is_active: true", "is_active: false"),
    )
    header, *rows = run_lk("tool", "ls", cwd=tmp_path).out.splitlines()
    column = header.split().index("ACTIVE")
    states = {row.split()[0]: row.split()[column] for row in rows}
    assert [states[id] for id in ("my-tool", "idle", "off", "calculator")] == ["yes", "no", "no", "yes"]
    listed = {
        one["id"]: one["is_active"] for one in json.loads(run_lk("tool", "ls", "--json", cwd=tmp_path).out)
    }
    for id in ("my-tool", "idle", "off", "calculator"):
        shown = json.loads(run_lk("tool", "show", id, "--json", cwd=tmp_path).out)
        loaded = Catalog(project=tmp_path).get_tool(id).is_active
        assert {listed[id], shown["is_active"], loaded} == {states[id] == "yes"}


def test_get_activates_the_users_own_file_in_place(tmp_path):
    """Operations: get is "Clone/activate tool". DESIGN: it activates the user's own file in place."""
    off = YAML_DEFINITION.replace("is_active: true                   # Set by", "is_active: false  # Set by")
    file = write_yaml(tmp_path, "my-tool", off)
    assert "is not active" in run_lk("call", "my-tool", "--input", "a", cwd=tmp_path).err
    assert run_lk("tool", "get", "my-tool", cwd=tmp_path).exit == 0
    assert file.read_text(encoding="utf-8") == off.replace("is_active: false  ", "")
    assert load_tool(file).is_active


def test_get_says_what_to_add_where_nothing_runs_the_tool(tmp_path):
    file = write_yaml(tmp_path, "my-tool", MINIMAL_VALID)
    done = run_lk("tool", "get", "my-tool", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert '    run: {argv: ["PROGRAM", "${input}"]}\n' in done.err
    assert '    endpoint: "https://HOST/my-tool"\n' in done.err
    assert file.read_text(encoding="utf-8") == MINIMAL_VALID


def test_set_updates_the_whole_sample_and_keeps_its_comments_and_its_endpoint(tmp_path):
    file = write_yaml(tmp_path, "my-tool", YAML_DEFINITION)
    (tmp_path / "toolhaft.toml").write_text('owner = "user-123"\n', encoding="utf-8")
    done = run_lk("tool", "set", "my-tool", cwd=tmp_path)
    assert (done.exit, done.out.splitlines()[0]) == (0, f"my-tool: published at {PLATFORM}/v3/tool/my-tool")
    updated_at = load_tool(file).updated_at
    assert updated_at > "2024-01-01T00:00:00Z"
    # DESIGN: `set` writes `endpoint` only where the file has none
    assert file.read_text(encoding="utf-8") == YAML_DEFINITION.replace(
        'updated_at: "2024-01-01T00:00:00Z"', f'updated_at: "{updated_at}"'
    )


def test_set_refuses_the_owner_of_somebody_else(tmp_path):
    """`owner` is a user or org id: the caller's, on the embedded store too."""
    file = write_yaml(tmp_path, "my-tool", YAML_DEFINITION)
    done = run_lk("tool", "set", "my-tool", cwd=tmp_path)
    assert (done.exit, done.out) == (5, "")
    assert 'take owner out, or, if it is your own id, write owner = "user-123" into toolhaft.toml' in done.err
    assert file.read_text(encoding="utf-8") == YAML_DEFINITION


def test_set_does_not_call_active_what_nothing_runs(tmp_path):
    file = write_yaml(tmp_path, "my-tool", MINIMAL_VALID)
    done = run_lk("tool", "set", "my-tool", cwd=tmp_path)
    assert (done.exit, done.out.splitlines()[0]) == (0, "my-tool: published, not active")
    tool = load_tool(file)
    assert (tool.is_active, tool.is_active_in_file, tool.endpoint) == (False, None, None)
    assert tool.created_at == tool.updated_at is not None
    assert file.read_text(encoding="utf-8").startswith('id: "my-tool"\nname: "My Tool"\n')


def test_set_updates_the_minimal_sample_with_something_that_runs_it(tmp_path):
    file = write_yaml(tmp_path, "my-tool", MINIMAL_VALID + 'run: {argv: ["echo", "${input}"]}\n')
    assert run_lk("tool", "set", "my-tool", cwd=tmp_path).exit == 0
    tool = load_tool(file)
    assert (tool.is_active, tool.endpoint) == (True, f"{PLATFORM}/v3/tool/my-tool")


def test_tool_from_get_runs_as_the_catalog_runs_it_without_a_server(tmp_path):
    """Design principle "Endpoint-Based", for a file that `get` wrote."""
    run_lk("tool", "get", "calculator", cwd=tmp_path)
    tool = load_tool(tmp_path / "local-kit/tools/calculator.yaml")
    assert execute_tool(tool, {"expression": "6 * 7"}).value == {"result": 42}


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
    # published, it has an address on the platform too, and the service still answers behind it
    assert run_lk("tool", "set", "my-tool", cwd=tmp_path, env={"TOOLHAFT_OWNER": "user-123"}).exit == 0
    done = run_lk("call", "my-tool", '{"input": "hello"}', cwd=tmp_path)
    assert (done.exit, json.loads(done.out)) == (0, {"output": "hello"})


def test_parameters_are_validated_before_anything_is_called(tmp_path):
    write_yaml(tmp_path, "my-tool", YAML_DEFINITION)
    done = run_lk("call", "my-tool", '{"input": 5}', cwd=tmp_path)
    assert (done.exit, done.out) == (2, "")
    assert "input" in done.err
