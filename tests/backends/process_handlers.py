"""Handlers that the tests of the process backend send to workers; a worker finds them here by name."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from toolhaft import tool


@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0


class StrangeError(Exception):
    """Cannot be made of its own arguments."""

    def __init__(self, code, *, detail):
        super().__init__(f"code {code}: {detail}")


class ShiftingError(Exception):
    """Can be made of its own arguments, and is another one then."""

    def __init__(self, code):
        super().__init__(f"code {code}")


class SilentError(Exception):
    def __str__(self):
        raise ValueError("no words")


class Counter:
    """A callable object with state that travels."""

    def __init__(self, start):
        self.start = start

    def __call__(self, step):
        return self.start + step

    def count(self, step):
        return self.start + step


class Rooted:
    """A callable object that does not travel."""

    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self):
        return 1


class Unreadable:
    """Can be pickled, but not read back."""

    def __reduce__(self):
        return (int, ("no number",))


def add(a, b):
    return a + b


def echo(*args, **kwargs):
    return args, kwargs


def shift(point, by):
    return Point(point.x + by, point.y)


@tool
def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


def give(what):
    return {
        "lambda": lambda: 1,
        "lock": threading.Lock(),
        "unreadable": Unreadable(),
    }[what]


def give_bytes(count):
    return b"x" * count


def raise_error(what):
    if what == "value":
        raise ValueError("no such value", 7)
    if what == "strange":
        raise StrangeError(3, detail="x")
    if what == "shifting":
        raise ShiftingError(3)
    if what == "silent":
        raise SilentError
    if what == "local":
        raise type("LocalError", (Exception,), {})("made on the spot")
    if what == "exit":
        sys.exit(3)
    raise KeyboardInterrupt


def sleep(seconds):
    time.sleep(seconds)
    return "woke up"


def spin():
    while True:
        pass


def hold_the_gil():
    return re.match(r"(a+)+$", "a" * 60 + "b")


def ignore_the_asking():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(600)


def hog(count):
    return len(bytearray(count))


def die(how):
    if how == "exit":
        os._exit(3)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "close":
        os.closerange(3, 100)
        time.sleep(600)
    os.kill(os.getpid(), how)


def pid():
    return os.getpid()


def surroundings():
    links = {int(link.name): link for link in Path("/proc/self/fd").iterdir()}
    handles = {fd: str(link.readlink()) for fd, link in links.items() if link.is_symlink()}
    child = subprocess.run(["/usr/bin/env"], capture_output=True, text=True, check=True)
    return dict(os.environ), child.stdout, handles, Path.cwd().as_posix(), sys.stdin.read()


def set_variable():
    os.environ["LEFT_BEHIND"] = "1"
    os.chdir("/")


def speak(words):
    print(words)  # noqa: T201 -- under test
    sys.stderr.write(f"{words} too\n")
    os.write(1, f"{words} raw\n".encode())
    return len(words)


def start_child(context, then="wait"):
    """Have a child and a grandchild."""
    code = "import subprocess, sys, time; c = subprocess.Popen(['sleep', '600']); print(c.pid, flush=True); time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    context.session.running(child.pid, int(child.stdout.readline()))
    if then == "wait":
        child.wait()
    return "done"


def start_daemon(context, then="wait"):
    """Have a process that has left its parents, its group and its session."""
    reader, writer = os.pipe()
    if not os.fork():
        os.setsid()
        if not os.fork():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.write(writer, b"%d\n" % os.getpid())
            os.close(writer)
            time.sleep(600)
        os._exit(0)
    os.close(writer)
    os.wait()
    with open(reader) as told:  # noqa: PTH123 -- a pipe
        context.session.running(int(told.readline()))
    if then == "wait":
        time.sleep(600)
    return "done"


def start_dead_child():
    """Leave a child behind that has ended, unburied."""
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    return os.getpid()


def start_thread():
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    return os.getpid()


def fork_and_return():
    """Both the original and its fork come back."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
    return "one answer"


def fork_and_speak(context):
    """A fork has no line to the host."""
    child = os.fork()
    if not child:
        try:
            context.session.latest()
        except Exception as error:  # noqa: BLE001 -- whatever it is
            os._exit(7 if "file descriptor" in str(error) else 1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def count_without_end():
    while True:
        yield 1


def count_to(number):
    yield from range(number)


def wait_for_word(context):
    """Say that it runs, then hang."""
    context.session.running(os.getpid())
    time.sleep(600)


def take_latest(context, kind):
    return len(context.session[kind].latest().text)
