"""Marks a field that joined a record after plans had been published: at its default it leaves their digests alone."""

from __future__ import annotations

from types import MappingProxyType

LATER = MappingProxyType({"later": True})
"""Metadata of such a field; `planner.week.Week.canonical` leaves it out where it holds its default."""
