"""The parts of the platform on their own: what is kept, what is let go, what happens at the edges."""

import asyncio
import threading
import time
from types import SimpleNamespace

import pytest

from tests.serve.kit import SHOUT, make_key, plain_tool, platform, serving_here
from toolhaft.errors import ConflictError, DefinitionError, StorageError, ToolExecutionError
from toolhaft.serve.newest import Newest
from toolhaft.serve.openapi import describe, part_of
from toolhaft.serve.problems import problem_of
from toolhaft.serve.rates import Rates


def python(name):
    return f'run: {{python: "tests.serve.served_tools:{name}"}}\n'


def test_a_database_elsewhere_is_asked_once_by_all_who_wait_and_not_again_for_a_while():
    asked = []

    def read():
        asked.append(threading.current_thread() is threading.main_thread())
        time.sleep(0.05)
        return len(asked)

    async def rounds():
        newest = Newest(read, is_near=False)
        first = await asyncio.gather(*(newest.get() for _ in range(10)))
        again = await newest.get()
        newest.expire()
        waiting = asyncio.ensure_future(newest.get())
        await asyncio.sleep(0.01)
        waiting.cancel()  # whoever goes away does not take the answer from the others
        return first, again, await newest.get()

    assert asyncio.run(rounds()) == ([1] * 10, 1, 2)
    assert asked == [False, False]


def test_a_database_that_cannot_be_asked_is_asked_again():
    answers = [StorageError("gone"), 7]

    def read():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def rounds():
        newest = Newest(read, is_near=False)
        with pytest.raises(StorageError):
            await newest.get()
        return await newest.get()

    assert asyncio.run(rounds()) == 7


def test_only_so_many_keys_are_counted(monkeypatch):
    monkeypatch.setattr("toolhaft.serve.rates._MOST_KEYS", 2)
    rates = Rates("1/h")
    for key in ("a", "b", "c"):
        rates.take(key)
    rates.take("a")  # forgotten meanwhile


def test_only_so_much_is_kept(tmp_path, monkeypatch):
    url = f"sqlite://{tmp_path}/platform.db"
    keys = [make_key(url, f"owner_{number}")[1] for number in range(3)]
    for name in ("callers._MOST_KNOWN", "stock._MOST_KNOWN", "pages._MOST_KNOWN", "openapi._MOST_KEPT"):
        monkeypatch.setattr(f"toolhaft.serve.{name}", 1)
    with platform(url, allow_run=["python"], built_in="none") as near:
        near.put("shout", SHOUT)
        near.put("other", plain_tool("other", share="public", run=python("shout")))
        for _ in range(2):
            for key in keys:
                assert len(near.ask("GET", "/v3/tools", key=key).json["tools"]) == 2
                assert near.ask("GET", "/openapi.json", key=key).status == 200
                assert near.run("shout", {"text": "a"}, key=key).status == 200
                assert near.run("other", {"text": "a"}, key=key).status == 200


def test_calls_that_overlap_have_an_executor_each_and_only_so_many_are_kept(monkeypatch):
    monkeypatch.setattr("toolhaft.serve.runners._MOST_SPARE", 1)
    with platform(allow_run=["python"]) as near:
        near.put("nap", plain_tool("nap", run=python("nap")))

        async def together():
            calls = [
                near.aask("POST", "/v3/tool/nap", '{"text": "0.1"}', content_type="application/json")
                for _ in range(4)
            ]
            return [answer.status for answer in await asyncio.gather(*calls)]

        assert asyncio.run(together()) == [200] * 4
        assert asyncio.run(together()) == [200] * 4


def test_a_tools_own_limits_hold_for_calls_that_overlap():
    with platform(allow_run=["python"]) as near:
        for id, more in (("rated", "rate: 2/h\n"), ("narrow", "max_parallel: 1\ntimeout_s: 5\n")):
            near.put(id, plain_tool(id, run=python("nap"), more=more))

        async def together(id):
            calls = [
                near.aask("POST", f"/v3/tool/{id}", '{"text": "0.2"}', content_type="application/json")
                for _ in range(3)
            ]
            began = asyncio.get_running_loop().time()
            answers = await asyncio.gather(*calls)
            return sorted(answer.status for answer in answers), asyncio.get_running_loop().time() - began

        assert asyncio.run(together("rated"))[0] == [200, 200, 429]
        statuses, took_s = asyncio.run(together("narrow"))
        assert statuses == [200] * 3
        assert took_s > 0.55


def test_what_is_remembered_is_forgotten_before_it_is_too_much(monkeypatch, tmp_path):
    monkeypatch.setattr("toolhaft.serve.runners._MOST_KEPT_BYTES", 3)
    with platform(allow_run=["python"]) as near:
        near.put("count", plain_tool("count", run=python("count")))
        given = {"text": str(tmp_path / "count")}
        answers = [near.run("count", given, idempotency_key="one").json for _ in range(6)]
    assert answers == [1, 1, 1, 1, 2, 2]


