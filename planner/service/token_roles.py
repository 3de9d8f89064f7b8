"""What a caller of the service may be."""

from __future__ import annotations

from typing import Literal

Role = Literal["viewer", "planner", "agent"]
ROLES: tuple[Role, ...] = ("viewer", "planner", "agent")
