"""A platform over HTTP: list, get, publish, remove and call its tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from types import EllipsisType
from typing import Final
from urllib.parse import quote, urlsplit

from toolhaft.catalog.listing import Listing
from toolhaft.catalog.project import check_url
from toolhaft.catalog.remote_responses import (
    error_from_response,
    json_object,
    listing_from_fields,
    mask_key,
    one_line,
    versions_from_body,
)
from toolhaft.define.running.platform_keys import check_encrypted
from toolhaft.errors import (
    ConflictError,
    DefinitionError,
    ForbiddenError,
    HttpError,
    HttpTooLargeError,
    PlatformError,
    UnknownToolError,
)
from toolhaft.resources.http import HttpClient, HttpResponse

TYPE_CHECKING = False  # a list of tools must not load the YAML package
if TYPE_CHECKING:
    from toolhaft.catalog.published import AnyYamlTool
    from toolhaft.catalog.tool_versions import ToolVersion
    from toolhaft.core.conversion import AnyTool
    from toolhaft.schema.json_value import JSONObject

YAML: Final = "application/yaml"
_PAGE_SIZE: Final = 500
_MAX_PAGES: Final = 1_000
_MAX_PAGE_BYTES: Final = 20_000_000
_MAX_TOOL_BYTES: Final = 2_000_000
_TIMEOUT_S: Final = 15.0
_MAX_ID: Final = 128


@dataclass(frozen=True, kw_only=True)
class RemotePublishedTool:
    """A tool as a remote platform stores it."""

    id: str
    owner: str
    share: str
    text: str
    """The YAML document with its comments."""
    updated_at: str
    created_at: str

    @cached_property
    def tool(self) -> AnyYamlTool:
        """The tool that the text defines; its `run` is for the platform, not for this process.

        Raises:
            DefinitionError: if this version cannot read the text.
        """
        from toolhaft.define.yaml import parse_tool  # noqa: PLC0415 -- listing does not need it

        return parse_tool(self.text, f"{self.id}.yaml")

    @property
    def etag(self) -> str:
        """The version as an HTTP entity tag."""
        return f'"{self.updated_at}"'


class RemotePlatform:
    """A platform at an address; the methods raise the errors of `Platform`.

    Args:
        url: its address.
        api_key: sent only to that address.
        client: replaces the default client, which can reach only that address.
        timeout_s: for each request.
        refusal: why the key that the user has is not sent to this address; every request then fails.

    Raises:
        ConfigError: if the address is invalid, or the key would be sent over plain http to another machine.
        ImportError: if the packages of `toolhaft[web]` are missing.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        client: HttpClient | None = None,
        *,
        timeout_s: float = _TIMEOUT_S,
        refusal: str = "",
    ) -> None:
        self.is_embedded: bool = False
        self.url: str = check_url(url, place="url")
        if api_key:
            check_encrypted(self.url, place="url")
        self._refusal = refusal
        self._key = api_key
        place = urlsplit(self.url).netloc
        self._client = client or HttpClient(allow=[place], only=[place])
        self._timeout_s = timeout_s

    def __repr__(self) -> str:
        return f"<RemotePlatform {self.url}>"

    def list(
        self, *, tag: str | None = None, owner: str | None = None, share: str | None = None
    ) -> list[RemotePublishedTool]:
        """Every tool that the key may see, sorted by id, with its text: one request per tool."""
        found: list[RemotePublishedTool] = []
        for fields in self._pages(tag=tag, owner=owner, share=share):
            with suppress(UnknownToolError):  # removed meanwhile
                found.append(self.get(str(fields.get("id"))))
        return found

    def listings(self) -> list[Listing]:
        """The listing of every tool that the key may see, sorted by id; one request per 500 tools."""
        return [listing_from_fields(fields, self.url) for fields in self._pages()]

    def get(self, id: str) -> RemotePublishedTool:
        """A tool."""
        return self._published(self._request("GET", self._path(id), accept=YAML), id)

    def put(self, text: str, *, base: str | EllipsisType | None = ...) -> RemotePublishedTool:
        """Publish a YAML text; after a PlatformError it may have been published anyway."""
        from toolhaft.define.yaml import parse_tool  # noqa: PLC0415 -- listing does not need it

        id = parse_tool(text).name
        tries = [base] if base is None else [base, None, base, None]
        for attempt in tries[:-1]:
            try:
                return self._put(id, text, attempt)
            except ConflictError as error:
                # If-Match fails where there is no tool: then create it, unless somebody else just did
                is_absent = attempt is not None and error.current is None
                if not is_absent and not (attempt is None and isinstance(base, EllipsisType)):
                    raise
        return self._put(id, text, tries[-1])

    def _put(self, id: str, text: str, base: str | EllipsisType | None) -> RemotePublishedTool:
        response = self._request("PUT", self._path(id), accept=YAML, content=text, headers=_condition(base))
        return self._published(response, id)

    def remove(self, id: str, *, base: str | EllipsisType = ...) -> None:
        """Delete a tool."""
        self._request("DELETE", self._path(id), headers=_condition(base))

    def versions(self, id: str) -> list[ToolVersion]:
        """The last versions of a tool, the newest first."""
        return versions_from_body(
            json_object(self._request("GET", f"{self._path(id)}/versions"), self.url), self.url
        )

    def rollback(
        self, id: str, *, to: int | None = None, base: str | EllipsisType = ...
    ) -> RemotePublishedTool:
        """Publish a version again, as a new one; by default the one before the current one."""
        query = {} if to is None else {"to": str(to)}
        path = f"{self._path(id)}/rollback"
        response = self._request("POST", path, accept=YAML, query=query, headers=_condition(base))
        return self._published(response, id)

    def runnable(self, id: str) -> AnyTool:
        """A tool whose calls are sent to the platform; its `run` is not run in this process."""
        from toolhaft.catalog.runnable import call_on_platform  # noqa: PLC0415 -- it loads the executor

        return call_on_platform(self.get(id).tool, self.url, self._key)

    def close(self) -> None:
        """Do nothing: no connection is kept between requests."""

    def _path(self, id: str) -> str:
        if not id or len(id) > _MAX_ID or id in (".", ".."):
            raise UnknownToolError(f"no tool {id!r:.140} on the platform {self.url}")
        return f"/v3/tools/{quote(id, safe='')}"

    def _pages(self, **filters: str | None) -> Iterator[JSONObject]:
        """The fields of every tool, page by page."""
        query = {name: value for name, value in filters.items() if value is not None}
        after = ""
        for _ in range(_MAX_PAGES):
            page = {**query, "limit": str(_PAGE_SIZE), **({"after": after} if after else {})}
            response = self._request("GET", "/v3/tools", query=page, max_bytes=_MAX_PAGE_BYTES)
            body = json_object(response, self.url)
            tools = body.get("tools")
            if not isinstance(tools, list):
                raise self._unexpected("its field 'tools' is not a list")
            for fields in tools:
                if not isinstance(fields, dict):
                    raise self._unexpected("a tool in its list is not an object")
                yield fields
            following = body.get("next")
            if following is None:
                return
            if not isinstance(following, str) or following <= after:
                raise self._unexpected("its list of tools repeats itself")
            after = following
        raise self._unexpected("its list of tools does not end")

    def _published(self, response: HttpResponse, id: str) -> RemotePublishedTool:
        """The tool in a response.

        Raises:
            PlatformError: if there is none, or it is another one.
        """
        from toolhaft.define.yaml import parse_tool  # noqa: PLC0415 -- listing does not need it

        if response.media_type != YAML:
            kind = mask_key(response.media_type or "no media type", self._key)
            raise self._unexpected(f"{one_line(kind)} instead of {YAML}")
        try:
            text = response.body.decode()
            tool = parse_tool(text, f"{id}.yaml")
        except (UnicodeDecodeError, DefinitionError) as error:
            problem = one_line(mask_key(str(error), self._key), 500)
            # without the cause, which may quote the key
            raise self._unexpected(f"its tool {id!r} cannot be read here: {problem}") from None
        if tool.name != id:
            raise self._unexpected(f"the tool {tool.name!r} for the id {id!r}")
        return RemotePublishedTool(
            id=id,
            owner=tool.owner or "",
            share=tool.share,
            text=text,
            updated_at=tool.updated_at or "",
            created_at=tool.created_at or "",
        )

    def _request(
        self,
        method: str,
        path: str,
        *,
        accept: str = "application/json",
        content: str | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        max_bytes: int = _MAX_TOOL_BYTES,
    ) -> HttpResponse:
        """The successful response to a request.

        Raises:
            ToolhaftError: the subclass for the status of the response.
        """
        if self._refusal:
            raise ForbiddenError(self._refusal)
        sent = {"Accept": f"{accept}, application/problem+json", **(headers or {})}
        if self._key:
            sent["Authorization"] = f"Bearer {self._key}"
        if content is not None:
            sent["Content-Type"] = YAML
        try:
            response = self._client.fetch(
                f"{self.url}{path}",
                method=method,
                headers=sent,
                query=query,
                content=None if content is None else content.encode(),
                timeout_s=self._timeout_s,
                max_bytes=max_bytes,
                max_redirects=0,  # the key must not go to another address
            )
        except HttpError as error:
            is_large = isinstance(error, HttpTooLargeError)
            hint = "" if is_large else "; is it running, and is the address right?"
            raise PlatformError(
                f"the platform {self.url} did not send a complete response: {error}{hint}"
            ) from error
        if response.is_ok:
            return response
        raise error_from_response(response, self.url, key=self._key)

    def _unexpected(self, problem: str) -> PlatformError:
        return PlatformError(
            f"the platform {self.url} sent an unexpected response: {problem}; "
            "is it a Toolhaft platform of this version?"
        )


def _condition(base: str | EllipsisType | None) -> dict[str, str]:
    """The HTTP condition under which a change is made."""
    if base is None:
        return {"If-None-Match": "*"}
    return {"If-Match": "*" if isinstance(base, EllipsisType) else f'"{base}"'}
