"""`POST /v3/tool/{id}`: values, whole results, and the status of every failure."""

import asyncio
import json
import threading

import pytest

from tests.cases import in_case
from tests.serve.kit import SHOUT, make_key, plain_tool, platform

WHOLE = "application/vnd.toolhaft.result+json"


def python(name, more=""):
    return f'run: {{python: "tests.serve.served_tools:{name}"}}\n{more}'


@pytest.fixture
def near():
    with platform(allow_run=["python"]) as asked:
        yield asked


@pytest.fixture(scope="module")
def shouting():
    """A platform with the tool `shout`, which tests may run but not change."""
    with platform(allow_run=["python"]) as asked:
        asked.put("shout", SHOUT)
        yield asked


def test_response_is_the_value_as_json(shouting):
    answer = shouting.run("shout", {"text": "hey", "times": 2})
    assert (answer.status, answer.json) == (200, {"said": "HEY HEY"})
    assert answer.headers["content-type"] == "application/json"


def test_accept_header_requests_the_whole_result(shouting):
    good = shouting.run("shout", {"text": "hey"}, accept=f"{WHOLE}, application/json;q=0.9")
    assert good.headers["content-type"] == WHOLE
    assert good.json == {
        "success": True,
        "message": "",
        "value": {"said": "HEY"},
        "failure": None,
        "untrusted": False,
    }
    bad = shouting.run("shout", {"texts": "hey"}, accept=WHOLE)
    assert bad.status == 200
    assert bad.json["success"] is False
    assert bad.json["failure"]["kind"] == "invalid_arguments"
    assert bad.json["failure"]["outcome"] == "nothing_happened"
    told = [
        (one["in"], one["path"], one["problem"], one["expected"]) for one in bad.json["failure"]["problems"]
    ]
    assert told == [
        ("arguments", "texts", "unknown argument; did you mean 'text'?", ""),
        ("arguments", "text", "missing", "a string"),
    ]


