"""Subsets like those of the formats, and those of the formats themselves."""

from toolhaft.formats.registry import FORMATS, get_format
from toolhaft.formats.subset.target import EVERYTHING, Subset

_COMMON = {"type", "properties", "required", "items", "enum", "description", "title"}
_BOUNDS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"}
_LENGTHS = {"minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties"}
_ROOT = frozenset(("oneOf", "anyOf", "allOf", "enum", "const", "not"))

OPENAI_LOOSE = Subset(root="flatten", root_banned=_ROOT)
OPENAI_STRICT = Subset(
    keywords=frozenset(_COMMON | _BOUNDS | {"anyOf", "const", "format", "pattern", "$ref", "$defs"}),
    formats=frozenset(("date", "date-time", "email", "uuid")),
    ref_siblings=False,
    any="refuse",
    closed=True,
    all_required=True,
    maps="pairs",
    tuples="object",
    patterns="plain",
    items_needed=True,
    root="wrap",
    root_banned=_ROOT,
)
ANTHROPIC_LOOSE = Subset(
    root="flatten", root_banned=frozenset(("oneOf", "anyOf", "allOf")), root_keys="[a-zA-Z0-9_.-]{1,64}"
)
ANTHROPIC_STRICT = Subset(
    keywords=frozenset(_COMMON | {"anyOf", "allOf", "const", "default", "format", "minItems", "pattern"}),
    formats=frozenset(("date", "date-time", "email", "uri", "uuid")),
    recursion="refuse",
    any="refuse",
    closed=True,
    maps="pairs",
    tuples="object",
    enums="scalar",
    patterns="plain",
    min_items=1,
    root="flatten",
    root_keys="[a-zA-Z0-9_.-]{1,64}",
)
GEMINI_JSON = Subset(
    keywords=frozenset(
        _COMMON
        | _BOUNDS
        | _LENGTHS
        | {"anyOf", "additionalProperties", "prefixItems", "default", "pattern", "format"}
    ),
    ref_siblings=False,
    enums="plain",
    root="flatten",
)
GEMINI_PARAMETERS = Subset(
    keywords=frozenset(
        (_COMMON | _BOUNDS | _LENGTHS | {"anyOf", "default", "pattern", "format"})
        - {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems"}
    ),
    refs="inline",
    recursion="unroll",
    type_lists=False,
    null="nullable",
    any="text",
    maps="pairs",
    tuples="widen",
    enums="text",
    items_needed=True,
    root="flatten",
)
OLLAMA = Subset(
    keywords=frozenset(_COMMON), nested="describe", root="flatten", refs="inline", recursion="unroll"
)
COHERE_STRICT = Subset(
    keywords=frozenset(_COMMON | {"anyOf", "const", "format", "pattern", "additionalProperties"}),
    formats=frozenset(("date", "date-time", "uuid", "time")),
    patterns="unanchored",
    some_required=True,
    type_lists=False,
    tuples="widen",
    root="flatten",
)
UNROLLED = Subset(refs="inline", recursion="unroll", root="wrap", tuples="widen")
BARE = Subset(
    keywords=frozenset(("type", "properties", "required", "items")),
    refs="inline",
    recursion="unroll",
    root="flatten",
)
CLOSED_TEXT = Subset(
    keywords=frozenset(_COMMON | {"anyOf"}),
    any="text",
    closed=True,
    all_required=True,
    maps="pairs",
    tuples="object",
    enums="text",
    items_needed=True,
    recursion="unroll",
    type_lists=False,
    root="wrap",
)
REFUSING = Subset(recursion="refuse", refs="inline")
CLOSED_BARE = Subset(
    keywords=frozenset(_COMMON),
    any="refuse",
    closed=True,
    maps="pairs",
    tuples="object",
    recursion="unroll",
    root="flatten",
)
CLOSED_MAPS = Subset(closed=True, root="wrap")
NULLABLE = Subset(
    keywords=frozenset(_COMMON | _BOUNDS | {"anyOf", "const", "default"}),
    ref_siblings=False,
    null="nullable",
    all_required=True,
    tuples="object",
    any="text",
    enums="plain",
    root="wrap",
)
TYPED = Subset(
    keywords=frozenset(_COMMON - {"enum"}), any="text", refs="inline", type_lists=False, root="flatten"
)

TARGETS = {
    "everything": EVERYTHING,
    "openai_loose": OPENAI_LOOSE,
    "openai_strict": OPENAI_STRICT,
    "anthropic_loose": ANTHROPIC_LOOSE,
    "anthropic_strict": ANTHROPIC_STRICT,
    "gemini_json": GEMINI_JSON,
    "gemini_parameters": GEMINI_PARAMETERS,
    "ollama": OLLAMA,
    "cohere_strict": COHERE_STRICT,
    "unrolled": UNROLLED,
    "bare": BARE,
    "closed_text": CLOSED_TEXT,
    "refusing": REFUSING,
    "closed_bare": CLOSED_BARE,
    "closed_maps": CLOSED_MAPS,
    "nullable": NULLABLE,
    "typed": TYPED,
}


def _of_formats():
    """The subsets of the formats, each once."""
    found = {}
    for format in FORMATS:
        wire = get_format(format)
        for dialect in wire.dialects:
            for strict in (False, True) if wire.has_strict else (False,):
                subset = wire.subset(dialect, strict=strict)
                if subset not in found.values():
                    found[" ".join(filter(None, (format, dialect, "strict" * strict)))] = subset
    return found


TARGETS |= _of_formats()
