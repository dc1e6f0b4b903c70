"""Decides on the resolved tool whether this principal may see it and use it.

Knows principals and lists; does not look at arguments.
"""

from __future__ import annotations

from toolhaft.core.conversion import AnyResult, AnyTool
from toolhaft.core.principal import Principal
from toolhaft.execute.failures import refused
from toolhaft.execute.run import Answer, Run, Step
from toolhaft.execute.setup import Setup


def compose(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Every tool of an executor whose callers differ has this step; elsewhere it is decided once."""
    is_allowed = setup.allow is None or tool.name in setup.allow
    if is_allowed and not tool.requires and setup.principal is None:
        return _for_strangers(tool, setup, inner)

    def access(run: Run) -> Answer:
        return refusal_for(tool, setup, run.principal) or inner(run)

    return access


def _for_strangers(tool: AnyTool, setup: Setup, inner: Step) -> Step:
    """Nothing to do as long as calls bring no principal of their own."""
    if not setup.has_callers:
        return inner

    def access(run: Run) -> Answer:
        return (run.principal and refusal_for(tool, setup, run.principal)) or inner(run)

    return access


def refusal_for(tool: AnyTool, setup: Setup, principal: Principal | None) -> AnyResult | None:
    """Why this principal may not use the tool, if so."""
    name = tool.name
    if principal is not None:
        if principal.sees is not None and name not in principal.sees:
            return setup.unknown(name, principal)
        if principal.has_expired:
            return _not_allowed(name, "the permission of this caller has expired")
        if principal.allow is not None and name not in principal.allow:
            return _not_allowed(name, "this caller may not use it")
    if setup.allow is not None and name not in setup.allow:
        return _not_allowed(name, "it is not on the list of allowed tools")
    missing = sorted(set(tool.requires) - (principal.scopes if principal is not None else frozenset()))
    if missing:
        return _not_allowed(name, f"it requires the scope {', '.join(missing)}")
    return None


def _not_allowed(name: str, why: str) -> AnyResult:
    return refused("not_allowed", f"{name} is not allowed: {why}.", advice="Use another tool.")
