"""The platform that `toolhaft.toml` names gets the key, and no other host."""

import pytest

from tests.define.running.kit import META, serving
from toolhaft import execute_tool, load_tool
from toolhaft.define.running import Environment
from toolhaft.define.running import platform_access as access_module
from toolhaft.define.running.platform_keys import store_key

pytestmark = pytest.mark.external

KEY = "th_0badc0de_secret"


@pytest.fixture
def site():
    with serving() as one:
        yield one


def tool_at(root, url):
    folder = root / "local-kit" / "tools"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "sample.yaml"
    file.write_text(f'{META}endpoint: "{url}/v3/tool/sample"\n')
    return load_tool(file)


def test_the_project_settings_choose_the_platform(tmp_path, site, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr(access_module, "DEFAULT_URL", site.url)
    store_key(site.url, KEY)
    made = tool_at(tmp_path, site.url)
    assert execute_tool(made, {}).success
    assert site.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    settings = tmp_path / "toolhaft.toml"
    settings.write_text('platform_url = "https://tools.example.com"\n')
    assert not execute_tool(made, {}).success
    assert len(site.asked) == 1
    settings.write_text(f'platform_url = "{site.url}"\n')
    monkeypatch.setattr(access_module, "DEFAULT_URL", "http://127.0.0.1:1")
    assert execute_tool(made, {}).success
    assert site.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    settings.write_text("http_allow = []\n")
    assert not execute_tool(made, {}).success
    # the environment comes first
    said = Environment({"TOOLHAFT_API_KEY": "th_of_the_environment", "TOOLHAFT_PLATFORM_URL": site.url})
    settings.write_text('platform_url = "https://tools.example.com"\n')
    assert execute_tool(made, {}, resources={Environment: said}).success
    assert site.asked[-1].headers["authorization"] == "Bearer th_of_the_environment"


@pytest.mark.parametrize(
    "text",
    [b"platform_url = ", b"platform_url = 5", b"\xff", b"a = " + b"[" * 50_000],
    ids=["no value", "a number", "no text", "too deep"],
)
def test_no_key_is_sent_if_settings_cannot_be_read(tmp_path, site, monkeypatch, text):
    monkeypatch.setattr(access_module, "DEFAULT_URL", site.url)
    (tmp_path / "toolhaft.toml").write_bytes(text)
    own = {Environment: Environment({"TOOLHAFT_API_KEY": KEY})}
    result = execute_tool(tool_at(tmp_path, site.url), {}, resources=own)
    assert "toolhaft.toml of the project cannot be read" in result.message
    assert KEY not in result.message
    assert site.asked == []


def test_no_key_is_sent_if_settings_are_a_link_loop(tmp_path, site, monkeypatch):
    monkeypatch.setattr(access_module, "DEFAULT_URL", site.url)
    (tmp_path / "toolhaft.toml").symlink_to("toolhaft.toml")
    result = execute_tool(tool_at(tmp_path, site.url), {})
    assert "cannot be read" in result.message
    assert site.asked == []
