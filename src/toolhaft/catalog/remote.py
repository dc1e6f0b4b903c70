"""A platform over HTTP: its tools found, fetched, published and taken away.

Knows the routes of a platform and what its answers mean; the guarded web client does the asking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import EllipsisType
from typing import Final
from urllib.parse import quote, urlsplit

from toolhaft.catalog.listing import Listing
from toolhaft.catalog.remote_answers import error_of, listing_from, object_in, short, without_key
from toolhaft.errors import ConflictError, HttpError, HttpTooLargeError, PlatformError, UnknownToolError
from toolhaft.resources.http import HttpClient, HttpResponse

TYPE_CHECKING = False  # a list of tools must not load the YAML door
if TYPE_CHECKING:
    from toolhaft.core.conversion import AnyTool
    from toolhaft.define.yaml import YamlTool
    from toolhaft.schema.json_value import JSONObject

YAML: Final = "application/yaml"
_PAGE: Final = 500
_MOST_PAGES: Final = 1_000
_LARGEST_PAGE: Final = 20_000_000
_LARGEST_TOOL: Final = 2_000_000
_TIMEOUT_S: Final = 15.0
_LONGEST_ID: Final = 128


@dataclass(frozen=True, kw_only=True)
class RemotePublished:
    """A tool as a platform far away has it."""

    id: str
    owner: str
    share: str
    text: str
    """The YAML document, comments and all."""
    updated_at: str
    created_at: str

    @cached_property
    def tool(self) -> YamlTool[dict[str, object], object]:
        """The tool that the text defines; what it says of how to run it is for the platform.

        Raises:
            DefinitionError: where the text says what this version does not take.
        """
        from toolhaft.define.yaml import parse_tool  # noqa: PLC0415 -- whoever only lists does not pay for it

        return parse_tool(self.text, f"{self.id}.yaml")

    @property
    def etag(self) -> str:
        """What HTTP compares."""
        return f'"{self.updated_at}"'


class RemotePlatform:
    """A platform at an address.

    Args:
        url: its address.
        api_key: sent to that address and nowhere else.
        client: in place of one that may reach that address only.
        timeout_s: for each request.

    Raises:
        ConfigError: where the address is none.
        ImportError: where the packages of `toolhaft[web]` are missing.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        client: HttpClient | None = None,
        *,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        from toolhaft.catalog.project import check_url  # noqa: PLC0415 -- it reads files, this does not

        self.is_embedded: bool = False
        self.url: str = check_url(url, place="url")
        self._key = api_key
        place = urlsplit(self.url).netloc
        self._client = client or HttpClient(allow=[place], only=[place])
        self._timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"<RemotePlatform {self.url}>"

    def list(
        self, *, tag: str | None = None, owner: str | None = None, share: str | None = None
    ) -> list[RemotePublished]:
        """Every tool that the key may see, by id, each with its text: one more request a tool.

        Raises:
            PlatformError, ForbiddenError: as `get`.
        """
        found = [str(fields.get("id")) for fields in self._pages(tag=tag, owner=owner, share=share)]
        return [published for id in found if (published := self._get_or_none(id)) is not None]

    def listings(self) -> list[Listing]:
        """Every tool that the key may see, by id; a request for each 500.

        Raises:
            PlatformError, ForbiddenError: as `get`.
        """
        return [listing_from(fields, self.url) for fields in self._pages()]

    def get(self, id: str) -> RemotePublished:
        """A tool.

        Raises:
            UnknownToolError: where there is none of that id, or not for this key.
            ForbiddenError: where the platform does not take the key, or the key does not reach so far.
            PlatformError: where there is no answer, or an odd one.
        """
        answer = self._ask("GET", self._path(id), accept=YAML)
        return self._published(answer, id)

    def put(self, text: str, *, base: str | EllipsisType | None = ...) -> RemotePublished:
        """Publish a YAML document.

        Raises:
            DefinitionError: with every problem of the document.
            ConflictError: where another version is there than the one that `base` says.
            ForbiddenError, PlatformError: as `get`; after the latter it may have been published all the same.
        """
        from toolhaft.define.yaml import parse_tool  # noqa: PLC0415 -- whoever only lists does not pay for it

        id = parse_tool(text).name
        tries = [base] if base is None else [base, None, base, None]
        for attempt in tries[:-1]:
            try:
                return self._put(id, text, attempt)
            except ConflictError as error:
                # a condition on what is there fails where nothing is: then it is made, unless somebody did
                is_absent = attempt is not None and error.current is None
                if not is_absent and not (attempt is None and isinstance(base, EllipsisType)):
                    raise
        return self._put(id, text, tries[-1])

    def _put(self, id: str, text: str, base: str | EllipsisType | None) -> RemotePublished:
        answer = self._ask("PUT", self._path(id), accept=YAML, content=text, headers=_condition(base))
        return self._published(answer, id)

    def remove(self, id: str, *, base: str | EllipsisType = ...) -> None:
        """Take a tool away.

        Raises:
            UnknownToolError: where there is none of that id, or not for this key.
            ConflictError: where another version is there than the one that `base` says.
            ForbiddenError, PlatformError: as `get`.
        """
        self._ask("DELETE", self._path(id), headers=_condition(base))

    def runnable(self, id: str) -> AnyTool:
        """A tool whose calls go to the platform: nothing that it says is run is run here.

        Raises:
            UnknownToolError: where there is none of that id, or not for this key.
            DefinitionError: where its text says what this version does not take.
            ForbiddenError, PlatformError: as `get`.
        """
        from toolhaft.catalog.remote_calls import called_at  # noqa: PLC0415 -- the same

        return called_at(self.get(id).tool, f"{self.url}/v3/tool/{quote(id, safe='')}", self.url, self._key)

    def close(self) -> None:
        """Nothing is held open between two requests."""

    def _get_or_none(self, id: str) -> RemotePublished | None:
        try:
            return self.get(id)
        except UnknownToolError:  # taken away meanwhile
            return None

    def _path(self, id: str) -> str:
        if not id or len(id) > _LONGEST_ID or id in (".", ".."):
            raise UnknownToolError(f"no tool {id!r:.140} on the platform {self.url}")
        return f"/v3/tools/{quote(id, safe='')}"

    def _pages(self, **filters: str | None) -> Iterator[JSONObject]:
        """The fields of every tool, page by page."""
        query = {name: value for name, value in filters.items() if value is not None}
        after = ""
        for _ in range(_MOST_PAGES):
            page = {**query, "limit": str(_PAGE), **({"after": after} if after else {})}
            answer = object_in(self._ask("GET", "/v3/tools", query=page, max_bytes=_LARGEST_PAGE), self.url)
            tools = answer.get("tools")
            if not isinstance(tools, list):
                raise PlatformError(f"{self._told('its list of tools is none')}")
            for fields in tools:
                if not isinstance(fields, dict):
                    raise PlatformError(self._told("a tool in its list is no object"))
                yield fields
            following = answer.get("next")
            if following is None:
                return
            if not isinstance(following, str) or following <= after:
                raise PlatformError(self._told("its list of tools goes round in a ring"))
            after = following
        raise PlatformError(self._told("its list of tools does not end"))

    def _published(self, answer: HttpResponse, id: str) -> RemotePublished:
        """The tool in an answer.

        Raises:
            PlatformError: where there is none, or another one.
        """
        from toolhaft.define.yaml import parse_tool  # noqa: PLC0415 -- whoever only lists does not pay for it
        from toolhaft.errors import DefinitionError  # noqa: PLC0415 -- the same

        if answer.media_type != YAML:
            kind = answer.media_type or "no media type"
            raise PlatformError(self._told(f"it answers with {short(self._masked(kind))} in place of {YAML}"))
        try:
            text = answer.body.decode()
            tool = parse_tool(text, f"{id}.yaml")
        except (UnicodeDecodeError, DefinitionError) as error:
            raise PlatformError(
                self._told(f"its tool {id!r} cannot be read here: {short(self._masked(str(error)), 500)}")
            ) from None  # what it quotes may be the key
        if tool.name != id:
            raise PlatformError(self._told(f"asked for {id!r}, it gives {tool.name!r}"))
        return RemotePublished(
            id=id,
            owner=tool.owner or "",
            share=tool.share,
            text=text,
            updated_at=tool.updated_at or "",
            created_at=tool.created_at or "",
        )

    def _ask(
        self,
        method: str,
        path: str,
        *,
        accept: str = "application/json",
        content: str | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        max_bytes: int = _LARGEST_TOOL,
    ) -> HttpResponse:
        """The answer to a request, where it is what was asked for.

        Raises:
            ToolhaftError: the one that its status stands for.
        """
        sent = {"Accept": f"{accept}, application/problem+json", **(headers or {})}
        if self._key:
            sent["Authorization"] = f"Bearer {self._key}"
        if content is not None:
            sent["Content-Type"] = YAML
        try:
            answer = self._client.fetch(
                f"{self.url}{path}",
                method=method,
                headers=sent,
                query=query,
                content=None if content is None else content.encode(),
                timeout_s=self._timeout_s,
                max_bytes=max_bytes,
                max_redirects=0,  # the key is for this address
            )
        except HttpError as error:
            is_long = isinstance(error, HttpTooLargeError)
            hint = "" if is_long else "; is it running, and is the address right?"
            raise PlatformError(f"the platform {self.url} gave no whole answer: {error}{hint}") from error
        if answer.is_ok:
            return answer
        raise error_of(answer, self.url, key=self._key)

    def _masked(self, text: str) -> str:
        return without_key(text, self._key)

    def _told(self, what: str) -> str:
        return f"the platform {self.url} answers oddly: {what}; is it one, and of this version?"


def _condition(base: str | EllipsisType | None) -> dict[str, str]:
    """What must be there for a change to be made."""
    if base is None:
        return {"If-None-Match": "*"}
    return {"If-Match": "*" if isinstance(base, EllipsisType) else f'"{base}"'}
