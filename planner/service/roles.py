"""What a handler asks of its caller."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

from planner.service.guard import Refused
from planner.service.token_roles import Role
from planner.service.tokens import Principal

if TYPE_CHECKING:
    from planner.service.state import ServiceState


def state_of(request: Request) -> ServiceState:
    """Return what every handler needs."""
    state: ServiceState = request.app.state.service
    return state


def needs(*roles: Role) -> Callable[[Request], Principal]:
    """Return a dependency that lets callers with one of the roles pass, and tells the handler who calls."""

    def check(request: Request) -> Principal:
        principal: Principal = request.state.principal
        if principal.roles.isdisjoint(roles):
            raise Refused(
                HTTPStatus.FORBIDDEN,
                f"this asks for the role {' or '.join(roles)}; the token's is {', '.join(sorted(principal.roles))}",
            )
        return principal

    return check


Viewer = Annotated[Principal, Depends(needs("viewer", "planner"))]
"""A caller who may see what is planned, reported and decided."""

Decider = Annotated[Principal, Depends(needs("planner"))]
"""A caller who may decide."""
