"""Which hosts may be reached: public ones, those in `allow`, and with `only` no others."""

import pytest

from tests.cases import each_case
from tests.resources.http.servers import LOOPBACK, LoopbackConnector, Names, serve
from toolhaft.errors import DefinitionError, HttpError, HttpRefusedError
from toolhaft.resources.http import HttpClient

pytestmark = pytest.mark.external

PAGE = {None: (200, {}, "hello")}
PUBLIC = "93.184.216.34"


@pytest.fixture(scope="module")
def web():
    with serve(PAGE) as running:
        yield running


@pytest.fixture
def visit(web):
    """Fetch with a client that always reaches the server; returns the address that it connected to."""

    def go(url, *, table=None, **options):
        connector = LoopbackConnector(
            dict.fromkeys((LOOPBACK, "::1", "10.1.2.3", PUBLIC, "2606:4700::1111", "fe80::1%eth0"), web)
        )
        names = Names(table or {})
        client = HttpClient(resolver=names, connector=connector, **options)
        assert client.fetch(url).body == b"hello"
        return connector.connected[-1][0]

    return go


def test_public_name_and_public_address_are_open(visit):
    assert visit("http://shop.example/", table={"shop.example": [PUBLIC]}) == PUBLIC
    assert visit(f"http://{PUBLIC}/") == PUBLIC
    assert visit("http://[2606:4700:0::1111]:8080/") == "2606:4700::1111"


@pytest.mark.parametrize("port", [80, 443, 1024, 8080, 65535])
def test_ports_80_443_and_from_1024_are_allowed(visit, port):
    assert visit(f"http://{PUBLIC}:{port}/") == PUBLIC


@each_case(
    "addresses",
    [
        ["127.0.0.1"],
        [PUBLIC, "127.0.0.1"],
        ["10.1.2.3", PUBLIC],
        ["::1"],
        ["fe80::1%eth0"],
        ["::ffff:93.184.216.34"],
    ],
)
def test_name_with_any_address_that_is_not_public_is_refused(visit, addresses):
    with pytest.raises(HttpRefusedError) as caught:
        visit("http://Rebind.Example/", table={"rebind.example": addresses})
    told = str(caught.value)
    assert "'Rebind.Example' is not a public host" in told
    assert not any(address in told for address in addresses)


@pytest.mark.parametrize(
    "url", ["http://intranet/", "https://intranet:22/".replace("https", "http"), "http://INTRANET:8080/"]
)
def test_allowed_name_may_lead_to_any_address_on_any_port(visit, url):
    assert visit(url, table={"intranet": ["10.1.2.3"]}, allow=["Intranet"]) == "10.1.2.3"
    assert visit(url, table={"intranet": ["fe80::1%eth0"]}, allow=["intranet"]) == "fe80::1%eth0"


def test_allowed_name_with_a_port_is_open_on_that_port_only(visit):
    table = {"intranet.example": ["10.1.2.3"]}
    assert visit("http://intranet.example:81/", table=table, allow=["intranet.example:81"]) == "10.1.2.3"
    for url in ("http://intranet.example/", "http://intranet.example:8081/", "http://intranet.example:82/"):
        with pytest.raises(HttpRefusedError):
            visit(url, table=table, allow=["intranet.example:81"])


@pytest.mark.parametrize(
    ("entry", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:9/"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
        ("[::1]", "http://[0:0::1]/"),
        ("[0:0:0::1]:8080", "http://[::1]:8080/"),
    ],
)
def test_allowed_address_is_open(visit, entry, url):
    assert visit(url, allow=[entry]) in (LOOPBACK, "::1")


@each_case(
    ("entry", "url"),
    [
        ("127.0.0.1", "http://127.0.0.2/"),
        ("127.0.0.1", "http://localhost/"),
        ("127.0.0.1", "http://2130706433/"),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/"),
        ("127.0.0.1:80", "https://127.0.0.1/"),
        ("localhost", "http://127.0.0.1/"),
        ("localhost", "http://app.localhost/"),
        ("intranet.example", "http://www.intranet.example/"),
        ("intranet.example", "http://tintranet.example/"),
    ],
)
def test_allowed_entry_opens_nothing_but_itself(visit, entry, url):
    table = {key: [LOOPBACK] for key in ("localhost", "www.intranet.example", "tintranet.example")}
    with pytest.raises(HttpRefusedError):
        visit(url, table=table, allow=[entry])


def test_name_is_not_allowed_because_its_address_is(visit):
    with pytest.raises(HttpRefusedError):
        visit("http://evil.example/", table={"evil.example": [LOOPBACK]}, allow=[LOOPBACK])


