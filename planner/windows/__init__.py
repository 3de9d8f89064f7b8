"""Horizons too long to be planned at once: windows that overlap, paced by the aggregate program of the whole."""

from __future__ import annotations

from planner.windows.plan import plan_by_windows
from planner.windows.spans import by_windows

__all__ = ["by_windows", "plan_by_windows"]
