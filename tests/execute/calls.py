"""Short ways to make calls, to run them through each of the executor's methods, and to observe them."""

import asyncio
import threading

from tests.cases import each_case
from toolhaft import ToolCall, ToolInvoked, ToolResult

PATIENCE_S = 30.0


def call(name, /, *, id="", idempotency_key=None, **arguments):
    return ToolCall(id=id, name=name, arguments=arguments, idempotency_key=idempotency_key)


def hear(executor):
    """Every ToolInvoked from now on, in a list."""
    events = []
    executor.session.dispatcher.subscribe(ToolInvoked, events.append)
    return events


def kind_of(result):
    return None if result.failure is None else result.failure.kind


def in_threads(works):
    """Each function on a thread of its own, to its end."""
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert not any(thread.is_alive() for thread in threads)


def by_execute(executor, one, **bounds):
    return executor.execute(one, **bounds)


def by_aexecute(executor, one, **bounds):
    return asyncio.run(executor.aexecute(one, **bounds))


def by_execute_all(executor, one, **bounds):
    (result,) = executor.execute_all([one], **bounds)
    return result


def by_aexecute_all(executor, one, **bounds):
    (result,) = asyncio.run(executor.aexecute_all([one], **bounds))
    return result


def by_astream(executor, one, **bounds):
    return asyncio.run(last_of(executor.astream(one, **bounds)))


async def last_of(stream):
    items = [item async for item in stream]
    assert isinstance(items[-1], ToolResult)
    return items[-1]


WAYS = [by_execute, by_aexecute, by_execute_all, by_aexecute_all, by_astream]

each_way = each_case("run", WAYS)
"""All methods of an executor must give the same result."""
both_ways = each_case("run", [by_execute, by_aexecute])