def test_body_that_is_not_a_json_object_is_400(shouting):
    cases = [
        (b'{"text": ', "not valid JSON"),
        (b"[1]", "not a JSON object"),
        (b"\xff\xfe", "not UTF-8"),
        (b'{"text": NaN}', "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
    ]
    for body, told in cases:
        with in_case(body, told):
            answer = shouting.run("shout", body)
            assert answer.status == 400
            assert answer.is_problem
            assert told in answer.json["detail"]


def test_an_empty_body_means_no_arguments(shouting):
    answer = shouting.run("shout", b"")
    problem = answer.json["problems"][0]
    assert (answer.status, problem["path"], problem["problem"]) == (422, "text", "missing")


def test_invalid_arguments_are_422_with_every_problem(shouting):
    answer = shouting.run("shout", {"text": 5, "times": 0, "loud": True})
    assert answer.status == 422
    assert answer.is_problem
    assert answer.json["kind"] == "invalid_arguments"
    assert len(answer.json["problems"]) == 3


@pytest.mark.parametrize(
    ("function", "status", "kind"),
    [
        ("fail", 424, "failed"),
        ("refuse", 403, "not_allowed"),
        ("lie", 424, "invalid_output"),
        ("heavy", 424, "invalid_output"),
        ("missing", 424, "failed"),
    ],
)
def test_failing_tool_returns_a_problem_with_its_kind(near, monkeypatch, function, status, kind):
    monkeypatch.setattr("toolhaft.serve.call_responses._MAX_BODY_BYTES", 100_000)
    returns = "returns:\n  - {name: said, type: string, description: Said}\n" if function == "lie" else ""
    near.put("odd", plain_tool("odd", run=python(function, returns)))
    answer = near.run("odd", {"text": "here"})
    assert answer.status == status
    assert answer.is_problem
    assert answer.json["kind"] == kind
    assert "Traceback" not in answer.json["detail"]
    assert "attempt" not in answer.json["detail"]


def test_failed_attempts_are_not_counted_across_requests(near):
    near.put("odd", plain_tool("odd", run=python("fail")))
    assert [near.run("odd", {}).status for _ in range(6)] == [424] * 6


def test_circuit_breaker_opens_for_a_failing_tool(near):
    near.put("odd", plain_tool("odd", run=python("fail")))
    answers = [near.run("odd", {}) for _ in range(21)]
    assert [answer.status for answer in answers] == [424] * 20 + [429]
    assert answers[-1].json["kind"] == "circuit_open"
    assert 0 < int(answers[-1].headers["retry-after"]) <= 30


def test_tool_over_its_rate_returns_429_with_retry_after(near):
    near.put("odd", plain_tool("odd", run=python("shout"), more="rate: 1/min\n"))
    answers = [near.run("odd", {"text": "a"}) for _ in range(2)]
    assert [answer.status for answer in answers] == [200, 429]
    assert 1 <= int(answers[1].headers["retry-after"]) <= 60


def test_platform_time_limit_overrides_longer_tool_limits():
    with platform(allow_run=["python"], call_timeout_s=0.1) as near:
        near.put("nap", plain_tool("nap", run=python("nap"), more="timeout_s: 30\n"))
        answer = near.run("nap", {"text": "20"})
    assert answer.status == 424
    assert answer.json["kind"] in ("timeout", "deadline")


@pytest.mark.parametrize("function", ["meet", "meet_on_thread"])
def test_calls_of_one_tool_run_in_parallel(near, function):
    near.put("meet", plain_tool("meet", run=python(function), more="timeout_s: 60\n"))

    async def together():
        calls = (
            near.aask("POST", "/v3/tool/meet", '{"text": "4"}', content_type="application/json")
            for _ in range(4)
        )
        return [answer.status for answer in await asyncio.gather(*calls)]

    assert asyncio.run(together()) == [200] * 4  # each waits until all have begun


def test_published_sync_handler_does_not_run_on_the_event_loop(near):
    near.put("where", plain_tool("where", run=python("thread_name"), more="isolation: inline\n"))
    assert near.run("where", {}).json != threading.main_thread().name


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"max_parallel": 2}, "are already running on this platform"),
        ({"max_parallel_per_key": 2}, "of this key"),
    ],
)
def test_calls_beyond_the_parallel_limit_are_refused(limits, told):
    with platform(allow_run=["python"], **limits) as near:
        near.put("nap", plain_tool("nap", run=python("nap")))
        assert (
            near.run("nap", {"text": "0"}).status == 200
        )  # from now on, a call does not wait before it runs

        async def together():
            return await asyncio.gather(
                *(
                    near.aask("POST", "/v3/tool/nap", '{"text": "0.05"}', content_type="application/json")
                    for _ in range(3)
                )
            )

        answers = asyncio.run(together())
        assert sorted(answer.status for answer in answers) == [200, 200, 429]
        refused = next(answer for answer in answers if answer.status == 429)
        assert refused.headers["retry-after"] == "1"
        assert told in refused.json["detail"]
        assert near.run("nap", {"text": "0"}).status == 200


def test_key_over_its_rate_returns_429(tmp_path):
    url = f"sqlite:///{tmp_path}/tools.db"
    with platform(rate="3/h", built_in="none") as near:
        by_operator = {near.ask("GET", "/v3/tools").status for _ in range(5)}
    assert by_operator == {200}  # the printed key is not counted
    with platform(url, rate="3/h", built_in="none") as near:
        _, key = make_key(url, "ann")
        answers = [near.ask("GET", "/v3/tools", key=key) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].is_problem
    assert int(answers[-1].headers["retry-after"]) <= 1200


def test_repeated_idempotency_key_does_not_run_the_tool_again(near, tmp_path):
    near.put("count", plain_tool("count", run=python("count")))
    given = {"text": str(tmp_path / "count")}
    first = near.run("count", given, idempotency_key="one")
    again = near.run("count", given, idempotency_key="one")
    other = near.run("count", given, idempotency_key="two")
    clash = near.run("count", {"text": str(tmp_path / "other")}, idempotency_key="one")
    assert [first.json, again.json, other.json] == [1, 1, 2]
    assert clash.status == 422
    assert near.run("count", given, idempotency_key="x" * 201).status == 400


