"""The Tool: name, description, schemas, handler and options, however it was defined."""

from __future__ import annotations

from types import GenericAlias

from toolhaft import core, schema
from toolhaft._typing import is_type_variable
from toolhaft.errors import DefinitionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Generic, Self, Unpack, cast, overload

    from typing_extensions import TypeVar  # defaults came with Python 3.13

    from toolhaft.core.definition import AsyncToolHandler, RawHandler, ToolHandler
    from toolhaft.core.effect import Effect
    from toolhaft.core.example import ToolExample
    from toolhaft.core.options import ArgumentStyle, Isolation, Options
else:
    from toolhaft._typing import Generic, TypeVar, cast, overload

    Any = object

ParamsT = TypeVar("ParamsT", default=Any)
ResultT = TypeVar("ResultT", default=Any)
TakenT = TypeVar("TakenT")
ReturnedT = TypeVar("ReturnedT")

OPTION_NAMES = (
    "effect",
    "timeout_s",
    "stall_s",
    "retryable",
    "max_attempts",
    "isolation",
    "requires",
    "idempotency",
    "rate",
    "max_parallel",
    "cache_s",
    "title",
    "when_to_use",
    "examples",
    "metadata",
    "tags",
    "version",
    "accepts_overrides",
)
_DEFINITION = ("name", "description", "input_schema", "output_schema", "handler")
_KINDS: dict[tuple[object, ...], type] = {}
_put = object.__setattr__


