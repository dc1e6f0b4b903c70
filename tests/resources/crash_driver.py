"""A process that starts children, lets them die in the middle of calls, and checks the files that they leave.

Run by `test_crashes.py` as a program of its own: it forks, which a test process with threads must not. Prints
how many deaths it saw, or fails with a traceback.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from tests.resources.faults import Faults
from toolhaft.errors import FileBusyError
from toolhaft.resources.host import HostFilesystem

START = {
    "kept.txt": b"kept",
    "src/a.txt": b"a0",
    "src/deep/b.txt": b"b0",
    "src/deep/c.txt": b"c0",
    "hollow": None,
    "again.txt": b"again",
}


def fill(root: Path, tree: dict[str, bytes | None]) -> None:
    for path, content in tree.items():
        if content is None:
            (root / path).mkdir(parents=True, exist_ok=True)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)


def tree_at(root: Path) -> dict[str, bytes | None]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }


def whole(tree: dict[str, bytes | None]) -> dict[str, bytes | None]:
    """With the directories that the files are in."""
    parents = {str(parent): None for path in tree for parent in Path(path).parents if str(parent) != "."}
    return {**parents, **tree}


def one_call(fs: HostFilesystem) -> None:
    """One of every change, some of them taken back by a call within the call."""
    fork = fs.fork()
    fork.write("src/a.txt", "a1")
    fork.write("src/a.txt", "+", mode="append")
    fork.write("new/deep/d.txt", "d1", mode="create")
    fork.delete("hollow")
    fork.mkdir("hollow")
    fork.delete("again.txt")
    fork.write("again.txt", "other")
    inner = fork.fork()
    inner.write("kept.txt", "inner")
    inner.write("lost/e.txt", "e1")
    inner.delete("src/a.txt")
    inner.discard()
    inner = fork.fork()
    inner.delete("src/deep", recursive=True)
    inner.write("src/deep", "a file now")
    inner.commit()
    fork.delete("new/deep/d.txt")
    fork.write("new/deep/d.txt", "d2")
    fork.mkdir("made/empty")
    fork.commit()


AFTER = whole(
    {
        "kept.txt": b"kept",
        "src/a.txt": b"a1+",
        "src/deep": b"a file now",
        "hollow": None,
        "again.txt": b"other",
        "new/deep/d.txt": b"d2",
        "made/empty": None,
    }
)


def die_in_child(work) -> bool:
    """True where a child that does the work died in the middle of it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    assert status in (0, Faults.DEAD << 8), f"a child failed with {status}"
    return status != 0


def at_every_call(root: Path, has_links: int, stride: int) -> int:
    """Die before each call to the system in turn: either all of the call is there, or nothing."""
    seen = []
    for number in range(has_links % stride, 10_000, stride):
        shutil.rmtree(root, ignore_errors=True)
        fill(root, START)
        system = Faults(die_at=number, has_links=has_links)
        died = die_in_child(lambda: one_call(HostFilesystem(root, system=system)))  # noqa: B023 -- run at once
        if number % 2:
            HostFilesystem.recover(root)
        else:
            HostFilesystem(root, durable=False).close()
        tree = tree_at(root)
        assert tree in (whole(START), AFTER), (number, tree)
        seen.append(tree == AFTER)
        if not died:
            break
    assert seen == sorted(seen), "once it is done it stays done"
    assert seen[-1]
    return len(seen) - 1


