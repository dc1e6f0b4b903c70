"""Starts the process that keeps a worker: an empty environment, no inherited handles, a session of its own.

Does not know what is said to it afterwards.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Final

_CODE: Final = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from toolhaft.backends.process_keeper import main; main(int(sys.argv[2]), int(sys.argv[3]))"
)
_ROOT: Final = str(Path(__file__).absolute().parents[2])
_LOADER_PATHS: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Without these some interpreters do not start; the keeper forgets them before the first worker is made."""


def start_keeper(memory_bytes: int | None) -> tuple[Popen[bytes], socket.socket]:
    """A process that keeps a worker, and the line to it.

    Raises:
        OSError: where none can be started.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        raise OSError("there is no Python interpreter to start")
    output = _error_output()
    ours, theirs = (_above_standard(end) for end in socket.socketpair())
    with theirs:
        command = [
            sys.executable,
            *_flags(),
            "-c",
            _CODE,
            _ROOT,
            str(theirs.fileno()),
            str(memory_bytes or 0),
        ]
        try:
            keeper = Popen(  # noqa: S603 -- our own interpreter with our own code
                command,
                stdin=DEVNULL,
                stdout=output,  # prints belong to the log: the host may speak a protocol on its own output
                stderr=output,
                close_fds=True,
                pass_fds=(theirs.fileno(),),
                env={name: os.environ[name] for name in _LOADER_PATHS if name in os.environ},
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    return keeper, ours


def _error_output() -> int:
    try:
        os.fstat(2)
    except OSError:  # closed
        return DEVNULL
    return 2


def _above_standard(end: socket.socket, lowest: int = 3) -> socket.socket:
    """The same socket, under a number that no standard file has, should the host have closed one."""
    if end.fileno() >= lowest:
        return end
    with end:
        return socket.socket(fileno=fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, lowest))


def _flags() -> list[str]:
    """What makes the interpreter like the host's."""
    own = sys.flags
    given = ["-u", "-P"]  # prints do not die in a buffer, and the current directory is not imported from
    given += ["-B"] if sys.dont_write_bytecode else []
    given += ["-O"] * own.optimize
    given += [f"-X{name}" for name, on in (("dev", own.dev_mode), ("utf8", own.utf8_mode)) if on]
    given += [f"-Xpycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
    switches = {"-I": own.isolated, "-E": own.ignore_environment, "-s": own.no_user_site, "-S": own.no_site}
    given += [switch for switch, on in switches.items() if on]
    return given + [f"-W{option}" for option in sys.warnoptions]
