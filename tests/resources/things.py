"""Classes that tests use as resources.

They tell what happens to them; they know nothing of registries.
"""


class Database:
    def __init__(self, log=None, name="database"):
        self.log = log if log is not None else []
        self.name = name

    def close(self):
        self.log.append(f"close {self.name}")


class Cache(Database):
    pass


class Queue(Database):
    pass


class Restored:
    """Put back by a snapshot."""

    def __init__(self):
        self.items = ["first"]

    def snapshot(self):
        return tuple(self.items)

    def restore(self, snapshot):
        self.items = list(snapshot)


class Forked:
    """Put back by dropping a fork; tells what happens to it."""

    def __init__(self, log, name, fail=()):
        self.log, self.name, self.fail = log, name, fail

    def fork(self, *, read_only=False):
        self.log.append(f"fork {self.name}{' read-only' if read_only else ''}")
        return type(self)(self.log, f"{self.name}'", self.fail)

    def tell(self, what):
        self.log.append(f"{what} {self.name}")
        if what in self.fail:
            raise RuntimeError(f"{what} {self.name} failed")

    def commit(self):
        self.tell("commit")

    def discard(self):
        self.tell("discard")


class OtherForked(Forked):
    pass


class ThirdForked(Forked):
    pass
