"""Measures defining tools and checking arguments, compared with the validation engines alone."""

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from statistics import median
from tempfile import TemporaryDirectory
from typing import Optional

import jsonschema_rs
import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from benchmarks import workloads
from benchmarks.measure import Case, Figure, measure, measure_fixed
from toolhaft import ToolConfig, ToolExecutor, create_tool, tool
from toolhaft.schema.nearest import nearest


def run() -> list[Figure]:
    """All figures of this group."""
    return [*_fixed(), *measure([*_compiling(), *_validating(), *_explaining()]), _importing(), _memory()]


def example_tool(query: str, limit: int = 10, tags: Optional[list[str]] = None) -> dict:  # noqa: UP045 -- an older spelling that users write
    """Example tool with various parameter types.

    Args:
        query: The search query
        limit: Maximum results (default: 10)
        tags: Optional filter tags
    """
    return {"query": query, "limit": limit, "tags": tags}


def _fixed() -> list[Figure]:
    names = [f"{service}_{verb}_{thing}" for service in _SERVICES for verb in _VERBS for thing in _THINGS][
        :1000
    ]
    premade = [tool(_clone(number)) for number in range(20)]
    return [
        measure_fixed("decorate", lambda: tool(example_tool), 2.0),
        measure_fixed("executor_of_20_tools", lambda: ToolExecutor(premade), 80.0),
        measure_fixed("nearest_of_1000", lambda: nearest("github_craete_issue_comment", names), 1000.0),
        measure_fixed("nearest_of_1000_missed", lambda: nearest("translate_this_text", names), 1000.0),
    ]


_SERVICES = ("github", "jira", "slack", "drive", "calendar", "mail", "sql", "files", "web", "crm")
_VERBS = ("create", "list", "get", "update", "delete", "search", "archive", "share", "export", "import")
_THINGS = (
    "issue",
    "comment",
    "document",
    "message",
    "event",
    "user",
    "table",
    "record",
    "folder",
    "report_summary",
)


def _compiling() -> list[Case]:
    def compile_tool() -> object:
        made = tool(example_tool)
        return made.input_schema, made.validate

    def compile_adapter() -> object:
        adapter = TypeAdapter(example_tool)
        return adapter.json_schema(), adapter.validator

    return [Case("compile_common_signature", compile_tool, compile_adapter, 0.15)]


def bare_validator(function: Callable[..., object]) -> SchemaValidator:
    """Pydantic-core alone on the same parameters: its own strict arguments schema, no function called."""
    schema = TypeAdapter(function).core_schema
    if schema["type"] == "definitions":
        schema = {**schema, "schema": schema["schema"]["arguments_schema"]}
    else:
        schema = schema["arguments_schema"]
    return SchemaValidator(schema, {"strict": True})


def _validating() -> list[Case]:
    cases: list[Case] = []
    for name, function, text, target in (
        ("validate_tiny", workloads.add, workloads.TINY, 2.0),
        ("validate_medium", workloads.search, workloads.MEDIUM, 1.5),
        ("validate_large", workloads.ingest, workloads.LARGE, 1.25),
        ("validate_medium_with_quoted_colons", workloads.search, workloads.MEDIUM_WITH_COLONS, 5.0),
    ):
        cases.append(
            _pair(name, tool(function).validate, bare_validator(function).validate_json, text, target)
        )
    raw = tool(workloads.search).input_schema
    own = create_tool(ToolConfig(name="search", description="Search.", input_schema=raw))
    engine = jsonschema_rs.validator_for(raw, validate_formats=True, offline=True)

    def limit(text: str) -> object:
        value = orjson.loads(text)
        return value if engine.is_valid(value) else None

    cases.append(_pair("validate_medium_raw", own.validate, limit, workloads.MEDIUM, 2.0))
    return cases


def _pair(
    name: str, subject: Callable[[str], object], limit: Callable[[str], object], text: str, target: float
) -> Case:
    # both sides go through a lambda, so that its cost is in neither ratio alone
    return Case(name, lambda: subject(text), lambda: limit(text), target)


def _explaining() -> list[Case]:
    subject = tool(workloads.search)
    text = workloads.MEDIUM_WITH_FIVE_PROBLEMS

    def explain() -> object:
        verdict = subject.validate(text)
        return verdict.message

    return [Case("explain_five_problems", explain, bare_errors(workloads.search, text), 2.0)]


def bare_errors(function: Callable[..., object], text: str) -> Callable[[], object]:
    """The errors that pydantic-core alone collects for the same parameters."""
    bare = bare_validator(function)

    def errors() -> object:
        try:
            return bare.validate_json(text)
        except ValidationError as error:
            return error.errors()

    return errors


def _importing() -> Figure:
    """The time that the first decorated tool adds to bare Python, with bytecode files."""
    code = "from toolhaft import tool\n@tool\ndef add(a: int, b: int) -> int:\n    'Add.'\n    return a + b\n"
    with TemporaryDirectory() as cache:
        _start(code, cache)
        bare = [_start("pass", cache) for _ in range(_STARTS)]
        with_tool = [_start(code, cache) for _ in range(_STARTS)]
    us = (median(with_tool) - median(bare)) * 1e6
    return Figure("import_and_decorate", us, 15_000.0, us / 15_000.0, 1.0)


_STARTS = 21
_TIMER = """
import sys, time
start = time.perf_counter()
exec(sys.argv[1], {"__name__": "timed"})
print(time.perf_counter() - start)
"""


def _start(code: str, cache: str) -> float:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(  # noqa: S603 -- our own text
        [sys.executable, "-c", _TIMER, code],
        capture_output=True,
        text=True,
        check=True,
        env={**environment, "PYTHONPYCACHEPREFIX": cache},
    )
    return float(done.stdout)


def _memory() -> Figure:
    """Kilobytes per compiled tool, reported in the fields of a figure."""
    count = 10_000
    functions = [_clone(number) for number in range(count)]
    tools = [tool(function) for function in functions[:50]]
    for made in tools:
        made.validate  # noqa: B018 -- warms every cache up
    gc.collect()
    before = _resident_kb()
    tools = [tool(function) for function in functions]
    for made in tools:
        made.validate  # noqa: B018 -- compiles it
    gc.collect()
    used = (_resident_kb() - before) / count
    return Figure("compiled_tool_kb", used, 12.0, used / 12.0, 1.0)


def _clone(number: int) -> Callable[..., object]:
    def made(query: str, limit: int = 10, tags: Optional[list[str]] = None) -> dict:  # noqa: UP045 -- an older spelling that users write
        return {"query": query, "limit": limit, "tags": tags}

    made.__name__ = f"tool_{number}"
    made.__doc__ = example_tool.__doc__
    return made


def _resident_kb() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 -- a kernel file
        return int(file.read().split()[1]) * 4.0
