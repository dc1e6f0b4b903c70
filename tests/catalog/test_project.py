"""A project is found upward, and errors in its settings name the place."""

import os
from pathlib import Path

import pytest

from tests.cases import in_case
from tests.catalog.kit import make_project
from toolhaft.catalog.project import Project, check_url
from toolhaft.define.running import DEFAULT_URL
from toolhaft.errors import ConfigError, ToolhaftError


def test_nearest_parent_folder_with_tools_is_the_project(tmp_path):
    project = make_project(tmp_path / "outer")
    inner = project.root / "src" / "deep"
    inner.mkdir(parents=True)
    assert Project.find(inner) == project
    assert Project.find(project.tools_folder) == project
    assert Project.find(str(project.root)).tools_folder == tmp_path / "outer" / "local-kit" / "tools"


def test_folder_with_only_settings_is_a_project(tmp_path):
    (tmp_path / "toolhaft.toml").write_text('http_allow = ["intranet.example"]')
    (tmp_path / "below").mkdir()
    found = Project.find(tmp_path / "below")
    assert (found.root, found.http_allow) == (tmp_path, ("intranet.example",))


def test_current_folder_is_the_default_project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    project = Project.find()
    assert project.root == tmp_path
    assert project.platform_url is None
    assert project.http_allow == ()
    assert project.api_key is None
    assert project.database_url == f"sqlite:///{tmp_path}/.toolhaft/platform.db"
    assert not project.state_folder.exists()


OTHERS = 65_534


@pytest.fixture
def owned_by_another(monkeypatch):
    """Makes a file look as if it was somebody else's: only root could give one away."""
    owners = {}
    lstat = Path.lstat

    def look(self):
        facts = lstat(self)
        fields = [*facts]
        fields[4] = owners.get(self, os.getuid())
        return os.stat_result(fields)

    monkeypatch.setattr(Path, "lstat", look)

    def give(path, owner=OTHERS):
        owners[path] = owner

    return give


@pytest.mark.parametrize("part", ["", "local-kit", "local-kit/tools", "toolhaft.toml", ".env", ".toolhaft"])
def test_project_of_another_user_above_is_refused(tmp_path, owned_by_another, part):
    project = make_project(tmp_path / "shared", config="", env="")
    project.make_state_folder()
    mine = project.root / "mine"
    mine.mkdir()
    assert Project.find(mine).root == project.root
    owned_by_another(project.root / part, 0)
    assert Project.find(mine).root == project.root
    owned_by_another(project.root / part)
    with pytest.raises(ConfigError, match="belongs to another user") as caught:
        Project.find(mine)
    assert str(project.root / part) in str(caught.value)
    assert "change to its folder" in str(caught.value)
    # who goes there has chosen it
    assert Project.find(project.root).root == project.root
    assert Project.at(project.root).root == project.root
    (mine / "local-kit" / "tools").mkdir(parents=True)
    assert Project.find(mine).root == mine


def test_owners_are_not_checked_without_getuid(tmp_path, owned_by_another, monkeypatch):
    project = make_project(tmp_path)
    (tmp_path / "mine").mkdir()
    owned_by_another(tmp_path)
    monkeypatch.delattr(os, "getuid")
    assert Project.find(tmp_path / "mine") == project


