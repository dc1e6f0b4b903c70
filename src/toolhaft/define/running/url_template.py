"""The URL of a `run: http` block: a fixed host, and placeholders in its path and query."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast
from urllib.parse import quote, unquote

from toolhaft.define.running.literal_secrets import has_secret_query, looks_secret
from toolhaft.define.running.parameters import Parameters, RunProblems
from toolhaft.define.running.template import Env, Param, StringTemplate, TemplatePart, as_text
from toolhaft.errors import HttpRefusedError, ToolValidationError
from toolhaft.resources.http.urls import MAX_URL_LEN, parse_url
from toolhaft.resources.http.urls import RequestUrl as UrlParts
from toolhaft.schema.json_value import JSONValue, ValuePath

_PLACE: Final[ValuePath] = ("http", "url")
_ORIGIN: Final = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/?#]*)", re.IGNORECASE)
_FIX: Final = 'write it as "https://api.example.com/v1/${parameter}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlTemplate:
    """A URL whose origin no value can change; its path segments and query may have placeholders."""

    host: str
    """As `host:port`, normalized."""
    origin: str
    segments: tuple[StringTemplate, ...]
    query: StringTemplate | None

    def fill(self, given: Mapping[str, object], more: str = "") -> str:
        """Fill the URL with encoded values.

        Raises:
            ToolValidationError: for a value that a URL cannot contain.
        """
        path = "".join(f"/{_fill_segment(segment, given)}" for segment in self.segments)
        own = self.query.fill(given, str, encode_value) if self.query is not None else ""
        query = "&".join(part for part in (own, more) if part)
        url = f"{self.origin}{path}?{query}" if query else f"{self.origin}{path}"
        if len(url) > MAX_URL_LEN:
            raise ToolValidationError(
                f"the values make a URL of {len(url):,} characters, and at most {MAX_URL_LEN:,} can be sent; "
                "use shorter ones"
            )
        return url


def authority_of(url: str) -> str:
    """Return the `host:port` of a URL, normalized; '' if it has none."""
    try:
        place = parse_url(url)
    except HttpRefusedError:
        return ""
    return f"{place.host.in_url}:{place.port}"


def encode_value(text: str) -> str:
    """Percent-encode a value, so that it cannot end its part of the URL.

    Raises:
        ToolValidationError: for a lone surrogate.
    """
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise ToolValidationError("a value has a lone surrogate in it; send whole characters") from None


def read_url_template(value: JSONValue, parameters: Parameters, problems: RunProblems) -> UrlTemplate | None:
    """Parse the `url` of a block; None if it has problems."""
    found = _ORIGIN.match(value) if isinstance(value, str) else None
    place = _origin(value, found, problems)
    # parsed even if the host is wrong, so that all problems are reported together
    rest = "" if not isinstance(value, str) else value if found is None else value[found.end() :]
    made = parameters.template(rest, _PLACE, problems)
    if place is None or made is None or not _check_rest(cast("str", value), made, parameters, problems):
        return None
    path, query = _split(made)
    plan = UrlTemplate(
        host=f"{place.host.in_url}:{place.port}",
        origin=f"{place.scheme}://{place.authority}",
        segments=_segments(path),
        query=query,
    )
    _check_filled(plan, made, problems)
    return plan


def _origin(value: JSONValue, found: re.Match[str] | None, problems: RunProblems) -> UrlParts | None:
    """Parse scheme, host and port; None if they have problems."""
    if found is None:
        what = "http has no url" if value is None else "the url does not begin with http:// or https://"
        problems.add(_PLACE, what, _FIX)
        return None
    if "@" in found["authority"]:
        problems.add(
            _PLACE, "the url has a user or a password in it", "send them in a header, as ${env:NAME}"
        )
        return None
    if "${" in found["authority"]:
        problems.add(
            _PLACE, "a parameter is in the host or port of the url", "write host and port without parameters"
        )
        return None
    try:
        return parse_url(found[0])
    except HttpRefusedError as error:
        problems.add(_PLACE, str(error), _FIX)
        return None


def _check_rest(value: str, made: StringTemplate, parameters: Parameters, problems: RunProblems) -> bool:
    count = len(problems.found)
    if any("#" in part for part in made.parts if isinstance(part, str)):
        problems.add(_PLACE, "the url has a fragment, which is never sent", "take out what follows the '#'")
    if looks_secret(value) or has_secret_query(value):
        what = "there is a literal secret in the url"
        problems.add(
            _PLACE, what, "send it in a header: put it in the environment or .env, write ${env:NAME}"
        )
    parameters.require_value(made, _PLACE, problems, "in the url")
    return len(problems.found) == count


def _check_filled(plan: UrlTemplate, made: StringTemplate, problems: RunProblems) -> None:
    """Check that the text around the placeholders makes a URL."""
    if any(segment.is_literal and unquote(segment.literal) in (".", "..") for segment in plan.segments):
        problems.add(_PLACE, "the path of the url has a '.' or '..' segment", "write the path without it")
    try:
        parse_url(plan.fill(dict.fromkeys(made.names, "x")))
    except HttpRefusedError as error:
        problems.add(_PLACE, str(error), _FIX)
    except ToolValidationError:
        problems.add(_PLACE, f"the url is longer than {MAX_URL_LEN:,} characters", "shorten it")


def _split(made: StringTemplate) -> tuple[list[TemplatePart], StringTemplate | None]:
    """Split the part after the host into path and query."""
    for number, part in enumerate(made.parts):
        index = part.find("?") if isinstance(part, str) else -1
        if isinstance(part, str) and index >= 0:
            rest = tuple(piece for piece in (part[index + 1 :], *made.parts[number + 1 :]) if piece != "")
            return [*made.parts[:number], part[:index]], StringTemplate(rest) if rest else None
    return list(made.parts), None


def _segments(parts: list[TemplatePart]) -> tuple[StringTemplate, ...]:
    """Split the path at its slashes."""
    segments: list[list[TemplatePart]] = [[]]
    for part in parts:
        pieces = part.split("/") if isinstance(part, str) else [part]
        for number, piece in enumerate(pieces):
            if number:
                segments.append([])
            if piece:
                segments[-1].append(piece)
    # a path begins with a slash, and there is no segment before it
    return tuple(StringTemplate(tuple(segment)) for segment in segments[0 if segments[0] else 1 :])


def _fill_segment(segment: StringTemplate, given: Mapping[str, object]) -> str:
    """Fill one segment of the path; a value can neither leave it nor make it `..`."""
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
            f"{name}: {plain!r} cannot be in the path of the request; give another value"
        )
    return segment.fill(given, str, encode_value)
