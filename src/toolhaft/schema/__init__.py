"""Types, JSON Schema and checked values: signatures, docstrings, validators, problems told to a model."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.schema.contract import Contract as Contract
    from toolhaft.schema.contract import OutputContract as OutputContract
    from toolhaft.schema.docstrings import read_docstring as read_docstring
    from toolhaft.schema.json_text import object_to_text as object_to_text
    from toolhaft.schema.json_text import read_json as read_json
    from toolhaft.schema.json_text import to_json_text as to_json_text
    from toolhaft.schema.problems import InvalidArguments as InvalidArguments
    from toolhaft.schema.problems import UnreadArguments as UnreadArguments
    from toolhaft.schema.problems import ValidArguments as ValidArguments
    from toolhaft.schema.problems import show as show
    from toolhaft.schema.raw import compile_raw as compile_raw
    from toolhaft.schema.raw import compile_raw_output as compile_raw_output
    from toolhaft.schema.signature import Function as Function
    from toolhaft.schema.signature import compile_function as compile_function
    from toolhaft.schema.typed import compile_type as compile_type
    from toolhaft.schema.typed import compile_type_output as compile_type_output
    from toolhaft.schema.weight import is_writable as is_writable

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Contract": "contract",
        "Function": "signature",
        "InvalidArguments": "problems",
        "OutputContract": "contract",
        "UnreadArguments": "problems",
        "ValidArguments": "problems",
        "compile_function": "signature",
        "compile_raw": "raw",
        "compile_raw_output": "raw",
        "compile_type": "typed",
        "compile_type_output": "typed",
        "is_writable": "weight",
        "object_to_text": "json_text",
        "read_docstring": "docstrings",
        "read_json": "json_text",
        "show": "problems",
        "to_json_text": "json_text",
    },
)
