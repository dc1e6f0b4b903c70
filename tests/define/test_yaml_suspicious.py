"""Files that hide something from their reader, or lead where no tool should."""

import json

import pytest

from tests.cases import each_case, in_case, lines_run
from toolhaft.define.yaml import lint_text, parse_tool, suspicious
from toolhaft.define.yaml.document import read_document
from toolhaft.errors import DefinitionError

HIDDEN = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
FIELDS = {
    "id": "shout",
    "name": "Shout",
    "description": "Writes a text in capitals.",
    "parameters": [
        {
            "name": "text",
            "type": "object",
            "description": "What.",
            "title": "Text",
            "properties": {"inner": {"enum": ["a", "b"], "description": "One."}},
            "examples": [{"inner": "a"}],
        }
    ],
    "returns": [{"name": "output", "type": "string", "description": "Capitals."}],
    "tags": ["words"],
    "when_to_use": "To shout.",
    "examples": [{"description": "A call.", "input": {"text": {"inner": "a"}}}],
}


def as_yaml(fields, *, escaped):
    return json.dumps(fields, ensure_ascii=escaped, indent=1)


def every_text(value, path=()):
    if isinstance(value, dict):
        for key, child in value.items():
            yield from every_text(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from every_text(child, (*path, index))
    elif isinstance(value, str):
        yield path


def poisoned(path, what):
    copy = json.loads(json.dumps(FIELDS))
    inner = copy
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] += what
    return copy


@each_case("hidden", [HIDDEN[0], "\u200b", "\u202e", "\u2060", "\ufeff", "\u00ad", "\u3164", "\ufe0f"])
def test_invisible_characters_in_any_text_of_a_file_are_refused(hidden):
    assert parse_tool(as_yaml(FIELDS, escaped=False)).name == "shout"
    for path in every_text(FIELDS):
        for escaped in (False, True):
            text = as_yaml(poisoned(path, hidden), escaped=escaped)
            with pytest.raises(
                DefinitionError, match=rf"invisible character at column \d+: U\+{ord(hidden):04X}"
            ):
                parse_tool(text)


def test_invisible_characters_in_keys_are_refused():
    fields = json.loads(as_yaml(FIELDS, escaped=False).replace('"inner"', '"inner\u200b"'))
    with pytest.raises(DefinitionError, match=r"the key parameters\[0\]\.properties\.inner\\u200b"):
        parse_tool(as_yaml(fields, escaped=True))


def test_the_report_has_line_and_column_of_each_character():
    text = 'id: a\nname: "A"\ndescription: |\n  First\n  sec\u200bond # no comment\n# a\u2066 comment\n'
    assert [(one.line, one.level, one.problem) for one in lint_text(text)] == [
        (5, "error", "description has an invisible character at column 6: U+200B ZERO WIDTH SPACE"),
        (6, "warning", "a comment has an invisible character at column 4: U+2066 LEFT-TO-RIGHT ISOLATE"),
    ]


def test_run_may_have_escapes_which_people_see_but_not_the_characters():
    run = 'run: {argv: [cut, "-d\\x01", "${text}"]}\n'
    head = "id: a\nname: A\ndescription: D.\nparameters: [{name: text, type: string, description: T.}]\n"
    assert parse_tool(head + run).name == "a"
    with pytest.raises(DefinitionError, match=r"run\.argv\[1\] has an invisible character"):
        parse_tool(head + run.replace("\\x01", "\u200b"))
    with pytest.raises(DefinitionError, match=r"run\.argv\[1\] has an invisible character.* U\+200B"):
        parse_tool(head + run.replace("\\x01", "\\x01" * 30 + "\u200b"))


def test_the_work_of_the_search_does_not_grow_with_the_square_of_a_file():
    persian = (
        "\\u0645\u200c\\u0647"  # invisible in the file, where an escape is next to it, and not in the value
    )
    makers = {
        "keys": lambda size: "".join(f"a{number}: 1\n" for number in range(size)) + 'z: "\\x41"\n',
        "blank lines": lambda size: (
            "\n" * 9 * size + "".join(f'a{number}: "\\x41"\n' for number in range(size))
        ),
        "comments": lambda size: "".join(f"a{number}: 1 # \u200b\n" for number in range(size)),
        "values": lambda size: "".join(f'a{number}: "{persian}"\n' for number in range(size)),
    }
    for name, make in makers.items():
        with in_case(name):
            small, large = (
                lines_run(
                    suspicious,
                    lambda text: suspicious.invisible_problems(text, read_document(text)[0]),
                    make(size),
                )
                for size in (200, 400)
            )
            assert large < 3 * small


def test_texts_of_all_scripts_and_emoji_are_loaded():
    description = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f680 \u2764\ufe0f"
    assert (
        parse_tool(as_yaml({**FIELDS, "description": description}, escaped=False)).description == description
    )
    assert parse_tool("\ufeff" + as_yaml(FIELDS, escaped=False)).name == "shout"  # a byte order mark


@each_case(
    "host",
    [
        "169.254.169.254",
        "169.254.0.1:8080",
        "169.254.169.254.",
        "2852039166",
        "0xA9FEA9FE",
        "0251.0376.0251.0376",
        "169.254.43518",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "metadata.google.internal",
        "Metadata.Google.Internal.",
        "metadata",
        "%31%36%39.254.169.254",
        "\uff11\uff16\uff19.254.169.254",
        "169.254.169.254.nip.io",
        "a9fea9fe.sslip.io",
        "metadata.azure.internal",
        "metadata.tencentyun.com",
    ],
)
def test_an_endpoint_at_a_metadata_service_is_reported_in_every_spelling(host):
    (found,) = lint_text(as_yaml({**FIELDS, "endpoint": f"http://{host}/latest"}, escaped=False))
    assert (found.level, "metadata service" in found.problem) == ("warning", True)


@each_case(
    "host", ["example.com", "10.0.0.1", "[2001:db8::1]", "metadata.example.com", "169.253.1.1", "1.2.3.4"]
)
def test_other_endpoints_are_not_reported(host):
    assert lint_text(as_yaml({**FIELDS, "endpoint": f"https://{host}/x"}, escaped=False)) == []


@each_case("path", ["${env:KEY}", "{city}", "a?q=${text}", "x/{}", "${env:KEY", "%7Bcity%7D", "{{x}}"])
def test_placeholders_in_an_endpoint_are_reported(path):
    (found,) = lint_text(as_yaml({**FIELDS, "endpoint": f"https://example.com/{path}"}, escaped=False))
    assert "nothing replaces the placeholder" in found.problem


def test_run_at_a_metadata_service_is_reported():
    run = {"http": {"method": "POST", "url": "https://169.254.169.254/", "body": {"text": "${text}"}}}
    (found,) = lint_text(as_yaml({**FIELDS, "returns": [], "run": run}, escaped=False))
    assert "metadata service" in found.problem


@each_case("name, is_odd", [("te$t", 1), ("a b", 1), ("1st", 1), ("n\u00e4me", 1), ("a.b-c_1", 0), ("_x", 0)])
def test_odd_parameter_names_are_reported(name, is_odd):
    parameters = [{"name": name, "type": "string", "description": "What."}]
    found = lint_text(as_yaml({**FIELDS, "parameters": parameters, "examples": []}, escaped=False))
    assert len(found) == is_odd
    assert all("parameter name" in one.problem and one.level == "warning" for one in found)