def test_only_python_tools_have_processes_of_their_own(tmp_path):
    with platform(allow_run=["python"]) as near:
        http = 'run: {http: {method: GET, url: "http://127.0.0.1:9/x"}}\n'
        near.put("web", plain_tool("web", run=http, more="isolation: process\n"))
        near.put("shout", SHOUT + "isolation: process\n")
        began = time.monotonic()
        assert near.run("web", {}).status in (403, 422, 424)
        assert time.monotonic() - began < 0.5
        assert near.run("shout", {"text": "a"}).json == {"said": "A"}


def test_variables_may_come_from_a_file(tmp_path):
    file = tmp_path / ".env"
    file.write_text("WEATHER_KEY=from-the-file\nOTHER=secret\n")
    with platform(allow_env=["WEATHER_KEY"], env_file=str(file)) as near:
        for name, told in (("WEATHER_KEY", "127.0.0.1"), ("OTHER", "may not be used here")):
            run = f'run: {{http: {{method: GET, url: "http://127.0.0.1:9/x", headers: {{X-Key: "${{env:{name}}}"}}}}}}\n'
            near.put(name.lower(), plain_tool(name.lower(), run=run))
            detail = near.run(name.lower(), {}).json["detail"]
            assert told in detail
            assert "from-the-file" not in detail


def test_a_runner_that_works_is_not_let_go(monkeypatch):
    monkeypatch.setattr("toolhaft.serve.runners._MOST_RUNNERS", 1)
    with platform(allow_run=["python"]) as near:
        near.put("nap", plain_tool("nap", run=python("nap")))
        near.put("shout", SHOUT)

        async def beside():
            slow = asyncio.ensure_future(
                near.aask("POST", "/v3/tool/nap", '{"text": "0.3"}', content_type="application/json")
            )
            await asyncio.sleep(0.1)
            quick = await near.aask(
                "POST", "/v3/tool/shout", '{"text": "a"}', content_type="application/json"
            )
            await near.aask(
                "PUT",
                "/v3/tools/nap",
                plain_tool("nap", run=python("nap")),
                content_type="application/yaml",
                if_match="*",
            )
            other = await near.aask("POST", "/v3/tool/nap", '{"text": "0"}', content_type="application/json")
            return quick.status, other.status, (await slow).status

        assert asyncio.run(beside()) == (200, 200, 200)


@pytest.mark.parametrize("function", ["nap", "nap_on_thread"])
def test_what_still_runs_after_the_grace_is_cancelled_and_told(function):
    got = []
    with serving_here(allow_run=["python"], grace_s=0.3) as server:
        server.put("nap", plain_tool("nap", run=python(function), more="timeout_s: 30\n"))
        thread = threading.Thread(target=lambda: got.append(server.run("nap", {"text": "3"})))
        thread.start()
        time.sleep(0.3)
    thread.join()
    assert got[0].status == 503
    assert got[0].json["kind"] == "cancelled"


def test_a_call_that_is_cancelled_otherwise_is_not_answered():
    with platform(allow_run=["python"]) as near:
        near.put("nap", plain_tool("nap", run=python("nap")))

        async def leave():
            task = asyncio.ensure_future(
                near.aask("POST", "/v3/tool/nap", '{"text": "5"}', content_type="application/json")
            )
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(leave())
        assert near.run("nap", {"text": "0"}).status == 200


def test_a_deadline_that_a_handler_raises_is_a_failure():
    with platform(allow_run=["python"]) as near:
        near.put("late", plain_tool("late", run=python("be_late")))
        answer = near.run("late", {})
    assert answer.status == 424
    assert answer.is_problem


def test_an_installed_tool_that_cannot_be_loaded_is_not_there(monkeypatch, caplog):
    def broken(_):
        raise DefinitionError("its package is missing")

    monkeypatch.setattr("toolhaft.serve.offered.load_offer", broken)
    with platform() as near:
        assert near.run("calculator", {"expression": "1"}).status == 404
    assert "its package is missing" in caplog.text


def test_every_error_has_a_status_and_a_fix():
    for error, status in (
        (ConflictError("a"), 409),
        (ToolExecutionError("b"), 424),
        (StorageError("c"), 503),
    ):
        problem = problem_of(error)
        assert (problem.status, bool(problem.fix)) == (status, True)


def test_references_and_plain_values_of_schemas_are_told_apart():
    schema = {
        "$defs": {"n": {"type": "number"}},
        "properties": {
            "a": {"$ref": "#/$defs/n"},
            "b": {"const": {"$ref": "#/no"}},
            "default": {"$ref": "#/$defs/n"},
            "$ref": {"type": "null"},
        },
        "anyOf": [{"$ref": "#/$defs/n"}, True],
    }
    tool = SimpleNamespace(
        name="odd", title="odd", description="", tags=(), input_schema=schema, output_schema=True
    )
    document = describe([SimpleNamespace(id="odd")], "http://x", lambda _: part_of(tool))["components"][
        "schemas"
    ]
    root = "#/components/schemas/odd.arguments"
    assert document["odd.value"] is True
    moved = document["odd.arguments"]
    assert moved["properties"] == {
        "a": {"$ref": f"{root}/$defs/n"},
        "b": {"const": {"$ref": "#/no"}},
        "default": {"$ref": f"{root}/$defs/n"},
        "$ref": {"type": "null"},
    }
    assert moved["anyOf"] == [{"$ref": f"{root}/$defs/n"}, True]
