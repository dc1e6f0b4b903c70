"""`key`: create, list and revoke keys."""

import json
import re
import sqlite3
from functools import partial

from tests.cases import in_case
from tests.cli.kit import ECHO, run_lk, write_yaml
from toolhaft.storage import open_database


def new(folder, *typed: str) -> dict:
    done = run_lk("key", "new", "--owner", "ann", *typed, "--json", cwd=folder)
    assert done.exit == 0, done.err
    return json.loads(done.out)


def test_new_key_is_printed_and_not_stored(tmp_path):
    done = run_lk("key", "new", "--owner", "ann", cwd=tmp_path)
    key = done.out.strip()
    assert (done.exit, bool(re.fullmatch(r"th_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", key))) == (0, True)
    assert key not in done.err
    kept = b"".join(file.read_bytes() for file in (tmp_path / ".toolhaft").iterdir() if file.is_file())
    assert key.encode() not in kept
    assert key.split("_", 2)[2].encode() not in kept
    assert key not in run_lk("key", "ls", "--json", cwd=tmp_path).out


def test_new_key_has_the_given_fields(tmp_path):
    made = new(tmp_path, "--org", "acme", "--scope", "tools:read", "--scope", "mail:send", "--name", "a b")
    assert {name: made[name] for name in ("owner", "org", "scopes", "expires_at", "name")} == {
        "owner": "ann",
        "org": "acme",
        "scopes": ["mail:send", "tools:read"],
        "expires_at": None,
        "name": "a b",
    }
    assert new(tmp_path)["scopes"] == ["tools:read", "tools:run"]
    assert new(tmp_path, "--days", "3")["expires_at"] is not None


def test_key_list_has_no_key_texts(tmp_path):
    first, second = new(tmp_path, "--name", "first"), new(tmp_path, "--name", "second one")
    told = json.loads(run_lk("key", "ls", "--json", cwd=tmp_path).out)
    assert [one["id"] for one in told] == [first["id"], second["id"]]
    shown = run_lk("key", "ls", cwd=tmp_path).out
    assert all(one["id"] in shown for one in told)


def test_note_says_that_the_key_is_for_the_embedded_platform(tmp_path):
    (tmp_path / "toolhaft.toml").write_text('platform_url = "https://tools.example.com"\n', encoding="utf-8")
    done = run_lk("key", "new", "--owner", "ann", cwd=tmp_path)
    assert (done.exit, "not of https://tools.example.com" in done.err) == (0, True)


def test_empty_key_list_suggests_the_next_step(tmp_path):
    done = run_lk("key", "ls", cwd=tmp_path)
    assert (done.exit, done.out, "no keys" in done.err) == (0, "", True)


def test_key_is_revoked_after_confirmation(tmp_path):
    made = new(tmp_path)
    refused = run_lk("key", "rm", made["id"], cwd=tmp_path)
    assert (refused.exit, f"lk key rm {made['id']} --yes" in refused.err) == (2, True)
    for answer, left in (("n", 1), ("y", 0)):
        done = run_lk("key", "rm", made["id"], cwd=tmp_path, stdin=f"{answer}\n", at_terminal=True)
        assert "[y/N]" in done.err
        assert len(json.loads(run_lk("key", "ls", "--json", cwd=tmp_path).out)) == left
    gone = run_lk("key", "rm", made["id"], "--yes", cwd=tmp_path)
    assert (gone.exit, "lk key ls" in gone.err) == (1, True)


def test_revoked_key_is_printed_as_json(tmp_path):
    made = new(tmp_path, "--org", "acme")
    done = run_lk("key", "rm", made["id"], "--yes", "--json", cwd=tmp_path)
    assert (done.exit, done.err) == (0, "")
    del made["key"]
    assert json.loads(done.out) == made
    gone = run_lk("key", "rm", made["id"], "--yes", "--json", cwd=tmp_path)
    assert (gone.exit, gone.out, json.loads(gone.err)["exit"]) == (1, "", 1)


def test_invalid_key_options_are_usage_errors(tmp_path):
    cases = [
        (["key", "new"], "--owner"),
        (["key", "new", "--owner", ""], "owner"),
        (["key", "new", "--owner", "a", "--scope", "two words"], "scope"),
        (["key", "new", "--owner", "a", "--scope", "tools:raed"], "did you mean 'tools:read'?"),
        (["key", "new", "--owner", "a", "--scope", "write"], "did you mean 'tools:write'?"),
        (["key", "new", "--owner", "a", "--scope", "Operator"], "did you mean 'operator'?"),
        (["key", "new", "--owner", "a", "--scope", "tools:all"], "the platform's are tools:read"),
        (["key", "new", "--owner", "a", "--days", "0"], "--days"),
        (["key", "new", "--owner", "a\nb"], "owner"),
        (["key", "new", "--owner", "a", "--name", "\x1b[31mred"], "name"),
    ]
    for typed, told in cases:
        with in_case(typed, told):
            done = run_lk(*typed, cwd=tmp_path)
            assert (done.exit, done.out) == (2, "")
            assert told in done.err


def test_scope_that_is_nearly_one_that_a_tool_requires_is_refused(tmp_path):
    write_yaml(tmp_path, "echo", ECHO + "requires: [billing:write]\n")
    write_yaml(tmp_path, "broken", "id: [\n")
    done = run_lk("key", "new", "--owner", "a", "--scope", "billing:wirte", cwd=tmp_path)
    assert (done.exit, done.out) == (2, "")
    assert "did you mean 'billing:write'?" in done.err
    # tools elsewhere may require other scopes, so these are only noted
    for scope, is_noted in (("billing:write", False), ("mail:send", True), ("tools:read", False)):
        done = run_lk("key", "new", "--owner", "a", "--scope", scope, cwd=tmp_path)
        assert (done.exit, f"note: the platform has no scope {scope}" in done.err) == (0, is_noted)


def test_invalid_database_is_reported(tmp_path):
    (tmp_path / ".toolhaft").mkdir()
    (tmp_path / ".toolhaft" / "platform.db").write_bytes(b"no database at all" * 100)
    done = run_lk("key", "ls", cwd=tmp_path)
    assert (done.exit in {1, 3}, done.out, "Traceback" in done.err) == (True, "", False)


def test_locked_database_is_reported(tmp_path, monkeypatch):
    new(tmp_path)
    monkeypatch.setattr("toolhaft.storage.open_database", partial(open_database, wait_s=0.1))
    with sqlite3.connect(tmp_path / ".toolhaft" / "platform.db", isolation_level=None) as held:
        held.execute("BEGIN EXCLUSIVE")
        done = run_lk("key", "new", "--owner", "bob", cwd=tmp_path)
        held.execute("ROLLBACK")
    held.close()
    assert (done.exit, done.out, "Traceback" in done.err) == (1, "", False)
