"""`lk tool ls` and `lk tool search`, for people and scripts."""

import json
import os

import pexpect
import pytest

from tests.cases import in_case
from tests.catalog.kit import BUILT_IN
from tests.cli.kit import BIN, ECHO, clean_environment, run_lk, write_yaml


def ids(done):
    assert done.exit == 0, done
    return [entry["id"] for entry in json.loads(done.out)]


def test_the_built_in_tools_are_listed_in_an_empty_folder(tmp_path):
    done = run_lk("tool", "ls", cwd=tmp_path)
    assert (done.exit, done.err) == (0, "")
    header, *rows = done.out.splitlines()
    assert header.split() == ["ID", "STORE", "ACTIVE", "SHARE", "TAGS", "DESCRIPTION"]
    assert [row.split()[0] for row in rows] == BUILT_IN
    assert not os.listdir(tmp_path), "a list writes nothing where there is no project"  # noqa: PTH208 -- names


def test_json_list_has_the_documented_fields(tmp_path):
    write_yaml(tmp_path, "echo", ECHO + 'tags: ["speech"]\nowner: "user-123"\nshare: "org"\n')
    done = run_lk("tool", "ls", "--json", "--tag", "speech", cwd=tmp_path)
    [entry] = json.loads(done.out)
    assert entry == {
        "id": "echo",
        "name": "Echo",
        "description": "Says what it is told",
        "owner": "user-123",
        "share": "org",
        "tags": ["speech"],
        "is_active": True,
        "updated_at": None,
        "store": "project",
        "place": "local-kit/tools/echo.yaml",
        "effect": "irreversible",
        "shadows": [],
    }


def test_filters_combine(tmp_path):
    write_yaml(tmp_path, "echo", ECHO + 'tags: ["a", "b"]\nowner: "ann"\nshare: "org"\n')
    write_yaml(tmp_path, "other", ECHO.replace("echo", "other") + 'tags: ["b"]\nowner: "bob"\nshare: "org"\n')
    assert ids(run_lk("tool", "ls", "--json", "--share", "org", cwd=tmp_path)) == ["echo", "other"]
    assert ids(run_lk("tool", "ls", "--json", "--owner", "bob", cwd=tmp_path)) == ["other"]
    assert ids(run_lk("tool", "ls", "--json", "--tag", "a", "--owner", "ann", cwd=tmp_path)) == ["echo"]
    assert ids(run_lk("tool", "ls", "--json", "--tag", "a", "--owner", "bob", cwd=tmp_path)) == []


def test_filter_without_matches_says_so(tmp_path):
    done = run_lk("tool", "ls", "--tag", "nothing", cwd=tmp_path)
    assert done == (0, "no tools\n", "  next: lk tool ls\n")


def test_shadowed_built_in_tool_is_shown(tmp_path):
    write_yaml(tmp_path, "calculator", ECHO.replace('"echo"', '"calculator"'))
    [row] = [
        row for row in run_lk("tool", "ls", cwd=tmp_path).out.splitlines() if row.startswith("calculator")
    ]
    assert "project, hides built-in (toolhaft)" in row


def test_tool_without_run_is_listed_as_not_active(tmp_path):
    write_yaml(tmp_path, "echo", ECHO.partition("run:")[0])
    [row] = [row for row in run_lk("tool", "ls", cwd=tmp_path).out.splitlines() if row.startswith("echo")]
    assert row.split()[:4] == ["echo", "project", "no", "private"]


def test_invalid_file_is_a_warning_and_others_are_listed(tmp_path):
    write_yaml(tmp_path, "echo", ECHO)
    write_yaml(tmp_path, "bad", "id: bad\nname: [\n")
    write_yaml(tmp_path, "worse", "id: 5\nname: 5\n")
    done = run_lk("tool", "ls", cwd=tmp_path)
    assert done.exit == 0
    assert "\necho" in done.out
    assert "warning: local-kit/tools/bad.yaml:" in done.err
    assert "worse.yaml" in done.err
    assert done.err.endswith("  next: lk tool check\n")
    done = run_lk("tool", "ls", "--json", cwd=tmp_path)
    assert "echo" in ids(done)
    assert [[*json.loads(line)] for line in done.err.splitlines()] == [["warning"], ["warning"]]


def test_control_characters_of_a_description_are_refused_and_not_printed(tmp_path):
    write_yaml(tmp_path, "echo", ECHO.replace("Says what", "\\e[2J\\u202eSays\\nwhat"))
    done = run_lk("tool", "ls", cwd=tmp_path)
    assert "echo" not in done.out
    assert "U+001B ESCAPE" in done.err
    assert not {"\x1b", "\u202e"} & {*done.out, *done.err}


