"""Marks an argument that no event, error or log may show.

Does not know who masks it.
"""

from typing import cast

from pydantic import GetJsonSchemaHandler
from pydantic_core.core_schema import CoreSchema

from toolhaft.schema.json_value import JSONObject


class Secret:
    """`token: Annotated[str, Secret]`: the value reaches the handler and nothing else.

    In a raw JSON Schema the same is said with `"writeOnly": true`. What a handler itself puts into its value
    is not looked at, and a secret of one or two characters cannot be told from other text in a message.
    """

    __slots__ = ()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JSONObject:
        return {**cast("JSONObject", handler(schema)), "writeOnly": True}


def is_secret(item: object) -> bool:
    """True for the mark itself, with or without its brackets."""
    return item is Secret or isinstance(item, Secret)
