"""Writes a tool as one line, such as `<Tool price(item: str, count: int = 1) -> float, effect=read>`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, cast

from toolhaft.schema.json_schema import argument_schemas, required_arguments
from toolhaft.schema.json_value import JSONObject, JSONValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inspect import Parameter

    from toolhaft.core.conversion import AnyTool

_LONGEST: Final = 200
_LONGEST_TYPE: Final = 60
_LONGEST_DEFAULT: Final = 30
_DEEPEST: Final = 4
_MOST_VALUES: Final = 6
_PLAIN: Final = re.compile(
    r"(|(str|int|float|bool|Literal\[.*\])( \| None)?|Optional\[(str|int|float|bool)\])"
)
"""Annotations that cannot declare a secret; an alias, and `Annotated`, can."""
_NAMES: Final = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict",
    "null": "None",
    "array": "list",
}


def tool_line(tool: AnyTool) -> str:
    """The line of a compiled tool, from its schemas; defaults of secrets are not in them."""
    schema = cast("JSONObject", tool.input_schema)
    required = required_arguments(schema)
    parts = [
        _parameter(name, type_text(own), _default(own, is_required=name in required))
        for name, own in argument_schemas(schema).items()
    ]
    output = cast("JSONValue", tool.output_schema)
    return _line(tool.name, parts, "" if output is None else type_text(output), tool.effect)


def function_line(name: str, function: Callable[..., object], options: Mapping[str, object]) -> str:
    """The line of a function that is perhaps not compiled yet, from its own signature."""
    import inspect  # noqa: PLC0415 -- `import toolhaft` need not load it

    effect = options.get("effect") or "irreversible"
    try:
        signature = inspect.signature(function)
        taken = [own for own in signature.parameters.values() if not _is_context(own, options.get("context"))]
        parts = [_function_parameter(own) for own in taken]
        returned = signature.return_annotation
        arrow = "" if returned is inspect.Signature.empty else _annotation(returned)
    except Exception:  # noqa: BLE001 -- annotations, defaults and their repr are the user's; a repr never raises
        return _line(name, ["..."], "", effect)
    return _line(name, parts, arrow, effect)


def _line(name: str, parts: list[str], returned: str, effect: object) -> str:
    shown: list[str] = []
    for part in parts:
        if sum(map(len, shown)) + len(part) > _LONGEST:
            shown.append("...")
            break
        shown.append(part)
    arrow = f" -> {returned:.{_LONGEST_TYPE}}" if returned else ""
    return f"<Tool {name!s:.128}({', '.join(shown)}){arrow}, effect={effect!s:.20}>"


def _parameter(name: str, type: str, default: str) -> str:
    annotated = f"{name}: {_cut(type, _LONGEST_TYPE)}" if type else name
    if not default:
        return annotated
    return f"{annotated} = {default}" if type else f"{annotated}={default}"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _default(schema: JSONValue, *, is_required: bool) -> str:
    if is_required:
        return ""
    if isinstance(schema, dict) and "default" in schema:
        return _cut(repr(schema["default"]), _LONGEST_DEFAULT)
    return "..."


def _function_parameter(parameter: Parameter) -> str:
    annotation = "" if parameter.annotation is parameter.empty else _annotation(parameter.annotation)
    default = ""
    if parameter.default is not parameter.empty:
        value = cast("object", parameter.default)
        is_plain = _PLAIN.fullmatch(annotation) and not hasattr(parameter.annotation, "__metadata__")
        is_shown = value is None or isinstance(value, bool) or is_plain
        default = _cut(repr(value), _LONGEST_DEFAULT) if is_shown else "..."
    return _parameter(parameter.name, annotation, default)


def _annotation(annotation: object) -> str:
    if isinstance(annotation, str):
        return annotation
    if hasattr(annotation, "__metadata__"):  # Annotated
        annotation = getattr(annotation, "__origin__", annotation)
    name = annotation.__name__ if isinstance(annotation, type) and not _is_generic(annotation) else None
    return name or repr(annotation).replace("typing.", "")


def _is_generic(annotation: object) -> bool:
    return hasattr(annotation, "__args__")  # list[int] is an instance of type in some versions


def _is_context(parameter: Parameter, context: object) -> bool:
    wanted = "context" if context is True else context
    return parameter.name == wanted or "ToolContext" in _annotation(parameter.annotation)


def type_text(schema: JSONValue, depth: int = 0) -> str:
    """A JSON Schema as a Python type, without its details."""
    if not isinstance(schema, dict) or depth > _DEEPEST:
        return "Any"
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list):
        more = ["..."] if len(values) > _MOST_VALUES else []
        return f"Literal[{', '.join([repr(value) for value in values[:_MOST_VALUES]] + more)}]"
    ref = schema.get("$ref")
    if isinstance(ref, str):
        return ref.rpartition("/")[2] or "Any"
    branches = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(branches, list):
        return " | ".join(dict.fromkeys(type_text(branch, depth + 1) for branch in branches))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(_NAMES.get(str(one), "Any") for one in kind)
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"list[{type_text(schema['items'], depth + 1)}]"
    return _NAMES.get(str(kind), "Any")