def test_missing_folder_is_a_config_error(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere: there is no such folder\. Fix: name an existing folder"):
        Project.find(tmp_path / "nowhere")


def test_deleted_current_folder_is_reported(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="the current folder is gone"):
        Project.find()


def test_environment_overrides_env_file_and_settings(tmp_path, monkeypatch):
    project = make_project(tmp_path, config='platform_url = "https://Toml.example/"')
    assert project.platform_url == "https://toml.example"
    (tmp_path / ".env").write_text(
        "TOOLHAFT_PLATFORM_URL=https://file.example/base/\nTOOLHAFT_API_KEY='k 1'\n"
    )
    assert (project.platform_url, project.api_key) == ("https://file.example/base", "k 1")
    monkeypatch.setenv("TOOLHAFT_PLATFORM_URL", DEFAULT_URL)
    monkeypatch.setenv("TOOLHAFT_API_KEY", "k2")
    assert (project.platform_url, project.api_key) == (DEFAULT_URL, "k2")
    monkeypatch.setenv("TOOLHAFT_PLATFORM_URL", "  ")
    assert project.platform_url == "https://toml.example"


@pytest.mark.parametrize("place", ["PGPASSWORD", "PGPASSFILE", ".pgpass"])
def test_a_database_that_env_names_gets_no_password_of_the_user(tmp_path, monkeypatch, place):
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / (".pgpass" if place == ".pgpass" else "passwords")
    file.write_text("*:*:*:*:secret\n")
    if place != ".pgpass":
        monkeypatch.setenv(place, str(file))
    for url, is_refused in (
        ("postgresql://db.example/tools", True),
        ("postgres://me@db.example/tools", True),
        ("PostgreSQL://me:@db.example/tools?password=x:y@z", True),
        ("postgresql://me:own@db.example/tools?password=", True),
        ("postgresql://me:own@db.example/tools?sslmode=require&p%61ssword=", True),
        ("postgresql://me:own@db.example/tools?service=mine", True),
        ("postgresql://me:own@db.example/tools", False),
        ("postgresql://me:own@db.example/tools?sslmode=require", False),
        ("sqlite:////tmp/x.db", False),
    ):
        (tmp_path / ".env").write_text(f"TOOLHAFT_DATABASE_URL={url}\n")
        project = make_project(tmp_path)
        with in_case(url):
            if is_refused:
                with pytest.raises(ConfigError, match=r"\.env: TOOLHAFT_DATABASE_URL names a server"):
                    _ = project.database_url
            else:
                assert project.database_url == url
    monkeypatch.setenv("TOOLHAFT_DATABASE_URL", "postgresql://db.example/tools")
    assert make_project(tmp_path).database_url == "postgresql://db.example/tools"


def test_database_url_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLHAFT_DATABASE_URL", "postgresql://me:secret@db.example/tools")
    assert make_project(tmp_path).database_url == "postgresql://me:secret@db.example/tools"


def test_invalid_env_file_is_reported_by_line_without_its_text(tmp_path):
    project = make_project(tmp_path, env="A=1\nsecret without equals\n")
    with pytest.raises(ConfigError, match=r"\.env:2: ") as caught:
        _ = project.platform_url
    assert "secret without" not in str(caught.value)


def test_invalid_settings_are_reported_with_place_and_fix(tmp_path):
    cases = [
        ('platform_ulr = "https://a.example"', r"toolhaft\.toml:1: there is no setting 'platform_ulr'\. Fix: did you mean 'platform_url'\?"),
        ("# settings\n\nhttp_alow = []", r"toolhaft\.toml:3: .*did you mean 'http_allow'"),
        ("x = 1", "the settings are allow_env, http_allow, owner, platform_url"),
        ("[platform]\nurl = 1", r"toolhaft\.toml:1: there is no setting 'platform'"),
        ('api_key = "th_x"', r"toolhaft\.toml:1: .*store the key with: lk login URL"),
        ('platform_url = "ftp://a.example"', r"toolhaft\.toml:1: the platform's address is not an http or https URL"),
        ("platform_url = 5", "not an http or https URL"),
        ('platform_url = "https://me:secret@a.example"', "not an http or https URL"),
        ('platform_url = "https://a.example/?q=1"', "not an http or https URL"),
        ('platform_url = "https://"', "not an http or https URL"),
        ('http_allow = "a.example"', "http_allow is a list of hosts"),
        ('http_allow = ["a.example", 5]', "not of 5"),
        ('http_allow = ["https://a.example"]', "not of 'https://a.example'"),
        ('# all\nhttp_allow = ["*"]', r"toolhaft\.toml:2: .*not of '\*'"),
        ('http_allow = ["a.example:99999"]', "not of 'a.example:99999'"),
        ('http_allow = ["[::zz]"]', "not of"),
        ('platform_url = "a', r"toolhaft\.toml:1: this is not TOML: "),
        ("a = 1\na = 2", r"toolhaft\.toml:2: this is not TOML: Cannot overwrite"),
        ("a = " + "[" * 5000, "this is not TOML"),
    ]  # fmt: skip
    for config, told in cases:
        with in_case(config, told):
            (tmp_path / "toolhaft.toml").write_text(config)
            with pytest.raises(ConfigError, match=told) as caught:
                Project.at(tmp_path)
            assert isinstance(caught.value, ToolhaftError)
            assert isinstance(caught.value, ValueError)
            assert "secret" not in str(caught.value)
            assert caught.value.place.startswith("toolhaft.toml")


def test_settings_that_are_not_text_or_too_long_are_reported(tmp_path):
    file = tmp_path / "toolhaft.toml"
    file.write_bytes(b"a = 1\n\xff")
    with pytest.raises(ConfigError, match=r"toolhaft\.toml:2: the text is not UTF-8"):
        Project.at(tmp_path)
    file.write_bytes(b"#" * 200_000)
    with pytest.raises(ConfigError, match="too large"):
        Project.at(tmp_path)
    file.unlink()
    file.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        Project.at(tmp_path)


def test_state_folder_has_a_gitignore(tmp_path):
    folder = make_project(tmp_path).make_state_folder()
    assert (folder / ".gitignore").read_text() == "*\n"
    (folder / ".gitignore").write_text("mine")
    assert Project.at(tmp_path).make_state_folder() == folder
    assert (folder / ".gitignore").read_text() == "mine"


def test_platform_urls_are_normalised():
    assert check_url(" HTTP://[::1]:8420/ ", place="x") == "http://[::1]:8420"
    assert check_url("https://A.example/Base/", place="x") == "https://a.example/Base"


def test_project_repr_has_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("TOOLHAFT_API_KEY", "th_secret")
    assert "th_secret" not in repr(make_project(tmp_path))
    assert os.environ["TOOLHAFT_API_KEY"] == "th_secret"
