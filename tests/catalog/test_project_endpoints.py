"""A file of the project that is answered at an endpoint: the project's key goes to its own platform, nowhere else."""

import pytest

from tests.catalog.kit import KEY, loopback_platform, make_project, yaml_text
from toolhaft import Catalog, ToolCall, ToolExecutor, execute_tool
from toolhaft.catalog import project as project_module
from toolhaft.define.running import DEFAULT_URL as URL
from toolhaft.define.running import PlatformAccess
from toolhaft.define.running import platform_access as access_module
from toolhaft.resources.http import HttpClient

pytestmark = pytest.mark.external


@pytest.fixture
def there():
    with loopback_platform() as platform:
        yield platform


@pytest.fixture
def elsewhere():
    with loopback_platform() as platform:
        platform.say = lambda *_: (200, {"Content-Type": "application/json"}, b'"from elsewhere"')
        yield platform


def at(url, id="mine"):
    return yaml_text(id, more=f'effect: read\nendpoint: "{url}/v3/tool/{id}"\n')


def keys(platform):
    return [headers.get("Authorization") for _, _, headers, _ in platform.requests]


def call(catalog, id="mine", **more):
    with ToolExecutor([id], catalog=catalog, **more) as executor:
        return executor.execute(ToolCall(name=id, arguments={"input": "x"}))


def test_a_platform_of_the_settings_is_sent_the_key(tmp_path, there, monkeypatch):
    monkeypatch.setenv("TOOLHAFT_API_KEY", KEY)
    project = make_project(tmp_path, {"mine.yaml": at(there.url)}, config=f'platform_url = "{there.url}"')
    result = call(Catalog(project=project))
    assert result.value == {"ran": "mine", "with": {"input": "x"}}
    assert keys(there) == [f"Bearer {KEY}"]


def test_the_address_of_the_embedded_platform_is_not_sent_the_key_of_another(
    tmp_path, there, elsewhere, monkeypatch
):
    for module in (project_module, access_module):
        monkeypatch.setattr(module, "DEFAULT_URL", elsewhere.url)
    monkeypatch.setenv("TOOLHAFT_API_KEY", KEY)
    project = make_project(tmp_path, {"mine.yaml": at(elsewhere.url)}, config=f'platform_url = "{there.url}"')
    catalog = Catalog(project=project)
    assert not call(catalog).success  # the guard: it is on this machine, and nobody has opened it
    place = elsewhere.url.removeprefix("http://")
    opened = call(catalog, resources={HttpClient: HttpClient(allow=[place])})
    assert opened.value == "from elsewhere"
    assert keys(elsewhere) == [None]
    assert there.requests == []


def test_the_key_of_the_env_file_goes_with_the_address_of_the_settings(tmp_path, there):
    project = make_project(
        tmp_path,
        {"mine.yaml": at(there.url)},
        config=f'platform_url = "{there.url}"',
        env=f"TOOLHAFT_API_KEY={KEY}\n",
    )
    assert call(Catalog(project=project, platform=None)).success
    assert keys(there) == [f"Bearer {KEY}"]


def test_a_platform_that_the_caller_gives_comes_first(tmp_path, there, elsewhere, monkeypatch):
    monkeypatch.setenv("TOOLHAFT_API_KEY", "th_of_the_environment")
    project = make_project(tmp_path, {"mine.yaml": at(there.url)}, config=f'platform_url = "{elsewhere.url}"')
    own = PlatformAccess(url=there.url, key=KEY)
    assert call(Catalog(project=project), resources={PlatformAccess: own}).success
    assert keys(there) == [f"Bearer {KEY}"]


def test_such_a_tool_can_be_switched_off_and_called_by_itself(tmp_path, there, monkeypatch):
    monkeypatch.setenv("TOOLHAFT_API_KEY", KEY)
    project = make_project(tmp_path, {"mine.yaml": at(there.url)}, config=f'platform_url = "{there.url}"')
    tool = Catalog(project=project).get_tool("mine")
    assert execute_tool(tool, {"input": "x"}).success
    assert tool.replace(is_active=False).handler is None
    assert len(there.requests) == 1


def test_a_tool_that_stands_in_for_another_can_be_switched_off(tmp_path):
    project = make_project(
        tmp_path, {"calculator.yaml": yaml_text("calculator", more=f"endpoint: {URL}/v3/tool/calculator\n")}
    )
    tool = Catalog(project=project).get_tool("calculator")
    assert tool.handler is not None
    off = tool.replace(is_active=False)
    assert off.handler is None
    assert "not active" in execute_tool(off, {"input": "x"}).message
    assert tool.replace(is_active=False, handler=tool.handler).handler is tool.handler
