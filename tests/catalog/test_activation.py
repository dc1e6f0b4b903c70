"""Activation: files, lists, platforms and calls agree on whether a tool is active; files run where they are copied."""

import shutil

import pytest

from tests.cases import in_case
from tests.catalog.kit import KEY, loopback_platform, make_project, yaml_text
from toolhaft import Catalog, Tool, ToolCall, ToolExecutor, execute_tool, load_tool
from toolhaft.catalog import Project, RemotePlatform, platform_of
from toolhaft.catalog.yaml_export import activated_yaml
from toolhaft.define.running import DEFAULT_URL
from toolhaft.errors import ForbiddenError
from toolhaft.toolbox import calculator

ECHO = '{argv: [echo, "${input}"]}'
OFF = "is_active: false\n"


def at(id):
    return f'endpoint: "{DEFAULT_URL}/v3/tool/{id}"\n'


CASES = {
    "runs": (yaml_text("runs", run=ECHO), ""),
    "said": (yaml_text("said", run=ECHO, more="is_active: true\n"), ""),
    "off": (yaml_text("off", run=ECHO, more=OFF), "its file says is_active: false"),
    "far": (yaml_text("far", more="endpoint: https://svc.example.com/far\n"), ""),
    "far-off": (yaml_text("far-off", more=f"endpoint: https://x.example/\n{OFF}"), "its file says is_active: false"),
    "bare": (yaml_text("bare"), "it has neither run nor endpoint"),
    "bold": (yaml_text("bold", more="is_active: true\n"), "it has neither run nor endpoint"),
    "calculator": (yaml_text("calculator", more=at("calculator")), ""),
    "sums": (yaml_text("sums", more=at("calculator")), ""),
    "gone": (yaml_text("gone", more=at("gone")), f"no active tool is published or installed at its endpoint {DEFAULT_URL}/v3/tool/gone"),
    "to-runs": (yaml_text("to-runs", more=at("published")), ""),
    "to-off": (yaml_text("to-off", more=at("published-off")), f"no active tool is published or installed at its endpoint {DEFAULT_URL}/v3/tool/published-off"),
}  # fmt: skip


def test_file_list_and_call_agree_on_what_is_active(tmp_path):
    project = make_project(tmp_path, {f"{id}.yaml": text for id, (text, _) in CASES.items()})
    platform = platform_of(project)
    platform.put(yaml_text("published", run=ECHO))
    platform.put(yaml_text("published-off", run=ECHO, more=OFF))
    platform.put(yaml_text("published-bare"))
    expected = {
        **{id: (why == "", why) for id, (_, why) in CASES.items()},
        "published": (True, ""),
        "published-off": (False, "its file says is_active: false"),
        "published-bare": (False, "it has neither run nor endpoint"),
    }
    catalog = Catalog(project=project, platform=platform)
    for id, (is_active, why) in expected.items():
        with in_case(id):
            tool = catalog.get_tool(id)
            assert (tool.is_active, catalog.listing(id).is_active) == (is_active, is_active)
            assert catalog.listing(id).to_json()["is_active"] is is_active
            if id in CASES:
                assert load_tool(project.tools_folder / f"{id}.yaml").is_active is is_active
            if not is_active:
                result = execute_tool(tool, {"input": "x"})
                assert result.message.startswith(f"{id} is not active: {why}. ")
                assert result.failure.outcome == "nothing_happened"
    platform.close()
    again = Catalog(project=project)  # from the caches
    assert {id: again.listing(id).is_active for id in expected} == {
        id: one[0] for id, one in expected.items()
    }
    again.platform.close()


def test_every_tool_knows_whether_it_is_active():
    assert calculator.is_active
    assert not Tool(name="idle", description="Idle").is_active
    assert not calculator.replace(handler=None).is_active


def clone(folder, id="calculator", url=DEFAULT_URL, **more):
    """A file as `lk tool get calculator` writes it."""
    text = activated_yaml(calculator, id=id, url=url).text
    return make_project(folder, {f"{id}.yaml": text}, **more).tools_folder / f"{id}.yaml"


def test_loaded_clone_of_a_built_in_tool_runs_without_a_server(tmp_path):
    for id in ("calculator", "sums"):
        with in_case(id):
            tool = load_tool(clone(tmp_path, id))
            assert (tool.name, tool.endpoint) == (id, f"{DEFAULT_URL}/v3/tool/calculator")
            with ToolExecutor([tool]) as executor:
                result = executor.execute(ToolCall(name=id, arguments={"expression": "6 * 7"}))
            same = execute_tool(Catalog(project=tmp_path).get_tool(id), {"expression": "6 * 7"})
            assert (
                (result.value, result.message) == (same.value, same.message) == ({"result": 42}, "42, exact")
            )
            elsewhere = tool.replace(endpoint="https://svc.example.com/sums")
            assert elsewhere.preview({"expression": "1"})["endpoint"] == "https://svc.example.com/sums"
            assert elsewhere.handler.url == "https://svc.example.com/sums"


