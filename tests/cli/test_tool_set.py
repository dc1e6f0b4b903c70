"""`lk tool set`: publishing, and conflicts."""

import json

import pytest

from tests.cases import in_case
from tests.cli.kit import ECHO, run_lk, start_lk, write_yaml
from tests.serve.kit import serving_settings
from toolhaft import load_tool
from toolhaft.catalog.published import PlatformUser
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.serve import Settings
from toolhaft.storage import open_database

pytestmark = pytest.mark.external

URL = "http://127.0.0.1:8420/v3/tool"


OPERATOR = PlatformUser(is_operator=True)


def published_store(folder):
    return PublishedStore(
        open_database(f"sqlite://{folder}/.toolhaft/platform.db"), url="http://127.0.0.1:8420"
    )


def published(folder, id):
    """What the platform has, by a copy of it."""
    done = run_lk("tool", "get", id, "--force", "--json", cwd=folder)
    assert done.exit == 0, done
    return load_tool(folder / json.loads(done.out)["file"])


def test_set_publishes_and_updates_the_file(tmp_path):
    file = write_yaml(tmp_path, "echo", "# for the choir\n" + ECHO)
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert done.exit == 0
    assert done.out == f"echo: published at {URL}/echo\nlocal-kit/tools/echo.yaml: updated\n"
    assert done.err.endswith("  next: lk call echo --help\n")
    tool = load_tool(file)
    assert (tool.is_active, tool.endpoint) == (True, f"{URL}/echo")
    assert tool.created_at == tool.updated_at
    assert file.read_text(encoding="utf-8").startswith("# for the choir\n")


