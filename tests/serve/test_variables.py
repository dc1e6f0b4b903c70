"""Published tools send a variable only to its hosts, and only tools of its owner do."""

import pytest

from tests.cases import in_case
from tests.define.running.kit import serving
from tests.serve.kit import make_key, plain_tool, platform
from toolhaft.errors import ConfigError
from toolhaft.serve import Settings

SECRET = "s3cret-value"  # noqa: S105 -- of these tests


def sending(url, *, header="${env:WEATHER_KEY}"):
    return f'run: {{http: {{method: GET, url: "{url}/x", headers: {{X-Key: "{header}"}}}}}}\n'


@pytest.mark.external
def test_no_publisher_can_send_a_variable_to_a_host_or_for_an_owner_that_it_is_not_bound_to(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("WEATHER_KEY", SECRET)
    url = f"sqlite://{tmp_path}/platform.db"
    ann, bob = (make_key(url, owner)[1] for owner in ("ann", "bob"))
    with serving() as weather, serving() as evil:
        evil.answer = lambda asked: (200, {}, {"back": asked.headers.get("x-key", "")[::-1]})
        hosts = [weather.host, evil.host]
        keys = {"ann": ann, "bob": bob}
        with platform(url) as near:
            for owner, key in keys.items():
                for id, there in ((f"{owner}-near", weather.url), (f"{owner}-far", evil.url)):
                    assert near.put(id, plain_tool(id, run=sending(there)), key=key).status == 201
        for allowed, sent in (
            ([], {}),
            ([f"WEATHER_KEY={weather.host}"], {"ann": True, "bob": True}),
            ([f"WEATHER_KEY={weather.host}@ann"], {"ann": True}),
            ([f"WEATHER_KEY={weather.host}@ann", f"OTHER={evil.host}"], {"ann": True}),
        ):
            with in_case(allowed), platform(url, allow_env=allowed, http_allow=hosts) as near:
                for owner, key in keys.items():
                    answer = near.run(f"{owner}-near", {}, key=key)
                    assert (answer.status == 200) is sent.get(owner, False), answer.json
                    if answer.status != 200:
                        needed = f"--allow-env WEATHER_KEY={weather.host}@{owner}"
                        assert answer.json["fix"] == f"ask the operator for {needed}"
                    answer = near.run(f"{owner}-far", {}, key=key)
                    assert (answer.status, SECRET[::-1] in answer.body.decode()) == (424, False)
        assert evil.asked == []
        assert {asked.headers["x-key"] for asked in weather.asked} == {SECRET}


@pytest.mark.external
def test_a_tool_that_forwards_uses_no_variables_of_its_own_owner_for_others(tmp_path, monkeypatch):
    monkeypatch.setenv("WEATHER_KEY", SECRET)
    url = f"sqlite://{tmp_path}/platform.db"
    ann, bob = (make_key(url, owner)[1] for owner in ("ann", "bob"))
    with (
        serving() as weather,
        platform(url, allow_env=[f"WEATHER_KEY={weather.host}@ann"], http_allow=[weather.host]) as near,
    ):
        there = "endpoint: http://127.0.0.1:8420/v3/tool/"
        for id, key, share, run, more in (
            ("of-bob", bob, "public", sending(weather.url), ""),
            ("of-ann", ann, "public", sending(weather.url), ""),
            ("ann-to-bob", ann, "public", "", f"{there}of-bob\n"),
            ("bob-to-ann", bob, "public", "", f"{there}of-ann\n"),
        ):
            assert near.put(id, plain_tool(id, share=share, run=run, more=more), key=key).status == 201
        assert near.run("ann-to-bob", {}, key=ann).status == 424
        assert weather.asked == []
        assert near.run("bob-to-ann", {}, key=bob).status == 200


@pytest.mark.external
def test_a_published_program_gets_no_variable_that_is_bound_to_a_host(monkeypatch):
    monkeypatch.setenv("WEATHER_KEY", SECRET)
    for bound, status in (("WEATHER_KEY=api.example.com", 424), ("WEATHER_KEY=argv:env", 200)):
        with platform(allow_run=["argv"], allow_env=[bound]) as near:
            near.put("leak", plain_tool("leak", run="run: {argv: [env], env: [WEATHER_KEY]}\n"))
            assert near.run("leak", {}).status == status


def test_a_bare_name_is_refused_with_the_form_to_write():
    for text in ("WEATHER_KEY", "WEATHER_KEY=", "WEATHER_KEY=*", "WEATHER_KEY=a.example@"):
        with in_case(text), pytest.raises(ConfigError, match=r"^allow_env: .*Fix: write WEATHER_KEY=\w"):
            Settings(allow_env=[text])
