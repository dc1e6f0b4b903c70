"""Random histories of writes, forks, commits, discards and crashes: both kinds agree with a plain dictionary."""

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.resources.faults import abandon, names_in
from tests.resources.kit import tree_of
from toolhaft.errors import FileKindError, FileMissingError, FilesystemError, FileTakenError
from toolhaft.resources import HostFilesystem, MemoryFilesystem

IN_MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108, PTH112 -- a fresh directory below it

names = st.sampled_from(["a", "b", "c"])
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
contents = st.sampled_from([b"", b"one", b"two", b"three"])


class Model:
    """Files by path, directories as None."""

    def __init__(self):
        self.levels = [{}]

    @property
    def tree(self):
        return self.levels[-1]

    def parents(self, path):
        parts = path.split("/")
        return ["/".join(parts[:end]) for end in range(1, len(parts))]

    def check_way(self, path):
        if any(self.tree.get(parent) is not None for parent in self.parents(path)):
            raise FileKindError

    def write(self, path, content, mode):
        self.check_way(path)
        if path in self.tree and self.tree[path] is None:
            raise FileKindError
        if path in self.tree and mode == "create":
            raise FileTakenError
        old = self.tree.get(path) or b"" if mode == "append" else b""
        self.tree.update(dict.fromkeys(self.parents(path)))
        self.tree[path] = old + content

    def mkdir(self, path):
        self.check_way(path)
        if self.tree.get(path) is not None:
            raise FileKindError
        self.tree.update(dict.fromkeys([*self.parents(path), path]))

    def delete(self, path, *, recursive):
        if path not in self.tree:
            raise FileMissingError
        below = [other for other in self.tree if other.startswith(f"{path}/")]
        if below and not recursive:
            raise FilesystemError
        for gone in [path, *below]:
            del self.tree[gone]

    def fork(self):
        self.levels.append(dict(self.tree))

    def commit(self):
        top = self.levels.pop()
        self.levels[-1] = top

    def discard(self):
        self.levels.pop()


def outcome(act, *args, **options):
    try:
        act(*args, **options)
    except FilesystemError as error:
        return type(error)
    return None


class FilesystemMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self):
        self.folder = tempfile.mkdtemp(dir=IN_MEMORY)
        self.model = Model()
        self.views = [(MemoryFilesystem(), HostFilesystem(self.folder, durable=False))]

    def do(self, name, *args, **options):
        expected = outcome(getattr(self.model, name), *args, **options)
        got = {outcome(getattr(view, name), *args, **options) for view in self.views[-1]}
        assert got == {expected}
        self.compare()

    def compare(self):
        for view in self.views[-1]:
            assert tree_of(view) == self.model.tree

    @rule(path=paths, content=contents, mode=st.sampled_from(["overwrite", "append", "create"]))
    def write(self, path, content, mode):
        expected = outcome(self.model.write, path, content, mode)
        assert {outcome(view.write, path, content, mode=mode) for view in self.views[-1]} == {expected}
        self.compare()

    @rule(path=paths)
    def mkdir(self, path):
        self.do("mkdir", path)

    @rule(path=paths, recursive=st.booleans())
    def delete(self, path, recursive):
        self.do("delete", path, recursive=recursive)

    @precondition(lambda self: len(self.views) < 4)
    @rule()
    def fork(self):
        self.model.fork()
        self.views.append(tuple(view.fork() for view in self.views[-1]))

    @precondition(lambda self: len(self.views) > 1)
    @rule(end=st.sampled_from(["commit", "discard"]))
    def end(self, end):
        getattr(self.model, end)()
        for view in self.views.pop():
            getattr(view, end)()
        self.compare()

    @precondition(lambda self: len(self.views) > 1)
    @rule()
    def crash(self):
        """All that was open is gone; a new start puts the host's files back."""
        del self.model.levels[1:]
        memory, host = self.views[0]
        _, fork = self.views[1]
        abandon(fork)
        host.close()
        self.views = [(memory, HostFilesystem(self.folder, durable=False))]
        self.compare()

    def teardown(self):
        if hasattr(self, "folder"):
            while len(self.views) > 1:
                self.end("discard")
            left = names_in(Path(self.folder))
            shutil.rmtree(self.folder)
            assert ".toolhaft" not in left


TestFilesystemMachine = FilesystemMachine.TestCase
TestFilesystemMachine.settings = settings(
    max_examples=5000 if os.environ.get("TOOLHAFT_LONG") else 15, stateful_step_count=30, deadline=None
)
