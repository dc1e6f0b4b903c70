"""Async handlers; apart from the others, since asyncio is not quick to import and every new worker does."""

import asyncio


async def add_slowly(a, b):
    await asyncio.sleep(0)
    return a + b


async def count_slowly_to(number):
    for n in range(number):
        await asyncio.sleep(0)
        yield n
