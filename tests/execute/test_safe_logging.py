"""Policies and feedback of a tool that takes secrets tell them to nobody: not to the log, not to the model."""

import asyncio
import logging
from typing import Annotated

from tests.cases import each_case
from tests.execute.calls import both_ways, call, each_way
from tests.execute.prompt_kit import BarePrompt, Rule, Words
from tests.execute.secret_kit import CREDENTIALS, TOKEN
from toolhaft import Secret, Session, ToolCall, ToolExecutor, tool
from toolhaft.core.prompt_hooks import PolicyDecision
from toolhaft.errors import ReadOnlyError
from toolhaft.execute.feedback_counts import PromptCalls


@tool
def login(user: str, token: Annotated[str, Secret]) -> str:
    """Log in."""
    return "in"


@tool
def open_login(user: str, token: str) -> str:
    """Log in with what is no secret."""
    return "in"


def spill(params):
    raise KeyError(params["token"])


class Careless:
    """A policy that says what it was given, one way or the other."""

    name = "careless"

    def __init__(self, check=lambda _: PolicyDecision.allow(), on_result=lambda _: None):
        self._check = check
        self._on_result = on_result

    def check(self, tool, params, *, context):
        return self._check(params)

    def on_result(self, tool, params, result, *, context):
        return self._on_result(params)


def under(tool, *, by=(), feedback=(), session=None):
    return ToolExecutor(
        prompt=BarePrompt(tools=(tool,), policies={"*": by}, feedback=feedback), session=session
    )


def read_only(params):
    raise ReadOnlyError(params["token"])


@each_case(
    ("policy", "said"),
    [
        (Careless(check=spill), "the policy careless failed: {} was not run (KeyError)"),
        (Careless(check=lambda params: [params["token"]]), "the policy careless returned a list, not a"),
        (Careless(on_result=spill), "the policy careless failed on the result of {} (KeyError)"),
        (
            Careless(on_result=read_only),
            "the policy careless could not write about the result of {}: ReadOnlyError",
        ),
    ],
    ids=["check", "answer", "told", "read_only"],
)
@both_ways
def test_a_policy_that_goes_wrong_puts_no_secret_into_the_log(run, policy, said, caplog):
    result = run(under(login, by=[policy]), call("login", **CREDENTIALS))
    assert said.format("login") in caplog.text
    assert TOKEN[:8] not in caplog.text + result.message
    caplog.clear()
    run(under(open_login, by=[policy]), call("open_login", **CREDENTIALS))
    assert TOKEN in caplog.text  # where there is no secret, the log says everything


def test_an_invalid_answer_of_a_policy_is_not_quoted_to_the_model():
    policy = Careless(check=lambda params: f"{'.' * 30}{params['token']}")  # cut amid the secret
    result = under(login, by=[policy]).execute(call("login", **CREDENTIALS))
    assert result.message == (
        "login is not allowed now: the policy 'careless' answered a str, not a PolicyDecision."
    )


def test_a_failure_on_a_replayed_result_puts_no_secret_into_the_log(caplog):
    executor = under(login, by=[Careless(on_result=spill)])
    for _ in range(2):
        executor.execute(call("login", **CREDENTIALS), idempotency_key="k")
    assert caplog.text.count("failed on the result of login") == 2
    assert TOKEN not in caplog.text


@each_case(
    ("provide", "said"),
    [
        (lambda context: spill(context.call.arguments), "the feedback f failed (KeyError)"),
        (lambda context: [context.call.arguments], "the feedback f returned a list, not a text"),
    ],
    ids=["raises", "odd"],
)
@both_ways
def test_feedback_that_goes_wrong_puts_no_secret_into_the_log(run, provide, said, caplog):
    assert run(under(login, feedback=[Words(provide, "f")]), call("login", **CREDENTIALS)).feedback == ()
    assert said in caplog.text
    assert TOKEN[:8] not in caplog.text
    caplog.clear()
    run(under(open_login, feedback=[Words(provide, "f")]), call("open_login", **CREDENTIALS))
    assert TOKEN in caplog.text


@each_way
def test_secrets_are_masked_in_feedback(run):
    words = Words(lambda context: f"you called it with {context.call.arguments}")
    (said,) = run(under(login, feedback=[words]), call("login", **CREDENTIALS)).feedback
    assert said.text == "you called it with {'user': 'u', 'token': '***'}"
    (said,) = run(under(open_login, feedback=[words]), call("open_login", **CREDENTIALS)).feedback
    assert TOKEN in said.text


def test_the_arguments_of_a_misspelt_name_are_masked_in_feedback():
    words = Words(lambda context: f"you called it with {context.call.arguments}")
    (said,) = under(login, feedback=[words]).execute(call("lgin", **CREDENTIALS)).feedback
    assert TOKEN not in said.text


def test_arguments_that_cannot_be_read_have_no_feedback_where_they_may_hold_a_secret():
    words = Words(lambda context: f"you called it with {context.call.arguments}")
    unread = f'{{"token": "{TOKEN}'
    executor = under(login, feedback=[words])
    assert executor.execute(ToolCall(name="login", arguments=unread)).feedback == ()
    assert [one.calls for one in executor.session[PromptCalls]] == [1]
    result = under(open_login, feedback=[words]).execute(ToolCall(name="open_login", arguments=unread))
    assert TOKEN in result.feedback[0].text


def test_a_session_that_cannot_count_is_logged_without_the_error_text(caplog):
    session = Session()

    def refuse(view, event):
        raise ValueError(TOKEN)

    session[PromptCalls].register(PromptCalls, refuse)
    executor = under(login, feedback=[Words(lambda _: "well")], session=session)
    assert executor.execute(call("login", **CREDENTIALS)).feedback == ()
    assert "there is no feedback on the call of login" in caplog.text
    assert TOKEN not in caplog.text


def test_a_denial_quotes_no_secret():
    rule = Careless(check=lambda params: PolicyDecision.deny(f"{params['token']} is old"))
    result = asyncio.run(under(login, by=[rule, Rule()]).aexecute(call("login", **CREDENTIALS)))
    assert result.message == "login is not allowed now: *** is old."


def test_the_log_is_the_packages_own(caplog):
    under(login, by=[Careless(check=spill)]).execute(call("login", **CREDENTIALS))
    assert [(one.name, one.levelno, one.exc_info) for one in caplog.records] == [
        ("toolhaft", logging.ERROR, None)
    ]


class Shy:
    def __repr__(self):
        raise RuntimeError("no words")


def test_an_answer_whose_repr_fails_does_not_stop_other_providers(caplog):
    prompt = BarePrompt(
        tools=(open_login,), feedback=(Words(lambda _: Shy(), "shy"), Words(lambda _: "hello", "open"))
    )
    result = ToolExecutor(prompt=prompt).execute(call("open_login", user="a", token=TOKEN))
    assert [one.text for one in result.feedback] == ["hello"]
    assert "a Shy" in caplog.text
