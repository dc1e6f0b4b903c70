"""Reminders, and the time that is left."""

import pytest

from tests.cases import each_case
from tests.execute.calls import both_ways, call
from toolhaft import Deadline, Session, ToolCall, ToolExecutor, ToolResult, tool
from toolhaft.core.prompt_hooks import FeedbackContext, FeedbackProvider
from toolhaft.errors import PromptValidationError
from toolhaft.prompt import DeadlineFeedback, MarkdownSection, Prompt, StaticFeedback
from toolhaft.resources import Clock, FakeClock


class Left(Deadline):
    """A deadline that a test moves by hand."""

    def __init__(self, left_s):
        super().__init__(expires_at=0)
        self.left_s = left_s

    def remaining(self):
        return self.left_s


def moment(*, calls=1, seconds=0.0, calls_since=None, seconds_since=None, left_s=None):
    return FeedbackContext(
        session=Session(),
        prompt=None,
        deadline=None if left_s is None else Left(left_s),
        call=ToolCall(name="x"),
        result=ToolResult(),
        calls=calls,
        seconds=seconds,
        calls_since=calls_since,
        seconds_since=seconds_since,
    )


@tool(isolation="inline")
def step() -> str:
    """Make a step."""
    return "done"


def under(*feedback, **options):
    section = MarkdownSection(title="Work", key="work", template="Work.", tools=[step])
    return ToolExecutor(prompt=Prompt(name="p", sections=[section], feedback=feedback), **options)


# --- a reminder ---


@both_ways
def test_a_reminder_without_an_interval_is_given_once(run):
    executor = under(StaticFeedback("Mind the gap."))
    assert [bool(run(executor, call("step")).feedback) for _ in range(3)] == [True, False, False]


@both_ways
def test_a_reminder_repeats_after_every_calls(run):
    executor = under(StaticFeedback("Mind the gap.", every_calls=3))
    said = [bool(run(executor, call("step")).feedback) for _ in range(7)]
    assert said == [False, False, True, False, False, True, False]


@both_ways
def test_a_reminder_repeats_after_every_s(run):
    clock = FakeClock()
    executor = under(StaticFeedback("Mind the gap.", every_s=60), resources={Clock: clock})
    said = []
    for _ in range(7):
        said.append(bool(run(executor, call("step")).feedback))
        clock.advance(30)
    assert said == [False, False, True, False, True, False, True]


def test_the_shorter_of_two_intervals_counts():
    both = StaticFeedback("Mind the gap.", every_calls=5, every_s=60)
    assert both.provide(moment(calls=4, seconds=59)) is None
    assert both.provide(moment(calls=5)) == "Mind the gap."
    assert both.provide(moment(calls=2, seconds=60)) == "Mind the gap."
    assert both.provide(moment(calls=9, seconds=90, calls_since=4, seconds_since=59)) is None
    assert both.provide(moment(calls=9, seconds=90, calls_since=4, seconds_since=60)) == "Mind the gap."


def test_two_reminders_need_two_names():
    with pytest.raises(PromptValidationError, match="called 'static'"):
        under(StaticFeedback("a"), StaticFeedback("b"))
    executor = under(StaticFeedback("a"), StaticFeedback("b", name="other"))
    assert [one.text for one in executor.execute(call("step")).feedback] == ["a", "b"]


# --- how much time is left ---


@each_case(
    ("left_s", "said"),
    [
        (7300, "There is time left for this task: 2 hours 1 minute."),
        (3600, "There is time left for this task: 1 hour."),
        (3599, "There is time left for this task: 59 minutes."),
        (180, "There is time left for this task: 3 minutes."),
        (179.9, "There is time left for this task: 179 seconds."),
        (120, "There is time left for this task: 120 seconds."),
        (119.9, "Only 119 seconds left for this task. Finish what you have begun, and give your answer."),
        (1, "Only 1 second left for this task. Finish what you have begun, and give your answer."),
        (
            0.5,
            "Only a moment left for this task. Finish what you have begun, and give your answer.",
        ),
        (0, "The time for this task is up. Give your answer now, with what you have."),
    ],
)
def test_the_text_depends_on_the_time_left(left_s, said):
    assert DeadlineFeedback().provide(moment(calls=10, left_s=left_s)) == said


def test_without_a_deadline_there_is_no_feedback():
    assert DeadlineFeedback().provide(moment(calls=100)) is None
    assert under(DeadlineFeedback(every_calls=1)).execute(call("step")).feedback == ()


def test_the_time_left_is_repeated_and_a_warning_comes_early():
    feedback = DeadlineFeedback(warn_below_s=120, every_calls=10)

    def speaks(**now):
        return feedback.provide(moment(**now)) is not None

    assert not speaks(calls=9, left_s=500)
    assert speaks(calls=10, left_s=500)
    assert not speaks(calls=19, calls_since=9, seconds_since=5, left_s=500)
    assert speaks(calls=20, calls_since=10, seconds_since=5, left_s=500)
    assert speaks(calls=1, left_s=119)  # it never spoke
    assert speaks(calls=12, calls_since=2, seconds_since=20, left_s=110)  # there were 130 when it did
    assert not speaks(calls=13, calls_since=1, seconds_since=5, left_s=105)  # it has warned already
    assert speaks(calls=23, calls_since=11, seconds_since=60, left_s=50)


@both_ways
def test_the_deadline_is_the_one_of_the_run(run):
    executor = under(DeadlineFeedback(), deadline=Deadline.after(60))
    first, second = (run(executor, call("step")) for _ in range(2))
    assert first.render().startswith('done\n\n<feedback provider="deadline">\nOnly 5')
    assert second.render() == "done"


# --- what makes no sense ---


@each_case(
    ("make", "said"),
    [
        (lambda: StaticFeedback(" "), "text is ' '"),
        (lambda: StaticFeedback(3), "text is 3"),
        (lambda: StaticFeedback("a", name=""), "name is ''"),
        (lambda: StaticFeedback("a", every_calls=0), "every_calls is 0"),
        (lambda: StaticFeedback("a", every_calls=True), "every_calls is True"),
        (lambda: StaticFeedback("a", every_calls=1.5), "every_calls is 1.5"),
        (lambda: StaticFeedback("a", every_s=0), "every_s is 0"),
        (lambda: StaticFeedback("a", every_s=float("nan")), "every_s is nan"),
        (lambda: StaticFeedback("a", every_s="1"), "every_s is '1'"),
        (lambda: DeadlineFeedback(warn_below_s=True), "warn_below_s is True"),
        (lambda: DeadlineFeedback(every_calls=-1), "every_calls is -1"),
    ],
)
def test_invalid_arguments_are_refused_by_the_constructor(make, said):
    with pytest.raises(PromptValidationError) as raised:
        make()
    assert said in str(raised.value)


def test_repr_shows_class_and_name():
    given = (StaticFeedback("a"), DeadlineFeedback())
    assert [isinstance(one, FeedbackProvider) for one in given] == [True, True]
    assert list(map(repr, given)) == ["<StaticFeedback 'static'>", "<DeadlineFeedback 'deadline'>"]
