"""Single parts of the platform: caches and their bounds, revisions, runners, problems, write buffering."""

import asyncio
import json
import pkgutil
import sys
import threading
import time
from types import SimpleNamespace
from unittest.mock import Mock, call

import pytest

from tests.cases import in_case
from tests.serve.kit import SHOUT, make_key, plain_tool, platform, serving_here
from toolhaft import ToolResult
from toolhaft.errors import ConflictError, DefinitionError, StorageError, ToolExecutionError
from toolhaft.serve.call_responses import value_body
from toolhaft.serve.callers import Callers
from toolhaft.serve.keys import KeyInfo
from toolhaft.serve.limits import KeyRates, ParallelLimit, PerKeyQueue
from toolhaft.serve.openapi import describe_platform, describe_tool
from toolhaft.serve.protocol import SingleWriteTransport
from toolhaft.serve.request import read_body
from toolhaft.serve.responses import HttpProblem, ProblemEntry, error_problem
from toolhaft.serve.revision import RevisionReader
from toolhaft.serve.tool_cache import ToolCache

pytestmark = pytest.mark.external


def python(name):
    return f'run: {{python: "tests.serve.served_tools:{name}"}}\n'


def test_remote_revision_is_read_once_for_all_waiting_requests():
    asked = []

    def read():
        asked.append(threading.current_thread() is threading.main_thread())
        time.sleep(0.05)
        return len(asked)

    async def rounds():
        revisions = RevisionReader(read, is_local=False)
        first = await asyncio.gather(*(revisions.read() for _ in range(10)))
        again = await revisions.read()
        revisions.expire()
        waiting = asyncio.ensure_future(revisions.read())
        await asyncio.sleep(0.01)
        waiting.cancel()  # whoever goes away does not take the answer from the others
        return first, again, await revisions.read()

    assert asyncio.run(rounds()) == ([1] * 10, 1, 2)
    assert asked == [False, False]


def test_failed_revision_read_is_repeated():
    answers = [StorageError("gone"), 7]

    def read():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def rounds():
        revisions = RevisionReader(read, is_local=False)
        with pytest.raises(StorageError):
            await revisions.read()
        return await revisions.read()

    assert asyncio.run(rounds()) == 7


def test_rate_limits_are_kept_for_a_bounded_number_of_keys(monkeypatch):
    monkeypatch.setattr("toolhaft.serve.limits._MAX_KEYS", 2)
    rates = KeyRates("1/h")
    for key in ("a", "b", "c"):
        rates.check(key)
    rates.check("a")  # forgotten meanwhile


def counted(monkeypatch, name):
    """Count the calls of a function or class of the platform."""
    calls = []
    module, _, attribute = f"toolhaft.serve.{name}".rpartition(".")
    owner = pkgutil.resolve_name(module)
    real = getattr(owner, attribute)

    def call(*args, **kwargs):
        calls.append(args)
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, attribute, call)
    return calls


def _list(near, key):
    assert near.ask("GET", "/v3/tools", key=key).status == 200


def _read(near, key):
    for id in ("shout", "other"):
        assert near.ask("GET", f"/v3/tools/{id}", key=key).status == 200


def _run(near, key):
    for id in ("shout", "other"):
        assert near.run(id, {"text": "a"}, key=key).status == 200


def _describe(near, key):
    assert near.ask("GET", "/openapi.json", key=key).status == 200


def _search(near, key):
    assert near.ask("GET", "/v3/tools", key=key, query=b"q=does").status == 200


@pytest.mark.parametrize(
    ("cache", "ask", "counts"),
    [
        (("callers._MAX_CACHED_CALLERS", "callers.Callers._read"), _list, [2, 4]),
        (("tool_cache._MAX_CACHED", "tool_cache.ToolCache._read"), _read, [2, 8]),
        (("tool_cache._MAX_CACHED", "tool_cache.adapt_handler"), _run, [2, 8]),
        (("documents._MAX_CACHED_FIELDS", "documents.published_fields"), _list, [4, 12]),
        (("openapi._MAX_DOCUMENTS", "openapi.describe_platform"), _describe, [2, 4]),
        (("openapi._MAX_OPERATIONS", "openapi.describe_tool"), _describe, [4, 6]),
        (("search._MAX_VIEWS", "search.SearchView"), _search, [2, 4]),
    ],
)
def test_each_cache_hits_and_drops_entries_beyond_its_bound(tmp_path, monkeypatch, cache, ask, counts):
    bound, work = cache
    url = f"sqlite://{tmp_path}/platform.db"
    ann, bob = (make_key(url, owner)[1] for owner in ("ann", "bob"))
    done = []
    for is_bounded in (False, True):
        if is_bounded:
            monkeypatch.setattr(f"toolhaft.serve.{bound}", 1)
        with platform(url, allow_run=["python"], built_in="none") as near:
            if not is_bounded:
                near.put("shout", SHOUT)
                near.put("other", plain_tool("other", share="public", run=python("shout")))
                near.put("of_ann", plain_tool("of_ann"), key=ann)
                near.put("of_bob", plain_tool("of_bob"), key=bob)
            calls = counted(monkeypatch, work)
            for key in (ann, bob, ann, bob):
                ask(near, key)
            done.append(len(calls))
    assert done == counts  # without the bound, and with a bound of one


