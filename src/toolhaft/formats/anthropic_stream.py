"""The events of one Messages stream put together to the blocks that the whole message would have.

Knows this wire's events alone.
"""

from __future__ import annotations

from toolhaft.core.call import ToolCall
from toolhaft.formats.blocks import BlockStream, Growing
from toolhaft.formats.writing import as_object
from toolhaft.schema.json_value import JSONObject, JSONValue


class Events(BlockStream):
    """The events of one message."""

    def feed(self, event: JSONObject) -> list[ToolCall]:
        """Take one event."""
        index = event.get("index")
        key = index if isinstance(index, int) else None
        match event.get("type"):
            case "content_block_start":
                return self._begin(key, event.get("content_block"))
            case "content_block_delta":
                delta = event.get("delta")
                if isinstance(delta, dict):
                    self._delta(key, delta)
            case "content_block_stop":
                return self.end_block(key)
            case "message_delta":
                delta = event.get("delta")
                reason = delta.get("stop_reason") if isinstance(delta, dict) else None
                return self.release(is_cut=self.blocks.is_cut(reason)) if reason else []
            case "message_stop":
                done = self.release()
                self.finish()
                return done
            case _:
                pass
        return []

    def _begin(self, key: object, block: JSONValue) -> list[ToolCall]:
        if not isinstance(block, dict):
            return []
        asked = self.blocks.asked(block)
        return self.begin_beside(key, dict(block)) if asked is None else self.begin_call(key, asked)

    def _delta(self, key: object, delta: JSONObject) -> None:
        growing = self.growing.get(key)
        if growing is None:
            self.add(key, delta.get("partial_json"))
            return
        match delta.get("type"):
            case "input_json_delta":
                growing.add("input", delta.get("partial_json"))
            case "citations_delta":
                growing.add("citations", delta.get("citation"))
            case _:
                for name, piece in delta.items():
                    if name != "type":
                        growing.add(name, piece)

    def assemble(self, growing: Growing) -> None:
        """Text and the like joined, citations listed, the input of a server's tool read."""
        for name, pieces in growing.pieces.items():
            if name == "citations":
                growing.block[name] = [*pieces]
            elif name == "input":
                growing.block[name] = as_object(growing.text(name)) or {}
            else:
                growing.block[name] = growing.text(name)
