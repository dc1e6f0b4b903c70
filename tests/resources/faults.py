"""An operating system that fails, or ends the process, at a chosen call.

Knows the names of calls only, not what they are made for.
"""

import errno
import os

from toolhaft.resources.system import System

CHANGING = frozenset(
    {
        "fchmod",
        "fchown",
        "fsync",
        "ftruncate",
        "link",
        "mkdir",
        "pwrite",
        "rename",
        "rmdir",
        "unlink",
        "utime",
        "write",
    }
)
READING = frozenset(
    {"access", "flock", "fstat", "listdir", "open", "open_beneath", "pread", "scandir", "stat"}
)


class Faults(System):
    """Counts calls, and at the n-th dies, raises, or lets a test do what it likes."""

    DEAD = 66
    """How a child ends that died on purpose."""

    def __init__(
        self,
        *,
        die_at=None,
        fail_at=None,
        number=errno.EIO,
        forever=False,
        calls=CHANGING,
        before=None,
        has_links=True,
    ):
        super().__init__()
        self.die_at = die_at
        self.fail_at = fail_at
        self.number = number
        self.forever = forever
        self.calls = calls
        self.before = before
        self.has_links = has_links
        self.count = 0

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name in CHANGING or name in READING:
            return lambda *args, **options: self.meet(name, found, args, options)
        return found

    def meet(self, name, call, args, options):
        if self.before is not None:
            self.before(name, args)
        if name in self.calls or (name == "open" and len(args) > 1 and args[1] & os.O_CREAT):
            number, self.count = self.count, self.count + 1
            if number == self.die_at:
                os._exit(self.DEAD)
            if self.fail_at is not None and (
                number == self.fail_at or (self.forever and number > self.fail_at)
            ):
                raise OSError(self.number, os.strerror(self.number))
        if name == "link" and not self.has_links:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        return call(*args, **options)

    def heal(self):
        self.fail_at = None


def abandon(fork):
    """Let a fork's process die, as far as the disk can tell."""
    journal = fork._fork.journal  # noqa: SLF001 -- nobody else may do this
    if journal is not None:
        journal.release()


def names_in(folder):
    """The names in a directory."""
    return sorted(path.name for path in folder.iterdir())
