"""Resources that cannot keep their changes, or cannot take them back: told as what they are."""

from tests.execute.calls import both_ways, call, kind_of
from tests.execute.state_kit import BEFORE, Note, scribble, state_of
from toolhaft import Session, ToolContext, ToolExecutor, tool
from toolhaft.resources import Filesystem, MemoryFilesystem


@both_ways
def test_a_write_that_cannot_be_kept_fails_the_call_and_leaves_nothing(run):
    """Threats, *rollback*: session and resources are kept together or not at all."""

    class Stubborn:
        """A resource that cannot keep its changes."""

        def fork(self, *, read_only=False):
            return Stubborn()

        def commit(self):
            raise OSError(28, "No space left on device")

        def discard(self):
            pass

    @tool
    def act(context: ToolContext) -> str:
        """Write everywhere."""
        context.resources.get(Stubborn)
        scribble(context)
        return "done"

    session = Session()
    session[Note].append(Note("before"))
    files = MemoryFilesystem({"kept.txt": "before"})
    executor = ToolExecutor([act], session=session, resources={Stubborn: Stubborn(), Filesystem: files})
    result = run(executor, call("act"))
    assert kind_of(result) == "failed"
    assert "act ran, but what it wrote could not be kept" in result.message
    assert state_of(executor) == BEFORE


@both_ways
def test_a_restorable_resource_is_restored(run):
    """The Snapshotable port (fork / commit / discard, or snapshot / restore)."""

    class Counter:
        def __init__(self):
            self.count = 0

        def snapshot(self):
            return self.count

        def restore(self, snapshot):
            self.count = snapshot

    @tool
    def act(ok: bool, context: ToolContext) -> int:
        """Count."""
        counter = context.resources.get(Counter)
        counter.count += 1
        if not ok:
            raise ValueError("no")
        return counter.count

    counter = Counter()
    executor = ToolExecutor([act], resources={Counter: counter})
    run(executor, call("act", ok=False))
    assert counter.count == 0
    assert run(executor, call("act", ok=True)).value == 1
    assert counter.count == 1


class Ledger:
    """A resource whose forks do as they are told; what reaches the resource itself is kept."""

    def __init__(self, *, trouble=(), parent=None):
        self.trouble, self.parent, self.is_kept = trouble, parent, False

    def fork(self, *, read_only=False):
        return type(self)(trouble=self.trouble, parent=self)

    def commit(self):
        if self.parent.parent is None and "commit" in self.trouble:
            raise OSError(28, "No space left on device", "/srv/private/journal")
        self.parent.is_kept = True

    def discard(self):
        if "discard" in self.trouble:
            raise OSError(5, "Input/output error", "/srv/private/journal")


class Second(Ledger):
    """Another one."""


def two_ledgers(first_trouble=(), second_trouble=()):
    @tool(effect="reversible")
    def act(ok: bool, context: ToolContext) -> str:
        """Use both."""
        context.session[Note].append(Note("inside"))
        context.resources.get(Ledger)
        context.resources.get(Second)
        if not ok:
            raise ValueError("no")
        return "done"

    ledgers = Ledger(trouble=first_trouble), Second(trouble=second_trouble)
    executor = ToolExecutor(
        [act], session=Session(), resources=dict(zip((Ledger, Second), ledgers, strict=True))
    )
    return executor, ledgers


@both_ways
def test_a_failed_rollback_is_logged_and_does_not_raise(run, caplog):
    """A failed rollback is loud."""
    executor, _ = two_ledgers(first_trouble=("discard",))
    result = run(executor, call("act", ok=False))
    assert (kind_of(result), result.failure.outcome) == ("failed", "unknown")
    assert "could not be rolled back" in result.message
    assert "check before repeating" in result.message
    assert "Rolled back: nothing happened" not in result.message
    assert "Input/output error" in caplog.text
    assert executor.session[Note].all() == ()


@both_ways
def test_changes_that_were_kept_in_part_are_of_unknown_outcome(run):
    """Effect table: what cannot be taken back any more must not be told as rolled back."""
    executor, ledgers = two_ledgers(second_trouble=("commit",))
    result = run(executor, call("act", ok=True))
    assert [ledger.is_kept for ledger in ledgers] == [True, False]
    assert (kind_of(result), result.failure.outcome) == ("failed", "unknown")
    assert "act ran, but what it wrote could not be kept" in result.message
    assert "No space left on device" in result.message
    assert "/srv/private" not in result.message
    assert executor.session[Note].all() == ()


@both_ways
def test_changes_of_which_none_was_kept_are_rolled_back(run):
    executor, ledgers = two_ledgers(first_trouble=("commit",))
    result = run(executor, call("act", ok=True))
    assert [ledger.is_kept for ledger in ledgers] == [False, False]
    assert (kind_of(result), result.failure.outcome) == ("failed", "rolled_back")
