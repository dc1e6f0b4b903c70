"""ToolSpec: the name, inputs and return value of a class tool, and the strict check of its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from toolhaft.core.tool import Tool
from toolhaft.errors import DefinitionError, ToolValidationError
from toolhaft.schema.json_text import has_repeated_key, read_json
from toolhaft.schema.json_value import JSONObject
from toolhaft.schema.nearest import nearest
from toolhaft.schema.problems import InvalidArguments, Problem, render_path, show

_KINDS: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "string": ((str,), "a string"),
    "integer": ((int,), "an integer"),
    "number": ((int, float), "a number"),
    "boolean": ((bool,), "true or false"),
    "array": ((list,), "an array"),
    "object": ((dict,), "an object"),
}
"""For each supported type, the Python classes of its values and its name in messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolParam:
    """One input of a tool; with `llm=False` it is set at run time and hidden from the model.

    `type` is string, integer, number, boolean, array or object; `str` is read as string.
    """

    name: str
    type: str
    description: str
    required: bool = True
    llm: bool = True

    def __post_init__(self) -> None:
        if self.type == "str":
            object.__setattr__(self, "type", "string")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturn:
    """What a tool returns; `type` is one of the types of ToolParam."""

    type: str
    description: str

    def __post_init__(self) -> None:
        if self.type == "str":
            object.__setattr__(self, "type", "string")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """The contract of a class tool: description, inputs (stored as a tuple) and return value.

    The constructor checks nothing; `validate` does, and every `BaseTool` calls it.
    """

    name: str
    description: str
    when_to_use: str
    inputs: Sequence[ToolParam]
    returns: ToolReturn

    def __post_init__(self) -> None:
        given = cast("object", self.inputs)
        if isinstance(given, Iterable) and not isinstance(given, str | Mapping):
            object.__setattr__(self, "inputs", tuple(cast("Iterable[object]", given)))

    def validate(self) -> None:
        """Check that the spec is well-formed.

        Raises:
            DefinitionError: for the first problem; it is a ValueError.
        """
        name = cast("object", self.name)
        try:
            for field in ("name", "description", "when_to_use"):
                _check_text(getattr(self, field), field)
            # a Tool checks the rule for names
            _ = Tool(name=self.name, description=self.description)
            _check_params(self)
            _check_is(self.returns, ToolReturn, "returns")
            _check_type(self.name, "returns", self.returns, "returns")
            _check_is(self.returns.description, str, "returns.description")
        except DefinitionError as error:
            raise error.of(name if isinstance(name, str) else "") from error.__cause__

    def check_inputs(self, raw: dict[str, object]) -> dict[str, object]:
        """Return `raw` unchanged if all keys are declared, required ones present and values of their type.

        Raises:
            ToolValidationError: with all problems; it is a ValueError.
        """
        given = cast("object", raw)
        if isinstance(given, dict):
            problems = _find_problems(self, cast("dict[object, object]", given))
        else:
            problems = [Problem(path="", what=f"got {show(given)}", expected="a dict of inputs by name")]
        if problems:
            raise ToolValidationError(f"tool {self.name!r}: {InvalidArguments(problems)}")
        return raw

    def to_json(self) -> JSONObject:
        """Write the spec as a JSON object for `from_json`."""
        return {
            "name": self.name,
            "description": self.description,
            "when_to_use": self.when_to_use,
            "inputs": [_write_param(param) for param in self.inputs],
            "returns": {"type": self.returns.type, "description": self.returns.description},
        }

    @staticmethod
    def from_json(data: Mapping[str, object] | str) -> ToolSpec:
        """Read a spec that `to_json` wrote, from the object or from its JSON text.

        Raises:
            DefinitionError: if a field is missing, unknown or of the wrong type, or the spec is not valid.
        """
        fields = _Fields(_read_text(data) if isinstance(data, str) else data, "", ToolSpec)
        try:
            returns = _Fields(fields.take("returns"), "returns", ToolReturn)
            spec = ToolSpec(
                name=fields.text("name"),
                description=fields.text("description"),
                when_to_use=fields.text("when_to_use"),
                inputs=[
                    _read_param(item, f"inputs[{index}]") for index, item in enumerate(fields.items("inputs"))
                ],
                returns=ToolReturn(type=returns.text("type"), description=returns.text("description")),
            )
        except DefinitionError as error:
            raise error.of(fields.tool) from error.__cause__
        spec.validate()
        return spec


def _check_text(value: object, place: str) -> None:
    if not isinstance(value, str) or not value.strip():
        field = place.rpartition(".")[2]
        raise DefinitionError(f"there is no {field}", place=place, fix=f"give {field}='...'")


def _check_is(value: object, wanted: type, place: str) -> None:
    if not isinstance(value, wanted):
        raise DefinitionError(
            f"{value!r:.80} is not a {wanted.__name__}", place=place, fix=f"make it a {wanted.__name__}"
        )


def _check_type(tool: str, name: str, declared: ToolParam | ToolReturn, place: str) -> None:
    kind = cast("object", declared.type)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise DefinitionError(
            f"{tool}.{name} has unsupported type {kind!r:.80}",
            place=place,
            fix=f"use one of {', '.join(_KINDS)}",
        )


