"""The checks of every request: hosts, origins, keys, scopes, media types and sizes."""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.cases import in_case
from tests.postgres import new_url
from tests.serve.kit import DATABASES, SHOUT, InProcess, make_key, operator_key, platform
from toolhaft.errors import ConfigError
from toolhaft.serve import Keys, Settings, create_app
from toolhaft.serve.app import PlatformApp
from toolhaft.storage import open_database


@pytest.fixture(scope="module")
def near():
    with platform() as asked:
        yield asked


def test_requests_for_its_own_hosts_are_accepted(near):
    for host in ["127.0.0.1:8420", "localhost:8420", "LOCALHOST:8420", "[::1]:8420"]:
        with in_case(host):
            assert near.ask("GET", "/v3/tools", host=host).status == 200


def test_requests_for_other_hosts_are_refused(near):
    cases = ["evil.example:8420", "127.0.0.1", "127.0.0.1:80", "localhost.evil.example:8420", "", None]
    for host in cases:
        with in_case(host):
            answer = near.ask("GET", "/v3/tools", host=host)
            assert answer.status == 421
            assert answer.is_problem


def test_requests_from_pages_of_other_sites_are_refused(near):
    for origin in (
        "http://evil.example",
        "null",
        "https://127.0.0.1:8420",
        "http://127.0.0.1:8420.evil.example",
    ):
        answer = near.run("calculator", {"expression": "1"}, origin=origin)
        assert answer.status == 403
        assert answer.is_problem
    assert near.run("calculator", {"expression": "1"}, origin="http://127.0.0.1:8420").status == 200


def test_content_types_of_html_forms_are_refused(near):
    cases = [
        "text/plain",
        "text/plain;application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        None,
    ]
    for content_type in cases:
        with in_case(content_type):
            answer = near.ask("POST", "/v3/tool/calculator", '{"expression": "1"}', content_type=content_type)
            assert answer.status == 415
            assert answer.is_problem


def test_compressed_bodies_and_other_charsets_are_refused(near):
    cases = [
        ({"content_type": "application/json; charset=utf-8"}, 200),
        ({"content_type": 'Application/JSON;charset="UTF-8"'}, 200),
        ({"content_type": "application/json; charset=utf-16"}, 415),
        ({"content_type": "application/json", "content_encoding": "gzip"}, 415),
    ]
    for headers, status in cases:
        with in_case(headers, status):
            answer = near.ask("POST", "/v3/tool/calculator", '{"expression": "1"}', **headers)
            assert answer.status == status


def test_repeated_security_headers_are_refused(near):
    async def ask(name):
        sent = []

        async def send(message):
            sent.append(message)

        headers = [
            (b"host", b"127.0.0.1:8420"),
            (b"authorization", f"Bearer {near.app.key}".encode()),
            (b"content-type", b"application/json"),
            (b"idempotency-key", b"a"),
            (b"x-other", b"1"),
            (b"x-other", b"2"),
        ]
        twice = [*headers, *(header for header in headers if header[0] == name)]
        scope = {"type": "http", "method": "GET", "path": "/v3/tools", "headers": twice, "query_string": b""}
        await near.app(scope, None, send)
        return sent[0]["status"]

    for name in (b"host", b"authorization", b"content-type", b"idempotency-key"):
        assert asyncio.run(ask(name)) == 400, name


def test_invalid_key_gets_401_without_details(near, monkeypatch):
    cases = [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "Bearer wrong",
        "Bearer th_0123abcd_" + "A" * 43,
        "Bearer " + "x" * 5000,
        "Bearer \xff",
    ]
    for authorization in cases:
        with in_case(authorization):
            monkeypatch.setattr(
                "toolhaft.serve.limits.KeyRates.count", lambda *_: 0.0
            )  # the address of all tests
            for path in ("/v3/tools", "/v3/tools/calculator", "/openapi.json", "/nothing"):
                answer = near.ask("GET", path, key=None, authorization=authorization)
                assert answer.status == 401
                assert answer.is_problem
                assert answer.headers["www-authenticate"].startswith("Bearer")
            answer = near.run("calculator", {"expression": "1"}, key=None, authorization=authorization)
            assert answer.status == 401


def test_health_needs_no_key_and_reveals_nothing(near):
    answer = near.ask("GET", "/healthz", key=None, host="10.0.0.1")
    assert (answer.status, answer.json) == (200, {"status": "ok"})


@pytest.mark.parametrize("kind", DATABASES)
def test_revoked_or_expired_key_stops_working_immediately(kind, tmp_path, monkeypatch):
    url = new_url(kind, tmp_path)
    info, key = make_key(url, "ann")
    _, short = make_key(url, "ann", expires_at=datetime.now(UTC) + timedelta(hours=1))
    monkeypatch.setattr("toolhaft.serve.revision._MAX_AGE_S", 0.05)
    with platform(url, built_in="none") as near, open_database(url) as database:

        async def rounds():
            before = [(await near.aask("GET", "/v3/tools", key=one)).status for one in (key, short)]
            await asyncio.to_thread(Keys(database).revoke, info.id)
            await asyncio.sleep(0.1)
            monkeypatch.setattr(
                "toolhaft.serve.callers.time.time", lambda: datetime.now(UTC).timestamp() + 3601
            )
            after = [(await near.aask("GET", "/v3/tools", key=one)).status for one in (key, short)]
            return before, after

        assert asyncio.run(rounds()) == ([200, 200], [401, 401])


