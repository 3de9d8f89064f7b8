"""Where series come from: one small file per provider, and nothing else in gridpace opens a socket for data."""

from planner.sources.registry import PROVIDERS, SourceSpec, open_source
from planner.sources.series import BASES, SIGNALS, Series, Source

__all__ = ["BASES", "PROVIDERS", "SIGNALS", "Series", "Source", "SourceSpec", "open_source"]
