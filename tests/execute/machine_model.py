"""What a plan does to plain lists and dictionaries: the model that the executor is held against."""

import copy
from dataclasses import dataclass, field

WRITES = ("note", "item", "add", "clear", "write", "delete", "mkdir")


class Files:
    """Contents by path, None for a directory."""

    def __init__(self):
        self.tree = {}

    def do(self, verb, path, *rest):
        """What an operation gives back, or the name of the error that it raises."""
        parts = path.split("/")
        above = ["/".join(parts[:end]) for end in range(1, len(parts))]
        if verb == "read":
            return self._read(path)
        if verb == "delete":
            return self._delete(path, *rest)
        if any(self.tree.get(parent) is not None for parent in above):
            return "FileKindError"
        there = self.tree.get(path)
        if verb == "mkdir":
            if there is not None:
                return "FileKindError"
            self.tree.update(dict.fromkeys([*above, path]))
            return "done"
        return self._write(path, above, *rest)

    def _write(self, path, above, content, mode):
        there = self.tree.get(path)
        if path in self.tree and there is None:
            return "FileKindError"
        if path in self.tree and mode == "create":
            return "FileTakenError"
        self.tree.update(dict.fromkeys(above))
        self.tree[path] = (there or b"" if mode == "append" else b"") + content.encode()
        return len(content)

    def _read(self, path):
        if path not in self.tree:
            return "FileMissingError"
        content = self.tree[path]
        return "FileKindError" if content is None else content.decode()

    def _delete(self, path, recursive):
        if path not in self.tree:
            return "FileMissingError"
        below = [other for other in self.tree if other.startswith(f"{path}/")]
        if below and not recursive:
            return "FilesystemError"
        for gone in (path, *below):
            del self.tree[gone]
        return "done"


@dataclass
class State:
    """All that calls change, and the log that no rollback touches."""

    notes: list = field(default_factory=list)
    items: dict = field(default_factory=dict)
    total: int = 0
    memory: Files = field(default_factory=Files)
    host: Files = field(default_factory=Files)
    marks: list = field(default_factory=list)

    def fork(self):
        forked = copy.deepcopy(self)
        forked.marks = self.marks  # a log is shared by all
        return forked

    def take(self, forked):
        self.__dict__.update(forked.__dict__)

    def told(self):
        """In a form that does not depend on which of two calls side by side was faster."""
        return {
            "notes": by_owner(self.notes),
            "items": self.items,
            "total": self.total,
            "marks": by_owner(self.marks),
            "memory": self.memory.tree,
            "host": self.host.tree,
        }


class Model:
    """Runs plans on a state as the documents say that the executor must."""

    def __init__(self):
        self.state = State()
        self.tries = {}

    def run(self, name, plan, state=None, *, read_only=False):
        """The kind of the outcome and what the handler saw; the state is changed on success only."""
        state = state or self.state
        effect = name.rpartition("_")[2]
        is_repeated = plan["ending"] in ("raise", "flaky", "hang") and not is_irreversible(name, plan)
        kind, seen = self._try(plan, state, read_only or effect == "read")
        if kind != "ok" and is_repeated:  # the executor's RetryPolicy: twice at most, where the effect allows
            kind, seen = self._try(plan, state, read_only or effect == "read")
        return kind, seen

    def _try(self, plan, state, read_only):
        work = state.fork()
        seen = [self._do(op, plan["ns"], work, read_only) for op in plan["ops"]]
        kind = self._ending(plan)
        if kind != "ok":
            return kind, None
        state.take(work)
        return kind, seen

    def _ending(self, plan):
        match plan["ending"]:
            case "raise" | "base" | "error":
                return "failed"
            case "wrong":
                return "invalid_output"
            case "hang":
                return "timeout"
            case "flaky":
                tries = self.tries.setdefault(plan["id"], 0)
                self.tries[plan["id"]] += 1
                return "ok" if tries else "failed"
        return "ok"

    def _do(self, op, ns, work, read_only):
        if op[0] == "nest":
            return [list(self.run(name, plan, work, read_only=read_only)) for name, plan in op[2]]
        if read_only and op[0] in WRITES:
            return "ReadOnlyError"
        if len(op) > 2 and op[0] != "item":
            verb, where, name, *rest = op
            return getattr(work, where).do(verb, f"{ns}/{name}" if name else ns, *rest)
        return self._change_session(op, ns, work)

    def _change_session(self, op, ns, work):
        match op:
            case ["note", text]:
                work.notes.append((ns, text))
            case ["item", key, count]:
                work.items[f"{ns}:{key}"] = count
            case ["add", count]:
                work.total += count
            case ["clear"]:
                kept = [note for note in work.notes if note[0] != ns]
                removed, work.notes = len(work.notes) - len(kept), kept
                return f"cleared {removed}"
            case ["mark", text]:
                work.marks.append((ns, text))
            case ["notes"]:
                return [text for owner, text in work.notes if owner == ns]
        return "done"


def is_irreversible(name, plan):
    """True for a call that is irreversible itself, or makes such a call."""
    inner = [call for op in plan["ops"] if op[0] == "nest" for call in op[2]]
    return name.endswith("_irreversible") or any(is_irreversible(*call) for call in inner)


def by_owner(pairs):
    """The texts of each namespace, in their order: between two that run side by side no order is promised."""
    grouped = {}
    for owner, text in pairs:
        grouped.setdefault(owner, []).append(text)
    return grouped
