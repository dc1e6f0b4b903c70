"""The tool verbs with a served platform and two users."""

import json
from contextlib import ExitStack

import pytest

from tests.cli.kit import ECHO, run_lk, served, write_yaml
from toolhaft import load_tool

pytestmark = pytest.mark.external


class Platform:
    """A running platform, and how a project is told of it."""

    def __init__(self, folder):
        self.folder = folder
        self._stack = ExitStack()
        server = self._stack.enter_context(served(folder))
        self.url = server.url
        self.env = {"TOOLHAFT_PLATFORM_URL": server.url, "TOOLHAFT_API_KEY": server.key}

    def stop(self):
        self._stack.close()


@pytest.fixture
def platform(tmp_path_factory):
    platform = Platform(tmp_path_factory.mktemp("platform"))
    yield platform
    platform.stop()


def test_published_tool_can_be_fetched_by_another_user(tmp_path, platform):
    ann, bob = tmp_path / "ann", tmp_path / "bob"
    file = write_yaml(ann, "echo", "# for the choir\n" + ECHO)
    bob.mkdir()
    done = run_lk("tool", "set", "echo", cwd=ann, env=platform.env)
    assert (done.exit, done.out.splitlines()[0]) == (0, f"echo: published at {platform.url}/v3/tool/echo")
    [listed] = [
        entry
        for entry in json.loads(run_lk("tool", "ls", "--json", cwd=bob, env=platform.env).out)
        if entry["id"] == "echo"
    ]
    assert (listed["store"], listed["place"], listed["updated_at"]) == (
        "platform",
        platform.url,
        load_tool(file).updated_at,
    )
    done = run_lk("tool", "get", "echo", cwd=bob, env=platform.env)
    assert done.exit == 0
    assert "note: it runs argv on this machine when it is called: read the file first\n" in done.err
    theirs = bob / "local-kit/tools/echo.yaml"
    assert theirs.read_text(encoding="utf-8") == file.read_text(encoding="utf-8")
    # both change it: the second is told, and nothing is lost
    for who, tool in (("ann", file), ("bob", theirs)):
        text = tool.read_text(encoding="utf-8")
        tool.write_text(text.replace("Says what", f"{who} says what"), encoding="utf-8")
    assert run_lk("tool", "set", "echo", cwd=ann, env=platform.env).exit == 0
    before = theirs.read_text(encoding="utf-8")
    done = run_lk("tool", "set", "echo", cwd=bob, env=platform.env)
    assert (done.exit, done.out) == (1, "")
    assert done.err.endswith("  try: lk tool diff echo\n")
    done = run_lk("tool", "diff", "echo", cwd=bob, env=platform.env)
    assert done.exit == 1
    changed = [line for line in done.out.splitlines()[2:] if line.startswith(("-", "+"))]
    assert changed == [
        '-description: "ann says what it is told"',
        '+description: "bob says what it is told"',
    ]
    assert theirs.read_text(encoding="utf-8") == before
    assert run_lk("tool", "set", "echo", "--force", cwd=bob, env=platform.env).exit == 0
    assert run_lk("tool", "rm", "echo", "--yes", "--published", cwd=bob, env=platform.env).exit == 0
    assert run_lk("tool", "show", "echo", cwd=bob, env=platform.env).exit == 1


def test_clone_of_a_built_in_tool_is_compared_with_it(tmp_path, platform):
    assert run_lk("tool", "get", "calculator", cwd=tmp_path, env=platform.env).exit == 0
    done = run_lk("tool", "diff", "calculator", cwd=tmp_path, env=platform.env)
    assert done == (0, "local-kit/tools/calculator.yaml: the same as the installed tool calculator\n", "")
    file = tmp_path / "local-kit/tools/calculator.yaml"
    text = file.read_text(encoding="utf-8").replace('name: "Calculator"', 'name: "Sums"')
    file.write_text(text, encoding="utf-8")
    done = run_lk("tool", "diff", "calculator", cwd=tmp_path, env=platform.env)
    # it cannot be published under this id, so that is not suggested
    assert (done.exit, done.err, '+name: "Sums"\n' in done.out) == (1, "", True)


def test_platform_tool_can_be_copied_under_another_id(tmp_path, platform):
    write_yaml(tmp_path, "echo", ECHO)
    run_lk("tool", "set", "echo", cwd=tmp_path, env=platform.env)
    (tmp_path / "local-kit/tools/echo.yaml").unlink()
    assert run_lk("tool", "get", "echo", "parrot", cwd=tmp_path, env=platform.env).exit == 0
    tool = load_tool(tmp_path / "local-kit/tools/parrot.yaml")
    assert (tool.endpoint, tool.updated_at, tool.owner) == (None, None, None)
    assert (tool.is_active, tool.run.kind) == (True, "argv")


def test_wrong_key_exits_with_5(tmp_path, platform):
    file = write_yaml(tmp_path, "echo", ECHO)
    env = {**platform.env, "TOOLHAFT_API_KEY": "th_00000000_" + "x" * 43}
    for words in (["set", "echo"], ["get", "calculator"], ["rm", "echo", "--yes", "--published"]):
        done = run_lk("tool", *words, cwd=tmp_path, env=env)
        assert (done.exit, done.out) == (5, ""), words
        assert env["TOOLHAFT_API_KEY"] not in done.err
    assert file.read_text(encoding="utf-8") == ECHO
    done = run_lk("tool", "ls", "--json", cwd=tmp_path, env=env)
    assert done.exit == json.loads(done.err)["exit"] == 5
    assert "calculator" in done.out


def test_unreachable_platform_keeps_the_file(tmp_path, platform):
    file = write_yaml(tmp_path, "echo", ECHO)
    platform.stop()
    done = run_lk("tool", "set", "echo", "--json", cwd=tmp_path, env=platform.env)
    assert (done.exit, done.out) == (4, "")
    assert json.loads(done.err)["fix"] == "lk doctor"
    assert file.read_text(encoding="utf-8") == ECHO


def test_any_key_can_fetch_a_built_in_tool_and_call_it_remotely(tmp_path, platform):
    key = run_lk("key", "new", "--owner", "ann", cwd=platform.folder).out.strip()
    env = {**platform.env, "TOOLHAFT_API_KEY": key}
    listed = json.loads(run_lk("tool", "ls", "--json", cwd=tmp_path, env=env).out)
    assert [entry["shadows"] for entry in listed if entry["id"] in {"calculator", "read_file"}] == [[], []]
    done = run_lk("tool", "get", "calculator", cwd=tmp_path, env=env)
    assert (done.exit, done.out.splitlines()[0].endswith(f"active at {platform.url}/v3/tool/calculator")) == (
        0,
        True,
    )
    done = run_lk("call", "calculator", "--expression", "6*7", cwd=tmp_path, env=env)
    assert (done.exit, json.loads(done.out)) == (0, {"result": 42})
    # it is the platform that answers
    platform.stop()
    assert run_lk("call", "calculator", "--expression", "6*7", cwd=tmp_path, env=env).exit == 4
