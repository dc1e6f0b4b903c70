"""Which tools a model may call, in every format: the provider's own form, or tools held back, or a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.each_case import each
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


@each(
    ("format", "choice", "rest"),
    [(format, choice, rest) for format, rows in _TABLE.items() for choice, rest in rows],
    ids=str,
)
def test_a_choice_in_the_providers_own_form(format, choice, rest):
    export = export_tools(_TOOLS, format, choice=choice)

    assert (export.payload, export.losses, export.refused) == (_payload(format, _ALL, rest), (), ())


def _held_back(*names):
    told = f"only these tools are sent: {', '.join(names)}" if names else NONE_GOES
    return (Loss("", "", "choice", "reshaped", told),)


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


@each(("format", "choice", "names", "rest"), _EMULATED, ids=str)
def test_a_choice_without_a_form_holds_the_other_tools_back(format, choice, names, rest):
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
def test_where_calls_cannot_be_forbidden_no_tool_goes_out(format, payload):
    export = export_tools(_TOOLS, format, choice="none")

    assert (export.payload, export.tools, export.losses, export.refused) == (payload, [], _held_back(), ())


@pytest.mark.parametrize("format", ["ollama", "mcp", "native"])
@pytest.mark.parametrize("choice", ["required", "alpha", _MUST], ids=["required", "one", "some"])
def test_where_a_call_cannot_be_forced_the_wish_is_refused(format, choice):
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


@each(("format", "parallel", "rest"), _PARALLEL, ids=str)
def test_several_calls_at_once_or_one(format, parallel, rest):
    export = export_tools(_TOOLS, format, parallel=parallel)

    assert (export.payload, export.losses, export.refused) == (_payload(format, _ALL, rest), (), ())


@pytest.mark.parametrize("format", ["bedrock", "gemini", "cohere", "ollama", "mcp", "native"])
def test_one_call_at_a_time_is_refused_where_it_cannot_be_asked_for(format):
    export = export_tools(_TOOLS, format, parallel=False)

    told = Refusal("", f"parallel=False: {format} has no way to ask for one call at a time")
    assert (export.payload, export.refused) == (_payload(format, _ALL, {}), (told,))


def test_anthropic_says_both_in_one_place_and_nothing_of_parallel_calls_where_none_may_be_made():
    def chosen(choice):
        return export_tools(_TOOLS, "anthropic", choice=choice, parallel=False).payload["tool_choice"]

    assert [chosen(choice) for choice in ("required", "alpha", "none")] == [
        {"type": "any", "disable_parallel_tool_use": True},
        {"type": "tool", "name": "alpha", "disable_parallel_tool_use": True},
        {"type": "none"},
    ]


@pytest.mark.parametrize("format", FORMATS)
def test_a_choice_of_a_tool_that_does_not_go_out_is_an_error_that_names_the_nearest(format):
    with pytest.raises(WireError, match="no tool 'alpa' is exported; did you mean 'alpha'") as raised:
        export_tools(_TOOLS, format, choice="alpa")

    assert "'auto', 'none', 'required', a tool, or a list of tools" in str(raised.value)


@pytest.mark.parametrize(
    "format", ["openai_chat", "openai_responses", "anthropic", "bedrock", "gemini", "mistral"]
)
def test_a_chosen_tool_is_named_as_the_wire_names_it(format):
    odd = Tool(name="files.read", description="Does files.read.", input_schema=_SCHEMA)

    export = export_tools([odd, *_TOOLS], format, choice=odd)

    (wired,) = [wired for wired, own in export.names.items() if own == "files.read"]
    rest = {
        key: value
        for key, value in export.payload.get("toolConfig", export.payload).items()
        if key != "tools"
    }
    assert f"'{wired}'" in str(rest)


@pytest.mark.parametrize(
    "chosen", [_TOOLS[0], "alpha", Choice(mode="required", tools=("alpha",))], ids=["tool", "name", "choice"]
)
def test_one_tool_can_be_given_as_itself_its_name_or_a_choice(chosen):
    export = export_tools(_TOOLS, "openai_chat", choice=chosen)

    assert export.payload["tool_choice"] == {"type": "function", "function": {"name": "alpha"}}


@pytest.mark.parametrize("format", ["anthropic", "bedrock"])
def test_a_model_that_cannot_be_forced_is_known_by_its_name(format):
    free = export_tools(_TOOLS, format, choice="required", model="claude-sonnet-5")
    bound = export_tools(_TOOLS, format, choice="required", model="us.anthropic.claude-opus-5-5-v1:0")
    one = export_tools(_TOOLS, format, choice="alpha", model="claude-opus-5-5")

    assert (free.refused, bound.payload) == ((), _payload(format, _ALL, {}))
    assert bound.refused == (
        Refusal("", f"choice 'required': {format} has no way to make the model call a tool"),
    )
    assert (one.names, one.refused) == ({"alpha": "alpha"}, bound.refused)


def test_a_model_with_conditions_of_its_own_has_them_told():
    told = [
        [loss.detail for loss in export_tools(_TOOLS, "openai_chat", model=model).losses]
        for model in ("gpt-5.3", "gpt-5.4", "gpt-5.4-mini", "GPT-5.9")
    ]

    note = "this model calls tools over Chat Completions only with reasoning effort 'none'"
    assert told == [[], [note], [note], [note]]


@pytest.mark.parametrize("format", FORMATS)
def test_no_tools_and_a_choice_are_no_request_that_a_server_refuses(format):
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
    ("choice", "chosen", "told"),
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
def test_a_chosen_tool_that_the_format_cannot_take_stays_behind_alone(choice, chosen, told):
    export = export_tools([_ODD, *_TOOLS], "openai_chat", strict=True, choice=choice)

    assert (export.payload.get("tool_choice"), export.refused) == (chosen, (_BEHIND, *told))
    assert list(export.names) == ["alpha", "beta", "gamma"]


def test_a_choice_among_no_tools_forbids_calls_and_a_tool_named_twice_is_one():
    def chosen(choice):
        return export_tools(_TOOLS, "openai_chat", choice=choice).payload["tool_choice"]

    assert [chosen([]), chosen(["alpha", "beta", "alpha"])] == ["none", _allowed("auto")]


@pytest.mark.parametrize("format", FORMATS)
def test_a_choice_of_an_unknown_mode_is_an_error(format):
    with pytest.raises(WireError, match="no mode 'sometimes'"):
        export_tools(_TOOLS, format, choice=Choice(mode="sometimes"))


def test_a_chosen_tool_goes_out_before_others_where_a_limit_cuts():
    tools = [Tool(name=f"t{number}", description="d", input_schema=_SCHEMA) for number in range(130)]
    export = export_tools(tools, "openai_chat", choice=["t129", "t0"])
    assert len(export.names) == 128
    assert list(export.names)[-1] == "t129", "in the order that they came in"
    assert {refusal.tool for refusal in export.refused} == {"t127", "t128"}
    held = export_tools(tools, "anthropic", strict=True, choice=["t25", "t26"])
    assert list(held.names) == ["t25", "t26"]


def test_a_wish_for_a_few_tools_never_becomes_leave_for_all():
    for format in FORMATS:
        export = export_tools([_ODD, *_TOOLS], format, strict=True, choice=["odd"])
        if any(refusal.tool == "odd" for refusal in export.refused):
            assert not export.names or "none" in str(export.payload).lower(), format


@pytest.mark.parametrize("format", FORMATS)
def test_a_choice_among_no_tools_is_the_same_as_none(format):
    nothing, none = (export_tools(_TOOLS, format, choice=choice) for choice in ([], "none"))
    assert (nothing.payload, nothing.losses, nothing.refused) == (none.payload, none.losses, none.refused)


def test_a_choice_of_a_set_has_the_order_of_the_tools():
    assert export_tools(_TOOLS, "openai_chat", choice={"beta", "alpha"}).payload["tool_choice"] == _allowed(
        "auto"
    )
