"""State that a call can change as a whole or not at all, tools that change it, and how it was before."""

from dataclasses import dataclass

from toolhaft import Session, ToolContext, ToolExecutor, tool
from toolhaft.resources import Filesystem, MemoryFilesystem

BEFORE = (["before"], [], {"kept.txt": "before"})
AFTER = (["before", "inside"], ["inside"], {"kept.txt": "inside", "new/file.txt": "inside"})


@dataclass(frozen=True)
class Note:
    text: str


@dataclass(frozen=True)
class Said:
    text: str


def world(*tools, **options):
    """An executor whose state is as BEFORE."""
    session = Session()
    session[Note].append(Note("before"))
    resources = {Filesystem: MemoryFilesystem({"kept.txt": "before"})}
    return ToolExecutor(tools, session=session, resources=resources, **options)


def scribble(context, text="inside"):
    """Change everything that a call can change."""
    context.session[Note].append(Note(text))
    context.session.dispatch(Said(text))
    context.filesystem.write("kept.txt", text)
    context.filesystem.write("new/file.txt", text)


def state_of(executor):
    """What anybody outside of a call sees."""
    files = executor.resources.get(Filesystem)
    found = [entry.path for entry in files.list(recursive=True) if entry.kind == "file"]
    return (
        [note.text for note in executor.session[Note].all()],
        [said.text for said in executor.session[Said].all()],
        {path: files.read(path).content for path in found},
    )


def assert_untouched(executor):
    """All failure paths restore session and resource state before returning."""
    assert state_of(executor) == BEFORE


@tool(effect="reversible")
def write(text: str, context: ToolContext) -> str:
    """Write."""
    scribble(context, text)
    return text


def raising(error, *, is_async=False, isolation=None, effect="irreversible"):
    """A tool called `act` that changes everything, and raises."""

    def act(context: ToolContext) -> str:
        scribble(context)
        raise error

    async def aact(context: ToolContext) -> str:
        act(context)

    options = {} if is_async else {"isolation": isolation}
    return tool(aact if is_async else act, name="act", description="Act.", effect=effect, **options)
