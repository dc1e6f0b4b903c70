"""Requests to a service outside of any call, and without the packages that a request needs."""

import subprocess
import sys

import pytest

from tests.cases import each_case
from tests.toolbox.searching.provider import Reply
from toolhaft.errors import HttpError, ToolExecutionError
from toolhaft.toolbox.json_service import (
    JsonService,
    ServiceError,
    ServiceRequest,
    request_json,
    retry_after_s,
)

MISSING = """
import sys
sys.modules["httpcore2"] = None  # as if it were not installed
from toolhaft import execute_tool
from toolhaft.toolbox import SearchConfig, web_search
print(execute_tool(web_search(SearchConfig(api_key="secret")), {"query": "length"}).message)
"""


def test_service_is_asked_without_a_call_too(provider, monkeypatch):
    monkeypatch.setattr("toolhaft.toolbox.json_service.http_of", lambda context: provider.client)
    provider.say(Reply(status=429, headers={"Retry-After": "0.01"}), {"a": 1})
    assert request_json(ServiceRequest(url=provider.address), JsonService(name="the service"), None) == {
        "a": 1
    }
    assert [asked.method for asked in provider.asked] == ["GET", "GET"]


def test_service_without_keys_refuses_the_request_not_the_key(provider, monkeypatch):
    monkeypatch.setattr("toolhaft.toolbox.json_service.http_of", lambda context: provider.client)
    provider.say(Reply(status=403))
    with pytest.raises(ServiceError) as caught:
        request_json(ServiceRequest(url=provider.address), JsonService(name="the service"), None)
    assert (str(caught.value), caught.value.status) == ("the service refused the request (HTTP 403)", 403)


def test_service_that_cannot_be_reached_has_no_status(provider):
    question = ServiceRequest(url=provider.address)  # the client that all share does not go to loopback
    with pytest.raises(ServiceError, match="the service could not be reached: ") as caught:
        request_json(question, JsonService(name="the service"), None)
    assert isinstance(caught.value, ToolExecutionError)
    assert isinstance(caught.value.__cause__, HttpError)
    assert caught.value.status is None


def test_repr_of_requests_and_services_has_no_keys():
    question = ServiceRequest(url="https://s.example", query={"key": "secret"}, headers={"token": "secret"})
    assert "secret" not in repr(question) + repr(JsonService(name="s", secrets=("secret",)))


def test_missing_package_of_the_client_fails_the_request(monkeypatch):
    def missing(context):
        raise ImportError("install it")

    monkeypatch.setattr("toolhaft.toolbox.json_service.http_of", missing)
    with pytest.raises(ToolExecutionError, match="install it"):
        request_json(ServiceRequest(url="https://s.example"), JsonService(name="the service"), None)


@pytest.mark.external
def test_missing_packages_of_the_client_are_told_with_the_command():
    said = subprocess.run(
        [sys.executable, "-c", MISSING], capture_output=True, text=True, check=True, timeout=60
    )
    assert "pip install 'toolhaft[web]'" in said.stdout
    assert "secret" not in said.stdout


@each_case(
    ("said", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("Thu, 01 Jan 2026 00:00:00 GMT", 0.0),
        ("Thu, 01 Jan 2026 00:00:00", 0.0),
        ("x", None),
        ("Mon, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999", None),
    ],
)
def test_retry_after_is_never_negative(said, seconds):
    assert retry_after_s({"retry-after": said}) == seconds