def test_published_change_applies_to_the_next_call(near):
    near.put("shout", SHOUT)
    near.run("shout", {"text": "a"})
    near.put("shout", SHOUT.replace("served_tools:shout", "served_tools:fail"), if_match="*")
    assert near.run("shout", {"text": "a"}).status == 424
    near.ask("DELETE", "/v3/tools/shout")
    gone = near.run("shout", {"text": "a"})
    assert gone.status == 404
    assert gone.is_problem


def test_operator_may_publish_a_reserved_built_in_tool_for_others(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann")
    with platform(url, built_in="operator") as near:
        given = {"expression": "6 * 7"}
        assert near.run("calculator", given).json == {"result": 42}
        assert near.run("calculator", given, key=key).status == 404
        text = plain_tool("calculator", share="public").replace("text", "expression")
        assert near.put("calculator", text, key=key).status == 403
        assert near.put("calculator", text).status == 201
        assert near.run("calculator", given, key=key).json == {"result": 42}


def test_forwarding_cannot_expose_an_installed_tool_that_is_not_visible(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann")
    with platform(url, built_in="operator") as near:
        text = plain_tool("mine", more="endpoint: http://127.0.0.1:8420/v3/tool/calculator\n")
        assert near.put("mine", text.replace("text", "expression"), key=key).status == 201
        answer = near.run("mine", {"expression": "1"}, key=key)
    assert answer.status == 424
    assert "not on this platform" in answer.json["detail"]


def test_unknown_tool_returns_404_with_the_nearest_name(shouting):
    assert "did you mean 'shout'" in shouting.run("shuot", {}).json["detail"]
    assert "did you mean 'calculator'" in shouting.run("calculatr", {}).json["detail"]
    assert shouting.run("a/b", {}).status == 404


def test_call_has_the_principal_and_scopes_of_the_key(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann", scopes=["tools:run", "tools:write", "bills"])
    _, poor = make_key(url, "ann")
    with platform(url, allow_run=["python"]) as near:
        near.put("whose", plain_tool("whose", run=python("whose"), more="requires: [bills]\n"), key=key)
        assert near.run("whose", {}, key=key).json == "ann bills,tools:run,tools:write"
        refused = near.run("whose", {}, key=poor)
        assert (refused.status, refused.json["kind"]) == (403, "not_allowed")
        assert near.run("whose", {}).json == " bills,operator"


def test_each_owner_has_a_separate_files_folder(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    _, ann = make_key(url, "ann", scopes=["operator"])
    _, odd = make_key(url, "..", scopes=["operator"])
    _, long = make_key(url, "ü" * 150, scopes=["operator"])
    with platform(url, files=str(tmp_path / "files")) as near:
        given = {"path": "note.txt", "content": "mine"}
        for key in (ann, odd, long, ...):
            assert near.run("write_file", given, key=key).status == 200
        assert near.run("read_file", {"path": "note.txt"}, key=ann).json["content"] == "mine"
    found = sorted(path.parent.name for path in (tmp_path / "files").rglob("note.txt"))
    assert [name[:7] for name in found] == ["digest-", "operato", "owner-.", "owner-a"]
    assert not (tmp_path / "note.txt").exists()


def test_tools_cannot_use_files_without_a_files_folder(near):
    answer = near.run("read_file", {"path": "/etc/passwd"})
    assert answer.status == 424
    assert "root:" not in json.dumps(answer.json)


def test_oldest_idle_runner_is_evicted(near, monkeypatch):
    monkeypatch.setattr("toolhaft.serve.runners._MAX_RUNNERS", 2)
    closed = []
    monkeypatch.setattr("toolhaft.serve.runners.ToolRunner.close", lambda runner: closed.append(runner.name))
    for number in range(4):
        near.put(f"tool_{number}", plain_tool(f"tool_{number}", run=python("shout")))
        assert near.run(f"tool_{number}", {"text": "a"}).status == 200
    assert closed == ["tool_0", "tool_1"]
    assert near.run("tool_0", {"text": "a"}).status == 200
    assert closed == ["tool_0", "tool_1", "tool_2"]


def test_a_used_key_never_runs_again_however_many_other_tools_and_callers_there_are(monkeypatch, tmp_path):
    monkeypatch.setattr("toolhaft.serve.runners._MAX_RUNNERS", 1)
    monkeypatch.setattr("toolhaft.serve.runners._MAX_KEPT_RUNNERS", 2)
    given = {"text": str(tmp_path / "count")}
    with platform(allow_run=["python"]) as near:
        named = "idempotency: [text]\n"
        for id, more in (("header", ""), ("named", named), ("third", ""), ("fourth", named), ("plain", "")):
            near.put(id, plain_tool(id, run=python("count"), more=more))
        assert near.run("header", given, idempotency_key="one").json == 1
        assert near.run("named", given).json == 2
        for number in range(3):  # others are evicted
            assert near.run("plain", {"text": str(tmp_path / "plain")}).json == number + 1
            assert near.run("third", {"text": str(tmp_path / "third")}).json == number + 1
        assert near.run("header", given, idempotency_key="one").json == 1
        assert near.run("named", given).json == 2
        refused = near.run("third", given, idempotency_key="one")
        assert (refused.status, refused.json["kind"]) == (429, "rate")
        assert "no further idempotency keys" in refused.json["detail"]
        assert "without a key" in refused.json["fix"]
        assert "without a key" not in near.run("fourth", given).json["fix"]  # its arguments are the key
        assert near.run("header", given, idempotency_key="two").json == 3
        near.put("header", plain_tool("header", run=python("count")), if_match="*")
        assert near.run("header", given).json == 4  # another tool now, whose keys are free
        assert near.run("third", given, idempotency_key="one").json == 5


def test_unreadable_row_is_reported_and_other_tools_are_listed(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    with platform(url, allow_run=["python"], built_in="none") as near:
        near.put("shout", SHOUT)
        near.put("other", plain_tool("other"))
        database = near.app._database  # noqa: SLF001 -- a row that no version of ours writes
        with database.transaction() as transaction:
            transaction.execute("UPDATE toolhaft_tools SET text = ? WHERE id = ?", ["id: [", "shout"])
            transaction.advance()
        assert [tool["id"] for tool in near.ask("GET", "/v3/tools").json["tools"]] == ["other"]
        assert [tool["id"] for tool in near.ask("GET", "/v3/tools", query=b"q=does").json["tools"]] == [
            "other"
        ]
        assert "/v3/tool/shout" not in near.ask("GET", "/openapi.json").json["paths"]
        assert near.ask("GET", "/v3/tools/shout").status == 424
        assert near.run("shout", {"text": "a"}).status == 424


def test_images_and_other_parts_are_sent_as_content_blocks(near):
    near.put("picture", plain_tool("picture", run=python("picture")))
    image = {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}
    assert near.run("picture", {}).json == [image]
    assert near.run("picture", {"text": "look"}).json == [{"type": "text", "text": "look"}, image]
    whole = near.run("picture", {"text": "look"}, accept=WHOLE).json
    assert (whole["success"], whole["message"], whole["value"]) == (True, "look", None)
    assert whole["content"] == [image]
    for text, problem in (("huge", "more than 10,000,000 bytes"), ("wrong", "cannot be written as JSON")):
        refused = near.run("picture", {"text": text})
        assert (refused.status, problem in refused.json["detail"]) == (424, True)
        whole = near.run("picture", {"text": text}, accept=WHOLE).json
        assert (whole["success"], problem in whole["message"], "content" in whole) == (False, True, False)