def test_only_list_forbids_all_other_hosts(visit):
    table = {"a.example": [PUBLIC], "b.example": [PUBLIC], "www.a.example": [PUBLIC]}
    assert visit("http://A.example/", table=table, only=["a.example"]) == PUBLIC
    for url in (
        "http://b.example/",
        "http://www.a.example/",
        f"http://{PUBLIC}/",
        "http://a.example.b.example/",
    ):
        with pytest.raises(HttpRefusedError, match="not one of the hosts that may be reached"):
            visit(url, table=table, only=["a.example"])


def test_only_entry_with_a_port_allows_that_port(visit):
    table = {"a.example": [PUBLIC]}
    assert visit("http://a.example:8080/", table=table, only=["a.example:8080"]) == PUBLIC
    with pytest.raises(HttpRefusedError, match=r"'a.example' \(port 80\) is not one of"):
        visit("http://a.example/", table=table, only=["a.example:8080"])


def test_only_entry_with_a_star_allows_subdomains(visit):
    table = {
        "x.a.example": [PUBLIC],
        "y.x.a.example": [PUBLIC],
        "a.example": [PUBLIC],
        "ba.example": [PUBLIC],
    }
    for name in ("x.a.example", "y.x.a.example"):
        assert visit(f"http://{name}/", table=table, only=["*.a.example"]) == PUBLIC
    for name in ("a.example", "ba.example"):
        with pytest.raises(HttpRefusedError):
            visit(f"http://{name}/", table=table, only=["*.a.example"])


@pytest.mark.parametrize("url", ["http://a.example/", "http://127.0.0.1/", "http://8.8.8.8/"])
def test_empty_only_list_allows_no_host(visit, url):
    with pytest.raises(HttpRefusedError):
        visit(url, table={"a.example": [PUBLIC]}, only=[], allow=["127.0.0.1"])


def test_only_list_does_not_allow_private_hosts(visit):
    with pytest.raises(HttpRefusedError, match="is not a public host"):
        visit("http://a.example/", table={"a.example": ["10.1.2.3"]}, only=["a.example"])
    with pytest.raises(HttpRefusedError, match="is not a public host"):
        visit("http://127.0.0.1/", only=["127.0.0.1"])
    with pytest.raises(HttpRefusedError, match="port 22"):
        visit("http://a.example:22/", table={"a.example": [PUBLIC]}, only=["a.example"])


def test_allow_does_not_widen_only(visit):
    with pytest.raises(HttpRefusedError, match="not one of"):
        visit("http://intranet/", table={"intranet": ["10.1.2.3"]}, only=["a.example"], allow=["intranet"])
    assert visit("http://intranet/", table={"intranet": ["10.1.2.3"]}, only=["intranet"], allow=["intranet"])


@each_case("list_name", ["allow", "only"])
@each_case("entries", ["localhost", b"localhost", 5, "a.example,b.example"])
def test_text_in_place_of_a_list_is_refused(list_name, entries):
    with pytest.raises(
        DefinitionError, match=f"{list_name}: a list of hosts is expected.*Fix: write {list_name}="
    ):
        HttpClient(**{list_name: entries})


@each_case("list_name", ["allow", "only"])
@each_case(
    "entry",
    ["", "http://localhost", "localhost/", "local host", "localhost:0", "localhost:x", "localhost:99999", "::1", "127.1", "0x7f.1",
     "10.0.0.0/8", "user@host", "*", "*.", "a.*.example", "**.example", "host..", ".host", "[::1", "[fe80::1%1]", 5, None, "*.127.0.0.1"],
)  # fmt: skip
def test_invalid_host_entry_is_refused(list_name, entry):
    with pytest.raises(
        DefinitionError, match=f"^{list_name}: .* is not a host: .*Fix: write 'intranet.example'"
    ):
        HttpClient(**{list_name: [entry]})


def test_allow_names_its_hosts_one_by_one():
    with pytest.raises(DefinitionError):
        HttpClient(allow=["*.intranet.example"])


def test_lists_may_be_iterators(visit):
    table = {"a.example": ["10.1.2.3"]}
    assert visit("http://a.example/", table=table, allow=iter(["a.example"]), only=(x for x in ["a.example"]))


def test_unknown_host_is_an_error_but_not_refused(visit):
    with pytest.raises(HttpError, match=r"no address was found for 'no\.example'") as caught:
        visit("http://no.example/")
    assert not isinstance(caught.value, HttpRefusedError)
