"""Messages for a provider's history, with what was lost and renamed on the way.

Does not know any wire.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toolhaft.formats.losses import Loss
from toolhaft.schema.json_value import JSONObject


class Encoded(list[JSONObject]):
    """The messages, in order: a list to extend a history with."""

    def __init__(
        self,
        messages: Iterable[JSONObject] = (),
        *,
        losses: tuple[Loss, ...] = (),
        ids: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(messages)
        self.losses = losses
        self.ids: Mapping[str, str] = ids or {}
        """Each changed call id on the wire, with what it was."""
