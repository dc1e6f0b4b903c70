"""Measures how long `/healthz` waits while the platform checks hostile calls: at most 50 ms.

Each tool has a schema that a validator could work on for seconds or hours with the given arguments.
"""

import http.client
import json
import threading
import time
from typing import Any

from benchmarks.measure import Figure
from benchmarks.serve import Server, publish, serving

_LIMIT_US = 50_000.0
_PROBE_S = 0.002
_PROBED_S = 1.0
_ROUNDS = 3
"""The best of them: other programs on the machine disturb some."""


def _tool(id: str, schema: dict[str, Any]) -> str:
    """The document of a tool with one parameter; JSON is YAML."""
    value = {"name": "value", "type": "any", "required": True, "description": "Any value", **schema}
    kind = schema.get("type", "array")
    return json.dumps(
        {
            "id": id,
            "name": id,
            "description": "Take a value.",
            "effect": "read",
            "parameters": [{**value, "type": kind}],
            "run": {"python": "benchmarks.serve_apps:accept"},
        }
    )


def _nested(depth: int, branches: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"anyOf": [{"items": schema} for _ in range(branches)]}
    return schema


def _deep(depth: int) -> object:
    value: object = 3
    for _ in range(depth):
        value = [value]
    return value


def _cases() -> dict[str, tuple[dict[str, Any], object]]:
    """The schema of the parameter, and the hostile argument."""
    in_place: dict[str, Any] = {"type": "string"}
    for _ in range(20):
        in_place = {"anyOf": [in_place, {"type": "string", "minLength": 2}]}
    names = [f"name_{number}" for number in range(2_000)]
    return {
        "nested_any_of": ({"items": _nested(4, 6)}, [_deep(4)] * 3_000),
        "any_of_in_place": ({"items": in_place}, [3] * 5_000),
        "required": ({"items": {"required": names}}, [{}] * 20_000),
        "enum": ({"items": {"enum": [{"a": name} for name in names]}}, [{"a": 1}] * 20_000),
        "unique": ({"uniqueItems": True}, [2**64 + number for number in range(20_000)]),
        "many_values": ({"items": {"type": "integer"}}, [1] * 300_000),
        "many_problems": ({"items": {"type": "integer"}}, ["x"] * 100_000),
        "property_names": (
            {"type": "object", "propertyNames": {"anyOf": [{"const": name} for name in names[:100]]}},
            {f"other_{number}": 1 for number in range(10_000)},
        ),
        "pattern": ({"items": {"type": "string", "pattern": r"(?=(a+))\1b"}}, ["a" * 50] * 10_000),
        "large_pattern": ({"items": {"pattern": "a.{400}b.{400}c"}}, ["ab" * 50_000]),
        "long_numbers": ({"items": {"multipleOf": 0.01}}, [10**4_000] * 200),
    }


def run() -> list[Figure]:
    """The longest wait of `/healthz` beside the calls of each hostile tool."""
    with serving("platform") as platform:
        _probe(platform, 0.2)  # the first requests load code
        return [_figure(platform, name, *case) for name, case in _cases().items()]


def _figure(platform: Server, name: str, schema: dict[str, Any], argument: object) -> Figure:
    publish(platform, name, _tool(name, schema))
    body = json.dumps({"value": argument})
    _call(platform, name, json.dumps({"value": None}))  # loads the tool
    worst_us = 1e6 * min(_longest_wait(platform, name, body) for _ in range(_ROUNDS))
    return Figure(f"healthz_beside_{name}", worst_us, _LIMIT_US, worst_us / _LIMIT_US, 1.0)


def _longest_wait(platform: Server, name: str, body: str) -> float:
    caller = threading.Thread(target=_call, args=(platform, name, body))
    caller.start()
    wait = _probe(platform, _PROBED_S)
    caller.join()
    return wait


def _call(platform: Server, name: str, body: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", platform.port, timeout=60)
    headers = {"Authorization": f"Bearer {platform.key}", "Content-Type": "application/json"}
    connection.request("POST", f"/v3/tool/{name}", body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def _probe(platform: Server, seconds: float) -> float:
    """Ask for `/healthz` for some time; returns how long the slowest answer took."""
    connection = http.client.HTTPConnection("127.0.0.1", platform.port, timeout=60)
    longest = 0.0
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        longest = max(longest, time.perf_counter() - start)
        time.sleep(_PROBE_S)
    connection.close()
    return longest
