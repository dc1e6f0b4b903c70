"""`lk tool get`: adds tools to a project."""

import json

import pytest

from tests.cases import in_case
from tests.catalog.kit import BUILT_IN
from tests.cli.kit import ECHO, run_lk, write_yaml
from toolhaft import load_tool
from toolhaft.define.yaml import parse_tool

pytestmark = pytest.mark.external

URL = "http://127.0.0.1:8420/v3/tool"


def test_every_built_in_tool_can_be_fetched_and_published(tmp_path):
    for id in BUILT_IN:
        with in_case(id):
            file = tmp_path / "local-kit" / "tools" / f"{id}.yaml"
            done = run_lk("tool", "get", id, cwd=tmp_path)
            assert done.exit == 0
            assert done.out == f"local-kit/tools/{id}.yaml: written, active at {URL}/{id}\n"
            assert done.err.endswith(f"  next: lk call {id} --help\n")
            tool = load_tool(file)
            assert (tool.name, tool.is_active, tool.endpoint, tool.share) == (
                id,
                True,
                f"{URL}/{id}",
                "public",
            )
            published = run_lk("tool", "set", id, "--json", cwd=tmp_path)
            assert published.exit == 0, published
            assert load_tool(file).updated_at == json.loads(published.out)["updated_at"]


def call(folder, id, arguments):
    done = run_lk("call", id, json.dumps(arguments), "--json", cwd=folder)
    assert done.exit == 0, done
    return done.out


def test_built_in_tool_is_callable_through_its_file(tmp_path):
    cases = [
        ("calculator", {"expression": "6 * 7"}, "42"),
        ("file_info", {"path": "note.txt"}, "true"),
        ("file_reader", {"path": "note.txt"}, "remember"),
        ("list_directory", {"path": "."}, "note.txt"),
        ("read_file", {"path": "note.txt"}, "remember"),
        ("write_file", {"path": "new.txt", "content": "four"}, "4"),
        ("search_tools", {"query": "arithmetic expression"}, "calculator"),
    ]
    for id, arguments, expected in cases:
        with in_case(id, arguments, expected):
            (tmp_path / "note.txt").write_text("remember", encoding="utf-8")
            run_lk("tool", "get", id, cwd=tmp_path)
            assert expected in call(tmp_path, id, arguments)


def test_built_in_tool_is_callable_through_its_published_document(tmp_path):
    run_lk("tool", "get", "write_file", cwd=tmp_path)
    run_lk("tool", "set", "write_file", cwd=tmp_path)
    arguments = {"path": "new.txt", "content": "four"}
    assert "4" in call(tmp_path, "write_file", arguments)
    (tmp_path / "local-kit/tools/write_file.yaml").unlink()
    assert "4" in call(tmp_path, "write_file", arguments)
    assert (tmp_path / "new.txt").read_text(encoding="utf-8") == "four"


def test_fetched_tool_is_printed_as_json(tmp_path):
    told = json.loads(run_lk("tool", "get", "file_reader", "mine", "--json", cwd=tmp_path).out)
    assert told == {
        "id": "mine",
        "file": "local-kit/tools/mine.yaml",
        "endpoint": f"{URL}/file_reader",
        "is_active": True,
        "notes": [],
    }
    returns = load_tool(tmp_path / "local-kit/tools/mine.yaml").output_schema
    assert returns["required"] == ["content", "size"]
    assert "next_offset" in returns["properties"]


def test_existing_file_is_not_changed(tmp_path):
    file = write_yaml(tmp_path, "calculator", "mine\n")
    done = run_lk("tool", "get", "calculator", cwd=tmp_path)
    differs = "and it differs from what would be written; --force replaces it"
    told = (
        f"error: exists: local-kit/tools/calculator.yaml, {differs}\n  try: lk tool get calculator --force\n"
    )
    assert (done.exit, done.err) == (1, told)
    assert done.out.splitlines()[:2] == [
        "--- local-kit/tools/calculator.yaml",
        "+++ local-kit/tools/calculator.yaml with --force",
    ]
    assert {"-mine", '+id: "calculator"'} <= set(done.out.splitlines())
    assert run_lk("tool", "get", "calculator", "--json", cwd=tmp_path).out == ""
    assert file.read_text(encoding="utf-8") == "mine\n"
    forced = run_lk("tool", "get", "calculator", "--force", cwd=tmp_path)
    assert forced.exit == 0
    assert load_tool(file).is_active


