"""The parameters and returned fields that a `run` block refers to, and the problems found in the block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, cast

from toolhaft.define.running.template import ENV, StringTemplate, TemplateError, read_template
from toolhaft.schema.json_value import JSONValue, ValuePath
from toolhaft.schema.nearest import nearest

ProblemLevel: TypeAlias = Literal["error", "warning"]
_UNKNOWN: Final[Mapping[str, object]] = {}
_MISSING: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProblem:
    """One problem of a `run` block; a tool with warnings only can run."""

    place: ValuePath
    what: str
    fix: str
    level: ProblemLevel = "error"


class RunProblems:
    """The problems found so far."""

    def __init__(self) -> None:
        self.found: list[RunProblem] = []

    def add(self, place: ValuePath, what: str, fix: str) -> None:
        """Add an error."""
        self.found.append(RunProblem(place=place, what=what, fix=fix))

    def warn(self, place: ValuePath, what: str, fix: str) -> None:
        """Add a warning."""
        self.found.append(RunProblem(place=place, what=what, fix=fix, level="warning"))

    @property
    def has_errors(self) -> bool:
        """True if the block cannot be run."""
        return any(problem.level == "error" for problem in self.found)


def suggest(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return the fix for an unknown name: the nearest known one, or `otherwise`."""
    close = nearest(name, list(known))
    return f"did you mean {close!r}?" if close else otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The schemas of a tool's parameters and returned fields, by name."""

    inputs: Mapping[str, Mapping[str, object]]
    required: frozenset[str]
    returns: Mapping[str, Mapping[str, object]] | None
    required_returns: frozenset[str] = frozenset()
    effect: str | None = None
    """The effect that the file declares; None if it declares none."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters, in order."""
        return tuple(self.inputs)

    def with_names(self, inputs: Iterable[str], returns: Iterable[str]) -> Parameters:
        """Return a copy with more names, whose schemas are not known."""
        more = {name: _UNKNOWN for name in inputs if name not in self.inputs}
        fields = {name: _UNKNOWN for name in returns if name not in (self.returns or {})}
        if not more and not fields:
            return self
        return replace(
            self,
            inputs={**self.inputs, **more},
            required=self.required | more.keys(),
            returns={**(self.returns or {}), **fields} if fields else self.returns,
        )

    def always_has_value(self, name: str) -> bool:
        """True for a parameter with a value in every call: required, or with a default that is not null."""
        return name in self.required or self.inputs.get(name, {}).get("default") is not None

    def template(
        self, text: str, place: ValuePath, problems: RunProblems, *, env: bool = False
    ) -> StringTemplate | None:
        """Parse a text; None if it has problems, such as an unknown parameter."""
        try:
            made = read_template(text)
        except TemplateError as error:
            problems.add(place, str(error), error.fix)
            return None
        missing = [name for name in dict.fromkeys(made.names) if name not in self.inputs]
        for name in missing:
            listed = ", ".join(list(self.inputs)[:8]) or "none"
            fix = suggest(name, self.inputs, f"name one of the parameters ({listed}), or add it to them")
            problems.add(place, f"there is no parameter {name!r:.80}", fix)
        if made.variables and not env:
            what = f"${{{ENV}{made.variables[0]}}} is outside the headers"
            problems.add(place, what, "a secret is sent in a header of run.http only")
            return None
        return None if missing else made

    def require_value(
        self, made: StringTemplate, place: ValuePath, problems: RunProblems, where: str
    ) -> None:
        """Add an error for each parameter of a text that may be missing from a call."""
        for name in dict.fromkeys(made.names):
            if not self.always_has_value(name):
                what = f"the optional parameter {name!r:.80} is used {where}"
                problems.add(place, what, "make it required, or give it a default")


def parameters_of(
    input_schema: Mapping[str, object], output_schema: object, effect: object = None
) -> Parameters:
    """Read the parameters and returned fields from a tool's schemas."""
    properties = cast("Mapping[str, Mapping[str, object]]", input_schema.get("properties", {}))
    returns: Mapping[str, Mapping[str, object]] | None = None
    required_returns: frozenset[str] = frozenset()
    if isinstance(output_schema, dict):
        output = cast("Mapping[str, JSONValue]", output_schema)
        returns = cast("Mapping[str, Mapping[str, object]]", output.get("properties", {}))
        required_returns = frozenset(cast("list[str]", output.get("required", [])))
    required = frozenset(cast("list[str]", input_schema.get("required", [])))
    return Parameters(
        inputs=properties,
        required=required,
        returns=returns,
        required_returns=required_returns,
        effect=None if effect is None else str(effect),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFields:
    """The fields that a tool returns, and where to find each in a response."""

    names: tuple[str, ...]
    pointers: Mapping[str, tuple[str, ...]]
    is_text: bool
    """True if the one field is a string."""
    has_required: bool
    """True if at least one field is required."""

    def pick(self, response: JSONValue) -> JSONValue:
        """Return the fields of a response; a missing field is left out."""
        if len(self.names) == 1 and not self.pointers and not isinstance(response, dict):
            return {self.names[0]: response}
        picked: dict[str, JSONValue] = {}
        for name in self.names:
            found = look_up(response, self.pointers.get(name, (name,)))
            if found is not _MISSING:
                picked[name] = found  # pyright: ignore[reportArgumentType] -- it was in the response
        return picked


def result_fields(
    parameters: Parameters, result: Mapping[str, tuple[str, ...]] | None
) -> ResultFields | None:
    """Return the fields that `returns` declares; None if it declares none."""
    returns = parameters.returns
    if returns is None:
        return None
    is_text = len(returns) == 1 and next(iter(returns.values())).get("type") == "string"
    return ResultFields(
        names=tuple(returns),
        pointers=result or {},
        is_text=is_text,
        has_required=bool(parameters.required_returns),
    )


def read_result(
    value: JSONValue, parameters: Parameters, problems: RunProblems
) -> dict[str, tuple[str, ...]]:
    """Read the pointers of `result`, by the names of returned fields."""
    place = ("http", "result")
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.add(place, "result is not a mapping", "write result: {field: /path/in/the/response}")
        return {}
    if parameters.returns is None:
        problems.add(place, "result needs returns, and there are none", "add returns, or take result out")
        return {}
    pointers: dict[str, tuple[str, ...]] = {}
    for name, written in value.items():
        pointer = _pointer(written)
        if name not in parameters.returns:
            fix = suggest(name, parameters.returns, "name one of the returns")
            problems.add((*place, name), f"result: no field {name!r:.80} is returned", fix)
        elif pointer is None:
            what = f"result: {name!r:.80} is not a path in the response"
            problems.add((*place, name), what, "write it as /main/temp or main.temp")
        else:
            pointers[name] = pointer
    return pointers


def _pointer(written: JSONValue) -> tuple[str, ...] | None:
    if not isinstance(written, str) or "${" in written:
        return None
    if not written:
        return ()
    if written.startswith("/"):
        return tuple(part.replace("~1", "/").replace("~0", "~") for part in written[1:].split("/"))
    parts = tuple(written.split("."))
    return parts if all(parts) else None


def look_up(value: JSONValue, pointer: tuple[str, ...]) -> object:
    """Return the value at a pointer; `_MISSING` if there is none."""
    for part in pointer:
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return _MISSING
    return value
