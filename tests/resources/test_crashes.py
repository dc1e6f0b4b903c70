"""A process that dies in the middle of a call: the next start finds the old files or the new ones, never a mix."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.external

LONG = bool(os.environ.get("TOOLHAFT_LONG"))
SEEDS = range(20) if LONG else (1, 2)  # odd seeds do not flush to disk
KILLS = 100 if LONG else 13


@pytest.fixture
def drive(quick_path, pytestconfig):
    def run(task, *numbers):
        done = subprocess.run(
            [sys.executable, "-m", "tests.resources.crash_driver", task, str(quick_path), *map(str, numbers)],
            cwd=pytestconfig.rootpath,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.parametrize("has_links", [1, 0])
def test_process_that_dies_before_any_system_call_leaves_all_or_nothing(drive, has_links):
    stride = 1 if LONG else 4
    assert drive("points", has_links, stride) > 80 // stride


@pytest.mark.skipif(not LONG, reason="TOOLHAFT_LONG=1 runs it")
@pytest.mark.parametrize("has_links", [1, 0])
def test_recovery_that_dies_before_any_system_call_is_finished_by_the_next(drive, has_links):
    assert drive("recovery", has_links, 1) > 500


@pytest.mark.parametrize("has_links", [1, 0])
def test_recovery_that_dies_is_finished_by_the_next(drive, has_links):
    assert drive("recovery", has_links, 25 if LONG else 70) > 10


@pytest.mark.parametrize("seed", SEEDS)
def test_processes_that_share_a_root_lose_nothing_when_one_is_killed(drive, seed):
    assert drive("together", seed, KILLS // 3) > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_process_killed_at_random_leaves_all_of_a_call_or_nothing(drive, seed):
    assert drive("killed", seed, KILLS) > KILLS
