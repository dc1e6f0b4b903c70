"""Measures catalogs of 5,000 tools that nothing has read yet: searches, `tool ls` and `export --all`.

Each figure is compared with a fixed time. `stored` is a database as this version writes it, `older` one whose
documents have to be parsed. The health of the server is asked again and again during the first search. The
figures of commands are processor time, those of the server are what a client waits.
"""

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from benchmarks.catalog_tools import COUNT, make_listings
from benchmarks.measure import Figure
from toolhaft.catalog.listing import Listing
from toolhaft.catalog.published import PublishedTool, save_row, store_fields
from toolhaft.catalog.published_store import PublishedStore
from toolhaft.define.running.platform_settings import DEFAULT_URL
from toolhaft.define.yaml import parse_tool, tool_fields
from toolhaft.serve import Keys
from toolhaft.storage import open_database

_OWNERS = 24
_EXPORTED = 1_000
_FIRST_S, _HEALTH_S, _LATER_S, _LIST_S, _EXPORT_S = 1.5, 0.05, 0.02, 2.0, 3.0
_QUERIES = (
    "convert currency",
    "share a file with others",
    "list every invoice in stripe",
    "create an issue",
    "summ",
    "weather",
)


def run() -> list[Figure]:
    """All figures of this group."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("stored", "older"):
            keys = _publish(Path(folder, kind), with_fields=kind == "stored")
            figures += _searches(kind, Path(folder, kind), keys)
            figures.append(_list_cold(f"tool_ls_5000_{kind}", Path(folder, kind)))
        files = Path(folder, "files")
        _write_files(files, COUNT)
        figures.append(_list_cold("tool_ls_5000_files", files))
        some = Path(folder, "some")
        _write_files(some, _EXPORTED)
        took = _lk(some, "export", "--all", "--format", "mcp", "--out", "tools.json")
        figures.append(_figure("export_1000", took, _EXPORT_S))
    return figures


def _figure(name: str, took_s: float, limit_s: float) -> Figure:
    return Figure(name, took_s * 1e6, limit_s * 1e6, took_s / limit_s, 1.0)


def _document(listing: Listing, owner: str, share: str) -> str:
    return (
        f'id: "{listing.id}"\nname: {listing.title}\ndescription: "{listing.description}"\nowner: "{owner}"\n'
        f'share: {share}\ntags: [{", ".join(listing.tags)}]\ncreated_at: "2026-01-01T00:00:00.000000Z"\n'
        'updated_at: "2026-01-01T00:00:00.000000Z"\nis_active: true\n'
        f'endpoint: "{DEFAULT_URL}/v3/tool/{listing.id}"\nparameters:\n'
        "  - {name: query, type: string, description: words to look for}\n"
        "  - {name: limit, type: integer, default: 10, minimum: 1, description: how many at most}\n"
    )


def _publish(folder: Path, *, with_fields: bool) -> list[str]:
    """Fill the database of a project, and return the keys of the owners."""
    Path(folder, ".toolhaft").mkdir(parents=True)
    with open_database(f"sqlite:///{folder}/.toolhaft/platform.db") as database:
        PublishedStore(database, url=DEFAULT_URL)
        keys = Keys(database)
        texts = [keys.create(owner=f"team-{n}", scopes=["tools:read"])[1] for n in range(_OWNERS)]
        with database.transaction() as transaction:
            for number, listing in enumerate(make_listings(COUNT)):
                row = _row(listing, f"team-{number % _OWNERS}", ("public", "private")[number % 3 == 1])
                row = store_fields(row, tool_fields(parse_tool(row.text))) if with_fields else row
                save_row(transaction, row, listing.tags)
            transaction.advance()
    return texts


def _row(listing: Listing, owner: str, share: str) -> PublishedTool:
    at = "2026-01-01T00:00:00.000000Z"
    text = _document(listing, owner, share)
    return PublishedTool(
        id=listing.id,
        owner=owner,
        org="",
        share=share,
        text=text,
        upstream=None,
        created_at=at,
        updated_at=at,
        url=DEFAULT_URL,
        revision=1,
    )


def _write_files(folder: Path, count: int) -> None:
    tools = Path(folder, "local-kit", "tools")
    tools.mkdir(parents=True)
    for listing in make_listings(count):
        (tools / f"{listing.id}.yaml").write_text(
            _document(listing, "", "private").replace('owner: ""\n', "")
        )


def _searches(kind: str, folder: Path, keys: list[str]) -> list[Figure]:
    with _serving(folder) as port:
        _get(port, "/healthz")
        waits: list[float] = []
        is_over = threading.Event()
        probe = threading.Thread(target=_probe, args=[port, waits, is_over])
        probe.start()
        first = _search(port, keys[0], _QUERIES[0])
        is_over.set()
        probe.join()
        later = sorted(_search(port, key, query) for query in _QUERIES for key in keys)
    return [
        _figure(f"first_search_{kind}", first, _FIRST_S),
        _figure(f"health_beside_first_search_{kind}", max(waits), _HEALTH_S),
        _figure(f"later_search_{kind}_95_percent", later[len(later) * 95 // 100], _LATER_S),
    ]


def _probe(port: int, waits: list[float], is_over: threading.Event) -> None:
    while not is_over.wait(0.005):
        waits.append(_get(port, "/healthz"))


def _search(port: int, key: str, text: str) -> float:
    return _get(port, f"/v3/tools?q={quote(text)}&limit=20", key)


def _get(port: int, path: str, key: str = "") -> float:
    """The seconds until a request was answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    start = time.perf_counter()
    connection.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
    answer = connection.getresponse()
    body = answer.read()
    took = time.perf_counter() - start
    connection.close()
    assert answer.status == http.HTTPStatus.OK, body
    assert not key or json.loads(body)["tools"], path
    return took


def _command(folder: Path, *words: str) -> tuple[list[str], dict[str, str]]:
    environment = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": f"{folder}/cache"}
    return [str(Path(sys.executable).with_name("lk")), *words], environment


@contextmanager
def _serving(folder: Path) -> Iterator[int]:
    command, environment = _command(folder, "serve", "--port", "0", "--json")
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE) as process:  # noqa: S603 -- our own command
        try:
            assert process.stderr is not None
            started = json.loads(process.stderr.readline())
            yield int(started["url"].rpartition(":")[2])
        finally:
            process.send_signal(signal.SIGTERM)


def _lk(folder: Path, *words: str) -> float:
    """The seconds of processor time that a command takes: other programs do not disturb them much."""
    command, environment = _command(folder, *words)
    before = os.times()
    subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)  # noqa: S603 -- our own command
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def _list_cold(name: str, folder: Path) -> Figure:
    took = []
    for _ in range(2):
        for file in ("platform.json", "listing.json"):
            Path(folder, ".toolhaft", file).unlink(missing_ok=True)
        took.append(_lk(folder, "tool", "ls"))
    return _figure(name, min(took), _LIST_S)
