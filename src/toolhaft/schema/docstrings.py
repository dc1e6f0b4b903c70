"""Reads the description, the parameter texts and the returns text of a docstring."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

__all__ = ["Docstring", "read_docstring"]


class Docstring(NamedTuple):
    """The parts of a docstring; a parameter without an explanation is left out."""

    description: str
    parameters: dict[str, str]
    returns: str


# Lines of text by the parameter they explain, "" between paragraphs; names in one entry share a list.
_Texts: TypeAlias = dict[str, list[str]]
# Reads the lines of one section, header first, with the depth of the header, into the texts.
_Reader: TypeAlias = Callable[[list[str], int, _Texts], None]
_Section: TypeAlias = tuple[int, int, _Reader]  # index of the header, its depth, its reader
# The names that an entry explains and the text on its line; None for a line that is not an entry.
_Entry: TypeAlias = tuple[Sequence[str], str] | None

RETURNS_MARK: Final = "\n\nReturns: "
"""Comes before the returns text where it is appended to a description."""
_RETURNS: Final = ":returns:"  # the returns text among the texts; no parameter can have this name
_MAX_DEPTH: Final = 1 << 30
_DECORATION: Final = "*`\\- "  # around a name: stars, backticks, escapes, bullets
# A colon before one of these belongs to an address, a path or an operator, and does not end a name.
_NO_TEXT: Final = frozenset("/\\:=")

_PARAMETER_FIELDS: Final = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_RETURN_FIELDS: Final = frozenset({"return", "returns"})
_OTHER_FIELDS: Final = frozenset(
    {"type", "rtype", "raises", "raise", "except", "exception", "yields", "yield"}
    | {"var", "ivar", "cvar", "vartype", "meta"}
)
_PARAMETER_TITLES: Final = (
    *("Args", "Arguments", "Parameters", "Params", "Keyword Args", "Keyword Arguments"),
    *("Other Parameters", "Other Args", "Other Arguments"),
)
_RETURN_TITLES: Final = ("Returns", "Return")
_OTHER_TITLES: Final = (
    *("Raises", "Raise", "Exceptions", "Yields", "Yield", "Receives", "Receive", "Warns", "Warn"),
    *("Warnings", "Warning", "Examples", "Example", "Notes", "Note", "See Also", "References", "Attributes"),
    *("Methods", "Attention", "Caution", "Danger", "Error", "Hint", "Important", "Tip", "Todo"),
)


def _depth_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def _join(parts: list[str]) -> str:
    paragraphs = "\n".join(parts).split("\n\n")
    return "\n\n".join(filter(None, [paragraph.replace("\n", " ").strip() for paragraph in paragraphs]))


def _describe(lines: list[str], margin: int) -> str:
    # the first line follows the quotes and has no margin to remove
    first, *rest = lines or [""]
    if not any(rest):
        return first.strip()
    return "\n".join([first.rstrip(), *[line[margin:].rstrip() for line in rest]]).strip()


def _split_names(text: str) -> list[str]:
    names = [name.strip(_DECORATION) for name in text.replace("/", ",").split(",")]
    return names if all(map(str.isidentifier, names)) else []


def _split_google_entry(bare: str) -> _Entry:
    name, colon, text = bare.partition(":")
    if not colon or text[:1] in _NO_TEXT:
        return None
    if name.isidentifier():
        return (name,), text.strip()
    if "(" in name:
        # split again, since the parentheses may contain a colon too: `limit (int, default: 10): text`
        name, _, rest = bare.partition("(")
        _, colon, text = rest.partition("):" if "):" in rest else ") :")
    names = _split_names(name)
    return (names, text.strip()) if names and colon else None


def _split_numpy_entry(bare: str) -> _Entry:
    # never None: the text of an entry with odd names is dropped and must not join the previous entry
    return _split_names(bare.partition(":")[0].rstrip()), ""


def _split_field(bare: str) -> tuple[str, str] | None:
    """Split `:param int name: text` into name and text, both empty for a field that is not used."""
    head, colon, text = bare[1:].partition(":")
    field, *subject = head.split() or [""]
    if not colon:
        return None
    if field in _RETURN_FIELDS:
        return _RETURNS, text.strip()
    if field in _PARAMETER_FIELDS and subject:
        name = subject[-1].strip(_DECORATION)
        return (name, text.strip()) if name.isidentifier() else ("", "")
    # a parameter field without a name is prose: `:key:` may well be an emoji
    return ("", "") if field in _OTHER_FIELDS else None


def _read_entries(
    lines: Iterable[str], depth: int, texts: _Texts, split_entry: Callable[[str], _Entry]
) -> None:
    entry_depth = -1
    parts: list[str] = []
    for line in lines:
        bare = line.lstrip()
        line_depth = len(line) - len(bare)
        if entry_depth < 0 and bare:
            entry_depth = line_depth
        if line_depth > entry_depth or not bare:
            parts.append(bare.rstrip())
            continue
        if line_depth <= depth < entry_depth:
            return
        entry = split_entry(bare)
        if entry is not None:
            names, text = entry
            parts = [text]
            for name in names:
                texts.setdefault(name, parts)
        elif line_depth > depth:
            parts.append(bare.rstrip())
        else:
            return


def _read_block(lines: Iterable[str], depth: int, first_line: str = "") -> list[str]:
    parts = [first_line] if first_line else []
    for line in lines:
        bare = line.strip()
        # a text may continue without indentation, but not after a blank line
        if bare and parts and not parts[-1] and _depth_of(line) <= depth:
            break
        parts.append(bare)
    return parts


def _read_google_parameters(lines: list[str], depth: int, texts: _Texts) -> None:
    _read_entries(lines[1:], depth, texts, _split_google_entry)


def _read_google_returns(lines: list[str], depth: int, texts: _Texts) -> None:
    first_line = lines[0].partition(":")[2].strip()
    texts.setdefault(_RETURNS, _read_block(lines[1:], depth, first_line))


def _read_numpy_parameters(lines: list[str], _depth: int, texts: _Texts) -> None:
    # no depth ends the section: its entries may be as deep as the header
    _read_entries(lines[2:], -1, texts, _split_numpy_entry)


def _read_numpy_returns(lines: list[str], depth: int, texts: _Texts) -> None:
    # a type is as deep as the header and its text is deeper; if nothing is deeper, all lines are text
    deeper = [line for line in lines[2:] if not line.strip() or _depth_of(line) > depth]
    body = deeper if any(map(str.strip, deeper)) else lines[2:]
    texts.setdefault(_RETURNS, _read_block(body, depth))


def _read_field(lines: list[str], depth: int, texts: _Texts) -> None:
    name, text = _split_field(lines[0].strip()) or ("", "")
    if name:
        texts.setdefault(name, _read_block(lines[1:], depth, text))


def _skip(_lines: list[str], _depth: int, _texts: _Texts) -> None:
    """Read nothing: the section only ends the previous one."""


def _spellings(titles: Iterable[str], reader: _Reader, *, is_lower_known: bool) -> dict[str, _Reader]:
    spellings = [str.title, str.capitalize, str.upper, *([str.lower] if is_lower_known else [])]
    return {spell(title): reader for title in titles for spell in spellings}


# Only titles of sections that are read may be in lower case: `note` or `example` may be a line of prose.
_OTHERS: Final = _spellings(_OTHER_TITLES, _skip, is_lower_known=False)
_GOOGLE_READERS: Final = (
    _OTHERS
    | _spellings(_PARAMETER_TITLES, _read_google_parameters, is_lower_known=True)
    | _spellings(_RETURN_TITLES, _read_google_returns, is_lower_known=True)
)
_NUMPY_READERS: Final = (
    _OTHERS
    | _spellings(_PARAMETER_TITLES, _read_numpy_parameters, is_lower_known=True)
    | _spellings(_RETURN_TITLES, _read_numpy_returns, is_lower_known=True)
)


def _is_underlined(lines: list[str], index: int) -> bool:
    below = lines[index + 1].strip() if index + 1 < len(lines) else ""
    return below.startswith("---") and not below.strip("-")


def _match_header(lines: list[str], index: int, current: _Reader | None) -> _Reader | None:
    bare = lines[index].strip()
    if bare[0] == ":":
        return _read_field if _split_field(bare) else None
    title, colon, text = bare.partition(":")
    if title not in _GOOGLE_READERS:
        # an underlined unknown title ends a section; in a description it is just a heading
        return _skip if current is not None and _is_underlined(lines, index) else None
    if not text and _is_underlined(lines, index):
        return _NUMPY_READERS[title]
    # `Returns: text` on one line is prose in a description, and may be an entry in a NumPy section
    if not colon or (text and (current is None or current is _read_numpy_parameters)):
        return None
    return _GOOGLE_READERS[title]


def _find_sections(lines: list[str]) -> list[_Section]:
    """Find every section; the last one is empty, at the end of the text, as deep as its margin."""
    sections: list[_Section] = []
    current: _Reader | None = None
    # A header is at most as deep as the prose or header before it: entries, lists, examples are deeper.
    limit = _MAX_DEPTH
    for index, line in enumerate(lines):
        bare = line.lstrip()
        depth = len(line) - len(bare)
        if depth > limit or not bare:
            continue
        reader = _match_header(lines, index, current)
        if index == 0:
            if reader is None:
                continue
            # the first line follows the quotes, so its own indentation means nothing
            depth = min((_depth_of(below) for below in lines[1:] if below.strip()), default=0)
        if reader is not None:
            sections.append((index, depth, reader))
            current = reader
        if reader is not None or current is None:
            limit = depth
    sections.append((len(lines), limit, _skip))
    return sections


def read_docstring(text: str | None) -> Docstring:
    """Read a Google, NumPy or reST docstring, or a mixture; text of no known style is description."""
    text = text.rstrip() if text else ""
    if "\n" not in text and not text.endswith(":") and not text.lstrip().startswith(":"):
        return Docstring(text.lstrip(), {}, "")
    lines = (text.expandtabs() if "\t" in text else text).split("\n")
    sections = _find_sections(lines)
    texts: _Texts = {}
    for (start, depth, read), (end, _, _) in pairwise(sections):
        read(lines[start:end], depth, texts)
    start, margin, _ = sections[0]
    returns = _join(texts.pop(_RETURNS)) if _RETURNS in texts else ""
    parameters = {
        name: joined
        for name, parts in texts.items()
        # most texts are one line: avoid the call
        if (joined := parts[0] if len(parts) == 1 else _join(parts))
    }
    return Docstring(_describe(lines[:start], margin), parameters, returns)
