"""Makes objects of the providers' SDKs, which take seconds to import, only when a test needs one."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def sdk_class(path: str) -> Any:
    """A class by its path, such as `openai.types.chat:ChatCompletion`."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def validated(path: str, body: object) -> Any:
    """An object of a Pydantic model of an SDK."""
    return sdk_class(path).model_validate(body)