class Tool(Generic[ParamsT, ResultT]):
    """A tool; frozen, and the same type for every way to define one.

    `Tool[Params, Result](...)` makes a typed tool: dataclasses, Pydantic models, TypedDicts or None for
    `Params`, the same or lists of them for `Result`. `Tool(...)` takes raw JSON Schemas.

    Raises:
        DefinitionError: if the name, the description, a schema, an option or an example is not valid.
    """

    __slots__ = (
        *_DEFINITION,
        *OPTION_NAMES,
        "_input",
        "_output",
        "context_name",
        "export_cache",
        "source",
        "takes",
        "validate",
    )

    if TYPE_CHECKING:
        name: str
        description: str
        input_schema: dict[str, Any]
        output_schema: dict[str, Any] | bool | None
        handler: Callable[..., object] | None
        title: str | None
        when_to_use: str | None
        examples: tuple[ToolExample[object, object], ...]
        metadata: Mapping[str, Any]
        tags: tuple[str, ...]
        version: str | None
        accepts_overrides: bool
        effect: Effect
        timeout_s: float | None
        """None only with a `stall_s`: the handler may run as long as it beats."""
        stall_s: float | None
        retryable: bool
        max_attempts: int
        isolation: Isolation | None
        requires: tuple[str, ...]
        idempotency: tuple[str, ...]
        rate: str | None
        max_parallel: int | None
        cache_s: float | None
        context_name: str | None
        source: str
        takes: ArgumentStyle
        validate: Callable[[object], schema.ValidArguments | schema.InvalidArguments]
        export_cache: dict[object, object]
        """For `toolhaft.formats`: the exported forms of this tool, by target."""
        _input: schema.Contract
        _output: schema.OutputContract | None

    params_type: object = ...
    """The Params of a typed tool; `...` for any other."""
    result_type: object = ...
    """The Result of a typed tool; `...` for any other."""

    @overload
    def __init__(
        self: Tool[dict[str, Any], Any],
        *,
        name: str,
        description: str,
        input_schema: Mapping[str, object],
        output_schema: Mapping[str, object] | bool | None = None,
        handler: RawHandler | None = None,
        **options: Unpack[Options],
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        name: str,
        description: str,
        handler: ToolHandler[ParamsT, ResultT] | AsyncToolHandler[ParamsT, ResultT] | None = None,
        **options: Unpack[Options],
    ) -> None: ...
    def __init__(
        self,
        *,
        name: str,
        description: str,
        input_schema: Mapping[str, object] | None = None,
        output_schema: Mapping[str, object] | bool | None = None,
        handler: Callable[..., object] | None = None,
        **options: Unpack[Options],
    ) -> None:
        try:
            if self.params_type is ...:
                contract = schema.compile_raw(
                    input_schema if input_schema is not None else {"type": "object"}
                )
                output = None if output_schema is None else schema.compile_raw_output(output_schema)
            else:
                core.definition.refuse_schemas(input_schema, output_schema)
                contract, output = core.definition.typed_contracts(self.params_type, self.result_type)
            context_name = _context_name(handler, is_typed=self.params_type is not ...)
        except DefinitionError as error:
            raise error.of(name) from error.__cause__
        self._fill(
            name=name,
            description=description,
            contract=contract,
            output=output,
            handler=handler,
            source=_source(name, handler),
            options=cast("dict[str, object]", options),
            context_name=context_name,
            takes="input" if self.params_type is ... else "params",
        )

    def __class_getitem__(cls, types: object) -> object:
        pair = cast("tuple[object, ...]", types if isinstance(types, tuple) else (types,))
        if any(is_type_variable(part) for part in pair):
            return GenericAlias(cls, pair)
        if len(pair) != 2:  # noqa: PLR2004 -- Params and Result
            message = f"Tool takes two types, Tool[Params, Result], not {len(pair)}"
            raise TypeError(message)
        return _parametrise(cls, *pair)

    @overload
    @staticmethod
    def wrap(
        handler: AsyncToolHandler[TakenT, ReturnedT],
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Unpack[Options],
    ) -> Tool[TakenT, ReturnedT]: ...
    @overload
    @staticmethod
    def wrap(
        handler: ToolHandler[TakenT, ReturnedT],
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Unpack[Options],
    ) -> Tool[TakenT, ReturnedT]: ...
    @staticmethod
    def wrap(
        handler: Callable[..., object],
        *,
        name: str | None = None,
        description: str | None = None,
        **options: Unpack[Options],
    ) -> Tool[Any, Any]:
        """Make a typed tool from a handler: its name, docstring and annotations define the rest."""
        read = core.definition.read_handler(handler)
        kind = _parametrise(Tool, read.params_type, read.result_type)
        text = description or read.description
        made = cast(
            "Tool[Any, Any]", kind(name=name or read.name, description=text, handler=handler, **options)
        )
        if made._output is not None:  # noqa: SLF001 -- a Tool too
            described = made._output.with_description(read.returns)  # noqa: SLF001 -- the same
            _put(made, "_output", described)
            _put(made, "output_schema", described.json_schema)
        return made

    @property
    def is_active(self) -> bool:
        """True if something runs the tool; a YAML file can also switch it off with `is_active: false`."""
        return self.handler is not None

    @property
    def read_input(self) -> Callable[[object], object]:
        """`validate` for the call pipeline: returns the bare parameters if nothing was repaired."""
        return self._input.read

    @property
    def input_contract(self) -> schema.Contract:
        """The checks and the defaults of the arguments, for the call pipeline."""
        return self._input

    @property
    def write_output(self) -> Callable[[object], str | None] | None:
        """Checks a value quickly and returns its JSON text; None if there is no output schema."""
        return None if self._output is None else self._output.write

    def check_output(self, value: object, *, on_loop: bool = False) -> str | None:
        """None if the value fits the output schema (or there is none), else the problem.

        `on_loop` gives up sooner, with `UncheckedOutput`, on a value that could take long to check.
        """
        return None if self._output is None else self._output.check(value, on_loop=on_loop)

    def replace(self, **changes: object) -> Self:
        """A copy with another description, handler or options; the schemas and types stay."""
        names = (*_DEFINITION, *OPTION_NAMES)
        fixed = [name for name in changes if name not in names or name.endswith("_schema")]
        if fixed:
            hint = "" if fixed[0] in names else core.options.near_option(fixed[0])
            raise DefinitionError(
                f"{fixed[0]!r} cannot be replaced",
                tool=self.name,
                fix=hint or "define the tool again",
            )
        return self._remade(self._input, changes)

    def with_words(
        self,
        *,
        description: str | None = None,
        parameters: Mapping[str, str] | None = None,
        examples: Iterable[object] | None = None,
    ) -> Self:
        """A copy with another description, other descriptions of parameters, or other examples.

        What is None, and a parameter that is not named, stays.

        Raises:
            DefinitionError: for an unknown parameter, or a text or example that is not valid for this tool.
        """
        changes: dict[str, object] = {} if description is None else {"description": description}
        if examples is not None:
            changes["examples"] = examples
        try:
            contract = self._input.with_descriptions(parameters) if parameters else self._input
        except DefinitionError as error:
            raise error.of(self.name) from error.__cause__
        return self._remade(contract, changes)

    def _remade(self, contract: schema.Contract, changes: Mapping[str, object]) -> Self:
        """A copy with some parts changed, and an empty export cache."""
        copy = self._blank()
        values = {name: changes.get(name, getattr(self, name)) for name in (*_DEFINITION, *OPTION_NAMES)}
        # an option that came from the old metadata comes from the new one
        inherited = core.options.metadata_options(self.metadata) if "metadata" in changes else {}
        left_out = {
            name for name, value in inherited.items() if name not in changes and values[name] == value
        }
        copy._fill(  # noqa: SLF001 -- its own class
            name=cast("str", values["name"]),
            description=cast("str", values["description"]),
            contract=contract,
            output=self._output,
            handler=cast("Callable[..., object] | None", values["handler"]),
            source=self.source,
            options={option: values[option] for option in OPTION_NAMES if option not in left_out},
            context_name=self._context_name_of(values["handler"]),
            takes=self.takes,
        )
        return copy

    def _context_name_of(self, handler: object) -> str | None:
        """The parameter of this handler that takes the context; the handler may be a new one."""
        if handler is self.handler:
            return self.context_name
        return _context_name(handler, is_typed=self.takes == "params")

    def _blank(self) -> Self:
        """An empty tool of the same class; a subclass with more slots copies them."""
        return object.__new__(type(self))

    def _fill(
        self,
        *,
        name: str,
        description: str,
        contract: schema.Contract,
        output: schema.OutputContract | None,
        handler: Callable[..., object] | None,
        source: str,
        options: dict[str, object],
        context_name: str | None,
        takes: ArgumentStyle,
    ) -> None:
        """Check all parts, then set every slot; sets none if a check fails."""
        try:
            core.definition.check_texts(name, description, handler)
            if self.params_type is not ...:
                core.definition.check_typed_texts(name, description)
            resolved = core.options.resolve_options(options)
            core.definition.check_idempotency(resolved["idempotency"], contract)
            examples = cast("tuple[ToolExample[object, object], ...]", resolved["examples"])
            if examples:
                where = "" if "examples" in options else "metadata.examples, "
                core.definition.check_examples(examples, self.params_type, contract, output, where)
            # an example may also be left from the tool that was copied
            if examples or contract.may_hold_secrets or contract.example is not None:
                contract = core.definition.with_shown(contract, examples)
        except DefinitionError as error:
            raise error.of(str(name)) from error.__cause__
        for option, value in resolved.items():
            _put(self, option, value)
        _put(self, "description", description)
        _put(self, "input_schema", contract.json_schema)
        _put(self, "output_schema", None if output is None else output.json_schema)
        _put(self, "handler", handler)
        _put(self, "export_cache", {})
        _put(self, "_input", contract)
        _put(self, "_output", output)
        _put(self, "context_name", context_name)
        _put(self, "source", source)
        _put(self, "takes", takes)
        _put(self, "validate", contract.validate)
        _put(self, "name", name)

    def __setattr__(self, name: str, value: object) -> None:
        message = f"a Tool is frozen: use tool.replace({name}=...)"
        raise AttributeError(message)

    def __delattr__(self, name: str) -> None:
        message = f"a Tool is frozen: {name!r} cannot be deleted"
        raise AttributeError(message)

    def __copy__(self) -> Self:
        return self  # frozen

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self

    def __repr__(self) -> str:
        try:
            return core.signature_text.tool_line(self)
        except AttributeError:  # it is being made
            return f"<{type(self).__name__}>"

    def _repr_html_(self) -> str:
        """The tool in a notebook."""
        return core.notebook.tool_html(self)


def _context_name(handler: object, *, is_typed: bool) -> str | None:
    """The parameter that takes the context: `context` in a typed tool, found by annotation in others."""
    if handler is None:
        return None
    if is_typed:
        return "context"
    found = core.definition.context_parameter(handler)
    if found is None:
        core.definition.refuse_untyped_context(handler)
    return found


def _source(name: object, handler: object) -> str:
    """Where a tool was defined, as far as its handler shows."""
    where = getattr(handler, "__qualname__", None)
    return f"Tool {name!r}" + (f" of {getattr(handler, '__module__', '?')}.{where}" if where else "")


def _parametrise(origin: type, params_type: object, result_type: object) -> type:
    """The class of typed tools with these two types; always the same class for the same types."""
    known = _KINDS.get((origin, params_type, result_type))
    if known is not None:
        return known
    types = ", ".join(getattr(part, "__name__", str(part)) for part in (params_type, result_type))
    kind = type(
        f"{origin.__name__}[{types}]",
        (origin,),
        {
            "__slots__": (),
            "__module__": origin.__module__,
            "params_type": params_type,
            "result_type": result_type,
        },
    )
    return _KINDS.setdefault((origin, params_type, result_type), kind)
