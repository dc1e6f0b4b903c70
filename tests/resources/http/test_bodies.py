"""Bodies are decompressed as they arrive, within the limit; an incomplete one is an error."""

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each_case
from tests.resources.http.servers import scripted, serve
from toolhaft.errors import HttpError, HttpTooLargeError
from toolhaft.resources.http import HttpClient
from toolhaft.resources.http.exchange import BodyReader, content_coding

pytestmark = pytest.mark.external

TEXT = b"a rose is a rose is a rose. " * 5_000


def bare_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS = {"gzip": gzip.compress, "deflate": zlib.compress, "bare": bare_deflate, "identity": bytes}


def unpacked(coding, pieces, most=10_000_000):
    body = BodyReader(coding, most)
    for piece in pieces:
        body.add(piece)
    return body.whole()


def in_pieces(data, size):
    return [data[start : start + size] for start in range(0, len(data), size)]


@settings(deadline=None)  # some are cut into many pieces
@given(
    st.sampled_from(sorted(PACKERS)),
    st.binary(max_size=300) | st.integers(0, 400_000).map(bytes),
    st.integers(1, 50) | st.just(100_000),
)
def test_compressed_body_is_restored_from_any_chunks(packing, data, size):
    packed = PACKERS[packing](data)
    coding = "deflate" if packing == "bare" else packing
    assert unpacked(coding, in_pieces(packed, size)) == data
    assert unpacked(coding, in_pieces(packed, size), most=len(data)) == data


@each_case("packing", sorted(PACKERS))
@each_case("size", [64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 128 * 1024])
def test_one_byte_over_the_limit_is_too_large(packing, size):
    packed, coding = PACKERS[packing](bytes(size)), "deflate" if packing == "bare" else packing
    assert len(unpacked(coding, [packed], most=size)) == size
    with pytest.raises(HttpTooLargeError, match=f"at most {size - 1:,} bytes are read"):
        unpacked(coding, [packed], most=size - 1)


@pytest.mark.parametrize("packing", ["gzip", "deflate", "bare"])
def test_truncated_compressed_body_is_an_error(packing):
    packed, coding = PACKERS[packing](TEXT), "deflate" if packing == "bare" else packing
    for end in (1, 2, 5, 11, len(packed) // 2, len(packed) - 1):
        with pytest.raises(HttpError, match="in the middle"):
            unpacked(coding, [packed[:end]])


def test_several_members_in_a_row_are_one_body():
    packed = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two")
    for size in (1, 3, 7, 1_000):
        assert unpacked("gzip", in_pieces(packed, size)) == b"one two"


@each_case("packing", ["gzip", "deflate"])
@each_case("rest", [b"\0", b"\0" * 500, b"\x1f", b"garbage"])
def test_bytes_after_compressed_data_are_ignored(packing, rest):
    for size in (1, 1_000):
        assert unpacked(packing, in_pieces(PACKERS[packing](b"whole") + rest, size)) == b"whole"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_body_that_is_not_compressed_as_declared_is_an_error(coding):
    with pytest.raises(HttpError, match=f"is not valid {coding}"):
        unpacked(coding, [b"\xff<html>not packed at all</html>"])
    with pytest.raises(HttpError, match="is not valid gzip"):
        unpacked("gzip", [gzip.compress(b"one") + b"\x1f\x8bgarbage"])


@pytest.mark.parametrize("coding", ["gzip", "deflate", "identity"])
def test_empty_body_is_accepted_for_every_encoding(coding):
    assert unpacked(coding, []) == b""


def test_bomb_is_stopped_at_the_limit_with_little_memory():
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1_000_000)
    bomb = b"".join(packer.compress(zeros) for _ in range(30)) + packer.flush()
    assert len(bomb) < 35_000  # for 30 megabytes
    with serve({"/": (200, {"Content-Encoding": "gzip"}, bomb)}) as web:
        client = HttpClient(allow=[web.authority], max_bytes=2_000_000)
        client.fetch(web.url + "/none")
        tracemalloc.start()
        try:
            with pytest.raises(HttpTooLargeError, match="too large: at most 2,000,000 bytes are read"):
                client.fetch(web.url)
            assert tracemalloc.get_traced_memory()[1] < 8_000_000
        finally:
            tracemalloc.stop()


def test_doubly_compressed_body_is_refused():
    page = 200, {"Content-Encoding": "gzip, gzip"}, gzip.compress(gzip.compress(bytes(1_000_000)))
    with (
        serve({"/": page}) as web,
        pytest.raises(HttpError, match="encoded as 'gzip, gzip', which was not requested"),
    ):
        HttpClient(allow=[web.authority]).fetch(web.url)


@each_case(
    "header", ["br", "zstd", "compress", "gzip,gzip", "identity, gzip", "gzip;q=1", "chunked", "GZIP\u0130"]
)
def test_content_encoding_that_was_not_requested_is_an_error(header):
    with pytest.raises(HttpError, match="it must be gzip, deflate"):
        content_coding(header)


@pytest.mark.parametrize(
    ("header", "coding"),
    [
        ("", "identity"),
        (" GZip ", "gzip"),
        ("x-gzip", "gzip"),
        ("Deflate", "deflate"),
        ("Identity", "identity"),
    ],
)
def test_content_encoding_is_case_insensitive(header, coding):
    assert content_coding(header) == coding


@pytest.mark.parametrize("packing", sorted(PACKERS))
def test_compressed_body_is_decompressed(packing):
    headers = {"Content-Encoding": {"bare": "deflate"}.get(packing, packing)}
    with serve({"/": (200, headers, PACKERS[packing](TEXT))}) as web:
        assert HttpClient(allow=[web.authority]).fetch(web.url).body == TEXT
        assert web.requests[0].headers["accept-encoding"] == "gzip, deflate"


def test_limit_of_a_fetch_replaces_that_of_the_client():
    with serve({"/": (200, {}, b"x" * 1_000)}) as web:
        client = HttpClient(allow=[web.authority], max_bytes=500)
        assert len(client.fetch(web.url, max_bytes=1_000).body) == 1_000
        with pytest.raises(HttpTooLargeError, match="at most 999 bytes"):
            client.fetch(web.url, max_bytes=999)
        with pytest.raises(HttpTooLargeError, match="at most 500 bytes"):
            client.fetch(web.url)


def test_content_length_over_the_limit_is_refused_unread():
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5000001\r\n\r\n"

    def script(connection):
        connection.sendall(head)
        connection.recv(1)  # until the client goes

    with (
        scripted(script) as web,
        pytest.raises(HttpTooLargeError, match="at most 5,000,000 bytes are read"),
    ):
        HttpClient(allow=[web.authority]).fetch(web.url, timeout_s=60)


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 304)])
def test_bodiless_response_may_have_a_content_length(method, status):
    said = {"Content-Length": "99999999999", "Content-Encoding": "br"}
    with serve({"/": (status, said, b"")}) as web:
        response = HttpClient(allow=[web.authority]).fetch(web.url, method=method)
        assert (response.status, response.body, response.headers["content-encoding"]) == (status, b"", "br")
