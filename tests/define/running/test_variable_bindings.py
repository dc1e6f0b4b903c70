"""A variable is sent only to the hosts and programs that it is bound to, and only by tools of its owner."""

import pytest

from tests.cases import each_case, in_case
from tests.define.running.kit import call, http_tool, serving, tool_of
from toolhaft.define.running import Environment
from toolhaft.define.running.variable_bindings import binding_of, parse_binding
from toolhaft.errors import ConfigError
from toolhaft.resources.http import HttpClient

HOST = "https://api.example.com"


@each_case(
    ("text", "receiver", "owner", "covered"),
    [
        ("K=api.example.com", HOST, "", True),
        ("K=api.example.com", HOST, "bob", True),
        ("K=API.Example.COM", HOST, "", True),
        ("K=a.example,api.example.com", HOST, "", True),
        ("K=api.example.com:443", HOST, "", True),
        ("K=api.example.com", f"{HOST}:8443", "", True),
        ("K=api.example.com@ann", HOST, "ann", True),
        ("K=api.example.com@ann@corp.example", HOST, "ann@corp.example", True),
        ("K=api.example.com:80", "http://api.example.com", "", True),
        ("K=127.0.0.1", "http://127.0.0.1:9", "", True),
        ("K=[::1]:9", "http://[::1]:9", "", True),
        ("K=[0:0::1]", "https://[::1]", "", True),
        ("K=xn--bcher-kva.example", "https://bücher.example", "", True),
        ("K=argv:convert", "argv:convert", "", True),
        ("K=api.example.com,argv:convert@ann", "argv:convert", "ann", True),
        # another name, owner, port, scheme or host
        ("KK=api.example.com", HOST, "", False),
        ("k=api.example.com", HOST, "", False),
        ("K=api.example.com@ann", HOST, "", False),
        ("K=api.example.com@ann", HOST, "bob", False),
        ("K=api.example.com@ann", HOST, "Ann", False),
        ("K=api.example.com:443", f"{HOST}:8443", "", False),
        ("K=api.example.com", "http://api.example.com", "", False),
        ("K=api.example.com:443", "http://api.example.com:80", "", False),
        ("K=example.com", HOST, "", False),
        ("K=api.example.com", "https://evil.api.example.com", "", False),
        ("K=api.example.com", "https://api.example.com.evil.example", "", False),
        ("K=api.example.com", "https://apiXexample.com", "", False),
        ("K=127.0.0.1", "https://localhost", "", False),
        ("K=127.0.0.1", "https://[::ffff:127.0.0.1]", "", False),
        ("K=api.example.com", "argv:api.example.com", "", False),
        ("K=argv:convert", "argv:sh", "", False),
        ("K=argv:convert", "https://convert", "", False),
    ],
)
def test_a_binding_covers_its_variable_hosts_and_owner_only(text, receiver, owner, covered):
    assert parse_binding(text).covers("K", receiver, owner) is covered


def test_a_binding_that_is_not_complete_is_refused_with_the_form():
    for text, reason in (
        (
            "WEATHER_KEY",
            r"WEATHER_KEY does not say which hosts .* Fix: write WEATHER_KEY=HOST\[,HOST\]\[@OWNER\]",
        ),
        ("WEATHER_KEY=", "'' is not a host"),
        ("WEATHER_KEY=@ann", "'' is not a host"),
        ("WEATHER_KEY=a.example,", "'' is not a host"),
        ("WEATHER_KEY=a.example@", "the owner after '@' is missing"),
        ("WEATHER_KEY=a.example@ ann", "the owner after '@' is not one name"),
        (
            "WEATHER_KEY=a.example@ann,b.example@bob",
            "the owner after '@' is not one name.*one for each owner",
        ),
        ("WEATHER_KEY=*", r"hosts are named one by one, without '\*'"),
        ("WEATHER_KEY=*.example.com", r"hosts are named one by one, without '\*'"),
        ("WEATHER_KEY=https://a.example", "write only the host and its port"),
        ("WEATHER_KEY=a.example/path", "write only the host and its port"),
        ("WEATHER_KEY=a.example b.example", "is not a host"),
        ("WEATHER_KEY=a.example;b.example", "is not a host"),
        ("WEATHER_KEY=a.example:0", "is not a host"),
        ("WEATHER_KEY=2130706433", "is not a host"),
        ("WEATHER_KEY=argv:", "is not a host"),
        ("=a.example", "'' is not the name of a variable"),
        ("A B=a.example", "'A B' is not the name of a variable"),
        (5, "one text"),
    ):
        with in_case(text), pytest.raises(ConfigError, match=reason):
            parse_binding(text)


