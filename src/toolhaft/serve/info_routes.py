"""`/v3/me`, `/v3/check`, `/v3/tools/{id}/schema` and `/openapi.json`: routes that only tell something."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from toolhaft.define.yaml import lint_text, parse_tool
from toolhaft.errors import DefinitionError
from toolhaft.formats import export_tools
from toolhaft.formats.registry import FORMATS
from toolhaft.schema.nearest import nearest
from toolhaft.serve.callers import READ
from toolhaft.serve.catalog_routes import CatalogRoutes, check_size
from toolhaft.serve.changes import ChangeQueue
from toolhaft.serve.documents import decode_body, is_yaml, read_json_fields, unreadable_tool
from toolhaft.serve.openapi import OpenApiDocuments
from toolhaft.serve.query import wrong_value
from toolhaft.serve.responses import HttpProblem, ProblemEntry, document_problems
from toolhaft.serve.storage_threads import WorkerThreads
from toolhaft.serve.tool_cache import ToolCache
from toolhaft.serve.tool_responses import admit, json_body_response, json_response


class InfoRoutes:
    """The handlers of the routes."""

    def __init__(
        self,
        tool_cache: ToolCache,
        catalog: CatalogRoutes,
        changes: ChangeQueue,
        read_threads: WorkerThreads,
        *,
        url: str,
    ) -> None:
        self._tool_cache = tool_cache
        self._catalog = catalog
        self._changes = changes
        self._read_threads = read_threads
        self._documents = OpenApiDocuments(tool_cache, url)

    async def tell_caller(self, request: Request) -> Response:
        """Who the key belongs to, and what it may do; any key may ask."""
        admission, _ = admit(request, None)
        caller = admission.caller
        viewer, expires_at = caller.viewer, caller.expires_at
        return json_response(
            {
                "user": viewer.owner or None,
                "org": viewer.org or None,
                "scopes": sorted(viewer.scopes) or (["operator"] if viewer.is_operator else []),
                "is_operator": viewer.is_operator,
                "key": caller.key_prefix,
                "expires_at": None
                if expires_at is None
                else datetime.fromtimestamp(expires_at, UTC).isoformat().replace("+00:00", "Z"),
            }
        )

    async def check_document(self, request: Request) -> Response:
        """Every problem of a document, without publishing it."""
        admission, _ = admit(request, READ)
        body, media_type = await self._catalog.read_document(request, admission)
        async with self._changes.turn(admission.caller.key_id):
            checked = await self._changes.run(_check, decode_body(body), is_json=not is_yaml(media_type))
        return json_response(checked)

    async def export_tool(self, request: Request) -> Response:
        """A tool in a provider's format, with everything that the format loses."""
        admission, query = admit(request, READ, ("format",))
        name = query.get("format")
        if name is None or name not in FORMATS:
            raise _wrong_format(name)
        published = await self._tool_cache.find_visible(
            request.path_params["id"], admission.revision, admission.caller.viewer
        )

        def export() -> dict[str, object]:
            try:
                made = export_tools([self._tool_cache.tool_to_describe(published)], name)
            except DefinitionError as error:
                raise unreadable_tool(published, error) from error
            return {
                "format": made.format,
                "payload": made.payload,
                "losses": [loss._asdict() for loss in made.losses],
                "refused": [refusal._asdict() for refusal in made.refused],
                "names": dict(made.names),
            }

        return json_response(await self._read_threads.run(export))

    async def describe(self, request: Request) -> Response:
        """The OpenAPI document for this caller."""
        admission, _ = admit(request, READ)
        body = await self._read_threads.run(self._documents.read, admission.caller, admission.revision)
        return json_body_response(body)


def _wrong_format(name: str | None) -> HttpProblem:
    names = ", ".join(FORMATS)
    if name is None:
        what, fix = "the parameter format is missing", f"add ?format= with one of {names}"
        entry = ProblemEntry(problem=what, where="query", path="format", expected=f"one of {names}", fix=fix)
        return HttpProblem(400, what, fix=fix, problems=[entry])
    close = nearest(name, FORMATS)
    return wrong_value("format", name, f"one of {names}", hint=f"did you mean {close}? " if close else "")


def _check(text: str, *, is_json: bool) -> dict[str, object]:
    """What lint reports for a document, with the id of its tool if it can be published.

    Raises:
        HttpProblem: 400 if it is not JSON although its type says so.
    """
    if is_json:
        read_json_fields(text)
    entries = [
        ProblemEntry(problem=one.problem, where="document", line=one.line, fix=one.fix, level=one.level)
        for one in lint_text(text)
    ]
    id: str | None = None
    if all(entry.level == "warning" for entry in entries):
        tool = parse_tool(text)
        id = tool.name
        try:
            check_size(tool)
        except DefinitionError as error:
            entries += document_problems(error)
    is_valid = all(entry.level == "warning" for entry in entries)
    return {"valid": is_valid, "id": id, "problems": [entry.to_json() for entry in entries]}
