"""A secret in a response or in the output of a program is masked, however it is escaped."""

import json

import pytest

from tests.define.running.kit import call, http_tool, tool_of
from toolhaft.core.masking import variable_mask
from toolhaft.define.running import Environment, PlatformAccess

pytestmark = pytest.mark.external

SHOWN = "${env:KEY}"
ODD = 'p"ss\\w/rd1'


def echo(site, value, status=200, header="${env:KEY}", **more):
    """What a call gives where the service answers with what `value` makes of the header."""
    site.answer = lambda asked: (status, {}, value(asked.headers["x-key"]))
    made = http_tool(site.url, headers={"X-Key": header}, fields={"retryable": False})
    return call(made, {}, site, env=Environment({"KEY": ODD, **more}))


@pytest.mark.parametrize(
    "write",
    [
        lambda key: json.dumps({"got": key}),
        lambda key: json.dumps({"got": key}).replace("/", "\\/"),
        lambda key: '{"got": "' + "".join(f"\\u{ord(letter):04x}" for letter in key) + '"}',
    ],
    ids=["as JSON", "with slashes escaped", "all escaped"],
)
def test_a_secret_is_hidden_in_json_however_it_is_escaped(site, write):
    site.answer = lambda asked: (200, {"Content-Type": "application/json"}, write(asked.headers["x-key"]))
    made = http_tool(site.url, headers={"X-Key": "${env:KEY}"})
    assert call(made, {}, site, env=Environment({"KEY": ODD})).value == {"got": SHOWN}


def test_a_secret_is_hidden_in_keys_lists_and_json_within_json(site):
    result = echo(site, lambda key: {key: [key, {"text": json.dumps({"k": key}).replace("/", "\\/")}]})
    assert result.value == {SHOWN: [SHOWN, {"text": json.dumps({"k": SHOWN})}]}


@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "utf-16-be", "latin-1"])
def test_a_secret_is_hidden_in_text_of_every_charset(site, charset):
    kind = {"Content-Type": f"text/plain; charset={charset}"}
    site.answer = lambda asked: (200, kind, f"it is {asked.headers['x-key']}.".encode(charset))
    made = http_tool(site.url, headers={"X-Key": "${env:KEY}"})
    assert call(made, {}, site, env=Environment({"KEY": ODD})).value == f"it is {SHOWN}."


def test_a_secret_is_masked_in_error_responses(site):
    result = echo(site, lambda key: {"error": f"bad key {key}"}, status=401)
    assert f"401 Unauthorized: bad key {SHOWN}." in result.message
    site.answer = lambda asked: (500, {"Content-Type": "text/plain"}, f"{'x' * 295}{asked.headers['x-key']}")
    made = http_tool(site.url, headers={"X-Key": "${env:KEY}"})
    result = call(made, {}, site, env=Environment({"KEY": ODD}))
    assert 'p"' not in result.message  # not even the beginning, where the text is cut


def test_a_secret_is_hidden_in_a_media_type_and_in_the_host_of_a_redirect(site):
    made = http_tool(site.url, headers={"X-Key": "${env:KEY}"}, fields={"retryable": False})
    given = Environment({"KEY": "PlainSecret"})
    site.answer = lambda asked: (200, {"Content-Type": f"application/{asked.headers['x-key']}"}, b"\xff")
    told = call(made, {}, site, env=given)
    site.answer = lambda asked: (302, {"Location": f"http://{asked.headers['x-key']}.internal/"}, b"")
    redirected = call(made, {}, site, env=given)
    for result in (told, redirected):
        error, said = result.failure.error, [result.message]
        while error is not None:
            said.append(repr(error))
            error = error.__cause__ or error.__context__
        assert not result.success
        assert "plainsecret" not in "".join(said).lower()
    assert "${env:key}" in told.message
    assert SHOWN in redirected.message