def test_the_text_of_a_binding_can_be_read_again():
    for text in ("K=a.example,b.example:8443@ann", "K=[::1]:9,argv:convert", "K=127.0.0.1"):
        assert str(parse_binding(text)) == text
        assert parse_binding(parse_binding(text)) == parse_binding(str(parse_binding(text)))
    for receiver, owner, text in (
        (HOST, "", "K=api.example.com"),
        (f"{HOST}:8443", "ann", "K=api.example.com:8443@ann"),
        ("http://api.example.com", "", "K=api.example.com:80"),
        ("argv:sh", "bob", "K=argv:sh@bob"),
    ):
        assert str(binding_of("K", receiver, owner)) == text
        assert parse_binding(text).covers("K", receiver, owner)
        assert binding_of("K", receiver).covers("K", receiver, "anybody")
    assert not binding_of("K", "http://api.example.com").covers("K", HOST, "")


@pytest.mark.external
def test_a_tool_sends_a_variable_to_no_other_host():
    with serving() as near, serving() as far:
        values = {"KEY": "s3cret-value"}
        made = http_tool(near.url, headers={"X-Key": "${env:KEY}"})
        for bindings in ([], [f"KEY={far.host}"], [f"OTHER={near.host}"], [f"KEY={near.host}@ann"]):
            with in_case(bindings):
                result = call(made, {}, near, env=Environment(values, bindings=bindings))
                assert f"the variable KEY is not bound to {near.url}, so it is not sent" in result.message
                assert (result.failure.outcome, "s3cret" in result.message) == ("nothing_happened", False)
        assert near.asked == []
        allowed = Environment(values, bindings=[f"KEY={near.host}"])
        assert call(made, {}, near, env=allowed).success
        assert near.asked[-1].headers["x-key"] == "s3cret-value"
        # a redirect takes it nowhere else
        near.says("", 302, Location=f"{far.url}/x")
        both = HttpClient(allow=[near.host, far.host])
        assert call(made, {}, env=allowed, client=both).success
        assert "x-key" not in far.asked[0].headers
        assert "s3cret-value" not in str(far.asked[0].headers)


@pytest.mark.external
def test_a_program_gets_only_the_variables_that_are_bound_to_it():
    values = {"API_KEY": "s3cret-value", "LANG": "C"}
    made = tool_of({"argv": ["env"], "env": ["API_KEY", "LANG"]})
    for bindings in ([], ["API_KEY=env"], ["API_KEY=argv:sh"]):
        result = call(made, {}, env=Environment(values, bindings=bindings))
        assert "the variable API_KEY is not bound to argv:env, so it is not sent" in result.message
    assert "API_KEY=" in call(made, {}, env=Environment(values, bindings=["API_KEY=argv:env"])).value
    harmless = tool_of({"argv": ["env"], "env": ["LANG"]})
    assert "LANG=C" in call(harmless, {}, env=Environment(values, bindings=[])).value


@pytest.mark.external
def test_bindings_hold_in_a_worker_process():
    with serving() as near:
        fields = {"isolation": "process"}
        made = http_tool(near.url, headers={"X-Key": "${env:KEY}"}, fields=fields)
        result = call(made, {}, near, env=Environment({"KEY": "s3cret-value"}, bindings=[]))
        assert not result.success
        assert near.asked == []


def test_a_tool_lists_what_it_sends_to_whom():
    made = http_tool(
        "https://API.example.com:443/x", headers={"X-A": "${env:A}", "X-B": "${env:B} ${env:A}", "X-C": "c"}
    )
    assert made.sends == (("A", HOST), ("B", HOST))
    assert tool_of({"argv": ["convert"], "env": ["A", "HOME"]}).sends == (("A", "argv:convert"),)
    assert tool_of({"python": "os:getcwd"}).sends == ()
    assert tool_of(endpoint="https://api.example.com/").sends == ()
