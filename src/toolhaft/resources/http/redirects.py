"""Where a redirect leads, and what of the request goes along.

Does not know whether the new place may be reached.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import urljoin

from toolhaft.errors import HttpError, HttpRefusedError
from toolhaft.resources.http.outgoing import SAFE_METHODS, Outgoing
from toolhaft.resources.http.places import LONGEST_URL, Place, check_characters, read_url

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SEE_OTHER: Final = 303
_MOVED_FORMS: Final = (301, 302)


def next_place(place: Place, locations: Sequence[str]) -> Place:
    """The place that an answer sends on to.

    Raises:
        HttpRefusedError: where it is no http or https URL, or would give up TLS.
        HttpError: where the answer says nothing that could be read.
    """
    source = place.host.shown
    if len(set(locations)) != 1:
        what = "several places" if locations else "nowhere"
        raise HttpError(f"{source} answers with a redirect to {what}")
    if len(locations[0]) > LONGEST_URL:
        raise HttpError(f"{source} redirects to a URL of more than {LONGEST_URL:,} characters")
    location = locations[0].strip(" \t").replace(" ", "%20")  # as browsers do
    try:
        check_characters(location)
        following = read_url(_joined(place, location))
    except HttpRefusedError as error:
        raise refused_redirect(place, error) from error
    if place.scheme == "https" and following.scheme == "http":
        raise HttpRefusedError(f"{source} redirects from https to http, which would be readable on the way")
    return following


def _joined(place: Place, location: str) -> str:
    """The whole URL; `urljoin` reads only what has no host of its own, about which it is too forgiving."""
    if _SCHEME.match(location):
        return location
    if location.startswith("//"):
        return f"{place.scheme}:{location}"
    return urljoin(place.url, location)


def next_outgoing(outgoing: Outgoing, status: int, place: Place, following: Place) -> Outgoing:
    """What is sent to the next place: methods change as in browsers, and a stranger learns no secrets.

    Raises:
        HttpRefusedError: where another origin would get a body, or be told to change something.
    """
    becomes_get = (status == _SEE_OTHER and outgoing.method not in ("GET", "HEAD")) or (
        status in _MOVED_FORMS and outgoing.method == "POST"
    )
    going = outgoing.as_get() if becomes_get else outgoing
    if place.origin == following.origin:
        return going
    if going.content is not None or going.method not in SAFE_METHODS:
        raise HttpRefusedError(
            f"{place.host.shown} redirects a {going.method} to {following.host.shown}; "
            "what is meant for one is not sent to another"
        )
    return going.for_stranger()


def refused_redirect(place: Place, error: HttpRefusedError) -> HttpRefusedError:
    """A redirect to what would not have been fetched either way."""
    return HttpRefusedError(f"{place.host.shown} redirects to what may not be fetched: {error}")
