"""A source and those that stand in for it: the first fresh answer is taken, and what was taken instead is told."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from planner.errors import ConfigError, DataUnavailable
from planner.sources.catalogue import FACTS
from planner.sources.rows import add_flag
from planner.sources.series import FALLBACK, STALE
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.errors import GridpaceError
    from planner.sources.series import Series, Source

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Link:
    """One source of a chain.

    Args:
        provider: Name of its provider.
        source: The source.
        zone: Zone as it names it.
    """

    provider: str
    source: Source
    zone: str


@dataclass(frozen=True)
class Chain:
    """Sources of the same signals, in the order in which they are asked.

    Args:
        links: At least one.
        clock: Gives the present time, UTC.
        basis: Basis that carbon intensity of a stand-in must have; any where "".
        currency: Currency that prices of a stand-in must be in; any where "".
    """

    links: tuple[Link, ...]
    clock: Callable[[], datetime]
    basis: str = ""
    currency: str = ""

    def fetch(self, signal: str, start: datetime, end: datetime) -> Series:
        """Return the first fresh answer; where none is fresh, the one of the last good answers that came latest.

        Args:
            signal: Key of SIGNALS.
            start: Start of the span, UTC.
            end: End of the span, UTC.

        Returns:
            The series; one that is not the first source's is flagged "fallback" and says from where it came, how old
            it is, and why. A stand-in that means another thing, or cannot be asked for it, is passed over.

        Raises:
            ConfigError: The first source cannot be asked for it.
            DataUnavailable: No source has anything; each is named with what it said.
        """
        failures: list[tuple[Link, GridpaceError]] = []
        stale: list[tuple[Link, Series]] = []
        for link in self.links:
            try:
                series = link.source.fetch(signal, link.zone, start, end)
                if link is not self.links[0]:
                    self._check_same(series)
            except (DataUnavailable, ConfigError) as exc:
                if len(self.links) == 1 or (isinstance(exc, ConfigError) and link is self.links[0]):
                    raise
                _LOG.warning("%s: %s", signal, exc.what)
                failures.append((link, exc))
                continue
            if not _is_stale(series):
                return self._told(link, series, failures, stale)
            stale.append((link, series))
        if not stale:
            raise _none(signal, failures)
        link, series = max(stale, key=lambda one: one[1].fetched_at or start)
        return self._told(link, series, failures, [one for one in stale if one[0] is not link])

    def _check_same(self, series: Series) -> None:
        if series.signal == "carbon" and self.basis not in {"", series.basis}:
            raise ConfigError(f"{series.source} is of basis {series.basis!r}, wanted is {self.basis!r}")
        if series.signal == "price" and self.currency not in {"", series.unit.split("/")[0]}:
            raise ConfigError(f"{series.source} is in {series.unit}, wanted is {self.currency}")

    def _told(
        self,
        link: Link,
        series: Series,
        failures: list[tuple[Link, GridpaceError]],
        stale: list[tuple[Link, Series]],
    ) -> Series:
        if link is self.links[0]:
            return series
        age = ""
        if series.fetched_at is not None:
            hours = max(0.0, (self.clock() - series.fetched_at) / timedelta(hours=1))
            age = f", fetched {iso(series.fetched_at)} ({hours:.1f} h old)"
        reasons = [f"{one.provider}: {exc.what}" for one, exc in failures]
        reasons += [f"{one.provider} has only its last good answer" for one, _ in stale]
        told = f"Fallback: {series.signal} is from {series.source}{age}, because {'; '.join(reasons)}."
        return replace(series, rows=add_flag(series.rows, FALLBACK), told=(*series.told, told))


def shared_upstreams(providers: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return (upstream, its providers) of each upstream on which several of these providers stand."""
    standing: dict[str, list[str]] = {}
    for name in dict.fromkeys(providers):
        standing.setdefault(FACTS[name].upstream, []).append(name)
    return tuple((upstream, tuple(names)) for upstream, names in standing.items() if len(names) > 1)


def _is_stale(series: Series) -> bool:
    """Return whether the last row is of a last good answer: older ones may be settled and fresh for good."""
    return STALE in str(series.rows["flags"].iloc[-1]).split(";")


def _none(signal: str, failures: list[tuple[Link, GridpaceError]]) -> DataUnavailable:
    shared = shared_upstreams(tuple(link.provider for link, _ in failures))
    together = [f"{' and '.join(names)} both stand on {upstream} and fail together" for upstream, names in shared]
    return DataUnavailable(
        f"no source has {signal}: " + "; ".join(f"{link.provider}: {exc.what}" for link, exc in failures),
        why="; ".join([*together, *dict.fromkeys(exc.why for _, exc in failures if exc.why)]),
        fix="name a fallback that stands on other data, give a file, or wait",
    )


def check_basis(source: Source, basis: str) -> None:
    """Check that a source of carbon intensity counts what a site counts.

    Raises:
        ConfigError: It counts something else.
    """
    own = getattr(source, "basis", None)
    if own is None and (columns := getattr(source, "columns", None)) and "carbon" in columns:
        own = columns["carbon"].basis
    if own not in {None, basis}:
        raise ConfigError(
            f"{source.name} gives carbon intensity of basis {own!r}; the site counts {basis!r}",
            why="bases differ by a fifth or more and are never mixed",
            fix="choose another provider" if own == "marginal" else f'set its basis to "{basis}"',
        )
