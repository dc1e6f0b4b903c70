"""Finds what a file hides from its reader, or what it probably does not mean."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import islice
from socket import inet_aton
from typing import Final, Literal, cast
from urllib.parse import unquote, urlsplit

from toolhaft.define.yaml.document import YamlNode
from toolhaft.define.yaml.events import YamlProblem
from toolhaft.schema.invisible import InvisibleCharacter, invisible_characters
from toolhaft.schema.json_value import JSONObject, ValuePath
from toolhaft.schema.problems import render_path

PARAMETER_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
NAME_FIX: Final = "use letters, digits, '_', '.' and '-', a letter or '_' first"
_PLACEHOLDER: Final = re.compile(r"\$?\{[^{}]*\}?")
_MAX_REPORTED: Final = 20
_BYTE_ORDER_MARK: Final = InvisibleCharacter(0, "\ufeff")

_V4: Final = tuple(
    IPv4Network(network)
    for network in ("169.254.0.0/16", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32")
)
"""Link-local addresses, and the metadata services that clouds have elsewhere."""
_V6: Final = tuple(IPv6Network(network) for network in ("fe80::/10", "fd00:ec2::/32", "fd20:ce::/32"))
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")
_NAMES: Final = frozenset(("metadata", "instance-data", "rancher-metadata"))
_NAME_END: Final = (
    *("metadata.google.internal", "metadata.goog", "metadata.azure.internal", "instance-data.ec2.internal"),
    *("metadata.tencentyun.com", "metadata.packet.net", "metadata.platformequinix.com"),
)
_IN_NAME: Final = re.compile(r"(?:^|[.-])(?:169[.-]254[.-]\d{1,3}[.-]\d{1,3}|a9fe[0-9a-f]{4})(?:[.-]|$)")
"""A name of a public service that resolves to the address in it."""


def invisible_problems(text: str, root: YamlNode) -> list[YamlProblem]:
    """Return the invisible characters of a file: errors in keys and values, warnings in comments."""
    written = [found for found in invisible_characters(text) if found != _BYTE_ORDER_MARK]
    if not written and "\\" not in text:  # only an escape can add one
        return []
    scan = _Scan(text)
    scan.node(root, ())
    comments = (found for found in written if not scan.is_covered[found.at])
    scan.problems += [
        _problem(scan.position(found.at), "a comment", found, level="warning")
        for found in islice(comments, _MAX_REPORTED)
    ]
    return scan.problems[:_MAX_REPORTED]


class _Scan:
    """Collects the first invisible characters in the keys and values of a document."""

    def __init__(self, text: str) -> None:
        self.problems: list[YamlProblem] = []
        self.is_covered = bytearray(len(text))
        """1 for each character that is part of a key or value."""
        self._text = text
        self._line_starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._seen: set[tuple[int, int]] = set()

    def position(self, index: int) -> tuple[int, int]:
        """The line and column of an index, both counted from 1."""
        line = bisect_right(self._line_starts, index)
        return line, index - self._line_starts[line - 1] + 1

    def node(self, node: YamlNode, path: ValuePath) -> None:
        """Collect those of one node."""
        if len(self.problems) >= _MAX_REPORTED:
            return
        if isinstance(node.value, str):
            self._text_at(node.value, (node.start, node.end), (node.line, node.column + 1), path)
        elif isinstance(node.value, list):
            for number, item in enumerate(node.value):
                self.node(item, (*path, number))
        elif isinstance(node.value, dict):
            for key, entry in node.value.items():
                if not entry.is_merged:
                    start = self._line_starts[min(entry.line, len(self._line_starts)) - 1]
                    end = max(self._text.find(":", start), entry.node.start)
                    self._text_at(key, (start, end), (entry.line, 1), (*path, key), is_key=True)
                self.node(entry.node, (*path, key))

    def _text_at(
        self,
        value: str,
        span: tuple[int, int],
        position: tuple[int, int],
        path: ValuePath,
        *,
        is_key: bool = False,
    ) -> None:
        start, end = span
        self.is_covered[start:end] = bytes([1]) * (end - start)
        index = start
        for found in invisible_characters(value):
            if len(self.problems) >= _MAX_REPORTED:
                return
            at = self._text.find(found.character, index, end)
            if at < 0 and path[:1] == ("run",):
                continue  # the reader of the file sees its escapes, and no model reads it
            if at >= 0:
                index, position = at + 1, self.position(at)
            if (start, found.at) not in self._seen:  # an alias repeats its anchor
                self._seen.add((start, found.at))
                place = f"the key {render_path(path)}" if is_key else render_path(path) or "the file"
                self.problems.append(_problem(position, place, found))


def _problem(
    position: tuple[int, int],
    place: str,
    found: InvisibleCharacter,
    level: Literal["error", "warning"] = "error",
) -> YamlProblem:
    line, column = position
    what = f"{place} has an invisible character at column {column}: {found.name}"
    return YamlProblem(line=line, what=what, fix="take it out: people do not see it", level=level)


def suspicious_parts(
    fields: Mapping[str, object], hosts: tuple[str, ...], schema: JSONObject, lines: Mapping[str, int]
) -> Iterator[YamlProblem]:
    """Yield warnings about addresses, placeholders that nothing replaces, and names of parameters."""
    endpoint = fields.get("endpoint")
    if isinstance(endpoint, str):
        yield from _endpoint_warnings(endpoint, lines["endpoint"])
    for name in (host.rpartition(":")[0] for host in hosts if "run" in lines):
        if _is_metadata_host(name):
            yield _metadata_warning("run", name, lines["run"])
    for name in cast("JSONObject", schema.get("properties", {})):
        if not PARAMETER_NAME.fullmatch(name):
            line = lines.get("parameters", 1)
            yield YamlProblem(line=line, what=wrong_name(name), fix=NAME_FIX, level="warning")


def wrong_name(name: str) -> str:
    """Say what is wrong with the name of a parameter."""
    return f"the parameter name {name!a:.80} has characters that some providers refuse"


def _endpoint_warnings(endpoint: str, line: int) -> Iterator[YamlProblem]:
    found = _PLACEHOLDER.search(unquote(endpoint))
    if found is not None:
        yield YamlProblem(
            line=line,
            what=f"nothing replaces the placeholder {found[0]:.60} in the endpoint",
            fix="write the whole URL, or use run: {http: {url: ...}}, which has placeholders",
            level="warning",
        )
    host = urlsplit(endpoint).hostname or ""
    if _is_metadata_host(host):
        yield _metadata_warning("endpoint", host, line)


def _metadata_warning(field: str, host: str, line: int) -> YamlProblem:
    return YamlProblem(
        line=line,
        what=f"the {field} leads to {host!a:.80}, an address of this machine's network or of the metadata "
        "service of a cloud, which gives out credentials",
        fix="name a public host",
        level="warning",
    )


def _is_metadata_host(written: str) -> bool:
    """True for a link-local address or a metadata service, in any spelling that some resolver accepts."""
    host = unicodedata.normalize("NFKC", unquote(written)).lower().replace("\u3002", ".")
    host = host.strip("[]").partition("%")[0].rstrip(".")
    if host in _NAMES or host.endswith(_NAME_END) or _IN_NAME.search(host):
        return True
    try:
        if ":" in host:
            return _is_metadata_v6(IPv6Address(host))
        # accepts decimal, octal, hexadecimal and shortened numbers, as most programs do
        return _is_metadata_v4(IPv4Address(inet_aton(host)))
    except (OSError, ValueError):
        return False


def _is_metadata_v4(address: IPv4Address) -> bool:
    return any(address in network for network in _V4)


def _is_metadata_v6(address: IPv6Address) -> bool:
    if any(address in network for network in _V6):
        return True
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and (address in _TRANSLATED or int(address) >> 32 == 0):
        inner = IPv4Address(int(address) & 0xFFFF_FFFF)
    return inner is not None and _is_metadata_v4(inner)