def test_copied_clone_runs_in_a_project_with_any_platform(tmp_path):
    folders = {
        "no platform": None,
        "another platform": 'platform_url = "https://tools.example.com"',
        "settings that cannot be read": "platform_url = 5",
    }
    for url in (DEFAULT_URL, "http://127.0.0.1:9", "https://old.example"):
        made = clone(tmp_path / "made", url=url)
        for name, config in folders.items():
            with in_case(url, name):
                folder = tmp_path / name
                shutil.rmtree(folder, ignore_errors=True)
                make_project(folder)
                copied = shutil.copy(made, folder / "local-kit/tools/calculator.yaml")
                if config:
                    (folder / "toolhaft.toml").write_text(config, encoding="utf-8")
                if "5" in (config or ""):
                    assert load_tool(copied).is_active  # the call reports the settings
                    continue
                assert execute_tool(load_tool(copied), {"expression": "6 * 7"}).value == {"result": 42}
                tool = Catalog(project=folder).get_tool("calculator")
                assert execute_tool(tool, {"expression": "6 * 7"}).value == {"result": 42}


@pytest.mark.external
def test_clone_is_called_on_the_platform_of_its_project(tmp_path):
    with loopback_platform() as there:
        env = f"TOOLHAFT_PLATFORM_URL={there.url}\nTOOLHAFT_API_KEY={KEY}\n"
        file = clone(tmp_path, url=there.url, env=env)
        there.say = lambda *_: (200, {"Content-Type": "application/json"}, b'{"result": 41}')
        assert execute_tool(load_tool(file), {"expression": "6 * 7"}).value == {"result": 41}
        assert execute_tool(Catalog(project=tmp_path).get_tool("calculator"), {"expression": "1"}).value == {"result": 41}  # fmt: skip


def test_endpoint_that_somebody_wrote_is_called_even_if_it_looks_like_a_clone(tmp_path):
    written = yaml_text("calculator", more="endpoint: https://mine.example/v3/tool/calculator\n")
    file = make_project(tmp_path, {"calculator.yaml": written}).tools_folder / "calculator.yaml"
    for tool in (load_tool(file), Catalog(project=tmp_path).get_tool("calculator")):
        assert tool.handler.url == "https://mine.example/v3/tool/calculator"


@pytest.mark.external
def test_remote_tool_that_is_switched_off_is_not_called(tmp_path):
    with loopback_platform() as there:
        remote = RemotePlatform(there.url, KEY)
        for id, more in (("off", OFF), ("bare", "")):
            with in_case(id):
                put = remote.put(yaml_text(id, run=ECHO if id == "off" else "", more=more))
                assert (put.tool.is_active, put.tool.is_active_in_file) == (
                    False,
                    False if id == "off" else None,
                )
                [listing] = [one for one in remote.listings() if one.id == id]
                assert listing.is_active is False
                there.requests.clear()
                assert "is not active" in execute_tool(remote.runnable(id), {"input": "x"}).message
                assert [path for _, path, _, _ in there.requests] == [f"/v3/tools/{id}"]


def test_owner_in_the_embedded_platform_is_the_caller(tmp_path, monkeypatch):
    make_project(tmp_path)
    mine, theirs = (yaml_text(id, more=f"owner: {id}\n") for id in ("ann", "bob"))
    refusal = "names the owner 'bob', and nothing says that this is you; take owner out, or, if it is your own id, write owner = \"bob\""
    platform = platform_of(Project.at(tmp_path))
    with pytest.raises(ForbiddenError, match=refusal):
        platform.put(theirs)
    assert platform.put(yaml_text("free")).owner == ""
    platform.close()
    (tmp_path / "toolhaft.toml").write_text('owner = "ann"\n', encoding="utf-8")
    platform = platform_of(Project.at(tmp_path))
    assert platform.put(mine).owner == "ann"
    assert platform.put(yaml_text("unsaid")).tool.owner == "ann"
    with pytest.raises(ForbiddenError, match="names the owner 'bob', and you are 'ann'"):
        platform.put(theirs)
    platform.close()
    monkeypatch.setenv("TOOLHAFT_OWNER", "bob")
    platform = platform_of(Project.at(tmp_path))
    assert platform.put(theirs).owner == "bob"
    assert platform.put(platform.get("ann").text).owner == "ann"  # a new version keeps its owner
    platform.close()
