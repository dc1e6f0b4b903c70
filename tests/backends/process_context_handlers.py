"""Handlers that use their context from a worker process."""

import threading
from dataclasses import dataclass

from toolhaft.core.ports import Filesystem
from toolhaft.errors import CallEndedError, FileMissingError


@dataclass(frozen=True)
class Note:
    text: str


@dataclass(frozen=True)
class Settings:
    """A resource that is data."""

    limit: int = 3


class Connection:
    """A resource that is none."""

    def __init__(self):
        self.lock = threading.Lock()


class Store:
    """A resource that is put back when a call fails."""

    def snapshot(self):
        return None

    def restore(self, snapshot):
        pass


def use_session(context):
    notes = context.session[Note]
    notes.append(Note("b"))
    context.session.dispatch(Note("c"))
    context.session.dispatcher.dispatch(Note("d"))
    seen = [note.text for note in notes]
    late = notes.where(lambda note: note.text > "b")
    notes.clear(lambda note: note.text == "c")
    kept = notes.all()
    notes.seed(Note(text) for text in ("x", "y"))
    latest, count = notes.latest(), len(notes)
    notes.clear()
    return seen, late, kept, latest, count, notes.latest()


def use_files(context):
    files = context.filesystem
    assert files is context.resources.get(Filesystem)
    files.write("notes/a.txt", "hello")
    try:
        files.read("missing.txt")
    except FileMissingError as error:
        told = str(error)
    return files.read("notes/a.txt").content, files.exists("b"), files.read_only, told, repr(files)


def use_resource(context, kind):
    return context.resources.get(kind)


def fork_files(context):
    return context.filesystem.fork()


def subscribe(context):
    context.session.dispatcher.subscribe(Note, lambda note: note)


def peek(context):
    return hasattr(context.session, "__deepcopy__"), hasattr(context.session, "_private")


def use_copies(context):
    return (
        context.prompt,
        context.rendered_prompt,
        context.adapter,
        context.principal.id,
        context.call.arguments,
        None if context.deadline is None else context.deadline.remaining(),
    )


def use_budget(context):
    if context.budget_tracker is None:
        return None
    context.budget_tracker.add(tokens=5)
    context.budget_tracker.check()
    return context.budget_tracker.tokens, context.budget_tracker.budget.max_tokens


def beat_and_report(context):
    context.beat()
    context.progress(1, 2, "half")
    context.progress(2, 2)
    return "done"


def speak_from_threads(context):
    threads = [threading.Thread(target=context.session[Note].append, args=(Note(str(n)),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(context.session[Note])


KEPT = []


def keep(context):
    KEPT.append(context)


def use_kept():
    try:
        KEPT[0].session[Note].append(Note("too late"))
    except CallEndedError as error:
        return str(error)
    return "it was written"
