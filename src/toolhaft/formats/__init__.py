"""Exports tools to every provider's format, decodes calls and encodes results, and lists every loss."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.formats.choices import Choice as Choice
    from toolhaft.formats.losses import Loss as Loss
    from toolhaft.formats.losses import PolicyField as PolicyField
    from toolhaft.formats.losses import Refusal as Refusal
    from toolhaft.formats.operations.decoding import StreamDecoder as StreamDecoder
    from toolhaft.formats.operations.decoding import decode_calls as decode_calls
    from toolhaft.formats.operations.descriptions import describe as describe
    from toolhaft.formats.operations.encoding import Encoded as Encoded
    from toolhaft.formats.operations.encoding import encode_calls as encode_calls
    from toolhaft.formats.operations.encoding import encode_results as encode_results
    from toolhaft.formats.operations.exporting import Export as Export
    from toolhaft.formats.operations.exporting import export_tools as export_tools
    from toolhaft.formats.operations.importing import ImportedTools as ImportedTools
    from toolhaft.formats.operations.importing import import_tools as import_tools
    from toolhaft.formats.operations.tokens import estimate_tokens as estimate_tokens
    from toolhaft.formats.registry import FORMATS as FORMATS

_HOMES = {
    "Choice": "choices",
    "Encoded": "operations.encoding",
    "Export": "operations.exporting",
    "FORMATS": "registry",
    "ImportedTools": "operations.importing",
    "Loss": "losses",
    "PolicyField": "losses",
    "Refusal": "losses",
    "StreamDecoder": "operations.decoding",
    "decode_calls": "operations.decoding",
    "describe": "operations.descriptions",
    "encode_calls": "operations.encoding",
    "encode_results": "operations.encoding",
    "estimate_tokens": "operations.tokens",
    "export_tools": "operations.exporting",
    "import_tools": "operations.importing",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
