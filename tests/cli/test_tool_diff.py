"""`lk tool diff`: a file of the project next to the tool that it came from."""

import json

from tests.cases import in_case
from tests.cli.kit import ECHO, run_lk, write_yaml

FILE = "local-kit/tools/echo.yaml"


def changed_lines(text):
    """The removed and added lines of a diff."""
    return [line for line in text.splitlines()[2:] if line.startswith(("-", "+"))]


def publish(folder, text=ECHO, **env):
    file = write_yaml(folder, "echo", text)
    done = run_lk("tool", "set", "echo", cwd=folder, env=env)
    assert done.exit == 0, done.err
    return file


def edit(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_unchanged_file_is_the_same_as_the_published_version(tmp_path):
    file = publish(tmp_path)
    done = run_lk("tool", "diff", "echo", cwd=tmp_path)
    assert done == (0, f"{FILE}: the same as the published version\n", "")
    edit(file, 'name: "Echo"', "name: Echo  # a comment")
    done = run_lk("tool", "diff", "echo", cwd=tmp_path)
    assert (done.exit, done.out) == (
        0,
        f"{FILE}: the same as the published version, apart from comments and layout\n",
    )


def test_edited_file_differs_and_can_be_published(tmp_path):
    file = publish(tmp_path)
    edit(file, "Says what", "Repeats what")
    done = run_lk("tool", "diff", "echo", cwd=tmp_path)
    assert (done.exit, done.err) == (1, "  next: lk tool set echo\n")
    assert done.out.splitlines()[:2] == ["--- the published version", f"+++ {FILE}"]
    assert changed_lines(done.out) == [
        '-description: "Says what it is told"',
        '+description: "Repeats what it is told"',
    ]
    told = run_lk("tool", "diff", "echo", "--json", cwd=tmp_path)
    assert (told.exit, told.err) == (1, "")
    answer = json.loads(told.out)
    assert answer["published_at"] == answer["based_on"]
    assert {key: answer[key] for key in ("id", "file", "compared_with", "is_same", "fields")} == {
        "id": "echo",
        "file": FILE,
        "compared_with": "published",
        "is_same": False,
        "fields": ["description"],
    }
    assert answer["diff"] == done.out.rstrip("\n")
    assert run_lk("tool", "set", "echo", cwd=tmp_path).exit == 0
    assert json.loads(run_lk("tool", "diff", "echo", "--json", cwd=tmp_path).out)["is_same"] is True


def test_fields_that_only_the_platform_wrote_are_no_difference(tmp_path):
    publish(tmp_path, TOOLHAFT_OWNER="ann")
    for text in (ECHO, f'{ECHO}is_active: true\nendpoint: "http://127.0.0.1:8420/v3/tool/echo"\n'):
        with in_case(text):
            write_yaml(tmp_path, "echo", text)
            done = run_lk("tool", "diff", "echo", cwd=tmp_path)
            assert (done.exit, done.out[: len(FILE) + 10]) == (0, f"{FILE}: the same")
    write_yaml(tmp_path, "echo", ECHO.replace("Says", "Tells"))
    done = run_lk("tool", "diff", "echo", cwd=tmp_path)
    assert len(changed_lines(done.out)) == 2
    assert "the file is not based on the published version" in done.err
    assert done.err.endswith("lk tool set echo --force\n")


def test_what_the_author_wrote_of_these_fields_is_compared(tmp_path):
    answered = ECHO[: ECHO.index("run:")] + "endpoint: https://example.com/echo\n"
    file = publish(tmp_path, f"{answered}owner: ann\n", TOOLHAFT_OWNER="ann")
    assert run_lk("tool", "diff", "echo", cwd=tmp_path).exit == 0
    cases = [
        ("https://example.com/echo", "https://example.com/other"),
        ("owner: ann", "owner: bob"),
        ("is_active: true", "is_active: false"),
        ("endpoint: https://example.com/echo\n", ""),
    ]
    before = file.read_text(encoding="utf-8")
    for old, new in cases:
        with in_case(old, new):
            edit(file, old, new)
            done = run_lk("tool", "diff", "echo", cwd=tmp_path)
            assert (done.exit, len(changed_lines(done.out))) == (1, 2 if new else 1)
            file.write_text(before, encoding="utf-8")


def test_clone_is_compared_with_the_installed_tool(tmp_path):
    assert run_lk("tool", "get", "calculator", cwd=tmp_path).exit == 0
    done = run_lk("tool", "diff", "calculator", cwd=tmp_path)
    assert done == (0, "local-kit/tools/calculator.yaml: the same as the installed tool calculator\n", "")
    assert run_lk("tool", "rm", "calculator", "--yes", cwd=tmp_path).exit == 0
    assert run_lk("tool", "get", "calculator", "sums", cwd=tmp_path).exit == 0
    file = tmp_path / "local-kit/tools/sums.yaml"
    edit(file, "http://127.0.0.1:8420", "https://tools.example.com")  # it was copied from elsewhere
    assert run_lk("tool", "diff", "sums", cwd=tmp_path).exit == 0
    edit(file, 'name: "Calculator"', 'name: "Sums"')
    done = run_lk("tool", "diff", "sums", cwd=tmp_path)
    assert (done.exit, done.err) == (1, "")
    assert changed_lines(done.out) == ['-name: "Calculator"', '+name: "Sums"']
    assert done.out.startswith("--- the installed tool calculator\n")


def test_copy_is_compared_with_the_published_tool_that_answers_it(tmp_path):
    answered = ECHO[: ECHO.index("run:")] + "endpoint: https://example.com/echo\n"
    publish(tmp_path, answered)
    assert run_lk("tool", "get", "echo", "parrot", cwd=tmp_path).exit == 0
    done = run_lk("tool", "diff", "parrot", cwd=tmp_path)
    assert done == (0, "local-kit/tools/parrot.yaml: the same as the published tool echo\n", "")


def test_wrong_commands_say_what_to_type(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    write_yaml(tmp_path, "broken", "id: [\n")
    write_yaml(tmp_path, "other", ECHO.replace('"echo"', '"another"'))
    cases = [
        (["echo"], 1, "nothing to compare it with", "try: lk tool set echo"),
        (["ecoh"], 1, "did you mean 'echo'?", "try: lk tool diff echo"),
        (["calculator"], 1, "there is no local-kit/tools/calculator.yaml", "try: lk tool get calculator"),
        (["zzz"], 1, "there is no local-kit/tools/zzz.yaml to compare", "try: lk tool new zzz"),
        (["No Id"], 2, "is not a tool id", "try: lk tool new no_id"),
        (["local-kit/tools/echo.yaml"], 2, "is not a tool id", "try: lk tool diff echo"),
        ([], 2, "Missing argument 'ID'", "try: lk tool diff --help"),
        (["broken"], 3, "this is not YAML", "fix: close"),
        (
            ["other"],
            3,
            "defines 'another', not 'other'",
            "lk tool diff another --file local-kit/tools/other.yaml",
        ),
        (["echo", "--file", "."], 2, "is a folder", "try: lk tool diff --help"),
    ]
    for words, code, what, following in cases:
        with in_case(*words):
            done = run_lk("tool", "diff", *words, cwd=tmp_path)
            assert (done.exit, done.out) == (code, "")
            assert what in done.err
            assert following in done.err.splitlines()[-1]


def test_unreachable_platform_is_a_network_error(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    env = {"TOOLHAFT_PLATFORM_URL": "http://127.0.0.1:1", "TOOLHAFT_API_KEY": "th_some-key"}
    assert run_lk("tool", "diff", "echo", cwd=tmp_path, env=env).exit == 4


def test_colors_are_only_for_terminals_and_controls_are_escaped(tmp_path):
    file = publish(tmp_path)
    edit(file, 'name: "Echo"', 'name: "Echo"  # \u200bhidden\nversion: "2"')
    plain = run_lk("tool", "diff", "echo", cwd=tmp_path)
    assert "\x1b" not in plain.out
    assert '+name: "Echo"  # \\u200bhidden' in plain.out
    terminal = {"TERM": "xterm-256color", "COLUMNS": "20"}
    drawn = run_lk("tool", "diff", "echo", cwd=tmp_path, env=terminal, at_terminal=True)
    assert '\x1b[32m+version: "2"\x1b[0m' in drawn.out
    assert "\x1b[1m--- the published version\x1b[0m\n" in drawn.out
    assert "\u200b" not in drawn.out
    bare = run_lk("--no-color", "tool", "diff", "echo", cwd=tmp_path, env=terminal, at_terminal=True)
    assert bare.out == plain.out