def test_the_longer_of_two_overlapping_secrets_is_masked_first(site):
    site.answer = lambda asked: (200, {}, {"a": asked.headers["x-a"], "b": asked.headers["x-b"]})
    made = http_tool(site.url, headers={"X-A": "${env:A}", "X-B": "${env:B}"})
    given = Environment({"A": "secret", "B": "secret-longer-tail"})
    assert call(made, {}, site, env=given).value == {"a": "${env:A}", "b": "${env:B}"}


def test_a_secret_of_digits_does_not_break_numbers(site):
    site.answer = lambda asked: (200, {}, {"count": 123456, "pin": int(asked.headers["x-key"]), "year": 2024})
    made = http_tool(site.url, headers={"X-Key": "${env:KEY}", "X-Year": "${env:YEAR}"})
    given = Environment({"KEY": "12345678", "YEAR": "2024"})
    assert call(made, {}, site, env=given).value == {"count": 123456, "pin": SHOWN, "year": 2024}


def test_the_key_of_the_platform_is_masked_in_its_responses(site):
    site.answer = lambda asked: (403, {}, {"detail": f"no: {asked.headers['authorization']}"})
    made = tool_of(endpoint=f"{site.url}/v3/tool/sample", retryable=False)
    result = call(made, {}, access=PlatformAccess(url=site.url, key='th_"quoted"/key'))
    assert "no: Bearer ${env:TOOLHAFT_API_KEY}" in result.message


def test_a_response_that_is_nested_too_deeply_is_reported(site):
    deep = "[" * 700 + "]" * 700
    site.says(deep, Content_Type="application/json")
    made = http_tool(site.url, headers={"X-Key": "${env:KEY}"}, fields={"retryable": False})
    result = call(made, {}, site, env=Environment({"KEY": ODD}))
    assert "broken JSON" in result.message


def test_nothing_is_masked_where_there_is_no_secret():
    assert variable_mask({}) is None
    assert variable_mask({"KEY": "abc"}) is None  # too short to be told from other text


# --- programs ---


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DB_PASS", "hunter2"),
        ("GITHUB_PAT", "hunter2"),
        ("DATABASE_URL", "postgres://u:hunter2@h/x"),
        ("ANYTHING", "hunter22"),
    ],
)
def test_variables_that_a_program_prints_are_masked(name, value):
    made = tool_of({"argv": ["printenv", name], "env": [name]})
    assert call(made, {}, env=Environment({name: value})).value == f"${{env:{name}}}"


def test_a_password_in_a_url_is_masked_without_the_url():
    made = tool_of({"argv": ["sh", "-c", "echo hunter22 is wrong >&2; exit 1"], "env": ["DATABASE_URL"]})
    result = call(made, {}, env=Environment({"DATABASE_URL": "postgres://u:hunter22@h/x"}))
    assert "exit code 1: ${env:DATABASE_URL:password} is wrong." in result.message


@pytest.mark.parametrize(
    ("name", "value"),
    [("HOME", "/home/somebody"), ("LC_ALL", "en_GB.UTF-8"), ("JAVA_HOME", "/opt/java-21"), ("MODE", "fast")],
)
def test_well_known_variables_are_not_masked(name, value):
    made = tool_of({"argv": ["printenv", name], "env": [name]})
    assert call(made, {}, env=Environment({name: value})).value == value


def test_a_secret_is_hidden_in_the_json_that_a_program_prints():
    returns = [
        {"name": "got", "type": "string", "description": "It."},
        {"name": "n", "type": "integer", "description": "N."},
    ]
    script = "import json, os; print(json.dumps({'got': os.environ['KEY'], 'n': 123456}))"
    made = tool_of({"argv": ["python3", "-c", script], "env": ["KEY", "PIN"]}, returns=returns)
    result = call(made, {}, env=Environment({"KEY": ODD, "PIN": "1234"}))
    assert result.value == {"got": SHOWN, "n": 123456}