def _check_params(spec: ToolSpec) -> None:
    params = cast("object", spec.inputs)
    if not isinstance(params, tuple):
        raise DefinitionError(
            f"{params!r:.80} is not a list", place="inputs", fix="give inputs=[ToolParam(...)]"
        )
    if not params:
        raise DefinitionError("there is no input", place="inputs", fix="declare at least one ToolParam")
    seen: set[str] = set()
    for index, param in enumerate(spec.inputs):
        place = f"inputs[{index}]"
        _check_is(param, ToolParam, place)
        _check_text(param.name, f"{place}.name")
        if param.name in seen:
            raise DefinitionError(f"duplicate input {param.name!r}", place=place, fix="give it another name")
        seen.add(param.name)
        _check_type(spec.name, param.name, param, place)
        _check_is(param.description, str, f"{place}.description")
        _check_is(param.required, bool, f"{place}.required")
        _check_is(param.llm, bool, f"{place}.llm")


def _find_problems(spec: ToolSpec, raw: dict[object, object]) -> list[Problem]:
    params = {param.name: param for param in spec.inputs}
    for param in params.values():
        _check_type(spec.name, param.name, param, "inputs")  # the spec may not have been validated
    visible = [name for name, param in params.items() if param.llm]
    problems = [
        Problem(path="", what=f"missing required {name!r}", expected=_KINDS[params[name].type][1])
        for name in visible
        if params[name].required and name not in raw
    ]
    for key, value in raw.items():
        if key not in visible:
            problems.append(_unexpected_problem(key, visible, is_hidden=key in params))
            continue
        classes, label = _KINDS[params[cast("str", key)].type]
        # in Python a bool is an int, in JSON it is not
        if not isinstance(value, classes) or (isinstance(value, bool) and bool not in classes):
            path = render_path((cast("str", key),))
            problems.append(Problem(path=path, what=f"got {show(value)}", expected=label))
    return problems


def _unexpected_problem(key: object, visible: list[str], *, is_hidden: bool) -> Problem:
    what = f"unexpected {show(key)}"
    if is_hidden:
        return Problem(path="", what=f"{what}, which is filled at run time")
    close = nearest(key, visible) if isinstance(key, str) else None
    if close is not None:
        return Problem(path="", what=f"{what}; did you mean {close!r}?")
    return Problem(path="", what=what, expected=f"only {', '.join(visible)}" if visible else "no inputs")


def _write_param(param: ToolParam) -> JSONObject:
    written: JSONObject = {
        "name": param.name,
        "type": param.type,
        "description": param.description,
        "required": param.required,
    }
    return written if param.llm else {**written, "llm": False}


def _read_param(value: object, place: str) -> ToolParam:
    fields = _Fields(value, place, ToolParam)
    return ToolParam(
        name=fields.text("name"),
        type=fields.text("type"),
        description=fields.text("description"),
        required=fields.flag("required"),
        llm=fields.flag("llm"),
    )


def _read_text(text: str) -> object:
    try:
        value = read_json(text)
        repeats = has_repeated_key(text, value)
    except ValueError as error:
        raise DefinitionError(
            f"not JSON: {error!s:.200}", place="spec", fix="give the result of to_json()"
        ) from error
    if repeats:
        raise DefinitionError("a key is given twice", place="spec", fix="give each key once")
    return value


class _Fields:
    """Reads the fields of one JSON object and checks their types."""

    def __init__(self, value: object, place: str, record: type[ToolSpec | ToolParam | ToolReturn]) -> None:
        if not isinstance(value, Mapping):
            raise DefinitionError(
                f"{show(value)} is not an object",
                place=place or "spec",
                fix=f"write the fields of a {record.__name__}",
            )
        self._place = place
        self._values = cast("Mapping[object, object]", value)
        known = tuple(record.__dataclass_fields__)
        name = self._values.get("name")
        self.tool = name if record is ToolSpec and isinstance(name, str) else ""
        for key in self._values:
            if key not in known:
                close = nearest(key, known) if isinstance(key, str) else None
                fix = f"did you mean {close!r}?" if close else f"use {', '.join(known)}"
                raise DefinitionError(
                    f"unknown field {show(key)}", tool=self.tool, place=place or "spec", fix=fix
                )

    def take(self, name: str) -> object:
        if name not in self._values:
            raise DefinitionError(f"there is no {name!r}", place=self._place or "spec", fix=f"add {name!r}")
        return self._values[name]

    def text(self, name: str) -> str:
        value = self.take(name)
        if not isinstance(value, str):
            raise self._wrong(name, value, "text")
        return value

    def flag(self, name: str) -> bool:
        value = self._values.get(name, True)
        if not isinstance(value, bool):
            raise self._wrong(name, value, "true or false")
        return value

    def items(self, name: str) -> Sequence[object]:
        value = self.take(name)
        if not isinstance(value, list | tuple):
            raise self._wrong(name, value, "a list")
        return cast("Sequence[object]", value)

    def _wrong(self, name: str, value: object, wanted: str) -> DefinitionError:
        place = f"{self._place}.{name}" if self._place else name
        return DefinitionError(f"{show(value)} is not {wanted}", place=place, fix=f"make it {wanted}")
