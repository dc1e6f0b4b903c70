"""`import`: one YAML file per tool of a provider's payload, and what YAML cannot express."""

import json
from contextlib import suppress

from tests.cases import in_case
from tests.cli.kit import ECHO, run_lk, write_yaml
from toolhaft import Tool
from toolhaft.define.yaml import lint_file, load_tool
from toolhaft.errors import WireError
from toolhaft.formats import FORMATS, export_tools, import_tools

CITY = {"type": "string", "description": "Where"}
WEATHER = {"type": "object", "properties": {"city": CITY}, "required": ["city"]}


def weather(name: str = "weather") -> Tool:
    return Tool(name=name, description="The weather of a city.", input_schema=WEATHER)


def payload(*tools: Tool, format: str = "openai_chat") -> str:
    return json.dumps(export_tools(list(tools), format).payload)


BOTH = payload(weather(), weather("other"))


def test_every_format_is_imported(tmp_path):
    for number, format in enumerate(FORMATS):
        with in_case(format):
            here = tmp_path / str(number)
            here.mkdir()
            (here / "tools.json").write_text(
                payload(weather(), weather("weather2"), format=format), encoding="utf-8"
            )
            done = run_lk("import", "tools.json", "--format", format, cwd=here)
            assert done.exit == 0, done.err
            folder = here / "local-kit" / "tools"
            assert sorted(file.name for file in folder.iterdir()) == ["weather.yaml", "weather2.yaml"]
            made = load_tool(folder / "weather.yaml")
            assert (made.name, made.description) == ("weather", "The weather of a city.")
            assert made.input_schema["properties"]["city"]["type"] == "string"
            assert lint_file(folder / "weather.yaml") == []


def test_standard_input_can_be_imported(tmp_path):
    done = run_lk("import", "-", "--format", "openai_chat", "--json", cwd=tmp_path, stdin=payload(weather()))
    assert (done.exit, list(json.loads(done.out)["written"])) == (0, ["weather"])


def test_existing_file_is_kept_unless_forced(tmp_path):
    file = write_yaml(tmp_path, "weather", ECHO.replace('"echo"', '"weather"'))
    before = file.read_text(encoding="utf-8")
    wire = payload(weather(), weather("other"))
    done = run_lk("import", "-", "--format", "openai_chat", cwd=tmp_path, stdin=wire)
    assert (done.exit, file.read_text(encoding="utf-8")) == (1, before)
    assert "error: weather: local-kit/tools/weather.yaml exists\n" in done.err
    assert "  try: the same with --force, to replace it\n" in done.err
    assert done.out == "other  local-kit/tools/other.yaml\n"
    assert (file.parent / "other.yaml").exists()  # the others go on
    (file.parent / "other.yaml").unlink()
    assert run_lk("import", "-", "--format", "openai_chat", "--force", cwd=tmp_path, stdin=wire).exit == 0
    assert load_tool(file).description == "The weather of a city."


def test_id_used_by_another_file_is_refused(tmp_path):
    file = write_yaml(tmp_path, "old", ECHO.replace('"echo"', '"weather"'))
    for force in ([], ["--force"]):
        done = run_lk(
            "import", "-", "--format", "openai_chat", *force, cwd=tmp_path, stdin=payload(weather())
        )
        assert (done.exit, "old.yaml" in done.err) == (1, True)
    assert [one.name for one in file.parent.iterdir()] == ["old.yaml"]


def test_inexpressible_tools_are_reported_and_others_are_imported(tmp_path):
    wire = payload(weather("getWeather"), weather("plain"))
    done = run_lk("import", "-", "--format", "openai_chat", cwd=tmp_path, stdin=wire)
    assert (done.exit, done.out.split()[0]) == (1, "plain")
    assert "getWeather" in done.err
    assert "--rename getWeather=" in done.err
    again = run_lk(
        "import",
        "-",
        "--format",
        "openai_chat",
        "--rename",
        "getWeather=get_weather",
        "--force",
        cwd=tmp_path,
        stdin=wire,
    )
    assert again.exit == 0, again.err
    assert (tmp_path / "local-kit" / "tools" / "get_weather.yaml").exists()


def test_unreadable_import_files_are_refused(tmp_path):
    cases = [
        ("{", [], 1, "openai_chat"),
        ("5", [], 1, "openai_chat"),
        ('{"tools": []}', [], 1, "no tools"),
        ("\udcff", [], 1, "UTF-8"),
        (None, ["--rename", "x"], 2, "NAME=ID"),
        (None, ["--rename", "weathr=x"], 2, "'weather'"),
        (BOTH, ["--rename", "weather=other"], 2, "two tools would have the id 'other'"),
    ]
    for stdin, typed, code, told in cases:
        with in_case(stdin, typed, code, told):
            file = tmp_path / "tools.json"
            file.write_bytes(
                (payload(weather()) if stdin is None else stdin).encode(errors="surrogateescape")
            )
            done = run_lk("import", "tools.json", "--format", "openai_chat", *typed, cwd=tmp_path)
            assert (done.exit, done.out) == (code, "")
            assert told in done.err
            assert "  try: lk import --help\n" in done.err
            assert not (tmp_path / "local-kit").exists()


