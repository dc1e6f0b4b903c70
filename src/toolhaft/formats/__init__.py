"""Wires: tools out, calls in, results back, in every provider's format, with every loss told."""

from toolhaft._lazy import lazy_exports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.formats.calls import decode_calls as decode_calls
    from toolhaft.formats.calls import encode_calls as encode_calls
    from toolhaft.formats.choices import Choice as Choice
    from toolhaft.formats.descriptions import describe as describe
    from toolhaft.formats.encoded import Encoded as Encoded
    from toolhaft.formats.exports import Export as Export
    from toolhaft.formats.exports import export_tools as export_tools
    from toolhaft.formats.imports import import_tools as import_tools
    from toolhaft.formats.losses import Loss as Loss
    from toolhaft.formats.losses import Refusal as Refusal
    from toolhaft.formats.registry import FORMATS as FORMATS
    from toolhaft.formats.results import encode_results as encode_results
    from toolhaft.formats.streams import StreamDecoder as StreamDecoder
    from toolhaft.formats.tokens import estimate_tokens as estimate_tokens

_HOMES = {
    "Choice": "choices",
    "Encoded": "encoded",
    "Export": "exports",
    "FORMATS": "registry",
    "Loss": "losses",
    "Refusal": "losses",
    "StreamDecoder": "streams",
    "decode_calls": "calls",
    "describe": "descriptions",
    "encode_calls": "calls",
    "encode_results": "results",
    "estimate_tokens": "tokens",
    "export_tools": "exports",
    "import_tools": "imports",
}
__all__ = [*_HOMES]  # noqa: PLE0604 -- the sorted names above, said once # pyright: ignore[reportUnsupportedDunderAll] -- the same
__getattr__, __dir__ = lazy_exports(__name__, _HOMES)
