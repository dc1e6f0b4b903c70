"""What the routes of the catalog share: the admission of a request, and responses with documents."""

from __future__ import annotations

from typing import Final, cast

from starlette.requests import Request
from starlette.responses import Response

from toolhaft import schema
from toolhaft.catalog.published import PublishedTool
from toolhaft.serve.callers import Admission
from toolhaft.serve.documents import YAML, published_fields
from toolhaft.serve.query import read_query
from toolhaft.serve.responses import JSON

NO_STORE: Final = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


def admit(
    request: Request, scope: str | None, parameters: tuple[str, ...] = ()
) -> tuple[Admission, dict[str, str]]:
    """The admission of a request and its query, if its key has a scope; None for any key.

    Raises:
        HttpProblem: 403 if the key does not have the scope; 400 for other query parameters.
    """
    admission = cast("Admission", request.scope["toolhaft"])
    if scope is not None:
        admission.caller.require_scope(scope)
    return admission, read_query(request.scope["query_string"], parameters)


def json_response(value: object) -> Response:
    """A response with a JSON value."""
    return json_body_response(schema.to_json_text(value).encode())


def json_body_response(body: bytes, headers: dict[str, str] = NO_STORE) -> Response:
    """A response with a body that is JSON already."""
    return Response(body, headers={**headers, "content-type": JSON.decode()})


def document_response(published: PublishedTool, *, as_yaml: bool) -> Response:
    """A response with the document of a tool."""
    headers = {**NO_STORE, "etag": published.etag, "vary": "accept"}
    if as_yaml:
        return Response(published.text.encode(), headers={**headers, "content-type": YAML.decode()})
    return json_body_response(schema.to_json_text(published_fields(published)).encode(), headers)


def dry_run_response(would: str, published: PublishedTool, message: str) -> Response:
    """A response that says what a request would do."""
    return json_response(
        {"dry_run": True, "would": would, "message": message, "tool": published_fields(published)}
    )
