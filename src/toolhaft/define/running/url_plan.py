"""The URL of a `run: http` block: its host is fixed, its path and query may have places for parameters.

Knows how such a URL is read, checked and filled; sends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, cast
from urllib.parse import quote, unquote

from toolhaft.define.running.faults import Faults, Place
from toolhaft.define.running.parameters import Parameters
from toolhaft.define.running.template import Env, Param, Part, Template, as_text
from toolhaft.define.running.tokens import has_secret_query, looks_secret
from toolhaft.errors import HttpRefusedError, ToolValidationError
from toolhaft.resources.http.places import LONGEST_URL
from toolhaft.resources.http.places import Place as UrlPlace
from toolhaft.resources.http.places import read_url as read_place
from toolhaft.schema.json_value import JSONValue

_PLACE: Final[Place] = ("http", "url")
_ORIGIN: Final = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)", re.IGNORECASE)
_SECTIONS: Final = re.compile(r"[?#]")
_FIX: Final = 'write it as "https://api.example.com/v1/${parameter}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlPlan:
    """Where a request goes: an origin that no value can change, segments of a path, and a query."""

    scheme: str
    host: str
    """As `host:port`, in one spelling."""
    origin: str
    segments: tuple[Template, ...]
    query: Template | None

    @property
    def is_loopback(self) -> bool:
        """True for this machine."""
        return is_loopback(self.host)

    def fill(self, given: Mapping[str, object], more: str = "") -> str:
        """The URL with its values, each encoded.

        Raises:
            ToolValidationError: where a value cannot stand in its place.
        """
        path = "".join(f"/{_segment(segment, given)}" for segment in self.segments)
        own = self.query.fill(given, str, encoded) if self.query is not None else ""
        query = "&".join(part for part in (own, more) if part)
        url = f"{self.origin}{path}?{query}" if query else f"{self.origin}{path}"
        if len(url) > LONGEST_URL:
            raise ToolValidationError(
                f"the values make a URL of {len(url):,} characters, and at most {LONGEST_URL:,} can be sent; "
                "use shorter ones"
            )
        return url


def is_loopback(authority: str) -> bool:
    """True if a `host:port` is of this machine, as far as its name tells."""
    host = authority.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def authority_of(url: str) -> str:
    """The `host:port` of a literal URL, in one spelling; empty where it has none."""
    try:
        place = read_place(url)
    except HttpRefusedError:
        return ""
    return f"{place.host.in_url}:{place.port}"


def encoded(text: str) -> str:
    """A value as it stands in a URL: nothing in it can end its place.

    Raises:
        ToolValidationError: for half of a character.
    """
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise ToolValidationError("a value has half of a character in it; send whole ones") from None


def read_url_plan(value: JSONValue, parameters: Parameters, faults: Faults) -> UrlPlan | None:
    """The plan of a URL, or None where it is not one."""
    found = _ORIGIN.match(value) if isinstance(value, str) else None
    place = _origin(value, found, faults)
    # read also where the host is no good: what is wrong behind it is told at the same time
    rest = "" if not isinstance(value, str) else value if found is None else value[found.end() :]
    made = parameters.template(rest, _PLACE, faults)
    if place is None or made is None or not _is_sound(cast("str", value), made, parameters, faults):
        return None
    path, query = _split(made)
    segments = tuple(_segments(path))
    plan = UrlPlan(
        scheme=place.scheme,
        host=f"{place.host.in_url}:{place.port}",
        origin=f"{place.scheme}://{place.authority}",
        segments=segments,
        query=query,
    )
    _check_filled(plan, made, faults)
    return plan


def _origin(value: JSONValue, found: re.Match[str] | None, faults: Faults) -> UrlPlace | None:
    """Where the request goes, or None where that is not to be had."""
    if found is None:
        what = "http has no url" if value is None else "the url does not begin with http:// or https://"
        faults.add(_PLACE, what, _FIX)
        return None
    if "@" in found["authority"]:
        faults.add(_PLACE, "the url has a user or a password in it", "send them in a header, as ${env:NAME}")
        return None
    if "${" in found["authority"]:
        faults.add(_PLACE, "a parameter stands in the host or port of the url", "name the host itself")
        return None
    try:
        return read_place(found[0])
    except HttpRefusedError as error:
        faults.add(_PLACE, str(error), _FIX)
        return None


def _is_sound(value: str, made: Template, parameters: Parameters, faults: Faults) -> bool:
    count = len(faults.found)
    if any("#" in part for part in made.parts if isinstance(part, str)):
        faults.add(_PLACE, "the url has a fragment, which is never sent", "take out what follows the '#'")
    if looks_secret(value) or has_secret_query(value):
        what = "there is a literal secret in the url"
        faults.add(_PLACE, what, "send it in a header: put it in the environment or .env, write ${env:NAME}")
    parameters.needs_sure(made, _PLACE, faults, "in the url")
    return len(faults.found) == count


def _check_filled(plan: UrlPlan, made: Template, faults: Faults) -> None:
    """What stands around the places must make a URL, whatever fills them."""
    if any(segment.is_literal and unquote(segment.literal) in (".", "..") for segment in plan.segments):
        faults.add(_PLACE, "the path of the url has dots to climb by", "write the path as it is meant")
    try:
        read_place(plan.fill(dict.fromkeys(made.names, "x")))
    except HttpRefusedError as error:
        faults.add(_PLACE, str(error), _FIX)
    except ToolValidationError:
        faults.add(_PLACE, f"the url is longer than {LONGEST_URL:,} characters", "shorten it")


def _split(made: Template) -> tuple[list[Part], Template | None]:
    """The path and the query of what follows the host."""
    for number, part in enumerate(made.parts):
        mark = part.find("?") if isinstance(part, str) else -1
        if isinstance(part, str) and mark >= 0:
            rest = tuple(piece for piece in (part[mark + 1 :], *made.parts[number + 1 :]) if piece != "")
            return [*made.parts[:number], part[:mark]], Template(rest) if rest else None
    return list(made.parts), None


def _segments(parts: list[Part]) -> Iterator[Template]:
    """The path between its slashes; the first slash begins it."""
    held: list[Part] = []
    is_begun = False
    for part in parts:
        if not isinstance(part, str):
            held.append(part)
            is_begun = True
            continue
        first, *rest = part.split("/")
        if first:
            held.append(first)
            is_begun = True
        for piece in rest:
            if is_begun:
                yield Template(tuple(held))
            held, is_begun = [], True
            if piece:
                held.append(piece)
    if is_begun:
        yield Template(tuple(held))


def _segment(segment: Template, given: Mapping[str, object]) -> str:
    """One segment of a path; a value cannot leave it, nor make it climb."""
    if not segment.names:
        return segment.literal
    plain = "".join(
        unquote(part) if isinstance(part, str) else as_text(given[part.name])
        for part in segment.parts
        if not isinstance(part, Env)
    )
    if plain in ("", ".", ".."):
        name = next(part.name for part in segment.parts if isinstance(part, Param))
        raise ToolValidationError(
            f"{name}: {plain!r} cannot stand in the path of the request; give another value"
        )
    return segment.fill(given, str, encoded)
