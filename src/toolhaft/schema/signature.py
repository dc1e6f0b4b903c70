"""Reads a function: its parameters, their types and descriptions, its context parameter, its result."""

import collections.abc
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, Unpack, cast, get_args, get_origin, get_type_hints

import typing_extensions

from toolhaft.errors import DefinitionError
from toolhaft.schema.contract import Contract, OutputContract
from toolhaft.schema.docstrings import RETURNS_MARK, read_docstring
from toolhaft.schema.nearest import nearest
from toolhaft.schema.records import RecordField, is_typed_dict, typed_dict_fields
from toolhaft.schema.type_metadata import NOTHING
from toolhaft.schema.typed import compile_fields, compile_type_output, new_builder

_STREAMS: Final = (
    collections.abc.AsyncGenerator,
    collections.abc.AsyncIterator,
    collections.abc.Generator,
    collections.abc.Iterator,
)
_TEXTS: Final = (str, typing.ForwardRef)
_CONTEXT_NAMES: Final = ("context", "ctx")
_UNPACKS: Final = (Unpack, typing_extensions.Unpack)
"""Different objects before Python 3.12."""
_AWAITABLES: Final = (collections.abc.Awaitable, collections.abc.Coroutine)


class FunctionContract(NamedTuple):
    """The contract of the tool that a function defines."""

    description: str
    contract: Contract
    output: OutputContract | None
    context_name: str | None


class _Parameters(NamedTuple):
    names: tuple[str, ...]
    defaults: dict[str, object]
    annotations: Mapping[str, object]
    unpacked: tuple[RecordField, ...] = ()
    """The keys of the TypedDict in `**kwargs: Unpack[...]`."""
    hidden: frozenset[str] = frozenset()
    """Names that a docstring may explain though the caller does not pass them, such as `self`."""

    def without(self, *names: str) -> "_Parameters":
        """Return the parameters that are left when something else passes these."""
        return self._replace(
            names=tuple(name for name in self.names if name not in names),
            unpacked=tuple(field for field in self.unpacked if field.name not in names),
            hidden=self.hidden.union(names),
        )


def compile_function(
    function: Callable[..., object],
    *,
    context: bool | str | None = None,
    context_types: tuple[type, ...] = (),
    result_type: type | None = None,
    part_types: tuple[type, ...] = (),
    names: Mapping[str, object] | None = None,
) -> FunctionContract:
    """Make a tool's contract from a function.

    Args:
        function: a function, method, partial or callable object.
        context: True or the name of the parameter that takes the context; None to find it by its type.
        context_types: the types that mark a context parameter.
        result_type: a generic type whose argument is the result, such as ToolResult.
        part_types: types of results that are not JSON, such as Image.
        names: local names that the annotations may use.

    Raises:
        DefinitionError: if a parameter cannot be passed by name, or a type has no JSON form.
    """
    parameters = _read_parameters(function, names)
    context_name = _find_context(parameters, context, context_types)
    inner = _inside_partials(function)
    doc = read_docstring(inner.__doc__)
    texts = doc.parameters
    if texts and isinstance(inner, types.FunctionType | types.MethodType):  # not the docstring of a class
        _check_names(texts, parameters)
    fields = [
        RecordField(
            name,
            parameters.annotations.get(name, Any),
            parameters.defaults.get(name, NOTHING),
            description=texts.get(name, ""),
        )
        for name in parameters.names
        if name != context_name
    ]
    fields += [field._replace(description=texts.get(field.name, "")) for field in parameters.unpacked]
    owner = _owner(inner)
    contract = compile_fields(new_builder(names, owner), fields)
    returned = parameters.annotations.get("return", NOTHING)
    output = None
    if not mentions(returned, part_types):
        output = _output_contract(returned, result_type, names, owner)
    if output is not None:
        return FunctionContract(doc.description, contract, output.with_description(doc.returns), context_name)
    is_described = doc.description and doc.returns
    description = f"{doc.description}{RETURNS_MARK}{doc.returns}" if is_described else doc.description
    return FunctionContract(description, contract, None, context_name)


def _inside_partials(function: Callable[..., object]) -> Callable[..., object]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _owner(function: object) -> type | None:
    """Return the class that `Self` means in the annotations of a method."""
    if not isinstance(function, types.MethodType):
        return None
    return function.__self__ if isinstance(function.__self__, type) else type(function.__self__)


