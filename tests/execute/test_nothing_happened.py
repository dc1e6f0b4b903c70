"""An error that says that nothing has happened yet: the words, the event and the record follow it."""

from tests.cases import each_case
from tests.execute.calls import both_ways, call, hear
from toolhaft import ToolExecutor, tool
from toolhaft.errors import ToolAuthorizationError, ToolError, ToolExecutionError, ToolValidationError


def raising(make, **options):
    made = []

    @tool(name="pay", **options)
    def pay():
        """Pay."""
        made.append(1)
        raise make()

    return pay, made


def early(kind=ToolExecutionError):
    error = kind("the shop is closed")
    error.nothing_happened = True
    return error


@both_ways
@each_case("kind", [ToolExecutionError, ToolValidationError, ToolAuthorizationError])
def test_an_error_marked_nothing_happened_may_be_repeated(run, kind):
    pay, _ = raising(lambda: early(kind))
    executor = ToolExecutor([pay])
    events = hear(executor)
    result = run(executor, call("pay"))
    assert result.failure.outcome == events[0].outcome == "nothing_happened"
    assert "the shop is closed. Nothing happened: it may be called again." in result.message


@each_case(
    ("effect", "outcome"),
    [("read", "nothing_happened"), ("idempotent", "safe_to_repeat"), ("reversible", "rolled_back")],
)
def test_the_mark_does_not_change_the_outcome_of_other_effects(effect, outcome):
    pay, _ = raising(early, effect=effect, retryable=False)
    assert ToolExecutor([pay]).execute(call("pay")).failure.outcome == outcome


def test_without_the_mark_the_outcome_is_unknown():
    pay, _ = raising(lambda: ToolExecutionError("no"))
    assert ToolExecutor([pay]).execute(call("pay")).failure.outcome == "unknown"


def test_a_marked_failure_is_neither_retried_nor_recorded():
    pay, made = raising(early, idempotency=[])
    executor = ToolExecutor([pay])
    for count in (1, 2):
        executor.execute(call("pay", idempotency_key="k"))
        assert len(made) == count


def test_the_mark_counts_for_one_call_even_if_the_same_error_is_raised_again():
    """The second one may have done something before it made the first call."""
    inner, _ = raising(early)
    found = ToolExecutor([inner]).execute(call("pay"))

    @tool
    def order():
        """Order, then pay."""
        raise found.failure.error

    assert found.failure.outcome == "nothing_happened"
    assert ToolExecutor([order]).execute(call("order")).failure.outcome == "unknown"


def test_an_error_class_may_have_the_mark_and_a_broken_one_has_none():
    class ClosedError(ToolError):
        nothing_happened = True

    class OddError(ToolError):
        @property
        def nothing_happened(self):
            raise RuntimeError

    class YesError(ToolError):
        nothing_happened = "yes"

    for kind, outcome in ((ClosedError, "nothing_happened"), (OddError, "unknown"), (YesError, "unknown")):
        pay, _ = raising(kind, max_attempts=9)
        executor = ToolExecutor([pay])
        assert [executor.execute(call("pay")).failure.outcome for _ in range(2)] == [outcome] * 2
