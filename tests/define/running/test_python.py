"""`run: python`: the function is imported at the first call, and functions of every kind are called."""

import asyncio
import sys

import pytest

from tests.cases import each_case
from tests.define.running.kit import call, parameter, tool_of
from toolhaft import ToolCall, ToolExecutor
from toolhaft.define.running.python_function import find_function

CITY = [parameter("city"), parameter("days", "integer", required=False)]
OUTPUT = [{"name": "output", "type": "string", "description": "It."}]
MODULE = '''
import threading
from dataclasses import dataclass
from toolhaft import tool, ToolContext, ToolResult
from toolhaft.errors import ToolValidationError

def plain(city, days=1):
    return f"{city} {days}"

async def later(city, days=1):
    return f"{city} later"

def with_context(city, days=1, *, context):
    return f"{city} {context.call.name}"

def by_type(city, here: ToolContext, days=1):
    return f"{city} {here.call.name}"

@tool
def decorated(city: str, days: int = 1) -> str:
    """Tells."""
    return f"{city} decorated"

def whole(city, days=1):
    return {"output": city}

def result(city, days=1):
    return ToolResult(message="Done.", value={"output": city})

def chunks(city, days=1):
    yield city
    yield "!"

def refusing(city, days=1):
    raise ToolValidationError("city: no such city")

def leaving(city, days=1):
    raise SystemExit(3)

async def leaving_later(city, days=1):
    raise SystemExit(3)

class Box:
    @staticmethod
    def inner(city, days=1):
        return city

class Unhashable:
    __hash__ = None

    def __call__(self, city, days=1, context=None):
        return f"{city} {context.call.name}"

unhashable = Unhashable()

constant = 5

@dataclass
class Report:
    city: str
    days: tuple[int, ...]

def report(city, days=1):
    return [Report(city, (days, 2))]

def no_data(city):
    return [threading.Lock()]
'''


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    (tmp_path / "weather_module.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "broken_module.py").write_text("1 / 0", encoding="utf-8")
    (tmp_path / "needs_module.py").write_text("import there_is_no_such_module", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("weather_module", "broken_module", "needs_module"):
        sys.modules.pop(name, None)


def python(name, returns=(), **fields):
    return tool_of({"python": name}, CITY, returns, **fields)


@pytest.mark.parametrize(
    "isolation", [None, "thread", "inline", pytest.param("process", marks=pytest.mark.external)]
)
@each_case(
    ("function", "value"),
    [
        ("plain", "Rome 1"),
        ("later", "Rome later"),
        ("with_context", "Rome sample"),
        ("by_type", "Rome sample"),
        ("decorated", "Rome decorated"),
        ("Box.inner", "Rome"),
        ("unhashable", "Rome sample"),
    ],
)
def test_functions_of_every_kind_are_called(function, value, isolation):
    made = python(f"weather_module:{function}", **({"isolation": isolation} if isolation else {}))
    result = call(made, {"city": "Rome"})
    assert result.value == value, result.message
    assert call(python(f"weather_module:{function}", OUTPUT), {"city": "Rome"}).value == {"output": value}


@pytest.mark.external
def test_the_types_of_a_module_come_out_of_a_process_as_json():
    """The host does not import the module."""
    made = python("weather_module:report", isolation="process")
    assert call(made, {"city": "Rome"}).value == [{"city": "Rome", "days": [1, 2]}]
    assert call(python("weather_module:chunks", isolation="process"), {"city": "Rome"}).value == ["Rome", "!"]
    assert "lock" in call(python("weather_module:no_data", isolation="process"), {"city": "Rome"}).message
    assert "weather_module" not in sys.modules


def test_a_value_that_matches_returns_is_unchanged():
    assert call(python("weather_module:whole", OUTPUT), {"city": "Rome"}).value == {"output": "Rome"}
    result = call(python("weather_module:result", OUTPUT), {"city": "Rome"})
    assert (result.value, result.message) == ({"output": "Rome"}, "Done.")
    assert call(python("weather_module:chunks"), {"city": "Rome"}).value == "Rome!"


@pytest.mark.parametrize("isolation", [None, "inline"])
@pytest.mark.parametrize("function", ["leaving", "leaving_later"])
def test_sys_exit_in_a_function_fails_only_the_call(function, isolation):
    made = python(f"weather_module:{function}", **({"isolation": isolation} if isolation else {}))
    result = call(made, {"city": "Rome"})
    assert result.failure.kind == "failed"
    assert "called sys.exit(3)" in result.message


def test_arguments_are_given_by_name():
    assert call(python("weather_module:plain"), {"city": "Rome", "days": 3}).value == "Rome 3"


def test_a_function_may_refuse():
    result = call(python("weather_module:refusing"), {"city": "Rome"})
    assert (result.failure.kind, "no such city" in result.message) == ("invalid_arguments", True)


@each_case(
    ("target", "told"),
    [
        ("no_such_module_here:x", "the module no_such_module_here cannot be imported: No module named"),
        (
            "needs_module:x",
            "the module needs_module cannot be imported: No module named 'there_is_no_such_module'",
        ),
        (
            "broken_module:x",
            "the module broken_module cannot be imported: ZeroDivisionError: division by zero",
        ),
        ("weather_module:plian", "weather_module has no 'plian'; did you mean 'plain'?"),
        ("weather_module:qqqqqqqq", "weather_module has no 'qqqqqqqq'; check the name"),
        ("weather_module:constant", "weather_module:constant is not a function"),
    ],
)
def test_a_missing_module_or_function_is_reported(target, told):
    result = call(python(target, retryable=False), {"city": "Rome"})
    assert (result.success, result.failure.kind) == (False, "failed")
    assert told in result.message


def test_nothing_is_imported_before_the_first_call():
    made = python("weather_module:plain")
    assert "weather_module" not in sys.modules
    assert made.preview({"city": "Rome"}) == {"python": "weather_module:plain", "arguments": {"city": "Rome"}}
    assert made.hosts == ()
    assert "weather_module" not in sys.modules
    assert find_function(made.run.plan).__name__ == "plain"


def test_an_argument_named_context_is_passed():
    made = tool_of({"python": "builtins:dict"}, [parameter("context")])
    assert call(made, {"context": "mine"}).value == {"context": "mine"}
    made = tool_of({"python": "weather_module:with_context"}, [*CITY, parameter("context")])
    assert "str" in call(made, {"city": "Rome", "context": "mine"}).message


def test_a_builtin_function_has_no_signature_to_read():
    made = tool_of({"python": "builtins:dict"}, CITY)
    assert call(made, {"city": "Rome"}).value == {"city": "Rome"}


@pytest.mark.parametrize("run", ["execute", "aexecute"])
def test_sys_exit_at_import_fails_only_the_call(tmp_path, monkeypatch, run):
    (tmp_path / "ends_at_import.py").write_text("import sys\nsys.exit(3)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    made = tool_of({"python": "ends_at_import:f"})
    executor = ToolExecutor([made])
    one = ToolCall(name="sample")
    result = executor.execute(one) if run == "execute" else asyncio.run(executor.aexecute(one))
    assert "the module ends_at_import cannot be imported: it ends the program" in result.message
