"""Masks secrets in an HTTP response: some services send back the keys that they received."""

from __future__ import annotations

from dataclasses import dataclass

from toolhaft.core.masking import VariableMask
from toolhaft.errors import HttpError
from toolhaft.resources.http.response import HttpResponse
from toolhaft.schema.json_value import JSONValue


@dataclass(frozen=True, slots=True, kw_only=True)
class _MaskedResponse(HttpResponse):
    mask: VariableMask
    original: HttpResponse

    def json(self) -> JSONValue:
        # parsed before it is masked: a secret of digits, masked in the raw text, would break a number
        try:
            return self.mask.value(self.original.json())
        except RecursionError as error:
            raise HttpError("the answer is nested too deeply to be looked through") from error


def mask_response(response: HttpResponse, mask: VariableMask | None) -> HttpResponse:
    """The response without the secrets; unchanged if there is no mask."""
    if mask is None:
        return response
    return _MaskedResponse(
        status=response.status,
        url=response.url,
        headers={name: mask.words(text) for name, text in response.headers.items()},
        body=mask.raw(response.body),
        mask=mask,
        original=response,
    )
