"""What importing Toolhaft costs: nothing heavy before a tool is first used."""

import subprocess
import sys

import pytest

import toolhaft

pytestmark = pytest.mark.external

DECORATE = """
import sys
from toolhaft import tool

@tool(effect="read", timeout_s=5, tags=["a"])
def add(a: int, b: int) -> int:
    "Add."
    return a + b

assert add(1, 2) == 3
print(",".join(sorted(name for name in ("pydantic", "pydantic_core", "asyncio", "inspect", "jsonschema_rs") if name in sys.modules)))
add.validate
print("pydantic_core" in sys.modules, "asyncio" in sys.modules)
"""


def _run(code: str) -> list[str]:
    # -I -S: neither the environment nor a site package may load anything first
    search = f"import sys; sys.path[:0] = {sys.path!r}\n"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", search + code], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_decorating_loads_neither_pydantic_nor_asyncio_nor_inspect():
    before, after = _run(DECORATE)
    assert before == ""
    assert after.split()[0] == "True"


def test_importing_toolhaft_loads_no_package():
    (loaded,) = _run(
        "import toolhaft\nprint(','.join(sorted(name for name in sys.modules if name.startswith('toolhaft'))))"
    )
    assert loaded == "toolhaft,toolhaft._lazy"


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'toolhaft' has no attribute 'Tol'"):
        _ = toolhaft.Tol
    assert "Tool" in dir(toolhaft)


def test_without_the_yaml_extra_everything_can_be_imported_and_a_call_names_the_extra():
    printed = _run(
        "sys.modules['ruamel.yaml'] = None\nfrom toolhaft import *\nprint(Tool.__name__)\n"
        "try:\n    load_tool('a.yaml')\nexcept ImportError as error:\n    print(error)"
    )
    assert printed == ["Tool", "YAML tools need ruamel.yaml: pip install 'toolhaft[yaml]'"]


def test_an_import_that_fails_for_another_reason_is_not_put_off():
    (printed,) = _run(
        "sys.modules['pydantic_core'] = None\nimport toolhaft\n"
        "try:\n    toolhaft.create_tool\nexcept ImportError as error:\n    print(type(error).__name__)"
    )
    assert printed == "ModuleNotFoundError"
