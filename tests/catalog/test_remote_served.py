"""A remote platform that is a real server process."""

import os
import re
import subprocess
import sys

import pytest

from tests.catalog.kit import make_project, yaml_text
from toolhaft import Catalog, execute_tool
from toolhaft.catalog.remote import RemotePlatform
from toolhaft.errors import ConflictError, ForbiddenError, UnknownToolError

pytestmark = pytest.mark.external

SUMS = """
id: sums
name: Sums
description: Sums, done by another tool
endpoint: "{url}/v3/tool/calculator"
parameters:
  - {{name: expression, type: string, description: what to compute}}
"""
PLAIN = """
id: calculator
name: Calculator
description: Computes
parameters:
  - {name: expression, type: string, description: what to compute}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """The address and the key of `toolhaft serve` in a project of its own."""
    root = tmp_path_factory.mktemp("served")
    make_project(root)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TOOLHAFT_")}
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "toolhaft", "serve", "--port", "0"],
        cwd=root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        try:
            said = ""
            for line in server.stdout:
                said += line
                found = re.search(r"(http://127\.0\.0\.1:\d+)\n.*?(th_once_[\w-]+)", said, re.DOTALL)
                if found:
                    yield found[1], found[2]
                    break
            else:
                pytest.fail(f"it does not serve: {said}")
        finally:
            server.terminate()
            server.communicate(timeout=30)


@pytest.fixture(autouse=True)
def _nothing_published(served):
    remote = RemotePlatform(*served)
    for id in published(remote):
        remote.remove(id)


def published(remote):
    """The ids of what somebody published: the built-in tools are on every platform."""
    return [one.id for one in remote.listings() if one.updated_at]


def test_served_platform_stores_published_documents(served):
    remote = RemotePlatform(*served)
    first = remote.put(yaml_text("weather", more="tags: [sky]\n"), base=None)
    with pytest.raises(ConflictError) as caught:
        remote.put(yaml_text("weather"), base=None)
    assert caught.value.current == first.updated_at
    second = remote.put(first.text, base=first.updated_at)
    assert second.updated_at > first.updated_at
    with pytest.raises(ConflictError):
        remote.put(first.text, base=first.updated_at)
    assert remote.put(yaml_text("fresh")).text == remote.get("fresh").text
    assert [one.id for one in remote.list(tag="sky")] == ["weather"]
    assert published(remote) == ["fresh", "weather"]
    with pytest.raises(UnknownToolError, match="did you mean 'weather'"):
        remote.get("weathr")
    with pytest.raises(ForbiddenError, match="does not accept the key"):
        RemotePlatform(served[0], "th_wrong").listings()
    remote.remove("fresh")
    remote.remove("weather", base=second.updated_at)
    assert published(remote) == []


def test_served_platform_keeps_versions(served):
    remote = RemotePlatform(*served)
    first = remote.put(yaml_text("weather", more='version: "1"\n'))
    second = remote.put(yaml_text("weather", description="Another"))
    versions = remote.versions("weather")
    assert [(one.number, one.updated_at, one.version, one.is_current) for one in versions] == [
        (2, second.updated_at, None, True),
        (1, first.updated_at, "1", False),
    ]
    assert (versions[0].change, versions[0].published_by) == ("description, version (1 to none)", "operator")
    with pytest.raises(ConflictError):
        remote.rollback("weather", base=first.updated_at)
    restored = remote.rollback("weather", base=second.updated_at)
    assert restored.text == remote.get("weather").text
    assert restored.tool.version == "1"
    assert remote.rollback("weather", to=2).tool.version is None
    with pytest.raises(UnknownToolError, match="the platform keeps: 1, 2, 3, 4"):
        remote.rollback("weather", to=9)
    with pytest.raises(UnknownToolError, match="did you mean 'weather'"):
        remote.versions("weathr")
    with pytest.raises(ForbiddenError, match="installed, not published"):
        remote.versions("calculator")


def test_forwarding_tools_run_on_a_served_platform(served):
    remote = RemotePlatform(*served)
    remote.put(PLAIN)
    remote.put(SUMS.format(url=served[0]))
    remote.put(yaml_text("shell", run="{argv: [id]}"))
    catalog = Catalog([], platform=remote)
    assert published(remote) == ["calculator", "shell", "sums"]
    assert "web_search" in catalog
    for id in ("calculator", "sums"):
        assert execute_tool(catalog.get_tool(id), {"expression": "6*7"}).value == {"result": 42}
    refused = execute_tool(catalog.get_tool("shell"), {"input": "x"})
    assert refused.failure.kind == "not_allowed"
    assert "--allow-run argv" in refused.message


def test_published_file_shadows_nothing_until_edited(served, tmp_path):
    remote = RemotePlatform(*served)
    more = "tags: [a, b]\nmetadata: {x: 1.5, y: [1, {z: null}]}\nretryable: true\ntimeout_s: 5\n"
    published = remote.put(yaml_text("mine", more=more, run="{argv: [echo, '${input}']}"))
    project = make_project(tmp_path, {"mine.yaml": published.text})
    assert Catalog(project=project, platform=remote).listing("mine").shadows == ()
    (project.tools_folder / "mine.yaml").write_text(published.text.replace("1.5", "2.5"))
    assert Catalog(project=project, platform=remote).listing("mine").shadows == (f"platform ({remote.url})",)


def test_built_in_tool_of_the_platform_is_the_same_as_the_local_one(served, tmp_path):
    remote = RemotePlatform(*served)
    for id in published(remote):
        remote.remove(id)
    project = make_project(tmp_path)
    catalog = Catalog(project=project, platform=remote)
    assert catalog.listing("calculator").store == "built-in"
    assert [one.shadows for one in catalog.entries()] == [()] * len(catalog)
    assert catalog.shadowed == ()
    # what is brought from there says so, and what it hides is told once
    make_project(tmp_path, {"calculator.yaml": remote.get("calculator").text})
    catalog.refresh()
    assert catalog.listing("calculator").shadows == ("built-in (toolhaft)",)
    # one that somebody published is another tool
    remote.put(PLAIN)
    catalog.refresh()
    assert catalog.listing("calculator").shadows == ("built-in (toolhaft)", f"platform ({served[0]})")
