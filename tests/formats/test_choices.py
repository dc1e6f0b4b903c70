"""Which tools a model may call, in every format: expressed, by sending fewer tools, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import each_case
from toolhaft import Tool
from toolhaft.errors import WireError
from toolhaft.formats import FORMATS, Choice, Loss, Refusal, export_tools

_SCHEMA = {"type": "object", "properties": {}}
_TOOLS = [
    Tool(name=name, description=f"Does {name}.", input_schema=_SCHEMA) for name in ("alpha", "beta", "gamma")
]
_ALL = ("alpha", "beta", "gamma")

NONE_GOES = (
    "no tools are sent, because the format cannot forbid calls; some servers then refuse a history with calls"
)


def _function(name):
    return {
        "type": "function",
        "function": {"name": name, "description": f"Does {name}.", "parameters": _SCHEMA},
    }


def _flat(name):
    return {
        "type": "function",
        "name": name,
        "description": f"Does {name}.",
        "parameters": _SCHEMA,
        "strict": False,
    }


_HINTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
_MCP_REST = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def _payload(format: str, names: tuple[str, ...], rest: dict[str, Any]) -> dict[str, Any]:
    """The whole payload that offers these tools."""
    match format:
        case "openai_responses":
            return {"tools": [_flat(name) for name in names], **rest}
        case "anthropic":
            return {
                "tools": [
                    {"name": name, "description": f"Does {name}.", "input_schema": _SCHEMA} for name in names
                ],
                **rest,
            }
        case "bedrock":
            specs = [
                {"name": name, "description": f"Does {name}.", "inputSchema": {"json": _SCHEMA}}
                for name in names
            ]
            return {"toolConfig": {"tools": [{"toolSpec": spec} for spec in specs], **rest}}
        case "gemini":
            declared = [
                {"name": name, "description": f"Does {name}.", "parametersJsonSchema": _SCHEMA}
                for name in names
            ]
            return {"tools": [{"functionDeclarations": declared}], **rest}
        case "mcp":
            return {
                **_MCP_REST,
                "tools": [
                    {
                        "name": name,
                        "description": f"Does {name}.",
                        "inputSchema": _SCHEMA,
                        "annotations": _HINTS,
                    }
                    for name in names
                ],
            }
        case "native":
            return {
                "tools": [
                    {"name": name, "description": f"Does {name}.", "input_schema": _SCHEMA} for name in names
                ]
            }
        case _:
            return {"tools": [_function(name) for name in names], **rest}


def _calling(mode, *names):
    config = {"mode": mode, **({"allowedFunctionNames": list(names)} if names else {})}
    return {"toolConfig": {"functionCallingConfig": config}}


def _named(*names, flat=False):
    made = [
        {"type": "function", "name": name} if flat else {"type": "function", "function": {"name": name}}
        for name in names
    ]
    return made[0] if len(names) == 1 else made


def _allowed(mode, *, flat=False):
    tools = _named("alpha", "beta", flat=flat)
    if flat:
        return {"type": "allowed_tools", "mode": mode, "tools": tools}
    return {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": tools}}


_SUBSET = ["alpha", "beta"]
_MUST = Choice(mode="required", tools=("alpha", "beta"))
_TABLE: dict[str, list[tuple[object, dict[str, Any]]]] = {
    "openai_chat": [
        (None, {}),
        ("auto", {"tool_choice": "auto"}),
        ("none", {"tool_choice": "none"}),
        ("required", {"tool_choice": "required"}),
        ("any", {"tool_choice": "required"}),
        ("alpha", {"tool_choice": _named("alpha")}),
        (_SUBSET, {"tool_choice": _allowed("auto")}),
        (_MUST, {"tool_choice": _allowed("required")}),
    ],
    "openai_responses": [
        (None, {}),
        ("auto", {"tool_choice": "auto"}),
        ("none", {"tool_choice": "none"}),
        ("required", {"tool_choice": "required"}),
        ("alpha", {"tool_choice": _named("alpha", flat=True)}),
        (_SUBSET, {"tool_choice": _allowed("auto", flat=True)}),
        (_MUST, {"tool_choice": _allowed("required", flat=True)}),
    ],
    "anthropic": [
        (None, {}),
        ("auto", {"tool_choice": {"type": "auto"}}),
        ("none", {"tool_choice": {"type": "none"}}),
        ("required", {"tool_choice": {"type": "any"}}),
        ("alpha", {"tool_choice": {"type": "tool", "name": "alpha"}}),
    ],
    "bedrock": [
        (None, {}),
        ("auto", {"toolChoice": {"auto": {}}}),
        ("required", {"toolChoice": {"any": {}}}),
        ("alpha", {"toolChoice": {"tool": {"name": "alpha"}}}),
    ],
    "gemini": [
        (None, {}),
        ("auto", _calling("AUTO")),
        ("none", _calling("NONE")),
        ("required", _calling("ANY")),
        ("alpha", _calling("ANY", "alpha")),
        (_SUBSET, _calling("VALIDATED", "alpha", "beta")),
        (_MUST, _calling("ANY", "alpha", "beta")),
    ],
    "mistral": [
        (None, {}),
        ("auto", {"tool_choice": "auto"}),
        ("none", {"tool_choice": "none"}),
        ("required", {"tool_choice": "required"}),
        ("alpha", {"tool_choice": _named("alpha")}),
    ],
    "cohere": [
        (None, {}),
        ("auto", {}),
        ("none", {"tool_choice": "NONE"}),
        ("required", {"tool_choice": "REQUIRED"}),
    ],
    "ollama": [(None, {}), ("auto", {})],
    "mcp": [(None, {}), ("auto", {})],
    "native": [(None, {}), ("auto", {})],
}


@each_case(
    ("format", "choice", "rest"),
    [(format, choice, rest) for format, rows in _TABLE.items() for choice, rest in rows],
    ids=str,
)
def test_a_choice_in_the_providers_own_form(format, choice, rest):
    export = export_tools(_TOOLS, format, choice=choice)

    assert (export.payload, export.losses, export.refused) == (_payload(format, _ALL, rest), (), ())


def _held_back(*names):
    reported = f"only these tools are sent: {', '.join(names)}" if names else NONE_GOES
    return (Loss("", "", "choice", "reshaped", reported),)


_EMULATED = [
    ("anthropic", _SUBSET, ("alpha", "beta"), {"tool_choice": {"type": "auto"}}),
    ("anthropic", _MUST, ("alpha", "beta"), {"tool_choice": {"type": "any"}}),
    ("bedrock", _SUBSET, ("alpha", "beta"), {"toolChoice": {"auto": {}}}),
    ("bedrock", _MUST, ("alpha", "beta"), {"toolChoice": {"any": {}}}),
    ("mistral", _SUBSET, ("alpha", "beta"), {"tool_choice": "auto"}),
    ("mistral", _MUST, ("alpha", "beta"), {"tool_choice": "required"}),
    ("cohere", "alpha", ("alpha",), {"tool_choice": "REQUIRED"}),
    ("cohere", _SUBSET, ("alpha", "beta"), {}),
    ("cohere", _MUST, ("alpha", "beta"), {"tool_choice": "REQUIRED"}),
    ("ollama", _SUBSET, ("alpha", "beta"), {}),
    ("mcp", _SUBSET, ("alpha", "beta"), {}),
    ("native", _SUBSET, ("alpha", "beta"), {}),
]


@each_case(("format", "choice", "names", "rest"), _EMULATED, ids=str)
def test_a_choice_that_cannot_be_expressed_sends_only_the_chosen_tools(format, choice, names, rest):
    export = export_tools(_TOOLS, format, choice=choice)

    assert (export.payload, export.losses, export.refused) == (
        _payload(format, names, rest),
        _held_back(*names),
        (),
    )


@pytest.mark.parametrize(
    ("format", "payload"),
    [("bedrock", {}), ("ollama", {}), ("mcp", {**_MCP_REST, "tools": []}), ("native", {"tools": []})],
)
def test_choice_none_sends_no_tools_if_calls_cannot_be_forbidden(format, payload):
    export = export_tools(_TOOLS, format, choice="none")

    assert (export.payload, export.tools, export.losses, export.refused) == (payload, [], _held_back(), ())


@each_case("format", ["ollama", "mcp", "native"])
@each_case("choice", ["required", "alpha", _MUST], ids=["required", "one", "some"])
def test_choice_required_is_refused_if_calls_cannot_be_forced(format, choice):
    export = export_tools(_TOOLS, format, choice=choice)

    assert export.refused == (
        Refusal("", f"choice 'required': {format} has no way to make the model call a tool"),
    )


_PARALLEL = [
    ("openai_chat", False, {"parallel_tool_calls": False}),
    ("openai_chat", True, {"parallel_tool_calls": True}),
    ("openai_responses", False, {"parallel_tool_calls": False}),
    ("openai_responses", True, {"parallel_tool_calls": True}),
    ("anthropic", False, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    ("anthropic", True, {"tool_choice": {"type": "auto", "disable_parallel_tool_use": False}}),
    ("mistral", False, {"parallel_tool_calls": False}),
    ("mistral", True, {"parallel_tool_calls": True}),
    ("bedrock", True, {}),
    ("gemini", True, {}),
    ("cohere", True, {}),
    ("ollama", True, {}),
    ("mcp", True, {}),
    ("native", True, {}),
]


@each_case(("format", "parallel", "rest"), _PARALLEL, ids=str)
def test_parallel_is_written_in_the_providers_form(format, parallel, rest):
    export = export_tools(_TOOLS, format, parallel=parallel)

    assert (export.payload, export.losses, export.refused) == (_payload(format, _ALL, rest), (), ())


@each_case("format", ["bedrock", "gemini", "cohere", "ollama", "mcp", "native"])
def test_parallel_false_is_refused_if_the_format_cannot_express_it(format):
    export = export_tools(_TOOLS, format, parallel=False)

    reported = Refusal("", f"parallel=False: {format} has no way to ask for one call at a time")
    assert (export.payload, export.refused) == (_payload(format, _ALL, {}), (reported,))


def test_anthropic_writes_parallel_into_the_choice_unless_calls_are_forbidden():
    def chosen(choice):
        return export_tools(_TOOLS, "anthropic", choice=choice, parallel=False).payload["tool_choice"]

    assert [chosen(choice) for choice in ("required", "alpha", "none")] == [
        {"type": "any", "disable_parallel_tool_use": True},
        {"type": "tool", "name": "alpha", "disable_parallel_tool_use": True},
        {"type": "none"},
    ]


@each_case("format", FORMATS)
def test_a_choice_of_an_unknown_tool_is_an_error_that_suggests_the_nearest(format):
    with pytest.raises(WireError, match="no tool 'alpa' is exported; did you mean 'alpha'") as raised:
        export_tools(_TOOLS, format, choice="alpa")

    assert "'auto', 'none', 'required', a tool, or a list of tools" in str(raised.value)


@each_case("format", ["openai_chat", "openai_responses", "anthropic", "bedrock", "gemini", "mistral"])
def test_a_choice_uses_the_exported_name(format):
    odd = Tool(name="files.read", description="Does files.read.", input_schema=_SCHEMA)

    export = export_tools([odd, *_TOOLS], format, choice=odd)

    (exported,) = [exported for exported, own in export.names.items() if own == "files.read"]
    rest = {
        key: value
        for key, value in export.payload.get("toolConfig", export.payload).items()
        if key != "tools"
    }
    assert f"'{exported}'" in str(rest)


@pytest.mark.parametrize(
    "chosen", [_TOOLS[0], "alpha", Choice(mode="required", tools=("alpha",))], ids=["tool", "name", "choice"]
)
def test_a_chosen_tool_is_a_tool_a_name_or_a_choice(chosen):
    export = export_tools(_TOOLS, "openai_chat", choice=chosen)

    assert export.payload["tool_choice"] == {"type": "function", "function": {"name": "alpha"}}


@pytest.mark.parametrize("format", ["anthropic", "bedrock"])
def test_choice_required_is_refused_for_models_that_cannot_be_forced(format):
    free = export_tools(_TOOLS, format, choice="required", model="claude-sonnet-5")
    bound = export_tools(_TOOLS, format, choice="required", model="us.anthropic.claude-opus-5-5-v1:0")
    one = export_tools(_TOOLS, format, choice="alpha", model="claude-opus-5-5")

    assert (free.refused, bound.payload) == ((), _payload(format, _ALL, {}))
    assert bound.refused == (
        Refusal("", f"choice 'required': {format} has no way to make the model call a tool"),
    )
    assert (one.names, one.refused) == ({"alpha": "alpha"}, bound.refused)


def test_the_note_of_a_model_is_reported():
    reported = [
        [loss.detail for loss in export_tools(_TOOLS, "openai_chat", model=model).losses]
        for model in ("gpt-5.3", "gpt-5.4", "gpt-5.4-mini", "GPT-5.9")
    ]

    note = "this model calls tools over Chat Completions only with reasoning effort 'none'"
    assert reported == [[], [note], [note], [note]]


@each_case("format", FORMATS)
def test_a_choice_without_tools_makes_a_valid_request(format):
    export = export_tools([], format, choice="auto", parallel=True)

    empty = {"mcp": {**_MCP_REST, "tools": []}, "native": {"tools": []}}
    assert export.payload == empty.get(format, {})


_ODD = Tool(
    name="odd",
    description="Takes anything.",
    input_schema={"type": "object", "properties": {"x": {}}, "required": ["x"]},
)
_BEHIND = Refusal("odd", "a value of any type cannot be sent at /properties/x")


@pytest.mark.parametrize(
    ("choice", "chosen", "reported"),
    [
        (["odd", "alpha", "beta"], _allowed("auto"), ()),
        (
            "odd",
            "none",
            (Refusal("", f"choice: tool 'odd' is not sent: {_BEHIND.reason}"),),
        ),
    ],
    ids=["among others", "alone"],
)
def test_a_chosen_tool_that_the_format_refuses_is_left_out_of_the_choice(choice, chosen, reported):
    export = export_tools([_ODD, *_TOOLS], "openai_chat", strict=True, choice=choice)

    assert (export.payload.get("tool_choice"), export.refused) == (chosen, (_BEHIND, *reported))
    assert list(export.names) == ["alpha", "beta", "gamma"]


def test_a_choice_among_no_tools_forbids_calls_and_a_tool_named_twice_is_one():
    def chosen(choice):
        return export_tools(_TOOLS, "openai_chat", choice=choice).payload["tool_choice"]

    assert [chosen([]), chosen(["alpha", "beta", "alpha"])] == ["none", _allowed("auto")]


@each_case("format", FORMATS)
def test_a_choice_of_an_unknown_mode_is_an_error(format):
    with pytest.raises(WireError, match="no mode 'sometimes'"):
        export_tools(_TOOLS, format, choice=Choice(mode="sometimes"))


def test_chosen_tools_are_sent_first_if_a_limit_applies():
    tools = [Tool(name=f"t{number}", description="d", input_schema=_SCHEMA) for number in range(130)]
    export = export_tools(tools, "openai_chat", choice=["t129", "t0"])
    assert len(export.names) == 128
    assert list(export.names)[-1] == "t129", "in the order that they came in"
    assert {refusal.tool for refusal in export.refused} == {"t127", "t128"}
    held = export_tools(tools, "anthropic", strict=True, choice=["t25", "t26"])
    assert list(held.names) == ["t25", "t26"]


def test_a_choice_of_some_tools_never_admits_all_tools():
    for format in FORMATS:
        export = export_tools([_ODD, *_TOOLS], format, strict=True, choice=["odd"])
        if any(refusal.tool == "odd" for refusal in export.refused):
            assert not export.names or "none" in str(export.payload).lower(), format


@each_case("format", FORMATS)
def test_a_choice_among_no_tools_is_the_same_as_none(format):
    nothing, none = (export_tools(_TOOLS, format, choice=choice) for choice in ([], "none"))
    assert (nothing.payload, nothing.losses, nothing.refused) == (none.payload, none.losses, none.refused)


def test_a_choice_of_a_set_has_the_order_of_the_tools():
    assert export_tools(_TOOLS, "openai_chat", choice={"beta", "alpha"}).payload["tool_choice"] == _allowed(
        "auto"
    )
