"""`tool versions` and `tool rollback`, without a platform and with a served one."""

import json

import pytest

from tests.cases import in_case
from tests.cli.kit import ECHO, run_lk, served, write_yaml
from toolhaft import load_tool


def publish(folder, *changes, env=None):
    """Publish the echo tool with some texts replaced."""
    file = folder / "local-kit/tools/echo.yaml"
    text = file.read_text(encoding="utf-8") if file.exists() else ECHO
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = write_yaml(folder, "echo", text)
    done = run_lk("tool", "set", "echo", cwd=folder, env=env)
    assert done.exit == 0, done.err
    return file


def test_versions_are_listed_and_restored(tmp_path):
    publish(tmp_path)
    file = publish(tmp_path, ("Says what", "Repeats what"), ('name: "Echo"', 'name: "Echo"\nversion: "2.0"'))
    updated_at = load_tool(file).updated_at
    done = run_lk("tool", "versions", "echo", cwd=tmp_path)
    assert done.exit == 0
    lines = [line.split(maxsplit=3) for line in done.out.splitlines()]
    assert lines[0] == ["NUMBER", "WHEN", "WHO", "VERSION  CHANGE"]
    assert lines[1][0] == "2"
    assert f"{updated_at[:19]}Z" in done.out.splitlines()[1]
    assert done.out.splitlines()[1].endswith("operator  2.0      description, version (none to 2.0)")
    assert done.out.splitlines()[2].endswith("operator           created")
    assert done.err == "  next: lk tool rollback echo\n"
    done = run_lk("tool", "rollback", "echo", cwd=tmp_path)
    assert (done.exit, done.out) == (
        0,
        "echo: version 1 is published again at http://127.0.0.1:8420/v3/tool/echo\n",
    )
    assert done.err == (
        "note: local-kit/tools/echo.yaml was not changed; to replace it, get the tool\n"
        "  next: lk tool get echo --force\n"
    )
    assert load_tool(file).updated_at == updated_at
    assert run_lk("tool", "get", "echo", "--force", cwd=tmp_path).exit == 0
    assert "Says what" in file.read_text(encoding="utf-8")
    file.unlink()
    done = run_lk("tool", "rollback", "echo", "--to", "2", "--json", cwd=tmp_path)
    told = json.loads(done.out)
    assert (told["id"], told["restored"], done.err) == ("echo", 2, "")
    listed = json.loads(run_lk("tool", "versions", "echo", "--json", cwd=tmp_path).out)
    assert [(one["number"], one["is_current"]) for one in listed] == [
        (4, True),
        (3, False),
        (2, False),
        (1, False),
    ]
    assert listed[0] == {
        "number": 4,
        "updated_at": told["updated_at"],
        "published_by": "operator",
        "version": "2.0",
        "change": "restored version 2: description, version (none to 2.0)",
        "is_current": True,
    }


def test_wrong_commands_say_what_to_type(tmp_path):
    write_yaml(tmp_path, "mine", ECHO.replace('"echo"', '"mine"'))
    publish(tmp_path)
    cases = [
        (["versions", "mine"], 1, "mine is not published, so it has no versions", "tool set mine"),
        (["rollback", "mine"], 1, "mine is not published, so it has no versions", "tool set mine"),
        (["rollback", "calculator"], 1, "it is built-in", "tool show calculator"),
        (["versions", "ecoh"], 1, "did you mean 'echo'?", "tool ls"),
        (["versions"], 2, "Missing argument 'ID'", "tool versions --help"),
        (["rollback", "echo"], 1, "no version before the current one", "tool versions echo"),
        (["rollback", "echo", "--to", "7"], 1, "no version 7; the platform keeps: 1", "tool versions echo"),
        (["rollback", "echo", "--to", "0"], 2, "0 is not in the range x>=1", "tool rollback --help"),
        (["rollback", "echo", "--two", "1"], 2, "No such option", "tool rollback --help"),
    ]
    for words, code, told, following in cases:
        with in_case(words):
            done = run_lk("tool", *words, cwd=tmp_path)
            assert (done.exit, done.out) == (code, "")
            assert told in done.err
            assert done.err.endswith(f"  try: lk {following}\n")
            as_json = run_lk("tool", *words, "--json", cwd=tmp_path)
            assert json.loads(as_json.err)["exit"] == code


def test_project_without_published_tools_has_no_versions(tmp_path):
    done = run_lk("tool", "versions", "echo", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert not (tmp_path / ".toolhaft").exists()


def test_restored_version_that_nothing_runs_is_not_called_active(tmp_path):
    run = ECHO[ECHO.index("run:") :]
    publish(tmp_path, (run, ""))
    file = tmp_path / "local-kit/tools/echo.yaml"
    file.write_text(file.read_text(encoding="utf-8") + run, encoding="utf-8")
    publish(tmp_path)
    publish(tmp_path, ("is_active: true", "is_active: false"))
    told = {
        "1": ", not active: it has neither run nor endpoint",
        "2": " at http://127.0.0.1:8420/v3/tool/echo",
        "3": ", not active: its file says is_active: false",
    }
    for number, state in told.items():
        with in_case(number):
            done = run_lk("tool", "rollback", "echo", "--to", number, cwd=tmp_path)
            assert (done.exit, done.out) == (0, f"echo: version {number} is published again{state}\n")


@pytest.mark.external
def test_versions_of_a_served_platform_are_for_the_owner(tmp_path):
    home, ann, bob = tmp_path / "platform", tmp_path / "ann", tmp_path / "bob"
    for folder in (home, ann, bob):
        folder.mkdir()
    with served(home) as server:
        env = {}
        for owner in ("ann", "bob"):
            scopes = [word for one in ("read", "write", "run") for word in ("--scope", f"tools:{one}")]
            key = run_lk("key", "new", "--owner", owner, *scopes, cwd=home).out.strip()
            env[owner] = {"TOOLHAFT_PLATFORM_URL": server.url, "TOOLHAFT_API_KEY": key}
        publish(ann, ('"Echo"', '"Echo"\nshare: public'), env=env["ann"])
        publish(ann, ("Says what", "Repeats what"), env=env["ann"])
        listed = json.loads(run_lk("tool", "versions", "echo", "--json", cwd=ann, env=env["ann"]).out)
        assert [(one["number"], one["published_by"], one["change"]) for one in listed] == [
            (2, "ann", "description"),
            (1, "ann", "created"),
        ]
        for words in (["versions", "echo"], ["rollback", "echo"]):
            with in_case(words):
                done = run_lk("tool", *words, cwd=bob, env=env["bob"])
                assert (done.exit, done.out) == (5, "")
                assert "only its owner may see its versions" in done.err
        done = run_lk("tool", "rollback", "echo", "--to", "9", cwd=ann, env=env["ann"])
        assert (done.exit, "the platform keeps: 1, 2" in done.err) == (1, True)
        assert run_lk("tool", "versions", "calculator", cwd=ann, env=env["ann"]).exit == 1
        done = run_lk("tool", "rollback", "echo", cwd=ann, env=env["ann"])
        assert (done.exit, done.out) == (
            0,
            f"echo: version 1 is published again at {server.url}/v3/tool/echo\n",
        )
    assert run_lk("tool", "versions", "echo", cwd=ann, env=env["ann"]).exit == 4
