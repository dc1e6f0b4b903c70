"""`version`."""

import json
import platform
from importlib.metadata import version

from tests.cli.kit import run_lk


def test_version_equals_the_distribution_version(tmp_path):
    done = run_lk("version", cwd=tmp_path)
    assert done == (0, f"toolhaft {version('toolhaft')} (Python {platform.python_version()})\n", "")


def test_json_has_the_versions_of_extras(tmp_path):
    told = json.loads(run_lk("version", "--json", cwd=tmp_path, program="toolhaft").out)
    assert (told["toolhaft"], told["python"]) == (version("toolhaft"), platform.python_version())
    assert told["extras"]["cli"]["click"] == version("click")


def test_a_broken_project_does_not_matter(tmp_path):
    (tmp_path / "toolhaft.toml").write_text("nonsense", encoding="utf-8")
    assert run_lk("version", cwd=tmp_path).exit == 0
