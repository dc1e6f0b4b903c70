"""A YAML tool and the command line: written, checked, called, published, and called over HTTP."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

SHOUT = """\
id: shout
name: Shout
description: Writes a text in capitals
effect: read
tags: [text]
parameters:
  - {name: text, type: string, description: The text}
returns:
  - {name: output, type: string, description: The text in capitals}
run:
  argv: ["tr", "a-z", "A-Z"]
  stdin: "${text}"
"""
GIVEN = {"text": "milk first"}
BROKEN = SHOUT.replace("id: shout", "id: Shout it").replace("${text}", "${txt}")


def main() -> None:
    """Define and run a tool without Python code."""
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder, "local-kit", "tools")
        tools.mkdir(parents=True)
        print("\n== a tool in YAML, and a command line")
        (tools / "shout.yaml").write_text(BROKEN, encoding="utf-8")
        lk("tool check", folder, expected=1)
        (tools / "shout.yaml").write_text(SHOUT, encoding="utf-8")
        lk("tool check", folder)
        lk("tool search 'capital letters'", folder)
        lk("call shout --text 'tea at five'", folder)
        lk("call shout --txt 'tea at five'", folder, expected=2)
        lk("tool set shout", folder)
        call_over_http(folder)


def lk(command: str, folder: str, expected: int = 0) -> None:
    """Run a command, and print what a user would see."""
    print(f"   $ lk {command}")
    done = subprocess.run(  # noqa: S603 -- the commands above
        [Path(sys.executable).with_name("lk"), *shlex.split(command)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
    )
    print("".join(f"     {line}\n" for line in done.stdout.splitlines()), end="")
    if done.returncode != expected:
        raise SystemExit(f"lk {command} ended with {done.returncode}, not {expected}")


def call_over_http(folder: str) -> None:
    """Serve the project on loopback, on a free port, and call the published tool with the printed key."""
    serve = [sys.executable, "-m", "toolhaft", "serve", "--port", "0", "--allow-run", "argv"]
    print("   $ toolhaft serve --port 0 --allow-run argv &")
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(  # noqa: S603 -- the command above
        serve, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    ) as server:
        try:
            lines = [server.stderr.readline() if server.stderr else "" for _ in range(2)]
            address, key = lines[0].split()[-1], lines[1].split()[-1]
            print(
                f"   $ curl {address}/v3/tool/shout -H 'Authorization: Bearer ...' -d '{json.dumps(GIVEN)}'"
            )
            request = urllib.request.Request(  # noqa: S310 -- the server that was just started
                f"{address}/v3/tool/shout",
                data=json.dumps(GIVEN).encode(),
                headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310 -- the same
                print(f"     {response.status} {response.read().decode()}")
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