@pytest.mark.parametrize(("bound", "kept"), [(1, 1), (2_000, 2)])
def test_unrestricted_copies_for_operators_are_bounded(monkeypatch, bound, kept):
    monkeypatch.setattr("toolhaft.serve.tool_cache._MAX_CACHED", bound)
    with platform(allow_run=["python"], built_in="none") as near:
        for number in range(2):
            near.put(
                f"back{number}", plain_tool(f"back{number}", run=python("shout"), more="requires: [admin]\n")
            )
            more = f"endpoint: {near.app.url}/v3/tool/back{number}\n"
            near.put(f"front{number}", plain_tool(f"front{number}", more=more))
            assert near.run(f"front{number}", {"text": "a"}).json == {"said": "A"}
        assert len(near.app._runs._tool_cache._unrestricted) == kept  # noqa: SLF001 -- no work of its own


@pytest.mark.parametrize(("bound", "made"), [(1, 6), (16, 4)])
def test_overlapping_calls_use_separate_executors_and_few_stay_idle(monkeypatch, bound, made):
    monkeypatch.setattr("toolhaft.serve.runners._MAX_IDLE_EXECUTORS", bound)
    executors = counted(monkeypatch, "runners.ToolExecutor")
    with platform(allow_run=["python"]) as near:
        near.put("nap", plain_tool("nap", run=python("nap_with_context")))

        async def together():
            calls = [
                near.aask("POST", "/v3/tool/nap", '{"text": "0.1"}', content_type="application/json")
                for _ in range(4)
            ]
            return [answer.status for answer in await asyncio.gather(*calls)]

        assert asyncio.run(together()) == [200] * 4
        assert asyncio.run(together()) == [200] * 4
    assert len(executors) == made


def test_limits_of_a_tool_apply_to_overlapping_calls(monkeypatch):
    executors = counted(monkeypatch, "runners.ToolExecutor")
    with platform(allow_run=["python"]) as near:
        for id, more in (("rated", "rate: 2/h\n"), ("narrow", "max_parallel: 1\ntimeout_s: 60\n")):
            near.put(id, plain_tool(id, run=python("count_overlap"), more=more))

        async def together(id):
            calls = [
                near.aask("POST", f"/v3/tool/{id}", '{"text": "0.05"}', content_type="application/json")
                for _ in range(3)
            ]
            return await asyncio.gather(*calls)

        assert sorted(answer.status for answer in asyncio.run(together("rated"))) == [200, 200, 429]
        answers = asyncio.run(together("narrow"))
        assert [answer.status for answer in answers] == [200] * 3
        assert [answer.json for answer in answers] == [1] * 3  # never two of them at once
    assert len(executors) == 2


def test_stored_results_are_dropped_beyond_a_size_limit_and_used_keys_stay(monkeypatch, tmp_path):
    monkeypatch.setattr("toolhaft.serve.runners._MAX_STORED_BYTES", 3)
    for effect, answers in (("irreversible", [1] * 6), ("idempotent", [1, 1, 1, 1, 2, 2])):
        with in_case(effect), platform(allow_run=["python"]) as near:
            near.put("count", plain_tool("count", run=python("count"), more=f"effect: {effect}\n"))
            given = {"text": str(tmp_path / effect)}
            assert [near.run("count", given, idempotency_key="one").json for _ in range(6)] == answers


def test_only_python_tools_keep_process_isolation(monkeypatch):
    with platform(allow_run=["python"]) as near:
        http = 'run: {http: {method: GET, url: "http://127.0.0.1:9/x"}}\n'
        near.put("web", plain_tool("web", run=http, more="isolation: process\n"))
        near.put("shout", SHOUT + "isolation: process\n")
        started = []
        monkeypatch.setattr("multiprocessing.process.BaseProcess.start", started.append)
        monkeypatch.setattr("subprocess.Popen.__init__", lambda *_, **__: started.append(1))
        assert near.run("web", {}).status in (403, 422, 424)
        assert started == []
        monkeypatch.undo()
        assert near.run("shout", {"text": "a"}).json == {"said": "A"}