def _check_names(texts: Mapping[str, str], parameters: _Parameters) -> None:
    """Refuse a docstring that explains a parameter that does not exist: no model would ever read it."""
    names = [*parameters.names, *(field.name for field in parameters.unpacked)]
    for name in texts:
        if name not in names and name not in parameters.hidden:
            close = nearest(name, [known for known in names if known not in texts] or names)
            raise DefinitionError(
                f"the docstring explains the parameter {name!r:.80}, which does not exist",
                place="docstring",
                fix=f"did you mean {close!r}?" if close else "rename the entry, or remove it",
            )


def _read_parameters(function: Callable[..., object], names: Mapping[str, object] | None) -> _Parameters:
    """Return the parameters that a caller has to pass."""
    if isinstance(function, functools.partial):
        inner = _read_parameters(function.func, names)
        # values set by a partial belong to the host: they may be secret, and a model must not change them
        return inner.without(*inner.names[: len(function.args)], *function.keywords)
    if isinstance(function, types.MethodType):
        inner = _read_parameters(cast("Callable[..., object]", function.__func__), names)
        return inner.without(*inner.names[:1])
    wrapped = getattr(function, "__wrapped__", None)
    if callable(wrapped):
        return _read_parameters(wrapped, names)
    if not isinstance(function, types.FunctionType):
        return _read_callable(function, names)
    code = function.__code__
    if code.co_flags & inspect.CO_VARARGS or code.co_posonlyargcount:
        raise _unnameable(function)
    annotations = _annotations(function, names)
    unpacked: tuple[RecordField, ...] = ()
    if code.co_flags & inspect.CO_VARKEYWORDS:
        unpacked = _unpacked(function, annotations, names)
    count = code.co_argcount
    taken = code.co_varnames[: count + code.co_kwonlyargcount]
    defaults: dict[str, object] = dict(function.__kwdefaults__ or ())
    if function.__defaults__:
        defaults.update(
            zip(taken[count - len(function.__defaults__) : count], function.__defaults__, strict=True)
        )
    keywords = code.co_varnames[len(taken) : len(taken) + 1] if unpacked else ()  # the name after `**`
    return _Parameters(taken, defaults, annotations, unpacked, frozenset(keywords))


