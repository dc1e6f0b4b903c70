"""Project files with an endpoint: the key is sent only to the project's platform."""

import pytest

from tests.catalog.kit import KEY, loopback_platform, make_project, yaml_text
from toolhaft import Catalog, ToolCall, ToolExecutor, execute_tool
from toolhaft.catalog import project as project_module
from toolhaft.define.running import DEFAULT_URL as URL
from toolhaft.define.running import PlatformAccess
from toolhaft.define.running import platform_access as access_module
from toolhaft.define.running.platform_keys import store_key
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


def test_configured_platform_receives_the_stored_key(tmp_path, there):
    store_key(there.url, KEY)
    project = make_project(tmp_path, {"mine.yaml": at(there.url)}, config=f'platform_url = "{there.url}"')
    result = call(Catalog(project=project))
    assert result.value == {"ran": "mine", "with": {"input": "x"}}
    assert keys(there) == [f"Bearer {KEY}"]


def test_default_address_does_not_receive_the_key_of_another_platform(
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


def test_key_from_env_file_is_sent_to_the_address_in_the_same_file(tmp_path, there):
    project = make_project(
        tmp_path,
        {"mine.yaml": at(there.url)},
        config='platform_url = "https://tools.example.com"',
        env=f"TOOLHAFT_API_KEY={KEY}\nTOOLHAFT_PLATFORM_URL={there.url}\n",
    )
    assert call(Catalog(project=project, platform=None)).success
    assert keys(there) == [f"Bearer {KEY}"]


def test_platform_access_resource_overrides_the_project(tmp_path, there, elsewhere, monkeypatch):
    monkeypatch.setenv("TOOLHAFT_API_KEY", "th_of_the_environment")
    project = make_project(tmp_path, {"mine.yaml": at(there.url)}, config=f'platform_url = "{elsewhere.url}"')
    own = PlatformAccess(url=there.url, key=KEY)
    assert call(Catalog(project=project), resources={PlatformAccess: own}).success
    assert keys(there) == [f"Bearer {KEY}"]


def test_endpoint_tool_can_be_deactivated_and_its_handler_called_directly(tmp_path, there, monkeypatch):
    monkeypatch.setenv("TOOLHAFT_API_KEY", KEY)
    monkeypatch.setenv("TOOLHAFT_PLATFORM_URL", there.url)
    project = make_project(tmp_path, {"mine.yaml": at(there.url)})
    tool = Catalog(project=project).get_tool("mine")
    assert execute_tool(tool, {"input": "x"}).success
    assert tool.replace(is_active=False).handler is None
    assert len(there.requests) == 1


def test_forwarding_tool_can_be_deactivated(tmp_path):
    project = make_project(
        tmp_path, {"calculator.yaml": yaml_text("calculator", more=f"endpoint: {URL}/v3/tool/calculator\n")}
    )
    tool = Catalog(project=project).get_tool("calculator")
    assert tool.handler is not None
    off = tool.replace(is_active=False)
    assert off.handler is None
    assert "not active" in execute_tool(off, {"input": "x"}).message
    assert tool.replace(is_active=False, handler=tool.handler).handler is tool.handler