def test_allowed_variables_may_come_from_the_env_file(tmp_path):
    file = tmp_path / ".env"
    file.write_text("WEATHER_KEY=from-the-file\nOTHER=secret\n")
    with platform(allow_env=["WEATHER_KEY=127.0.0.1"], env_file=str(file)) as near:
        for name, told in (
            ("WEATHER_KEY", "127.0.0.1"),
            ("OTHER", "OTHER is not bound to http://127.0.0.1:9"),
        ):
            run = f'run: {{http: {{method: GET, url: "http://127.0.0.1:9/x", headers: {{X-Key: "${{env:{name}}}"}}}}}}\n'
            near.put(name.lower(), plain_tool(name.lower(), run=run))
            detail = near.run(name.lower(), {}).json["detail"]
            assert told in detail
            assert "from-the-file" not in detail


def test_busy_runner_is_not_evicted(monkeypatch, tmp_path):
    monkeypatch.setattr("toolhaft.serve.runners._MAX_RUNNERS", 1)
    closed = counted(monkeypatch, "runners.ToolRunner.close")
    slow_mark, other_mark = tmp_path / "slow", tmp_path / "other"
    other_mark.with_suffix(".go").touch()
    waits = plain_tool("wait", run=python("mark_and_wait"), more="timeout_s: 60\n")
    with platform(allow_run=["python"]) as near:
        near.put("wait", waits)
        near.put("shout", SHOUT)

        def run(name, text):
            return near.aask(
                "POST", f"/v3/tool/{name}", json.dumps({"text": str(text)}), content_type="application/json"
            )

        async def beside():
            slow = asyncio.ensure_future(run("wait", slow_mark))
            while not slow_mark.exists():  # noqa: ASYNC110 -- made by the tool
                await asyncio.sleep(0.005)
            quick = await run("shout", "a")
            await near.aask("PUT", "/v3/tools/wait", waits, content_type="application/yaml", if_match="*")
            other = await run("wait", other_mark)
            names = [runner.name for (runner,) in closed]
            slow_mark.with_suffix(".go").touch()
            return quick.status, other.status, names, (await slow).status

        assert asyncio.run(beside()) == (200, 200, ["shout"], 200)


@pytest.mark.parametrize("function", ["nap", "nap_on_thread"])
def test_calls_are_cancelled_and_answered_after_the_grace_period(function):
    got = []
    with serving_here(allow_run=["python"], grace_s=0.3) as server:
        server.put("nap", plain_tool("nap", run=python(function), more="timeout_s: 30\n"))
        thread = threading.Thread(target=lambda: got.append(server.run("nap", {"text": "3"})))
        thread.start()
        time.sleep(0.3)
    thread.join()
    assert got[0].status == 503
    assert got[0].json["kind"] == "cancelled"


def test_call_cancelled_by_others_raises_cancelled_error():
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


def test_deadline_error_of_a_handler_is_a_424():
    with platform(allow_run=["python"]) as near:
        near.put("late", plain_tool("late", run=python("be_late")))
        answer = near.run("late", {})
    assert answer.status == 424
    assert answer.is_problem


def test_installed_tool_that_fails_to_load_is_left_out(monkeypatch, caplog):
    def broken(_):
        raise DefinitionError("its package is missing")

    monkeypatch.setattr("toolhaft.serve.installed_tools.load_entry_point", broken)
    with platform() as near:
        assert near.run("calculator", {"expression": "1"}).status == 404
    assert "its package is missing" in caplog.text


def test_every_error_has_a_status_and_a_fix():
    for error, status in (
        (ConflictError("a"), 409),
        (ToolExecutionError("b"), 424),
        (StorageError("c"), 503),
    ):
        problem = error_problem(error)
        assert (problem.status, bool(problem.fix)) == (status, True)


def test_references_in_const_and_default_values_stay_unchanged():
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
    document = describe_platform([SimpleNamespace(id="odd")], "http://x", lambda _: describe_tool(tool))[
        "components"
    ]["schemas"]
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


def test_a_runner_of_an_older_version_is_closed(monkeypatch):
    closed = counted(monkeypatch, "runners.ToolRunner.close")
    with platform(allow_run=["python"], built_in="none") as near:
        near.put("shout", SHOUT)
        near.run("shout", {"text": "a"})
        near.put("shout", SHOUT, if_match="*")
        near.run("shout", {"text": "a"})
        assert len(closed) == 1
    assert len(closed) == 2