def test_existing_yml_file_is_not_changed(tmp_path):
    file = write_yaml(tmp_path, "calculator", "mine\n")
    file.rename(file.with_suffix(".yml"))
    assert run_lk("tool", "get", "calculator", cwd=tmp_path).err.startswith(
        "error: exists: local-kit/tools/calculator.yml"
    )


def test_file_of_another_name_with_the_id_is_not_changed(tmp_path):
    write_yaml(tmp_path, "odd", ECHO.replace('"echo"', '"calculator"'))
    assert run_lk("tool", "get", "calculator", cwd=tmp_path).err.startswith(
        "error: exists: local-kit/tools/odd.yaml"
    )


def test_unknown_id_error_names_the_nearest(tmp_path):
    done = run_lk("tool", "get", "calculatr", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert "did you mean 'calculator'?" in done.err
    assert done.err.endswith("  try: lk tool ls\n")
    assert not (tmp_path / "local-kit").exists()


def test_id_that_no_file_may_have_is_a_usage_error(tmp_path):
    for id in ["Calculator", "../x", "a b", "", "5x", "x" * 51, "über"]:
        with in_case(id):
            for words in (
                ["tool", "get", "calculator", id] if id else ["tool", "get", id],
                ["tool", "new", id],
            ):
                done = run_lk(*words, cwd=tmp_path)
                assert (done.exit, done.out) == (2, ""), words
                assert "is not a tool id" in done.err
                assert "  try: lk tool " in done.err
            assert not (tmp_path / "local-kit").exists()


def test_own_file_that_is_active_stays_as_it_is(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    for words in (["get", "echo"], ["get", "echo", "--force"]):
        done = run_lk("tool", *words, cwd=tmp_path)
        assert done == (0, "local-kit/tools/echo.yaml: already active\n", "  next: lk call echo --help\n")
        assert file.read_text(encoding="utf-8") == ECHO


def test_fetching_again_finds_nothing_to_do(tmp_path):
    for id in ("calculator", "echo"):
        write_yaml(tmp_path, "echo", ECHO)
        run_lk("tool", "set" if id == "echo" else "get", id, cwd=tmp_path)
        done = run_lk("tool", "get", id, cwd=tmp_path)
        assert (done.exit, done.out) == (0, f"local-kit/tools/{id}.yaml: already active\n")


def test_own_file_is_activated_in_place(tmp_path):
    off = ECHO.replace("run:", "is_active: false  # until May\n# the voice\nrun:")
    file = write_yaml(tmp_path, "echo", off)
    done = run_lk("tool", "get", "echo", cwd=tmp_path)
    assert done == (
        0,
        "local-kit/tools/echo.yaml: activated: is_active: false was removed\n",
        "  next: lk call echo --help\n",
    )
    assert file.read_text(encoding="utf-8") == off.replace("is_active: false  ", "")
    file.write_text(off, encoding="utf-8")
    told = json.loads(run_lk("tool", "get", "echo", "--json", cwd=tmp_path).out)
    assert (told["file"], told["is_active"]) == ("local-kit/tools/echo.yaml", True)
    assert "hello" in call(tmp_path, "echo", {"text": "hello"})


def test_force_activates_an_own_file_too(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO + "is_active: false\n")
    assert run_lk("tool", "get", "echo", "--force", cwd=tmp_path).exit == 0
    assert file.read_text(encoding="utf-8") == ECHO


def test_file_that_is_named_for_another_tool_is_not_activated(tmp_path):
    text = ECHO + "is_active: false\n"
    file = write_yaml(tmp_path, "other", text)
    assert run_lk("tool", "get", "other", cwd=tmp_path) == (
        3,
        "",
        "error: local-kit/tools/other.yaml defines 'echo', not 'other'\n  try: lk tool get echo\n",
    )
    assert file.read_text(encoding="utf-8") == text
    assert run_lk("tool", "get", "echo", cwd=tmp_path).exit == 0
    assert file.read_text(encoding="utf-8") == ECHO


def test_existing_copy_that_is_switched_off_names_its_own_command(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    run_lk("tool", "get", "echo", "parrot", cwd=tmp_path)
    file = tmp_path / "local-kit/tools/parrot.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("is_active: true", "is_active: false"), "utf-8")
    done = run_lk("tool", "get", "echo", "parrot", cwd=tmp_path)
    assert (done.exit, done.err) == (
        1,
        "error: exists: local-kit/tools/parrot.yaml, and it is switched off\n  try: lk tool get parrot\n",
    )


def test_switch_that_cannot_be_taken_out_is_left_to_its_author(tmp_path):
    text = f"{ECHO}is_active: &off false\nretryable: *off\n"
    file = write_yaml(tmp_path, "echo", text)
    done = run_lk("tool", "get", "echo", cwd=tmp_path)
    assert (done.exit, file.read_text(encoding="utf-8")) == (1, text)
    assert "take is_active: false out by hand, since another value refers to it" in done.err


def test_own_file_that_nothing_runs_says_what_to_add(tmp_path):
    endpoint = f"endpoint: {URL}/echo\n"
    whys = {
        "": "it has neither run nor endpoint",
        "is_active: false\n": "it has neither run nor endpoint",
        endpoint: f"no active tool is published or installed at its endpoint {URL}/echo",
    }
    for more, why in whys.items():
        with in_case(more):
            text = ECHO.partition("run:")[0] + more
            file = write_yaml(tmp_path, "echo", text)
            done = run_lk("tool", "get", "echo", cwd=tmp_path)
            assert (done.exit, done.out, file.read_text(encoding="utf-8")) == (1, "", text)
            assert done.err == (
                f"error: nothing runs echo: {why}. Write one of these lines into local-kit/tools/echo.yaml:\n"
                '    run: {argv: ["PROGRAM", "${text}"]}\n'
                '    run: {python: "MODULE:echo"}\n'
                '    run: {http: {method: POST, url: "https://HOST/PATH", body: {"text": "${text}"}}}\n'
                '    endpoint: "https://HOST/echo"\n'
                "  try: lk tool get echo\n"
            )
            for line in done.err.splitlines()[1:5]:  # each of them is valid, and activates the tool
                written = text.replace(endpoint, "").replace("is_active: false\n", "") + line.strip() + "\n"
                assert parse_tool(written).is_active


def test_clone_of_a_tool_that_is_switched_off_stays_off_until_it_is_activated(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO + "is_active: false\n")
    run_lk("tool", "set", "echo", cwd=tmp_path)
    file.unlink()
    done = run_lk("tool", "get", "echo", cwd=tmp_path)
    assert done == (
        0,
        "local-kit/tools/echo.yaml: written, not active: it is switched off\n",
        "  next: lk tool get echo\n",
    )
    assert (load_tool(file).is_active, load_tool(file).is_active_in_file) == (False, False)
    assert run_lk("tool", "get", "echo", cwd=tmp_path).exit == 0
    assert load_tool(file).is_active
    run_lk("tool", "get", "echo", "parrot", cwd=tmp_path)
    assert not load_tool(file.with_name("parrot.yaml")).is_active


def test_own_file_that_differs_from_the_published_one_is_compared(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    run_lk("tool", "set", "echo", cwd=tmp_path)
    mine = file.read_text(encoding="utf-8").replace("Says what", "Repeats what")
    file.write_text(mine, encoding="utf-8")
    done = run_lk("tool", "get", "echo", cwd=tmp_path)
    assert (done.exit, file.read_text(encoding="utf-8")) == (1, mine)
    assert [line for line in done.out.splitlines() if line[0] in "+-"][2:] == [
        '-description: "Repeats what it is told"',
        '+description: "Says what it is told"',
    ]
    assert "--force discards them" in done.err
    assert done.err.endswith("  try: lk tool set echo\n")
    assert run_lk("tool", "get", "echo", "--force", cwd=tmp_path).exit == 0
    assert "Says what" in file.read_text(encoding="utf-8")


def test_copy_is_private_without_owner_and_forwards_to_the_original(tmp_path):
    done = run_lk("tool", "get", "calculator", "sums", cwd=tmp_path)
    assert done.exit == 0
    tool = load_tool(tmp_path / "local-kit/tools/sums.yaml")
    assert (tool.name, tool.owner, tool.created_at, tool.share) == ("sums", None, None, "private")
    assert (tool.is_active, tool.endpoint) == (True, f"{URL}/calculator")
    assert "42" in call(tmp_path, "sums", {"expression": "6 * 7"})
    published = run_lk("tool", "set", "sums", cwd=tmp_path)
    assert published.exit == 0
    assert load_tool(tmp_path / "local-kit/tools/sums.yaml").endpoint == f"{URL}/calculator"
    assert "42" in call(tmp_path, "sums", {"expression": "6 * 7"})


def test_copy_of_a_file_keeps_comments_and_run(tmp_path):
    text = "# for the choir\n" + ECHO + 'owner: "ann"\nshare: "public"\ncreated_at: "2024-01-01T00:00:00Z"\n'
    write_yaml(tmp_path, "echo", text)
    assert run_lk("tool", "get", "echo", "parrot", cwd=tmp_path).exit == 0
    file = tmp_path / "local-kit/tools/parrot.yaml"
    assert file.read_text(encoding="utf-8").startswith('# for the choir\nid: "parrot"')
    tool = load_tool(file)
    assert (tool.owner, tool.share, tool.created_at, tool.run.kind) == (None, "private", None, "argv")
    assert "hello" in call(tmp_path, "parrot", {"text": "hello"})


def test_published_tool_wins_over_an_installed_one(tmp_path):
    run_lk("tool", "get", "calculator", cwd=tmp_path)
    file = tmp_path / "local-kit/tools/calculator.yaml"
    file.write_text("# mine\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
    assert run_lk("tool", "set", "calculator", cwd=tmp_path).exit == 0
    file.unlink()
    assert run_lk("tool", "get", "calculator", cwd=tmp_path).exit == 0
    assert file.read_text(encoding="utf-8").startswith("# mine\n")


def test_folder_that_cannot_be_created_is_reported(tmp_path):
    (tmp_path / "local-kit").write_text("in the way", encoding="utf-8")
    done = run_lk("tool", "get", "calculator", cwd=tmp_path)
    assert (done.exit, done.out) == (1, "")
    assert done.err.startswith("error: local-kit/tools/calculator.yaml: Not a directory\n")


def test_remote_platform_sets_its_own_endpoint(tmp_path):
    (tmp_path / ".env").write_text("TOOLHAFT_PLATFORM_URL=ftp://nowhere\n", encoding="utf-8")
    done = run_lk("tool", "get", "calculator", cwd=tmp_path)
    assert done.exit == 3
    assert "TOOLHAFT_PLATFORM_URL" in done.err


def test_name_of_a_file_suggests_its_id(tmp_path):
    for words in (["get", "echo.yaml"], ["get", "local-kit/tools/echo.yml"]):
        done = run_lk("tool", *words, cwd=tmp_path)
        assert (done.exit, done.err.splitlines()[-1]) == (2, "  try: lk tool get echo")


def test_unpublished_changes_are_not_offered_to_be_discarded_first(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO[: ECHO.index("run:")])
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0
    assert "nothing runs echo" in run_lk("tool", "get", "echo", cwd=tmp_path).err
    # as that error says, the author adds a run block and types get again
    with file.open("a", encoding="utf-8") as stream:
        stream.write(ECHO[ECHO.index("run:") :])
    done = run_lk("tool", "get", "echo", cwd=tmp_path)
    assert done.exit == 1
    assert done.err == (
        "error: exists: local-kit/tools/echo.yaml, and it has changes that are not published; "
        "--force discards them\n  try: lk tool set echo\n"
    )
    assert "-run:" in done.out
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0
    assert run_lk("tool", "get", "echo", cwd=tmp_path).exit == 0