@pytest.mark.parametrize(
    ("scope", "statuses"),
    [
        ("tools:read", (200, 403, 403, 403)),
        ("tools:write", (403, 201, 204, 403)),
        ("tools:run", (403, 403, 403, 404)),
        ("operator", (200, 201, 204, 404)),
        ("other", (403, 403, 403, 403)),
    ],
)
def test_key_is_limited_to_its_scopes(tmp_path, scope, statuses):
    url = f"sqlite://{tmp_path}/platform.db"
    _, key = make_key(url, "ann", scopes=[scope])
    with platform(url, built_in="none") as near:
        answers = (
            near.ask("GET", "/openapi.json", key=key),
            near.put("shout", SHOUT, key=key),
            near.ask("DELETE", "/v3/tools/shout", key=key),
            near.run("nothing", {}, key=key),
        )
    assert tuple(answer.status for answer in answers) == statuses
    assert all(
        scope in answer.json["detail"]
        for answer, scope in zip(answers, ("read", "write", "write", "run"), strict=True)
        if answer.status == 403
    )


def test_printed_key_is_different_on_each_start():
    with platform() as one, platform() as other:
        assert one.app.key != other.app.key
        assert one.ask("GET", "/v3/tools", key=other.app.key).status == 401


def is_refused(app):
    """True once the printed key is not accepted: PostgreSQL is asked for changes twice a second."""
    ends = time.monotonic() + 20
    while (got := InProcess(app).ask("GET", "/v3/tools").status) == 200 and time.monotonic() < ends:
        time.sleep(0.05)
    return got == 401


@pytest.mark.parametrize("kind", DATABASES)
def test_one_time_key_ends_for_good_when_a_key_is_stored(kind, tmp_path):
    url = new_url(kind, tmp_path)
    settings = Settings(database_url=url, rate=None)
    running, other = PlatformApp(settings), PlatformApp(settings)
    try:
        for app in (running, other):
            assert InProcess(app).ask("GET", "/v3/tools").status == 200
        info, text = make_key(url, "ann")
        for app in (running, other):
            assert is_refused(app)
            assert InProcess(app).ask("GET", "/v3/tools", key=text).status == 200
        with open_database(url) as database:
            assert Keys(database).revoke(info.id)
            assert (Keys(database).list(), Keys(database).was_used) == ([], True)
        for app in (running, other):
            assert is_refused(app)
        later = PlatformApp(settings)
        assert later.key is None
        later.close()
    finally:
        running.close()
        other.close()


def test_one_time_key_exists_only_on_loopback_without_a_public_address(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    cases = [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "::1"}, True),
        ({"public_url": "https://tools.example"}, False),
        ({"public_url": "http://127.0.0.1:8420"}, False),
        ({"host": "::1", "public_url": "https://tools.example"}, False),
        ({"host": "192.0.2.1"}, False),
    ]
    text = operator_key(f"sqlite://{tmp_path}/other.db")  # unknown to the platforms here
    for options, has_key in cases:
        with in_case(options):
            stored = {"database_url": url} if "host" in options and not has_key else {}
            if stored:
                make_key(url, "ann")
            app = PlatformApp(Settings(**options, **stored))
            assert (app.key is not None) == has_key
            asked = InProcess(app, app.url.partition("://")[2])
            assert asked.ask("GET", "/healthz", key=None).status == 200
            for key in (text, "th_once_" + "A" * 43):
                assert asked.ask("GET", "/v3/tools", key=key).status == 401
            app.close()


def test_off_loopback_start_needs_a_stored_key(tmp_path):
    url = f"sqlite://{tmp_path}/platform.db"
    settings = Settings(host="0.0.0.0", public_url="http://tools.example", database_url=url)  # noqa: S104 -- never bound
    with pytest.raises(ConfigError, match="toolhaft key new"):
        create_app(settings)
    make_key(url, "ann")
    app = create_app(settings)
    assert app.key is None
    app.close()


def test_too_large_body_returns_413_with_or_without_content_length(tmp_path):
    with platform(body_bytes=1000) as near:
        large = b'{"expression": "' + b"1" * 2000 + b'"}'
        for more in ({}, {"chunks": [large[:500], large[500:]]}, {"chunks": [large[:900], b"x" * 20_000]}):
            answer = near.ask("POST", "/v3/tool/calculator", large, content_type="application/json", **more)
            assert answer.status == 413
            assert answer.is_problem
            assert answer.headers["connection"] == "close"
        for length in ("1000000000", "99999999999999999999"):
            answer = near.ask(
                "POST",
                "/v3/tool/calculator",
                b"",
                content_type="application/json",
                content_length=length,
                chunks=[],
            )
            assert answer.status == 413
        assert near.put("shout", "#" * 2000).status == 413
        odd = near.ask(
            "POST", "/v3/tool/calculator", b"{}", content_type="application/json", content_length="1e3"
        )
        assert odd.status == 400


def test_body_in_several_messages_is_joined(near):
    parts = [b'{"expre', b"", b'ssion": "1 + 1"}']
    answer = near.ask(
        "POST", "/v3/tool/calculator", content_type="application/json", content_length=None, chunks=parts
    )
    assert answer.json == {"result": 2}


def test_disconnected_client_gets_no_response(near):
    cut = near.ask("POST", "/v3/tool/calculator", content_type="application/json", chunks=[])
    assert cut is None
    cut = near.ask("POST", "/v3/tool/calculator", content_type="application/json", chunks=[b"{", b""])
    assert cut.status == 400


def test_websockets_are_closed(near):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(near.app({"type": "websocket", "path": "/"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1000}]


def test_bug_of_the_platform_is_a_500_without_its_cause(near, monkeypatch, caplog):
    def explode(*_):
        raise RuntimeError("/secret/path")

    monkeypatch.setattr("toolhaft.serve.request.HeaderCheck.check", explode)
    answer = near.ask("GET", "/v3/tools")
    assert answer.status == 500
    assert "secret" not in answer.body.decode()
    assert "/secret/path" in caplog.text