def in_recovery(root: Path, has_links: int, stride: int) -> int:
    """Die before each call of the recovery in turn, too: the next one ends it."""
    shutil.rmtree(root, ignore_errors=True)
    fill(root, START)
    system = Faults(has_links=has_links)
    one_call(HostFilesystem(root, system=system))
    last, deaths = system.count, 0
    for crash_at in range(last - 1, last // 3, -stride):
        for number in range(10_000):
            shutil.rmtree(root, ignore_errors=True)
            fill(root, START)
            system = Faults(die_at=crash_at, has_links=has_links)
            die_in_child(lambda: one_call(HostFilesystem(root, system=system)))  # noqa: B023 -- run at once
            died = die_in_child(lambda: HostFilesystem(root, system=Faults(die_at=number)))  # noqa: B023 -- run at once
            HostFilesystem.recover(root)
            assert tree_at(root) in (whole(START), AFTER), (crash_at, number)
            deaths += died
            if not died:
                break
    return deaths


class Plan:
    """What each call in a row does, from its number alone, so that two processes agree on it."""

    def __init__(self, seed: int, generation: int, tree: dict[str, bytes | None]) -> None:
        self.random = random.Random(f"{seed}/{generation}")  # noqa: S311 -- repeatable, not secret
        self.generation = generation
        self.tree = dict(tree)

    def path(self) -> str:
        return "/".join(self.random.choice("abcd") for _ in range(self.random.randint(1, 3)))

    def run(self, fs: HostFilesystem | None) -> dict[str, bytes | None]:
        """Do the call, on a filesystem or only in mind; says what is there then."""
        fork = fs.fork() if fs else None
        before = dict(self.tree)
        for number in range(self.random.randint(1, 5)):
            self.step(
                fork, f"generation {self.generation} change {number} ".encode() * self.random.choice([1, 300])
            )
        if self.random.random() < 0.2:
            if fork:
                fork.discard()
            return before
        if fork:
            fork.commit()
        return self.tree

    def step(self, fork: HostFilesystem | None, content: bytes) -> None:
        path, kind = self.path(), self.random.choice(["write", "write", "append", "delete", "mkdir"])
        parents = [str(parent) for parent in Path(path).parents if str(parent) != "."]
        if any(self.tree.get(parent) is not None for parent in parents):
            return
        there = path in self.tree
        if kind == "delete" and there:
            self.delete(fork, path)
        elif kind == "mkdir" and not there:
            self.tree.update(dict.fromkeys([*parents, path]))
            if fork:
                fork.mkdir(path)
        elif kind in ("write", "append") and self.tree.get(path, b"") is not None:
            self.tree.update(dict.fromkeys(parents))
            self.write(fork, path, content, kind)

    def delete(self, fork: HostFilesystem | None, path: str) -> None:
        self.tree = {
            other: kept
            for other, kept in self.tree.items()
            if other != path and not other.startswith(f"{path}/")
        }
        if fork:
            fork.delete(path, recursive=True)

    def write(self, fork: HostFilesystem | None, path: str, content: bytes, kind: str) -> None:
        old = self.tree.get(path, b"")
        adds = kind == "append" and len(old) < 50_000
        self.tree[path] = old + content if adds else content
        if fork:
            fork.write(path, content, mode="append" if adds else "overwrite")


def child(root: Path, seed: int, generation: int, tree: dict[str, bytes | None], pipe: int) -> None:
    """Calls without end, each told when it is done."""
    fs = HostFilesystem(root, durable=seed % 2 == 0)
    os.write(pipe, b"!")
    while True:
        tree = Plan(seed, generation, tree).run(fs)
        generation += 1
        os.write(pipe, b".")


def killed(root: Path, seed: int, kills: int) -> int:
    """Kill a child at random: what it told to be done is there, all of it, and at most the next one besides."""
    chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
    generation, tree = 0, {}
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for kill in range(kills):
        told, pipe = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                child(root, seed, generation, tree, pipe)
            finally:
                os._exit(1)
        os.close(pipe)
        done = 0
        for _ in range(chance.choice([0, 1, 2, 5]) if kill % 5 else 0):  # else it may die while it starts
            done += os.read(told, 1) == b"."
        time.sleep(chance.random() * 0.003)
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert status == signal.SIGKILL, f"the child failed with {status} by itself"
        while said := os.read(told, 4096):
            done += said.count(b".")
        os.close(told)
        HostFilesystem.recover(root)
        for _ in range(done):
            tree = Plan(seed, generation, tree).run(None)
            generation += 1
        found = tree_at(root)
        if found != whole(tree):
            tree = Plan(seed, generation, tree).run(None)
            generation += 1
        assert found == whole(tree), f"kill {kill}, seed {seed}: a mix at generation {generation}"
    return generation


def share(root: Path, who: str, pipe: int) -> None:
    """Calls without end that change one file of all and one of one's own."""
    fs = HostFilesystem(root, durable=False)
    for turn in range(1_000_000):
        token = f"{who}-{turn}"
        fork = fs.fork()
        try:
            fork.write("shared.txt", f"{token}\n", mode="append")
            fork.write(f"own/{who}/last.txt", token)
            fork.commit()
        except FileBusyError:
            fork.discard()
        else:
            os.write(pipe, f"{token}\n".encode())


def together(root: Path, seed: int, rounds: int) -> int:
    """Kill several that work on one root: no change is lost, and none of them has half of one."""
    chance = random.Random(seed)  # noqa: S311 -- repeatable, not secret
    shutil.rmtree(root, ignore_errors=True)
    fill(root, {"shared.txt": b"", "own": None})
    told, pipe = os.pipe()
    for number in range(rounds):
        pids = {}
        for member in range(3):
            pid = os.fork()
            if pid == 0:
                try:
                    share(root, f"{number}.{member}", pipe)
                finally:
                    os._exit(1)
            pids[pid] = f"{number}.{member}"
        time.sleep(0.02 + chance.random() * 0.05)
        for pid in chance.sample(list(pids), len(pids)):
            os.kill(pid, signal.SIGKILL)
            time.sleep(chance.random() * 0.005)  # the others go on, and clean up after it
            assert os.waitpid(pid, 0)[1] == signal.SIGKILL, "a child failed by itself"
        HostFilesystem.recover(root)
    os.close(pipe)
    acknowledged = b"".join(iter(lambda: os.read(told, 1 << 20), b"")).decode().split()
    kept = (root / "shared.txt").read_text().split()
    assert len(kept) == len(set(kept)), "no change was made twice"
    assert set(acknowledged) <= set(kept), "what was told to be done is done"
    assert len(kept) - len(acknowledged) <= 3 * rounds
    last = {token.partition("-")[0]: token for token in kept}
    assert tree_at(root) == whole(
        {"shared.txt": "".join(f"{token}\n" for token in kept).encode(), "own": None}
        | {f"own/{who}/last.txt": token.encode() for who, token in last.items()}
    )
    return len(kept)


def main(task: str, folder: str, *numbers: str) -> None:
    root = Path(folder) / "root"
    tasks = {"points": at_every_call, "recovery": in_recovery, "killed": killed, "together": together}
    print(json.dumps(tasks[task](root, *map(int, numbers))))  # noqa: T201 -- what the test reads


if __name__ == "__main__":
    main(*sys.argv[1:])