def test_problem_documents_are_limited_in_size():
    problem = HttpProblem(400, "x" * 20_000, problems=[ProblemEntry(problem="y" * 20_000)] * 200)
    sent = json.loads(problem.body)
    assert len(sent["detail"]) == 16_000
    assert [len(one["problem"]) for one in sent["problems"]] == [16_000] * 100


def test_overlong_key_is_refused_without_a_lookup(monkeypatch):
    looked_up = counted(monkeypatch, "callers.Callers._read")
    with platform(built_in="none") as near:
        assert near.ask("GET", "/v3/tools", key="x" * 194).status == 401
        assert (near.ask("GET", "/v3/tools", key="x" * 193).status, len(looked_up)) == (401, 1)


def test_document_limit_is_lower_than_the_body_limit():
    with platform(built_in="none") as near:
        assert near.put("shout", SHOUT + "#" * (100_000 - len(SHOUT))).status == 201
        assert near.put("shout", SHOUT + "#" * (100_001 - len(SHOUT))).status == 413


def test_waiting_changes_are_limited_for_the_whole_platform(tmp_path, monkeypatch):
    url = f"sqlite://{tmp_path}/platform.db"
    keys = [make_key(url, f"owner_{number}")[1] for number in range(3)]
    monkeypatch.setattr("toolhaft.serve.changes._MAX_CHANGES", 2)
    with platform(url, built_in="none") as near:

        async def together():
            puts = (
                near.aask("PUT", f"/v3/tools/{id}", plain_tool(id), key=key, content_type="application/yaml")
                for id, key in zip(("a", "b", "c"), keys, strict=True)
            )
            return [answer.status for answer in await asyncio.gather(*puts)]

        assert sorted(asyncio.run(together())) == [201, 201, 429]


def test_queue_drops_the_locks_of_idle_keys():
    async def rounds():
        queue = PerKeyQueue(ParallelLimit(10, 10))
        for key in ("a", "b", "a"):
            async with queue.turn(key):
                pass
        return queue._locks  # noqa: SLF001 -- all that would grow

    assert asyncio.run(rounds()) == {}


def test_body_beyond_the_limit_is_drained_without_keeping_it():
    parts = [b"%d" % number * 50 for number in range(8)]  # 50 bytes each, the limit is 100
    counts = []

    async def receive():
        sent = len(counts)
        counts.append(sys.getrefcount(parts[sent - 2]))
        return {"type": "http.request", "body": parts[sent], "more_body": sent < len(parts) - 1}

    with pytest.raises(HttpProblem, match="larger than 100 bytes"):
        asyncio.run(read_body(receive, {}, max_bytes=100, timeout_s=60))
    assert len(counts) == len(parts)
    assert counts[-1] == 2  # the list's and the call's, none of the reader


def test_response_body_limit_counts_bytes(monkeypatch):
    monkeypatch.setattr("toolhaft.serve.call_responses._MAX_BODY_BYTES", 100)
    assert value_body(ToolResult.ok("e" * 60)) == b'"' + b"e" * 60 + b'"'
    with pytest.raises(HttpProblem, match="more than 100 bytes"):
        value_body(ToolResult.ok("é" * 60))


def test_short_write_is_sent_together_with_the_next_one():
    async def rounds():
        inner = Mock(is_closing=lambda: False)
        transport = SingleWriteTransport(inner, asyncio.get_running_loop())
        sent = inner.write.call_args_list
        transport.write(b"head")
        transport.write(b"body")
        assert sent == [call(b"headbody")]
        transport.write(b"x" * 4_097)
        assert len(sent) == 2
        transport.write(b"alone")
        assert len(sent) == 2
        await asyncio.sleep(0)
        assert sent[2:] == [call(b"alone")]
        transport.write(b"last")
        transport.close()
        assert sent[3:] == [call(b"last")]
        transport.write(b"dropped")
        transport.abort()
        await asyncio.sleep(0)
        assert len(sent) == 4

    asyncio.run(rounds())


def test_rows_read_during_a_change_are_not_cached():
    header = {b"authorization": b"Bearer some-key"}

    def find_key(_):
        callers.cached(header, 2)  # another request sees that something changed
        return KeyInfo(id="1", owner="ann")

    callers = Callers(SimpleNamespace(find=find_key), None)
    callers.cached(header, 1)
    assert asyncio.run(callers.find(header, 1)).key_id == "1"
    assert callers.cached(header, 2) is None

    def get(*_):
        tools.cached("x", 2)
        return "a row"

    tools = ToolCache(SimpleNamespace(get=get), url="", kinds=frozenset(), built_in="none")
    tools.cached("x", 1)
    assert asyncio.run(tools.find("x", 1)) == "a row"
    assert tools.cached("x", 2) is ...
