"""Any `run` block makes a tool or a list of problems, each with a place and a fix."""

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.define.running.kit import META, parameter
from toolhaft.define.yaml import lint_text, parse_tool, tool_fields, write_tool
from toolhaft.errors import DefinitionError, ToolValidationError

PIECES = st.sampled_from(
    [
        "${city}",
        "${tags}",
        "${n}",
        "${nope}",
        "${env:KEY}",
        "$${",
        "${",
        "}",
        "$",
        "/",
        "..",
        "?",
        "#",
        "&",
        "=",
        "%2e",
        '"',
        "{",
        ":",
        "@",
        "\n",
        "é",
        "x",
        " ",
        "https://x.example/",
        "http://127.0.0.1:1/",
    ]
)
TEXT = st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=10)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
URL = st.tuples(st.sampled_from(["https://x.example/", "http://127.0.0.1:9/a"]), TEXT).map("".join)
HTTP = st.fixed_dictionaries(
    {"url": URL | JSON},
    optional={
        "method": st.sampled_from(["GET", "POST", "get", "PUT"]) | JSON,
        "headers": st.dictionaries(
            st.sampled_from(["X-A", "Authorization", "Host", "a b"]), TEXT | JSON, max_size=3
        )
        | JSON,
        "query": st.dictionaries(TEXT, TEXT | JSON, max_size=3) | JSON,
        "body": JSON,
        "result": st.dictionaries(st.sampled_from(["out", "outt"]), TEXT, max_size=2) | JSON,
        "extra": JSON,
    },
)
RUN = (
    st.fixed_dictionaries({"http": HTTP | JSON})
    | st.fixed_dictionaries(
        {"argv": st.lists(TEXT | JSON, max_size=4) | JSON},
        optional={
            "cwd": JSON,
            "env": st.lists(TEXT, max_size=2) | JSON,
            "stdin": JSON,
            "max_output_bytes": JSON,
        },
    )
    | st.fixed_dictionaries({"python": TEXT | JSON})
    | JSON
)
PARAMETERS = [
    parameter("city"),
    parameter("tags", "array", required=False),
    parameter("n", "number", required=False, default=1),
]
RETURNS = [{"name": "out", "type": "string", "description": "It."}]
ARGUMENTS = st.fixed_dictionaries(
    {"city": st.text(max_size=8)}, optional={"tags": st.lists(st.integers(), max_size=2)}
)


@settings(
    max_examples=1_000 if os.environ.get("TOOLHAFT_LONG") else 50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(RUN, ARGUMENTS)
def test_any_block_is_a_tool_or_a_list_of_problems(run, arguments):
    text = META + "".join(
        f"{key}: {json.dumps(value)}\n"
        for key, value in (("parameters", PARAMETERS), ("returns", RETURNS), ("run", run))
    )
    problems = lint_text(text, "x.yaml")
    assert all(problem.line >= 1 and problem.fix and problem.problem for problem in problems)
    wrong = [problem for problem in problems if problem.level == "error"]
    if wrong:
        with pytest.raises(DefinitionError) as caught:
            parse_tool(text, "x.yaml")
        assert [problem.place for problem in caught.value.problems] == [problem.place for problem in wrong]
        return
    made = parse_tool(text, "x.yaml")
    assert write_tool(made) == text
    assert parse_tool(json.dumps(tool_fields(made))).run == made.run
    try:
        shown = made.preview(arguments)
    except ToolValidationError:
        return
    json.dumps(shown)
    if made.run is not None and made.run.kind == "http":
        (host,) = made.hosts
        assert shown["http"]["url"].startswith((f"https://{host.removesuffix(':443')}/", f"http://{host}/"))
