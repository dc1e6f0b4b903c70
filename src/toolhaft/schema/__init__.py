"""Types, JSON Schema and checked values: signatures, docstrings, validators, problems for a model."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.schema.contract import Contract as Contract
    from toolhaft.schema.contract import OutputContract as OutputContract
    from toolhaft.schema.docstrings import read_docstring as read_docstring
    from toolhaft.schema.json_text import object_to_text as object_to_text
    from toolhaft.schema.json_text import read_json as read_json
    from toolhaft.schema.json_text import to_json_text as to_json_text
    from toolhaft.schema.json_value import JSONObject as JSONObject
    from toolhaft.schema.json_value import JSONValue as JSONValue
    from toolhaft.schema.problems import InvalidArguments as InvalidArguments
    from toolhaft.schema.problems import Problem as Problem
    from toolhaft.schema.problems import Repair as Repair
    from toolhaft.schema.problems import UnreadArguments as UnreadArguments
    from toolhaft.schema.problems import ValidArguments as ValidArguments
    from toolhaft.schema.problems import show as show
    from toolhaft.schema.raw import compile_raw as compile_raw
    from toolhaft.schema.raw import compile_raw_output as compile_raw_output
    from toolhaft.schema.signature import FunctionContract as FunctionContract
    from toolhaft.schema.signature import compile_function as compile_function
    from toolhaft.schema.signature import mentions as mentions
    from toolhaft.schema.type_metadata import Secret as Secret
    from toolhaft.schema.typed import compile_type as compile_type
    from toolhaft.schema.typed import compile_type_output as compile_type_output
    from toolhaft.schema.unbounded import check_arguments as check_arguments
    from toolhaft.schema.unbounded import check_value as check_value
    from toolhaft.schema.unbounded import verdict_of as verdict_of
    from toolhaft.schema.value_size import fields_of as fields_of
    from toolhaft.schema.value_size import is_writable as is_writable

_HOMES = {
    "Contract": "contract",
    "FunctionContract": "signature",
    "InvalidArguments": "problems",
    "JSONObject": "json_value",
    "JSONValue": "json_value",
    "OutputContract": "contract",
    "Problem": "problems",
    "Repair": "problems",
    "Secret": "type_metadata",
    "UnreadArguments": "problems",
    "ValidArguments": "problems",
    "check_arguments": "unbounded",
    "check_value": "unbounded",
    "compile_function": "signature",
    "compile_raw": "raw",
    "compile_raw_output": "raw",
    "compile_type": "typed",
    "compile_type_output": "typed",
    "fields_of": "value_size",
    "is_writable": "value_size",
    "mentions": "signature",
    "object_to_text": "json_text",
    "read_docstring": "docstrings",
    "read_json": "json_text",
    "show": "problems",
    "to_json_text": "json_text",
    "verdict_of": "unbounded",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, listed once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