def test_parameter_names_replace_missing_descriptions(tmp_path):
    bare = {"type": "object", "properties": {"max_results": {"type": "integer"}}}
    wire = payload(Tool(name="find", description="Finds.", input_schema=bare))
    done = run_lk("import", "-", "--format", "openai_chat", cwd=tmp_path, stdin=wire)
    assert (
        done.exit,
        "note: find: parameters without a description, described by their names: max_results" in done.err,
    ) == (0, True), done.err
    made = load_tool(tmp_path / "local-kit" / "tools" / "find.yaml")
    assert made.input_schema["properties"]["max_results"]["description"] == "max results"


def test_union_parameter_is_refused(tmp_path):
    both = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}
    wire = payload(Tool(name="find", description="Finds.", input_schema=both), weather())
    done = run_lk("import", "-", "--format", "openai_chat", "--json", cwd=tmp_path, stdin=wire)
    told = json.loads(done.out)
    assert (done.exit, list(told["written"]), list(told["problems"])) == (1, ["weather"], ["find"])


def test_huge_file_is_refused_without_reading_it(tmp_path):
    with (tmp_path / "tools.json").open("wb") as file:
        file.truncate(50_000_001)
    done = run_lk("import", "tools.json", "--format", "mcp", cwd=tmp_path)
    assert (done.exit, "larger than 50,000,000 bytes" in done.err) == (1, True)


def test_missing_file_is_a_usage_error(tmp_path):
    done = run_lk("import", "absent.json", "--format", "mcp", cwd=tmp_path)
    assert (done.exit, "absent.json" in done.err) == (2, True)


def test_name_outside_of_the_folder_is_refused(tmp_path):
    wire = json.dumps([{"type": "function", "function": {"name": "../../evil", "parameters": WEATHER}}])
    done = run_lk("import", "-", "--format", "openai_chat", cwd=tmp_path, stdin=wire)
    rename = run_lk(
        "import",
        "-",
        "--format",
        "openai_chat",
        "--rename",
        "weather=../evil",
        cwd=tmp_path,
        stdin=payload(weather()),
    )
    assert (done.exit, rename.exit) == (1, 1)
    assert not [file for file in tmp_path.rglob("*") if "evil" in file.name]


def test_tools_with_invisible_characters_are_not_imported(tmp_path):
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    schema = {"type": "object", "properties": {"city": {**CITY, "enum": [f"Rome{hidden}"]}}}
    poisoned = [
        Tool(name="weather", description=f"The weather.{hidden}", input_schema=WEATHER),
        Tool(name="weather", description="The weather.", input_schema=schema),
        Tool(name="weather", description="The weather.", input_schema=WEATHER, when_to_use="Daily\u200b"),
    ]
    for number, (format, tool) in enumerate((format, tool) for format in FORMATS for tool in poisoned):
        with in_case(format, number):
            sent = payload(tool, format=format)
            with suppress(WireError):
                assert import_tools(sent, format) == []
            here = tmp_path / str(number)
            here.mkdir()
            (here / "tools.json").write_text(sent, encoding="utf-8")
            done = run_lk("import", "tools.json", "--format", format, cwd=here)
            assert done.exit == 1
            assert not (here / "local-kit").exists()


def test_a_bad_tool_is_reported_and_the_others_are_imported(tmp_path):
    tools = json.loads(payload(weather(), format="mcp"))["tools"]
    bad = [{"name": "Bad", "inputSchema": {"type": "object", "properties": {"x": {"type": "strin"}}}}, 5]
    for number, more in enumerate([[], bad]):
        here = tmp_path / str(number)
        here.mkdir()
        wire = json.dumps({"tools": [*more, *tools]})
        done = run_lk("import", "-", "--format", "mcp", cwd=here, stdin=wire)
        assert (done.exit, done.out.split()[0]) == (1 if more else 0, "weather")
        assert ("error: Bad: " in done.err, "error: tools[1]: " in done.err) == (bool(more), bool(more))
        assert "--rename" not in done.err


def test_a_tool_that_the_provider_defines_gets_a_note_and_no_file(tmp_path):
    tools = [{"type": "web_search"}, *json.loads(payload(weather()))["tools"]]
    done = run_lk("import", "-", "--format", "openai_chat", cwd=tmp_path, stdin=json.dumps(tools))
    assert (done.exit, done.out.split()[0]) == (0, "weather")
    assert "note: web_search: the provider defines it" in done.err
    assert [file.name for file in (tmp_path / "local-kit" / "tools").iterdir()] == ["weather.yaml"]