def _unpacked(
    function: types.FunctionType, annotations: Mapping[str, object], names: Mapping[str, object] | None
) -> tuple[RecordField, ...]:
    """Return the keys of the TypedDict in `**kwargs: Unpack[...]`."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    hint = annotations.get(code.co_varnames[count])
    (keys,) = get_args(hint) if get_origin(hint) in _UNPACKS else (None,)
    cls: object = get_origin(keys) or keys
    if not isinstance(cls, type) or not is_typed_dict(cls):
        raise _unnameable(function)
    fields = typed_dict_fields(cls, names or {})
    for field in fields:
        if field.name in code.co_varnames[:count]:
            raise DefinitionError(
                f"{cls.__name__} has a key that is a parameter too",
                place=f"parameter {field.name!r:.80}",
                fix="rename one of them",
            )
    return tuple(fields)


def _unnameable(function: types.FunctionType) -> DefinitionError:
    code = function.__code__
    after_named = code.co_argcount + code.co_kwonlyargcount
    if code.co_posonlyargcount:
        return DefinitionError(
            "a model gives arguments by name, and this one is positional-only",
            place=f"parameter {code.co_varnames[0]!r}",
            fix="remove the '/' from the signature",
        )
    stars = "*" if code.co_flags & inspect.CO_VARARGS else "**"
    return DefinitionError(
        f"a schema cannot describe what {stars}{code.co_varnames[after_named]} takes",
        place=f"parameter '{stars}{code.co_varnames[after_named]}'",
        fix="name the parameters, or take one list or dict"
        + ("" if stars == "*" else ", or write **kwargs: Unpack[...] with a TypedDict"),
    )


def _read_callable(function: Callable[..., object], names: Mapping[str, object] | None) -> _Parameters:
    """Return the parameters of a callable object or of a built-in function."""
    own = getattr(type(function), "__call__", None)  # noqa: B004 -- for its code, not to test whether it can be called
    if isinstance(own, types.FunctionType):
        inner = _read_parameters(own, names)
        return inner.without(*inner.names[:1])
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise DefinitionError(
            f"{function!r:.80} has no signature that can be read", fix="wrap it in a function"
        ) from error
    defaults: dict[str, object] = {}
    annotations: dict[str, object] = {}
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise DefinitionError(
                f"the parameter {parameter} cannot be given by name", fix="wrap it in a function"
            )
        if parameter.default is not parameter.empty:
            defaults[parameter.name] = parameter.default
        if parameter.annotation is not parameter.empty:
            annotations[parameter.name] = parameter.annotation
    return _Parameters(tuple(signature.parameters), defaults, annotations)


def _annotations(function: types.FunctionType, names: Mapping[str, object] | None) -> Mapping[str, object]:
    plain = function.__annotations__
    for hint in plain.values():
        # only text, or a generic that may contain text, needs the slow get_type_hints
        if isinstance(hint, str) or (hint.__class__ is not type and _holds_text(hint)):
            break
    else:
        return plain
    try:
        return get_type_hints(function, localns=dict(names) if names else None, include_extras=True)
    except NameError as error:
        raise DefinitionError(
            f"an annotation names {error.name!r}, which is not defined",
            fix="define or import it before the tool is first used",
        ) from error
    except Exception as error:  # an annotation in text is evaluated, and may raise anything
        raise DefinitionError(
            f"its annotations cannot be read: {error!s:.200}", fix="write types that Python can evaluate"
        ) from error


def _holds_text(hint: object) -> bool:
    if getattr(hint, "__origin__", None) is Literal:
        return False
    if isinstance(hint, _TEXTS):
        return True
    for arg in cast("tuple[object, ...]", getattr(hint, "__args__", ())):  # a loop is faster than `any`
        if arg.__class__ is not type and _holds_text(arg):
            return True
    return False


def _find_context(
    parameters: _Parameters,
    context: bool | str | None,  # noqa: FBT001 -- an option of the decorator
    context_types: tuple[type, ...],
) -> str | None:
    marked = [
        name for name in parameters.names if _is_context(parameters.annotations.get(name), context_types)
    ]
    if len(marked) > 1:
        raise DefinitionError(
            f"two parameters take the context: {marked[0]!r} and {marked[1]!r}",
            place="context",
            fix="keep one of them",
        )
    if context is None and not marked:
        _refuse_untyped_context(parameters)
    if context is None or context is False:
        return marked[0] if marked else None
    wanted = context if isinstance(context, str) else "context"
    if wanted in parameters.names:
        return wanted
    if marked and context is True:
        return marked[0]
    raise DefinitionError(
        f"there is no parameter {wanted!r} to take the context",
        place="context",
        fix=f"add a parameter {wanted!r}, or leave context out",
    )


def _refuse_untyped_context(parameters: _Parameters) -> None:
    """Refuse a parameter that is named like the context: without a type, a model would have to give it."""
    for name in _CONTEXT_NAMES:
        if name in parameters.names and name not in parameters.annotations:
            raise DefinitionError(
                "it has no type, so it is not clear who gives it: the executor or the model",
                place=f"parameter {name!r}",
                fix=f"write {name}: ToolContext for the context of the call, or {name}: str for an argument",
            )


def _is_context(hint: object, context_types: tuple[type, ...]) -> bool:
    if isinstance(hint, type):
        return issubclass(hint, context_types)
    for arg in cast("tuple[object, ...]", getattr(hint, "__args__", ())):  # a loop is faster than `any`
        if isinstance(arg, type) and issubclass(arg, context_types):
            return True
    return False


def mentions(hint: object, types: tuple[type, ...]) -> bool:
    """True if an annotation is one of these types, or has one of them as an argument at any depth."""
    if isinstance(hint, type):
        return issubclass(hint, types)
    return any(mentions(arg, types) for arg in get_args(hint))


def _output_contract(
    returned: object, result_type: type | None, names: Mapping[str, object] | None, owner: type | None
) -> OutputContract | None:
    """Make the contract of the result; None if it is not annotated, streamed, or has no JSON form."""
    origin = get_origin(returned)
    while origin in (*_AWAITABLES, result_type) and get_args(returned):
        returned = get_args(returned)[-1]
        origin = get_origin(returned)
    if returned is NOTHING or returned is result_type or origin in _STREAMS:
        return None
    try:
        return compile_type_output(returned, names, owner)
    except DefinitionError:
        # a Python object for the host's program: it has no schema to check
        return None
