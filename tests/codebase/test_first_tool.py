"""docs/first-tool.md works: its file, its commands, and the output that it shows."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

pytestmark = pytest.mark.external

PAGE = Path(__file__).parents[2] / "docs" / "first-tool.md"
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<inside>.*?)^```$", re.DOTALL | re.MULTILINE)
ADDRESS = "127.0.0.1:8420"


@pytest.fixture
def home(tmp_path):
    """A project with the page's own file, and the environment of somebody who has just installed the program."""
    blocks = {fence["info"]: fence["inside"] for fence in FENCE.finditer(PAGE.read_text(encoding="utf-8"))}
    place, _, text = blocks["yaml"].partition("\n")
    file = tmp_path / "project" / place.removeprefix("# ")
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    return tmp_path / "project"


def environment(home):
    found = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    coverage = {name: value for name, value in os.environ.items() if name.startswith("COV")}
    return {"PATH": found, "HOME": str(home.parent), "LC_ALL": "C.UTF-8", **coverage}


def commands(block):
    """Each command of a block with what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


def ask(command, address, key):
    """Send what a curl command would send, where there may be no curl."""
    words = iter(shlex.split(command.replace(ADDRESS, address).replace("$KEY", key))[1:])
    url, headers, body = "", {}, b""
    for word in words:
        match word:
            case "-H":
                name, _, value = next(words).partition(": ")
                headers[name] = value
            case "-d":
                body = next(words).encode()
            case "-s":
                pass
            case _:
                url = word
    request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310 -- the page's own server
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 -- the same
        return response.read().decode()


def start(command, home):
    """The server of the page on a port of its own, its address and its key."""
    server = subprocess.Popen(
        [*shlex.split(command), "--port", "0"],
        cwd=home,
        env=environment(home),
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    said = ""
    while "th_" not in said:
        line = server.stderr.readline()
        assert line, f"the server ended: {said}"
        said += line
    return server, re.search(r"http://(\S+)", said)[1], re.search(r"th_\S+", said)[0]


def seen(command, home):
    """What a command prints, less the hints of what to do next."""
    done = subprocess.run(
        ["sh", "-c", f"{command} 2>&1"],
        cwd=home,
        env=environment(home),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return re.sub(r"^  next: .*\n", "", done.stdout.decode(), flags=re.MULTILINE)


def test_the_five_steps_of_the_page_lead_to_a_working_tool(home):
    text = PAGE.read_text(encoding="utf-8")
    assert [line[3] for line in text.splitlines() if re.match(r"## \d\.", line)] == list("12345")
    server = address = key = None
    try:
        for fence in FENCE.finditer(text):
            if fence["info"] == "console server":
                [(command, _)] = commands(fence["inside"])
                server, address, key = start(command, home)
            elif fence["info"] == "console":
                for command, printed in commands(fence["inside"]):
                    if command.startswith("curl"):
                        assert ask(command, address, key) + "\n" == printed
                        continue
                    assert seen(command, home) == printed
    finally:
        if server is not None:
            server.send_signal(signal.SIGTERM)
            server.communicate(timeout=30)
    assert server.returncode == 0
    assert "is_active: true" in (home / "local-kit" / "tools" / "shout.yaml").read_text(encoding="utf-8")


def test_the_file_of_the_page_needs_no_python(home):
    listed = subprocess.run(
        ["lk", "tool", "ls", "--json"],
        cwd=home,
        env=environment(home),
        capture_output=True,
        timeout=60,
        check=True,
    )
    found = {row["id"]: row for row in json.loads(listed.stdout)}
    assert found["shout"]["store"] == "project"
