"""Compares URLs however they are written, and reads the id of a tool from its endpoint on a platform."""

from __future__ import annotations

import re
from typing import Final

from toolhaft.define.running.platform_keys import normal_url
from toolhaft.define.running.platform_settings import RUN_PATH

_ENDPOINT: Final = re.compile(r"""^endpoint:[ ]*["']?""", re.MULTILINE)
_PLAIN_ID: Final = re.compile("[a-z0-9_-]+")
_LINE_END: Final = re.compile(r"""["']?[ ]*(?:\#.*)?\r?$""", re.MULTILINE)


def tool_id_at(platform_url: str, endpoint: str | None) -> str | None:
    """The id of the tool that an endpoint runs; None if the endpoint is not on that platform.

    An endpoint that is only a path is on any platform: each stores its own endpoints without its address.
    """
    if not endpoint or "#" in endpoint:
        return None
    usual = f"{platform_url}{RUN_PATH}"
    if endpoint.startswith(usual) and _PLAIN_ID.fullmatch(
        endpoint, len(usual)
    ):  # lists read thousands of these
        return endpoint[len(usual) :]
    start = "" if endpoint.startswith(RUN_PATH) else normal_url(platform_url)
    url = normal_url(endpoint)
    id = url.removeprefix(f"{start}{RUN_PATH}")
    return None if id == url or not id or "/" in id or "?" in id else id


def replace_endpoint(text: str, id: str, *, old_url: str, new_url: str) -> str | None:
    """The YAML text of a tool with its platform's new address; None if the endpoint line is not found."""
    old = f"{old_url}{RUN_PATH}{id}"
    for found in _ENDPOINT.finditer(text):
        place = found.end()
        if text.startswith(old, place) and _LINE_END.match(text, place + len(old)):
            return f"{text[:place]}{new_url}{RUN_PATH}{id}{text[place + len(old) :]}"
    return None
