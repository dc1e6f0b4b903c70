"""The program as a whole: its verbs, options and two names."""

import json
import subprocess
import sys

import click
import pytest

from tests.cases import in_case
from tests.cli.kit import clean_environment, run_lk, write_yaml
from toolhaft.cli.program import PROGRAM, TOOL_VERBS, VERBS

BROKEN = "id: [\n"


def test_help_lists_every_verb(tmp_path):
    done = run_lk("--help", cwd=tmp_path)
    assert (done.exit, done.err) == (0, "")
    for name, verb in VERBS.items():
        assert f"{name} " in done.out
        assert verb.help in done.out


def test_tool_help_lists_every_verb(tmp_path):
    done = run_lk("tool", "-h", cwd=tmp_path)
    assert (done.exit, done.err) == (0, "")
    assert all(verb.help in done.out for verb in TOOL_VERBS.values())


def test_help_imports_no_verb_module(tmp_path):
    program = (
        "import sys\nfrom toolhaft.cli.main import run\nassert run(['--help']) == 0\n"
        "print([name for name in sys.modules if name.startswith('toolhaft.cli.tool_')], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


@pytest.mark.parametrize("path", [[], ["tool"]])
def test_missing_verb_prints_help_as_an_error(tmp_path, path):
    done = run_lk(*path, cwd=tmp_path)
    assert (done.exit, done.out) == (2, "")
    assert "Verbs:" in done.err


def test_every_verb_has_help(tmp_path):
    for verb in [*VERBS]:
        with in_case(verb):
            done = run_lk(verb, "--help", cwd=tmp_path)
            assert (done.exit, done.err) == (0, "")
            assert done.out.startswith(f"Usage: lk {verb}")


def test_every_tool_verb_has_help_and_json(tmp_path):
    for verb in [*TOOL_VERBS]:
        with in_case(verb):
            done = run_lk("tool", verb, "-h", cwd=tmp_path)
            assert (done.exit, done.err) == (0, "")
            assert done.out.startswith(f"Usage: lk tool {verb}")
            assert "--json" in done.out


def test_mistyped_verb_error_suggests_the_nearest(tmp_path):
    assert (
        run_lk("tol", cwd=tmp_path).err
        == "error: no verb 'tol'; did you mean 'tool'?\n  try: lk tool --help\n"
    )
    told = run_lk("tool", "sho", "x", cwd=tmp_path)
    assert told.exit == 2
    assert told.err == "error: tool has no verb 'sho'; did you mean 'show'?\n  try: lk tool show --help\n"


def test_mistyped_short_verbs_get_a_suggestion(tmp_path):
    cases = [
        (["tool", "lss"], "ls"),
        (["tool", "sl"], "ls"),
        (["tool", "l"], "ls"),
        (["tool", "rmm"], "rm"),
        (["tool", "gte"], "get"),
        (["tool", "delte"], "rm"),
        (["cal"], "call"),
        (["key"], None),
        (["tool", "zz"], None),
    ]
    for typed, meant in cases:
        with in_case(typed, meant):
            err = run_lk(*typed, cwd=tmp_path).err
            assert (f"did you mean {meant!r}?" in err) if meant else ("did you mean" not in err)


def test_path_options_are_completed_as_paths(tmp_path):
    cases = ["lk -C ", "lk --project ", "lk tool check ", "lk tool set echo --file "]
    for typed in cases:
        with in_case(typed):
            words = typed.split(" ")
            env = {"_LK_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
            done = run_lk(cwd=tmp_path, env=env)
            assert (done.exit, done.err) == (0, "")
            assert done.out == ("dir,\n" if "tool" not in typed else "file,\n")


def test_formats_of_tool_show_are_completed(tmp_path):
    typed = "lk tool show calculator --format openai_"
    env = {"_LK_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": "5"}
    done = run_lk(cwd=tmp_path, env=env)
    assert (done.exit, done.out) == (0, "plain,openai_chat\nplain,openai_responses\n")


def test_verb_without_a_near_match_suggests_help(tmp_path):
    assert run_lk("xyzzy", cwd=tmp_path).err == "error: no verb 'xyzzy'\n  try: lk --help\n"


def test_mistyped_option_is_reported(tmp_path):
    done = run_lk("tool", "ls", "--tga", "x", cwd=tmp_path)
    assert done.exit == 2
    assert "--tga" in done.err
    assert "--tag" in done.err
    assert done.err.endswith("  try: lk tool ls --help\n")


def test_missing_option_value_suggests_the_help_of_the_verb(tmp_path):
    done = run_lk("tool", "ls", "--tag", cwd=tmp_path)
    assert done == (2, "", "error: Option '--tag' requires an argument.\n  try: lk tool ls --help\n")
    assert run_lk("-C", cwd=tmp_path).err.endswith("  try: lk --help\n")


def test_version_option_prints_the_version(tmp_path):
    assert run_lk("--version", cwd=tmp_path) == run_lk("version", cwd=tmp_path)


def test_usage_error_is_json_if_requested(tmp_path):
    done = run_lk("tool", "ls", "--share", "nobody", "--json", cwd=tmp_path)
    told = json.loads(done.err)
    assert done.exit == told["exit"] == 2
    assert (done.out, told["fix"]) == ("", "lk tool ls --help")
    assert "nobody" in told["error"]


def test_json_after_two_dashes_is_not_an_option(tmp_path):
    assert run_lk("tool", "show", "--", "--json", cwd=tmp_path).err.startswith("error: no tool '--json'")


def test_t_is_short_for_tool(tmp_path):
    assert run_lk("t", "ls", cwd=tmp_path) == run_lk("tool", "ls", cwd=tmp_path)


@pytest.mark.parametrize(("short", "verb"), [("list", "ls"), ("remove", "rm"), ("delete", "rm")])
def test_verb_aliases_work(tmp_path, short, verb):
    assert run_lk("tool", short, "-h", cwd=tmp_path).out.startswith(f"Usage: lk tool {verb}")


def test_both_program_names_work_and_print_themselves(tmp_path):
    assert run_lk("tool", "ls", cwd=tmp_path, program="toolhaft") == run_lk("tool", "ls", cwd=tmp_path)
    assert "  try: toolhaft tool --help\n" in run_lk("tol", cwd=tmp_path, program="toolhaft").err


def test_python_dash_m_runs_the_program(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "toolhaft", "tol"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.splitlines()[1]) == (2, "  try: toolhaft tool --help")


def test_dash_c_uses_another_folder(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    write_yaml(elsewhere, "bad", BROKEN)
    assert "bad.yaml" in run_lk("-C", str(elsewhere), "tool", "check", cwd=tmp_path).out
    assert "bad.yaml" not in run_lk("tool", "check", cwd=tmp_path).out


def test_dash_c_with_a_missing_folder_is_a_usage_error(tmp_path):
    done = run_lk("-C", "nowhere", "tool", "ls", cwd=tmp_path)
    assert (done.exit, done.err) == (2, "error: -C nowhere: there is no such folder\n  try: lk --help\n")


def test_project_is_found_from_a_subfolder(tmp_path):
    write_yaml(tmp_path, "bad", BROKEN)
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    assert "bad.yaml" in run_lk("tool", "check", cwd=inside).out


def test_shell_completion_returns_verbs_and_ids(tmp_path):
    for typed, expected in (("lk to", "tool"), ("lk tool show calc", "calculator")):
        words = typed.split()
        env = {"_LK_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
        done = run_lk(cwd=tmp_path, env=env)
        assert (done.exit, done.err) == (0, "")
        assert expected in done.out


def every_command(command, path=()):
    yield path, command
    if isinstance(command, click.Group) and path != ("call",):  # its members are the tools of the moment
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from every_command(command.get_command(context, name), (*path, name))


def test_cli_docs_name_every_verb_and_option(request):
    page = (request.config.rootpath / "docs" / "cli.md").read_text(encoding="utf-8")
    for path, command in every_command(PROGRAM):
        if path:
            assert " ".join(path) in page, path
        options = (option for option in command.params if isinstance(option, click.Option))
        for name in (name for option in options for name in option.opts if name.startswith("--")):
            assert f"{name}`" in page or f"{name} " in page or f"{name}]" in page, (path, name)
