"""The folder that a person works in: where its tools are, and which platform they go to.

Reads `toolhaft.toml`, `.env` and the environment; does not know tools or platforms themselves.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from toolhaft.define.running.settings import DEFAULT_URL, KEY_VARIABLE, SETTINGS_FILE, URL_VARIABLE
from toolhaft.errors import ConfigError, DefinitionError

DATABASE_NAME: Final = "TOOLHAFT_DATABASE_URL"
_KEYS: Final = ("http_allow", "platform_url")
_OWNED: Final = ("", "local-kit", "local-kit/tools", SETTINGS_FILE, ".env", ".toolhaft")
"""What decides which tools are run and where keys go; the folder itself may be everybody's, as /tmp is."""
_LARGEST_CONFIG: Final = 100_000
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s/@:?#\[\]]+)(:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A folder with its settings; `Project.find()` is how one is had.

    The environment is asked when a setting is asked for, and the `.env` file where the environment has none.
    """

    root: Path
    http_allow: tuple[str, ...] = ()
    """Hosts that tools may reach although they are not public."""
    configured_url: str | None = None
    """`platform_url` of toolhaft.toml; the environment comes first: see `platform_url`."""

    @classmethod
    def find(cls, start: str | os.PathLike[str] | None = None) -> Project:
        """The project that a folder belongs to: the nearest one upward that holds `local-kit/tools`.

        Where there is none, it is the nearest one that holds `toolhaft.toml`, else the folder itself.

        Raises:
            ConfigError: where toolhaft.toml makes no sense, or there is no such folder, or a project above
                it belongs to another user (root apart), who could have anything run and any key sent to them.
        """
        here = _folder(start)
        folders = (here, *here.parents)
        marks = (("local-kit", "tools"), (SETTINGS_FILE,))
        found = (folder for mark in marks for folder in folders if folder.joinpath(*mark).exists())
        root = next(found, here)
        if root != here:
            _check_owner(root)
        return cls.at(root)

    @classmethod
    def at(cls, root: str | os.PathLike[str]) -> Project:
        """The project of that very folder.

        Raises:
            ConfigError: where its toolhaft.toml makes no sense, or there is no such folder.
        """
        folder = _folder(root)
        settings = _read_settings(folder / SETTINGS_FILE)
        return cls(
            root=folder,
            http_allow=cast("tuple[str, ...]", settings.get("http_allow", ())),
            configured_url=cast("str | None", settings.get("platform_url")),
        )

    @property
    def tools_folder(self) -> Path:
        """Where the project's own tools are, there or not."""
        return self.root / "local-kit" / "tools"

    @property
    def state_folder(self) -> Path:
        """Where Toolhaft keeps what it makes itself, there or not."""
        return self.root / ".toolhaft"

    @property
    def env_file(self) -> Path:
        """Where keys are kept, there or not."""
        return self.root / ".env"

    @property
    def database_file(self) -> Path:
        """The embedded platform's own file, there or not."""
        return self.state_folder / "platform.db"

    @property
    def database_url(self) -> str:
        """Where the embedded platform keeps what is published.

        Raises:
            ConfigError: where the .env file cannot be read.
        """
        return self.setting(DATABASE_NAME) or f"sqlite:///{self.database_file.as_posix()}"

    @property
    def has_own_database(self) -> bool:
        """True if the embedded platform keeps its tools in the project's own file.

        Raises:
            ConfigError: where the .env file cannot be read.
        """
        return self.setting(DATABASE_NAME) is None

    @property
    def platform_url(self) -> str | None:
        """The address of the configured platform, without a slash at its end; None is the embedded one.

        Raises:
            ConfigError: where it is no address, or the .env file cannot be read.
        """
        said = self.setting(URL_VARIABLE)
        return check_url(said, place=URL_VARIABLE) if said else self.configured_url

    @property
    def api_key(self) -> str | None:
        """The key for the configured platform.

        Raises:
            ConfigError: where the .env file cannot be read.
        """
        return self.setting(KEY_VARIABLE)

    def setting(self, name: str) -> str | None:
        """A value of the environment, else of the project's `.env`; None where both have none.

        Raises:
            ConfigError: where the .env file cannot be read.
        """
        value = os.environ.get(name)
        if value is not None:
            return value.strip() or None
        return self._env().get(name, "").strip() or None

    def make_state_folder(self) -> Path:
        """The state folder, made if it was not there, and kept out of version control.

        Raises:
            OSError: where it cannot be made.
        """
        folder = self.state_folder
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):
                (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        return folder

    def _env(self) -> dict[str, str]:
        if not self.env_file.is_file():
            return {}
        from toolhaft.define.running.env_file import read_env_file  # noqa: PLC0415 -- few projects have one

        try:
            return read_env_file(self.env_file)
        except DefinitionError as error:
            raise ConfigError(error.problem, place=error.place, fix=error.fix) from None


def check_url(url: object, *, place: str) -> str:
    """The address of a platform without a slash at its end.

    Raises:
        ConfigError: where it is no http or https address of a host.
    """
    text = url.strip().rstrip("/") if isinstance(url, str) else ""
    scheme, _, rest = text.partition("://")
    host, _, path = rest.partition("/")
    if scheme.lower() not in ("http", "https") or not _HOST.fullmatch(host) or re.search(r"[\s?#@]", path):
        # not quoted: it may hold a password
        raise ConfigError(
            "the platform's address is no http or https URL of a host, without user, query and fragment",
            place=place,
            fix=f'write it as "{DEFAULT_URL}" or "https://tools.example.com"',
        )
    return f"{scheme.lower()}://{host.lower()}{'/' if path else ''}{path}"


def _folder(start: str | os.PathLike[str] | None) -> Path:
    try:
        folder = Path(os.path.realpath(Path.cwd() if start is None else start))
    except OSError as error:
        raise ConfigError("the current folder is gone", fix="change to another folder") from error
    if not folder.is_dir():
        raise ConfigError(
            "there is no such folder", place=str(start), fix="name a folder that is there, or make it"
        )
    return folder


def _check_owner(root: Path) -> None:
    """Refuse a project that nobody chose by going to its folder, and that is somebody else's."""
    user = getattr(os, "getuid", None)
    if user is None:  # such systems have other ways
        return
    trusted = (0, user())
    for name in _OWNED:
        part = root / name
        with suppress(OSError):
            if part.lstat().st_uid not in trusted:
                raise ConfigError(
                    "a project above the current folder belongs to another user, and is not used unasked",
                    place=str(part),
                    fix="if you trust it, change to its folder; if not, make local-kit/tools in your own",
                )


def _read_settings(file: Path) -> dict[str, object]:
    try:
        with file.open("rb") as stream:
            data = stream.read(_LARGEST_CONFIG + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(
            f"the file cannot be read: {error.strerror}", place=SETTINGS_FILE, fix="check its rights"
        ) from error
    if len(data) > _LARGEST_CONFIG:
        raise ConfigError("the file is too large", place=SETTINGS_FILE, fix="keep it within 100 KB")
    return _check_settings(data)


def _check_settings(data: bytes) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 -- most projects have no such file

    try:
        text = data.decode()
        said = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        place = f"{SETTINGS_FILE}:{line}"
        raise ConfigError("the text is not UTF-8", place=place, fix="save the file as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        place = f"{SETTINGS_FILE}:{found[1] if found else len(data.splitlines())}"
        what = re.sub(r"\s*\(at [^)]*\)", "", str(error)) or "nested too deep"
        raise ConfigError(f"this is not TOML: {what:.200}", place=place, fix="mend that line") from None
    return {key: _check_setting(key, value, _place(text, key)) for key, value in said.items()}


def _check_setting(key: str, value: object, place: str) -> object:
    if key == "platform_url":
        return check_url(value, place=place)
    if key == "http_allow":
        hosts = cast("list[object]", value) if isinstance(value, list) else [None]
        for host in hosts:
            if not isinstance(host, str) or not _HOST.fullmatch(host) or not _can_be_opened(host):
                raise ConfigError(
                    f"http_allow is a list of hosts, and {host!r:.80} is none"
                    if host is not None
                    else "http_allow is a list of hosts",
                    place=place,
                    fix='write http_allow = ["intranet.example", "127.0.0.1:9000"]',
                )
        return tuple(cast("list[str]", hosts))
    raise _unknown(key, place)


def _can_be_opened(host: str) -> bool:
    """True if the web client takes a host: what it does not would be told at each call, and not where."""
    from toolhaft.resources.http.gate import Gate  # noqa: PLC0415 -- few projects open any

    try:
        Gate([host], None)
    except DefinitionError:
        return False
    return True


def _unknown(key: str, place: str) -> ConfigError:
    from toolhaft.schema.nearest import nearest  # noqa: PLC0415 -- only for mistakes

    if key.lower() in ("api_key", "toolhaft_api_key", "key", "token"):
        fix = f"keys are kept in the environment or in .env, as {KEY_VARIABLE}=..."
    else:
        close = nearest(key, _KEYS)
        fix = f"did you mean {close!r}?" if close else f"the settings are {', '.join(_KEYS)}"
    return ConfigError(f"there is no setting {key!r:.80}", place=place, fix=fix)


def _place(text: str, key: str) -> str:
    """The line where a key of the top is first said."""
    found = re.search(rf"""^[ \t]*\[*[ \t]*["']?{re.escape(key)}["']?[ \t]*[.=\]]""", text, re.MULTILINE)
    return f"{SETTINGS_FILE}:{text.count(chr(10), 0, found.start()) + 1}" if found else SETTINGS_FILE
