"""A project: the folder with its tools, and its settings from `toolhaft.toml`, `.env` and the environment."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

from toolhaft.define.running.platform_settings import DEFAULT_URL, KEY_VARIABLE, SETTINGS_FILE, URL_VARIABLE
from toolhaft.errors import ConfigError, DefinitionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from toolhaft.define.running.platform_access import PlatformAccess
    from toolhaft.define.running.variable_bindings import VariableBinding

DATABASE_VARIABLE: Final = "TOOLHAFT_DATABASE_URL"
OWNER_VARIABLE: Final = "TOOLHAFT_OWNER"
_KEYS: Final = ("allow_env", "http_allow", "owner", "platform_url")
_OWNED: Final = ("", "local-kit", "local-kit/tools", SETTINGS_FILE, ".env", ".toolhaft")
"""The files that decide which tools run and where keys are sent."""
_MAX_SETTINGS_BYTES: Final = 100_000
_NO_PASSWORD: Final = re.compile(
    # without a password, or with an option that could replace it
    r"postgres(?:ql)?://(?:(?![^/?#@]*:[^/?#@]+@)|.*[?&](?:pass|service|[^=&]*%))",
    re.IGNORECASE,
)
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s/@:?#\[\]]+)(:[0-9]{1,5})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A folder with its settings; `Project.find()` finds the current one.

    Settings are read from the environment at each access, else from the `.env` file; a property raises
    ConfigError if that file cannot be read.
    """

    root: Path
    http_allow: tuple[str, ...] = ()
    """Private hosts that tools may reach."""
    allow_env: tuple[VariableBinding, ...] = ()
    """Environment variables with the hosts that may receive them; only these are for published tools."""
    configured_url: str | None = None
    """`platform_url` of toolhaft.toml; the environment wins over it: see the property `platform_url`."""
    configured_owner: str | None = None
    """`owner` of toolhaft.toml; the environment wins over it: see the property `owner`."""

    @classmethod
    def find(cls, start: str | os.PathLike[str] | None = None) -> Project:
        """The project of a folder: the nearest folder, upward, that holds `local-kit/tools`.

        Without one, it is the nearest that holds `toolhaft.toml`, else the folder itself.

        Raises:
            ConfigError: if toolhaft.toml is invalid, the folder does not exist, or a project above it
                belongs to another user (except root), who could choose what runs and where keys are sent.
        """
        here = _resolve_folder(start)
        folders = (here, *here.parents)
        marks = (("local-kit", "tools"), (SETTINGS_FILE,))
        found = (folder for mark in marks for folder in folders if folder.joinpath(*mark).exists())
        root = next(found, here)
        if root != here:
            _check_owner(root)
        return cls.at(root)

    @classmethod
    def at(cls, root: str | os.PathLike[str]) -> Project:
        """The project with exactly that root.

        Raises:
            ConfigError: if its toolhaft.toml is invalid, or the folder does not exist.
        """
        folder = _resolve_folder(root)
        settings = _read_settings(folder / SETTINGS_FILE)
        return cls(
            root=folder,
            http_allow=cast("tuple[str, ...]", settings.get("http_allow", ())),
            allow_env=cast("tuple[VariableBinding, ...]", settings.get("allow_env", ())),
            configured_url=cast("str | None", settings.get("platform_url")),
            configured_owner=cast("str | None", settings.get("owner")),
        )

    @property
    def tools_folder(self) -> Path:
        """The folder of the project's own tools; it may not exist."""
        return self.root / "local-kit" / "tools"

    @property
    def state_folder(self) -> Path:
        """The folder of Toolhaft's own files; it may not exist."""
        return self.root / ".toolhaft"

    @property
    def env_file(self) -> Path:
        """The file with API keys; it may not exist."""
        return self.root / ".env"

    @property
    def database_file(self) -> Path:
        """The embedded platform's default database; it may not exist."""
        return self.state_folder / "platform.db"

    @property
    def database_url(self) -> str:
        """The URL of the embedded platform's database.

        Raises:
            ConfigError: if the .env file cannot be read, or its server would get the user's password.
        """
        url = self.setting(DATABASE_VARIABLE)
        is_named_by_file = url is not None and DATABASE_VARIABLE not in os.environ
        if is_named_by_file and _NO_PASSWORD.match(url or "") and _has_database_password():
            raise ConfigError(
                f"{DATABASE_VARIABLE} names a server that would get your own PostgreSQL password",
                place=self.env_file.name,
                fix=f"set {DATABASE_VARIABLE} in the environment too, or write the password into the address",
            )
        return url or f"sqlite:///{self.database_file.as_posix()}"

    @property
    def has_own_database(self) -> bool:
        """True if the embedded platform's database is the project's own file."""
        return self.setting(DATABASE_VARIABLE) is None

    @property
    def platform_url(self) -> str | None:
        """The address of the configured platform, without a trailing slash; None for the embedded one.

        Raises:
            ConfigError: if it is not an address, or the .env file cannot be read.
        """
        url = self.setting(URL_VARIABLE)
        return check_url(url, place=URL_VARIABLE) if url else self.configured_url

    @property
    def owner(self) -> str | None:
        """The caller's own id on the embedded platform, where there is no key that has one.

        Raises:
            ConfigError: if the .env file cannot be read.
        """
        return self.setting(OWNER_VARIABLE) or self.configured_owner

    @property
    def access(self) -> PlatformAccess:
        """The platform with the key that was given for its address; the default address if none is set.

        Raises:
            ConfigError: if the address is invalid, or the .env file or the stored keys cannot be read.
        """
        from toolhaft.define.running.platform_access import find_access  # noqa: PLC0415 -- a list does not need it

        names = (URL_VARIABLE, KEY_VARIABLE)
        found = self._env()
        access = find_access(
            {name: os.environ[name] for name in names if name in os.environ},
            {name: found[name] for name in names if name in found},
            self.configured_url,
        )
        return replace(access, url=check_url(access.url, place=URL_VARIABLE))

    @property
    def api_key(self) -> str | None:
        """The key that was given for the address of the configured platform."""
        return self.access.key

    def setting(self, name: str) -> str | None:
        """A value of the environment, else of the project's `.env`; None if both have none.

        Raises:
            ConfigError: if the .env file cannot be read.
        """
        value = os.environ.get(name)
        if value is not None:
            return value.strip() or None
        return self._env().get(name, "").strip() or None

    def make_state_folder(self) -> Path:
        """The state folder, created if needed, with a .gitignore for all of it.

        Raises:
            OSError: if it cannot be created.
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
        from toolhaft.define.running.environment import read_env_file  # noqa: PLC0415 -- few projects have one

        try:
            return read_env_file(self.env_file)
        except DefinitionError as error:
            raise ConfigError(error.problem, place=error.place, fix=error.fix) from None


def check_url(url: object, *, place: str) -> str:
    """The address of a platform, without a trailing slash.

    Raises:
        ConfigError: if it is not an http or https address of a host.
    """
    text = url.strip().rstrip("/") if isinstance(url, str) else ""
    scheme, _, rest = text.partition("://")
    host, _, path = rest.partition("/")
    if scheme.lower() not in ("http", "https") or not _HOST.fullmatch(host) or re.search(r"[\s?#@]", path):
        # not quoted: it may hold a password
        raise ConfigError(
            "the platform's address is not an http or https URL of a host, without user, query and fragment",
            place=place,
            fix=f'write it as "{DEFAULT_URL}" or "https://tools.example.com"',
        )
    return f"{scheme.lower()}://{host.lower()}{'/' if path else ''}{path}"


def _resolve_folder(start: str | os.PathLike[str] | None) -> Path:
    try:
        folder = Path(os.path.realpath(Path.cwd() if start is None else start))
    except OSError as error:
        raise ConfigError("the current folder is gone", fix="change to another folder") from error
    if not folder.is_dir():
        raise ConfigError(
            "there is no such folder", place=str(start), fix="name an existing folder, or create it"
        )
    return folder


def _check_owner(root: Path) -> None:
    """Refuse a project of another user above the current folder: the caller did not choose it."""
    user = getattr(os, "getuid", None)
    if user is None:  # Windows
        return
    trusted = (0, user())
    for name in _OWNED:
        part = root / name
        with suppress(OSError):
            if part.lstat().st_uid not in trusted:
                raise ConfigError(
                    "a project above the current folder belongs to another user, so it is not used",
                    place=str(part),
                    fix="if you trust it, change to its folder; if not, make local-kit/tools in your own",
                )


def _has_database_password() -> bool:
    """True if a PostgreSQL client finds a password of the user."""
    file = os.environ.get("PGPASSFILE") or os.path.expanduser("~/.pgpass")  # noqa: PTH111 -- Path raises without a home
    return "PGPASSWORD" in os.environ or Path(file).exists()


def _read_settings(file: Path) -> dict[str, object]:
    try:
        with file.open("rb") as stream:
            data = stream.read(_MAX_SETTINGS_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ConfigError(
            f"the file cannot be read: {error.strerror}", place=SETTINGS_FILE, fix="check its permissions"
        ) from error
    if len(data) > _MAX_SETTINGS_BYTES:
        raise ConfigError("the file is too large", place=SETTINGS_FILE, fix="keep it within 100 KB")
    return _check_settings(data)


def _check_settings(data: bytes) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 -- most projects have no such file

    try:
        text = data.decode()
        settings = tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        place = f"{SETTINGS_FILE}:{line}"
        raise ConfigError("the text is not UTF-8", place=place, fix="save the file as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"\(at line (\d+), column \d+\)", str(error))
        place = f"{SETTINGS_FILE}:{found[1] if found else len(data.splitlines())}"
        problem = re.sub(r"\s*\(at [^)]*\)", "", str(error)) or "nested too deep"
        raise ConfigError(f"this is not TOML: {problem:.200}", place=place, fix="fix that line") from None
    return {key: _check_setting(key, value, _place(text, key)) for key, value in settings.items()}


def _check_setting(key: str, value: object, place: str) -> object:
    if key == "platform_url":
        return check_url(value, place=place)
    if key == "http_allow":
        hosts = cast("list[object]", value) if isinstance(value, list) else [None]
        for host in hosts:
            if not isinstance(host, str) or not _HOST.fullmatch(host) or not _can_be_opened(host):
                problem = "http_allow is a list of hosts" + ("" if host is None else f", not of {host!r:.80}")
                fix = 'write http_allow = ["intranet.example", "127.0.0.1:9000"]'
                raise ConfigError(problem, place=place, fix=fix)
        return tuple(cast("list[str]", hosts))
    if key == "allow_env":
        return _read_bindings(value, place)
    if key == "owner":
        if not isinstance(value, str) or not value.strip():
            raise ConfigError("owner is not a text", place=place, fix='write owner = "ann"')
        return value.strip()
    raise _unknown(key, place)


def _read_bindings(value: object, place: str) -> tuple[VariableBinding, ...]:
    from toolhaft.define.running.variable_bindings import parse_binding  # noqa: PLC0415 -- few projects have any

    if not isinstance(value, list):
        fix = 'write allow_env = ["WEATHER_KEY=api.example.com"]'
        raise ConfigError("allow_env is a list of variables with their hosts", place=place, fix=fix)
    try:
        return tuple(map(parse_binding, cast("list[object]", value)))
    except ConfigError as error:
        raise ConfigError(f"allow_env: {error.problem}", place=place, fix=error.fix) from None


def _can_be_opened(host: str) -> bool:
    """True if the web client accepts a host; otherwise every call would fail without naming the file."""
    from toolhaft.resources.http.access import HostRules  # noqa: PLC0415 -- few projects allow any

    try:
        HostRules([host], None)
    except DefinitionError:
        return False
    return True


def _unknown(key: str, place: str) -> ConfigError:
    from toolhaft.schema.nearest import nearest  # noqa: PLC0415 -- only for errors

    if key.lower() in ("api_key", "toolhaft_api_key", "key", "token"):
        fix = "take it out, and store the key with: lk login URL"
    else:
        close = nearest(key, _KEYS)
        fix = f"did you mean {close!r}?" if close else f"the settings are {', '.join(_KEYS)}"
    return ConfigError(f"there is no setting {key!r:.80}", place=place, fix=fix)


def _place(text: str, key: str) -> str:
    """The line of a top-level key."""
    found = re.search(rf"""^[ \t]*\[*[ \t]*["']?{re.escape(key)}["']?[ \t]*[.=\]]""", text, re.MULTILINE)
    return f"{SETTINGS_FILE}:{text.count(chr(10), 0, found.start()) + 1}" if found else SETTINGS_FILE
