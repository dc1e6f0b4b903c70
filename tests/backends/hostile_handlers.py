"""Handlers of a worker that somebody else controls: they send what a well-behaved handler never sends."""

import json
import os
import pickle
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from toolhaft.backends.process_channel import RAISED, RESULT, UNUSABLE, Channel
from toolhaft.errors import ToolExecutionError, ToolValidationError


class Mark:
    """Unpickling it leaves a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (Path(self.path),))


class MarkError(Exception):
    def __init__(self, path):
        super().__init__("marked")
        self.path = path

    def __reduce__(self):
        return (Path.touch, (Path(self.path),))


class MarkedValidationError(ToolValidationError):
    def __reduce__(self):
        return (Path.touch, (Path(self.args[0]),))


class MarkedText(str):
    __slots__ = ()

    def __reduce__(self):
        return (Path.touch, (Path(str(self)),))


class MarkedDict(dict):
    def __reduce__(self):
        return (Path.touch, (Path(self["path"]),))


@dataclass
class Marked:
    path: object

    def __reduce__(self):
        return (Path.touch, (Path(str(self.path)),))

    def __setstate__(self, state):
        Path(str(self.path)).touch()


def give_mark(path, how, context=None):  # noqa: C901, PLR0912 -- one case per way out
    mark = Mark(path)
    match how:
        case "plain":
            return mark
        case "nested":
            return {"a": [1, (mark,)]}
        case "key":
            return {mark: 1}
        case "in a dataclass":
            return Marked(mark)
        case "dataclass":
            return Marked(path)
        case "text":
            return MarkedText(path)
        case "dictionary":
            return MarkedDict(path=path)
        case "raised":
            raise MarkError(path)
        case "raised with it":
            raise ValueError(mark)
        case "validation":
            raise MarkedValidationError(path)
        case "attribute":
            error = ToolExecutionError("attribute")
            error.detail = mark
            raise error
        case "noted":
            error = ValueError("noted")
            error.__notes__ = [mark]
            raise error
        case "session":
            context.session.dispatch(mark)
        case "file":
            context.filesystem.write(mark, "x")
        case "progress":
            context.progress(mark, mark, mark)
        case "frame":
            send_raw(RESULT, pickle.dumps(mark))
        case "error frame":
            send_raw(RAISED, pickle.dumps(MarkError(path)))
        case "last frame":
            send_raw(RESULT, pickle.dumps((pickle.dumps(mark), "text", "")))
    return None


def yield_mark(path):
    yield Mark(path)


def send_raw(kind, payload):
    """Write a message on the connection to the host, which any code in a worker can find."""
    line = next(fd for fd in range(3, 100) if is_socket(fd))
    Channel(socket.socket(fileno=os.dup(line))).send(kind | UNUSABLE, payload)
    time.sleep(600)  # it must not send its own outcome as well: the host kills it


def is_socket(fd):
    try:
        return "socket" in str(Path(f"/proc/self/fd/{fd}").readlink())
    except OSError:
        return False


def send_text(text, tail=b""):
    """Send a result of this JSON text."""
    send_raw(RESULT, len(text).to_bytes(8) + text.encode() + tail)


def send_object(name, state):
    send_text(json.dumps({"$": ["object", name, state]}))


def answer_twice(values):
    """Send several results at once."""
    parts = [len(text).to_bytes(8) + text.encode() for text in values]
    line = next(fd for fd in range(3, 100) if is_socket(fd))
    os.write(line, b"".join(bytes([RESULT]) + len(part).to_bytes(8) + part for part in parts))
    time.sleep(600)


def send_length(length):
    line = next(fd for fd in range(3, 100) if is_socket(fd))
    os.write(line, bytes([RESULT]) + length.to_bytes(8))
    sys.stdin.read()


def ask(path, args, kwargs, context):
    """Ask the host for an operation, whatever the context offers."""
    return repr(context.session._link.request(path, *args, **kwargs))  # noqa: SLF001 -- what an attacker does
