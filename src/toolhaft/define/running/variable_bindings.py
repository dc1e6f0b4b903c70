"""Which environment variables may be sent where: `NAME=HOST[,HOST][@OWNER]`.

Masking cannot find a secret that its receiver returns changed, so only the choice of receivers protects it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from toolhaft.define.running.platform_keys import is_encrypted
from toolhaft.define.running.template import VARIABLE_NAME
from toolhaft.errors import ConfigError, HttpRefusedError
from toolhaft.resources.http.urls import check_characters, parse_authority, parse_url

PROGRAM: Final = "argv:"
"""Begins a receiver that is a program, not a host."""
_FORM: Final = "NAME=HOST[,HOST][@OWNER]"


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableBinding:
    """A variable, and who may receive it from which tools."""

    name: str
    hosts: tuple[tuple[str, int | None], ...] = ()
    """Host and port; without a port, every port of the host by https."""
    programs: tuple[str, ...] = ()
    """The first words of `argv`, for tools that run programs."""
    owner: str | None = None
    """The owner of the published tools that may use it; None for all owners."""

    def covers(self, name: str, receiver: str, owner: str) -> bool:
        """True if a tool of that owner may send the variable to the receiver, an origin or `argv:PROGRAM`."""
        if name != self.name or self.owner not in (None, owner):
            return False
        if receiver.startswith(PROGRAM):
            return receiver.removeprefix(PROGRAM) in self.programs
        place = parse_url(receiver)
        # others could read and answer plain http, so that its host is not the only receiver
        ports = (place.port, None) if is_encrypted(receiver) else (place.port,)
        return any((place.host.name, port) in self.hosts for port in ports)

    def __str__(self) -> str:
        hosts = [_write_host(host, port) for host, port in self.hosts] + [
            f"{PROGRAM}{program}" for program in self.programs
        ]
        return f"{self.name}={','.join(hosts)}" + ("" if self.owner is None else f"@{self.owner}")


def parse_binding(text: object) -> VariableBinding:
    """Read `NAME=HOST[,HOST][@OWNER]`; a HOST may also be `argv:PROGRAM`. A binding is returned unchanged.

    Raises:
        ConfigError: if it is anything else; the message contains the form to write.
    """
    if isinstance(text, VariableBinding):
        return text
    if not isinstance(text, str):
        raise ConfigError("a variable and its hosts are one text", fix=f"write {_FORM}")
    name, equals, rest = text.partition("=")
    if not VARIABLE_NAME.fullmatch(name):
        raise ConfigError(f"{name!r:.80} is not the name of a variable", fix=f"write {_FORM}")
    if not equals:
        raise ConfigError(
            f"{name} does not say which hosts may receive the variable",
            fix=f"write {name}=HOST[,HOST][@OWNER], such as {name}=api.example.com",
        )
    receivers, at, owner = rest.partition("@")
    if at and (not owner or owner != owner.strip() or "," in owner):
        what = "is not one name" if owner.strip() else "is missing"
        raise ConfigError(
            f"{name}: the owner after '@' {what}", fix=f"write {name}=HOST@OWNER, one for each owner"
        )
    hosts: list[tuple[str, int | None]] = []
    programs: list[str] = []
    for receiver in receivers.split(","):
        program = receiver.removeprefix(PROGRAM)
        if program != receiver and program:
            programs.append(program)
        else:
            hosts.append(_parse_host(name, receiver))
    return VariableBinding(
        name=name, hosts=tuple(hosts), programs=tuple(programs), owner=owner if at else None
    )


def binding_of(name: str, receiver: str, owner: str = "") -> VariableBinding:
    """The binding of a variable to one receiver, an origin or `argv:PROGRAM`."""
    if receiver.startswith(PROGRAM):
        return VariableBinding(name=name, programs=(receiver.removeprefix(PROGRAM),), owner=owner or None)
    place = parse_url(receiver)
    is_usual = is_encrypted(receiver) and place.authority == place.host.in_url
    hosts = ((place.host.name, None if is_usual else place.port),)
    return VariableBinding(name=name, hosts=hosts, owner=owner or None)


def is_bound(bindings: Iterable[VariableBinding], name: str, receiver: str, owner: str = "") -> bool:
    """True if any of the bindings covers the receiver."""
    return any(binding.covers(name, receiver, owner) for binding in bindings)


def _parse_host(name: str, written: str) -> tuple[str, int | None]:
    reason = ""
    if "*" in written:
        reason = ": hosts are named one by one, without '*'"
    elif written == PROGRAM:
        reason = ": there is no program after 'argv:'"
    elif "/" in written:
        reason = ": write only the host and its port, without https:// and path"
    else:
        with suppress(HttpRefusedError):
            check_characters(written)
            host, port = parse_authority(written)
            return host.name, port
    raise ConfigError(
        f"{name}: {written!r:.80} is not a host{reason}",
        fix=f"write {name}=api.example.com or {name}=127.0.0.1:9000",
    )


def _write_host(host: str, port: int | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"
