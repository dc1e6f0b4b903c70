"""Published tools of a project work at another address of its platform."""

import pytest

from tests.cli.kit import run_lk, served
from tests.cli.test_serve import ask

pytestmark = pytest.mark.external

GIVEN = {"expression": "6 * 7"}


def lk(*typed, cwd, **env):
    done = run_lk(*typed, cwd=cwd, env=env)
    assert done.exit == 0, done
    return done.out


def test_copy_of_a_built_in_tool_works_at_another_address(tmp_path):
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project, other):
        (folder / "local-kit" / "tools").mkdir(parents=True)
    lk("tool", "get", "calculator", "sums", cwd=project)
    lk("tool", "set", "sums", cwd=project)
    assert "42" in lk("call", "sums", "--expression", "6 * 7", cwd=project)

    with served(project) as platform:
        answer = ask(platform, "/v3/tool/sums", key=platform.key, send=GIVEN)
        assert (answer.status, answer.body) == (200, {"result": 42})
        told = ask(platform, "/v3/tools/sums", key=platform.key)
        assert told.body["endpoint"] == f"{platform.url}/v3/tool/sums"

        away = {"TOOLHAFT_PLATFORM_URL": platform.url, "TOOLHAFT_API_KEY": platform.key}
        assert f"active at {platform.url}/v3/tool/sums" in lk("tool", "get", "sums", cwd=other, **away)
        assert "42" in lk("call", "sums", "--expression", "6 * 7", cwd=other, **away)

        # the project's own file names the address of every project's platform, and no place elsewhere
        lk("tool", "set", "sums", "--force", cwd=project, **away)
        assert "42" in lk("call", "sums", "--expression", "6 * 7", cwd=project, **away)


def test_published_built_in_tool_stays_public(tmp_path):
    (tmp_path / "local-kit" / "tools").mkdir(parents=True)
    lk("tool", "get", "calculator", cwd=tmp_path)
    lk("tool", "set", "calculator", cwd=tmp_path)
    key = lk("key", "new", "--owner", "ann", "--scope", "tools:run", cwd=tmp_path).split()[-1]
    with served(tmp_path) as platform:
        assert ask(platform, "/v3/tool/calculator", key=key, send=GIVEN).status == 200