def test_setting_again_changes_only_updated_at(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    run_lk("tool", "set", "echo", cwd=tmp_path)
    first = load_tool(file)
    done = run_lk("tool", "set", "echo", "--json", cwd=tmp_path)
    told = json.loads(done.out)
    second = load_tool(file)
    assert second.updated_at > first.updated_at
    assert second.created_at == first.created_at
    assert told == {
        "id": "echo",
        "file": "local-kit/tools/echo.yaml",
        "endpoint": f"{URL}/echo",
        "is_active": True,
        "updated_at": second.updated_at,
        "is_written": True,
        "warnings": [],
    }


def test_published_tool_equals_the_file(tmp_path):
    write_yaml(tmp_path, "echo", ECHO.replace("Says what", "Repeats what"))
    run_lk("tool", "set", "echo", cwd=tmp_path)
    assert published(tmp_path, "echo").description == "Repeats what it is told"


@pytest.mark.parametrize(("id", "verb"), [("calculator", "get"), ("my-tool", "new")])
def test_missing_file_error_suggests_get_or_new(tmp_path, id, verb):
    done = run_lk("tool", "set", id, cwd=tmp_path)
    assert done == (
        1,
        "",
        f"error: there is no local-kit/tools/{id}.yaml to publish\n  try: lk tool {verb} {id}\n",
    )


def test_invalid_file_is_reported_with_every_line(tmp_path):
    write_yaml(tmp_path, "echo", ECHO.replace('"string"', '"strnig"').replace('name: "Echo"', "name: 5"))
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert (done.exit, done.out) == (3, "")
    assert "local-kit/tools/echo.yaml:2: " in done.err
    assert "local-kit/tools/echo.yaml:6: " in done.err
    assert not (tmp_path / ".toolhaft" / "platform.db").exists()


def test_file_that_defines_another_id_is_refused(tmp_path):
    write_yaml(tmp_path, "other", ECHO)
    done = run_lk("tool", "set", "other", cwd=tmp_path)
    assert done.exit == 3
    assert done.err.splitlines() == [
        "error: local-kit/tools/other.yaml defines 'echo', not 'other'",
        "  try: lk tool set echo --file local-kit/tools/other.yaml",
    ]


def test_a_file_of_another_name_is_found_by_its_id(tmp_path):
    file = write_yaml(tmp_path, "other", ECHO)
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0
    assert load_tool(file).updated_at


def test_file_flag_publishes_another_path(tmp_path):
    file = tmp_path / "drafts" / "x.yaml"
    file.parent.mkdir()
    file.write_text(ECHO, encoding="utf-8")
    assert run_lk("tool", "set", "echo", "--file", "drafts/x.yaml", cwd=tmp_path).exit == 0
    assert load_tool(file).updated_at


def test_folder_is_not_a_file(tmp_path):
    assert run_lk("tool", "set", "echo", "--file", ".", cwd=tmp_path) == (
        2,
        "",
        "error: . is a folder\n  try: lk tool set --help\n",
    )


def test_warnings_are_printed_and_do_not_stop(tmp_path):
    text = (
        ECHO.partition("run:")[0]
        + 'run: {http: {method: "GET", url: "https://example.com/", query: {q: "${text}"}}}\n'
    )
    write_yaml(tmp_path, "echo", text)
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert done.exit == 0
    assert "warning: " in done.err
    told = run_lk("tool", "set", "echo", "--json", cwd=tmp_path)
    assert (told.err, len(json.loads(told.out)["warnings"])) == ("", 1)


def test_endpoint_flag_sets_the_upstream(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO.partition("run:")[0])
    done = run_lk("tool", "set", "echo", "--endpoint", "https://example.com/echo", cwd=tmp_path)
    assert done.exit == 0
    assert done.out.splitlines()[0] == f"echo: published at {URL}/echo"
    assert load_tool(file).endpoint == "https://example.com/echo"
    done = run_lk("tool", "set", "echo", "--endpoint", "no address", cwd=tmp_path)
    assert (done.exit, done.out) == (2, "")
    assert "endpoint" in done.err


def test_endpoint_of_the_author_is_never_replaced(tmp_path):
    endpoints = ["https://svc.example.com/echo", "https://other.example/v3/tool/echo", f"{URL}/calculator"]
    for number, endpoint in enumerate(endpoints):
        with in_case(endpoint):
            folder = tmp_path / str(number)
            text = f"{ECHO.partition('run:')[0]}endpoint: {endpoint}   # ours\n"
            file = write_yaml(folder, "echo", text)
            for _ in range(3):
                done = run_lk("tool", "set", "echo", "--json", cwd=folder)
                assert json.loads(done.out)["endpoint"] == f"{URL}/echo"
                assert f"endpoint: {endpoint}   # ours\n" in file.read_text(encoding="utf-8")
            assert published_store(folder).get("echo", OPERATOR).upstream == endpoint.replace(
                f"{URL}/", "/v3/tool/"
            )
            assert run_lk("tool", "get", "echo", cwd=folder).out.endswith("echo.yaml: already active\n")
            row = next(
                row for row in run_lk("tool", "ls", cwd=folder).out.splitlines() if row.startswith("echo")
            )
            assert "hides" not in row


def test_address_of_the_platform_follows_the_platform(tmp_path):
    folder = tmp_path / "project"
    file = write_yaml(folder, "echo", ECHO)
    own = write_yaml(
        folder, "up", ECHO.partition("run:")[0].replace('"echo"', '"up"') + "endpoint: https://x.example/\n"
    )
    run_lk("tool", "set", "echo", cwd=folder)
    assert load_tool(file).endpoint == f"{URL}/echo"
    settings = Settings(database_url=f"sqlite:///{tmp_path}/shared.db", port=0)
    addresses = []
    for _ in range(2):  # the embedded one, then a platform that moves to another port
        with serving_settings(settings) as served:
            env = {"TOOLHAFT_PLATFORM_URL": served.url, "TOOLHAFT_API_KEY": served.key}
            for id in ("echo", "up"):
                assert run_lk("tool", "set", id, cwd=folder, env=env).exit == 0
            addresses.append(served.url)
            assert load_tool(file).endpoint == f"{served.url}/v3/tool/echo"
            assert load_tool(own).endpoint == "https://x.example/"
    assert addresses[0] != addresses[1]


def test_owner_of_the_file_must_be_the_caller(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO + 'owner: "ann"\n')
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert done == (
        5,
        "",
        (
            "error: the tool names the owner 'ann', and nothing says that this is you; take owner out, or, if it "
            'is your own id, write owner = "ann" into toolhaft.toml\n  try: lk tool set echo\n'
        ),
    )
    assert load_tool(file).updated_at is None
    (tmp_path / "toolhaft.toml").write_text('owner = "ann"\n', encoding="utf-8")
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0
    assert run_lk("tool", "set", "echo", cwd=tmp_path, env={"TOOLHAFT_OWNER": "bob"}).exit == 0
    file.write_text(file.read_text(encoding="utf-8").replace('"ann"', '"eve"'), encoding="utf-8")
    assert (
        "and you are 'bob'" in run_lk("tool", "set", "echo", cwd=tmp_path, env={"TOOLHAFT_OWNER": "bob"}).err
    )


def test_one_of_two_concurrent_sets_gets_a_conflict(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    run_lk("tool", "set", "echo", cwd=tmp_path)
    base = (tmp_path / "local-kit/tools/echo.yaml").read_text(encoding="utf-8")
    texts = {}
    for name in ("ann", "bob"):
        texts[name] = base.replace("Says what", f"{name} says what")
        (tmp_path / f"{name}.yaml").write_text(texts[name], encoding="utf-8")
    running = {
        name: start_lk("tool", "set", "echo", "--file", f"{name}.yaml", cwd=tmp_path) for name in texts
    }
    told = {name: process.communicate(timeout=60) for name, process in running.items()}
    assert sorted(process.returncode for process in running.values()) == [0, 1], told
    winner, loser = sorted(running, key=lambda name: running[name].returncode)
    assert (tmp_path / f"{loser}.yaml").read_text(encoding="utf-8") == texts[loser]
    assert told[loser][1].endswith(f"  try: lk tool diff echo --file {loser}.yaml\n")
    assert published(tmp_path, "echo").description == f"{winner} says what it is told"
    # what was told to type next works, and nothing is lost on either side
    compared = run_lk("tool", "diff", "echo", "--file", f"{loser}.yaml", cwd=tmp_path)
    assert (compared.exit, f"{winner} says what" in compared.out) == (1, True)
    assert run_lk("tool", "set", "echo", "--file", f"{loser}.yaml", cwd=tmp_path).exit == 1
    assert run_lk("tool", "set", "echo", "--file", f"{loser}.yaml", "--force", cwd=tmp_path).exit == 0
    assert published(tmp_path, "echo").description == f"{loser} says what it is told"


def test_new_file_does_not_overwrite_a_published_tool(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    run_lk("tool", "set", "echo", cwd=tmp_path)
    write_yaml(tmp_path, "echo", ECHO.replace("Says what", "Shouts what"))
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert "--force" in done.err
    assert json.loads(run_lk("tool", "set", "echo", "--json", cwd=tmp_path).err)["exit"] == 1


def test_interrupted_set_is_completed_by_the_next_one(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    run_lk("tool", "set", "echo", cwd=tmp_path)
    before = file.read_text(encoding="utf-8").replace("Says what", "Repeats what")
    file.write_text(before, encoding="utf-8")
    first = json.loads(run_lk("tool", "set", "echo", "--json", cwd=tmp_path).out)
    file.write_text(before, encoding="utf-8")  # as if the process had died in between
    again = json.loads(run_lk("tool", "set", "echo", "--json", cwd=tmp_path).out)
    assert again == first
    assert load_tool(file).updated_at == first["updated_at"]


def test_share_org_without_an_org_is_noted(tmp_path):
    write_yaml(tmp_path, "echo", ECHO + "share: org\n")
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert done.exit == 0
    assert (
        "note: share: org has no effect here, since `lk` publishes without an org; "
        "publish it with a key of the org, or use share: public\n"
    ) in done.err
    (warning,) = json.loads(run_lk("tool", "set", "echo", "--json", cwd=tmp_path).out)["warnings"]
    assert warning.startswith("note: share: org has no effect here")
    write_yaml(tmp_path, "other", ECHO.replace("echo", "other") + "share: public\n")
    assert "reaches nobody" not in run_lk("tool", "set", "other", cwd=tmp_path).err


def test_tool_published_with_an_org_key_keeps_its_org(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO + "share: org\n")
    database = open_database(f"sqlite://{tmp_path}/.toolhaft/platform.db")
    shelf, member = (
        PublishedStore(database, url="http://127.0.0.1:8420"),
        PlatformUser(owner="ann", org="acme"),
    )
    text = shelf.put(file.read_text(encoding="utf-8"), member, base=None).text
    database.close()
    file.write_text(text, encoding="utf-8")
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert (done.exit, "reaches nobody" in done.err) == (0, False)


def test_invalid_database_is_reported_and_the_file_unchanged(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    (tmp_path / ".toolhaft").mkdir()
    (tmp_path / ".toolhaft" / "platform.db").write_bytes(b"not a database at all" * 100)
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert file.read_text(encoding="utf-8") == ECHO


def test_state_folder_that_cannot_be_created_is_reported(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    (tmp_path / ".toolhaft").write_text("in the way", encoding="utf-8")
    done = run_lk("tool", "set", "echo", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert ".toolhaft" in done.err


def test_endpoint_that_names_a_missing_tool_is_not_called_active(tmp_path):
    at = "http://127.0.0.1:8420/v3/tool"
    file = write_yaml(tmp_path, "alias", f"id: alias\nname: Alias\ndescription: x\nendpoint: {at}/echo\n")
    done = run_lk("tool", "set", "alias", cwd=tmp_path)
    assert done.exit == 0
    assert done.err == (
        f"warning: nothing runs it: no active tool is published or installed at its endpoint {at}/echo\n"
        "  next: lk tool get alias\n"
    )
    assert json.loads(run_lk("tool", "set", "alias", "--json", cwd=tmp_path).out)["is_active"] is False
    write_yaml(tmp_path, "echo", ECHO)
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0
    assert json.loads(run_lk("tool", "set", "alias", "--json", cwd=tmp_path).out)["is_active"] is True
    assert f"endpoint: {at}/echo\n" in file.read_text(encoding="utf-8")