def test_broken_cache_does_not_matter(tmp_path):
    file = write_yaml(tmp_path, "echo", ECHO)
    os.utime(file, (1, 1))
    first = run_lk("tool", "ls", cwd=tmp_path)
    for cache in (tmp_path / ".toolhaft").glob("*.json"):
        cache.write_text("{broken", encoding="utf-8")
    assert run_lk("tool", "ls", cwd=tmp_path) == first


def on_terminal(folder, *words, **env):
    wide = {"TERM": "xterm-256color", "COLUMNS": "200", **env}
    done = run_lk(*words, cwd=folder, env=wide, at_terminal=True)
    assert done.exit == 0
    return done.out


@pytest.mark.external
def test_terminal_output_has_colors(tmp_path):
    child = pexpect.spawn(
        str(BIN / "lk"),
        ["tool", "ls"],
        cwd=str(tmp_path),
        env=clean_environment(TERM="xterm-256color"),
        timeout=60,
    )
    child.expect(pexpect.EOF)
    child.close()
    assert (child.exitstatus, b"\x1b[" in child.before) == (0, True)


def test_colors_appear_only_on_a_terminal(tmp_path):
    assert "\x1b[" in on_terminal(tmp_path, "tool", "ls")
    assert "\x1b[" not in on_terminal(tmp_path, "tool", "ls", NO_COLOR="1")
    assert "\x1b[" not in on_terminal(tmp_path, "--no-color", "tool", "ls")
    assert "\x1b[" not in run_lk("tool", "ls", cwd=tmp_path, env={"TERM": "xterm-256color"}).out


def test_rich_markup_is_shown_literally(tmp_path):
    write_yaml(tmp_path, "echo", ECHO.replace("Says what", "[red]Says[/red] :smile:"))
    assert "[red]Says[/red] :smile: it is told" in " ".join(
        on_terminal(tmp_path, "tool", "ls", COLUMNS="200").split()
    )


def test_terminal_shows_one_line_per_tool(tmp_path):
    shown = on_terminal(tmp_path, "--no-color", "tool", "ls", COLUMNS="100")
    lines = [line.rstrip() for line in shown.splitlines()]
    assert len(lines) == 1 + len(BUILT_IN)
    assert max(map(len, lines)) <= 100
    assert "…" in lines[1]


def test_narrow_terminal_shows_complete_ids(tmp_path):
    long = "an-id-of-fifty-characters-is-the-longest-there-is1"
    write_yaml(tmp_path, long, ECHO.replace('"echo"', f'"{long}"'))
    for columns in ("20", "40", "60", "80", "100", "120"):
        shown = on_terminal(tmp_path, "--no-color", "tool", "ls", COLUMNS=columns)
        firsts = {line.split()[0] for line in shown.splitlines() if not line.startswith(" ")}
        assert firsts - {"ID"} == {long, *BUILT_IN}, columns


def test_narrow_terminal_cuts_long_descriptions(tmp_path):
    for columns in (30, 60):
        shown = on_terminal(tmp_path, "--no-color", "tool", "search", "math", COLUMNS=str(columns))
        (described,) = [line.rstrip() for line in shown.splitlines() if "Evaluate" in line]
        assert (described[-1], len(described)) == ("…", columns)


def test_pipes_get_every_cell_whole(tmp_path):
    text = "Says " + "very " * 60 + "much"
    write_yaml(tmp_path, "echo", ECHO.replace("Says what it is told", text))
    assert f"  {text}\n" in run_lk("tool", "ls", cwd=tmp_path).out


def test_search_lists_the_best_match_first(tmp_path):
    done = run_lk("tool", "search", "math", "expression", "--json", cwd=tmp_path)
    assert ids(done)[0] == "calculator"
    for words in (["math"], ["mathmatical", "expresion"]):
        assert "calculator" in run_lk("tool", "search", *words, cwd=tmp_path).out.splitlines()[1]


def test_search_applies_limit_and_tag(tmp_path):
    assert len(ids(run_lk("tool", "search", "file", "--limit", "2", "--json", cwd=tmp_path))) == 2
    assert set(ids(run_lk("tool", "search", "page", "--tag", "web", "--json", cwd=tmp_path))) <= {
        "web_scraper",
        "web_search",
        "wikipedia",
    }


def test_search_without_a_match_exits_with_1(tmp_path):
    assert run_lk("tool", "search", "qqqxyzzy", cwd=tmp_path) == (
        1,
        "",
        "no tool matches these words\n  next: lk tool ls\n",
    )
    assert run_lk("tool", "search", "qqqxyzzy", "--json", cwd=tmp_path) == (1, "[]\n", "")


def test_search_without_words_is_a_usage_error(tmp_path):
    for words in [[], [" "], ["x", "--limit", "0"], ["x", "--limit", "many"]]:
        with in_case(words):
            done = run_lk("tool", "search", *words, cwd=tmp_path)
            assert (done.exit, done.out) == (2, "")
            assert "  try: lk tool " in done.err
