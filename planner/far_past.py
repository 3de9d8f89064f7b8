"""What sources know from further back than a plan needs: what forecasts are fitted on and their errors known by."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from planner.errors import DataUnavailable
from planner.extension import doubtful, ends_early
from planner.forecast import boosted
from planner.forecast.history import PROFILE_DAYS, WEATHER
from planner.forecast.issued import WITH_TREES
from planner.forecast.spread import WINDOW
from planner.sources.csv_file import CsvFile
from planner.sources.long_past import BUDGET_S, Budget, on_network, reach_back

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from planner.sources.chain import Link
    from planner.sources.series import Series
    from planner.timegrid import TimeGrid

SPREAD_DAYS = PROFILE_DAYS + WINDOW + 7
"""Days from which the errors of a whole window of forecasts of a week are known."""


@dataclass(frozen=True)
class FarPast:
    """Signals from further back.

    Args:
        series: By signal, those of which there is more; with them weather that helps to forecast.
        told: Signal -> a sentence about a past that is shorter than was asked for.
    """

    series: Mapping[str, Series]
    told: Mapping[str, str]


def far_past(
    groups: Sequence[tuple[Link, Sequence[Series]]],
    grid: TimeGrid,
    days: int,
    spoken: Mapping[str, str],
    budget_s: float = BUDGET_S,
    unsure: Collection[str] = (),
) -> FarPast:
    """Return what sources know from further back of signals that end before a grid does, and of weather that helps.

    Files are asked at once. Providers on the network are asked within a budget of time, window by window, and only
    where their answers are kept: then the next call finds the settled past there. They are asked for `days` where
    trees would be fitted, else for as many as tell the errors of forecasts.

    Args:
        groups: Sources with what they delivered, one series per signal.
        grid: The slots.
        days: Days before the grid that are wanted.
        spoken: Each signal in a sentence.
        budget_s: Time for the network, s.
        unsure: Signals whose errors are wanted also where the source forecasts them to the grid's end.
    """
    short = {one.signal for _, delivered in groups for one in delivered if ends_early(one, grid)}
    helped = not short.isdisjoint(WITH_TREES)
    found: dict[str, Series] = {}
    shorter: dict[tuple[int, int, str, str], list[str]] = {}
    budget = Budget(budget_s)
    doubted = {
        one.signal for _, delivered in groups for one in delivered if one.signal in unsure and doubtful(one, grid)
    }
    for link, delivered in groups if short or doubted else ():
        if isinstance(link.source, CsvFile):
            found |= _of_file(link.source, {one.signal for one in delivered}, short, grid, days, helped=helped)
        if not on_network(link.source):
            continue
        for one in delivered:
            trees = boosted.available() and (one.signal in WITH_TREES or (helped and one.signal in WEATHER))
            if one.signal not in short | doubted and not trees:
                continue
            wanted = days if trees else min(days, SPREAD_DAYS)
            reached = reach_back(link.source, one, link.zone, grid.start - timedelta(days=wanted), budget)
            found[one.signal] = reached.series
            if reached.stopped:
                known = (grid.start - reached.series.rows.t_start.iloc[0].to_pydatetime()) // timedelta(days=1)
                shorter.setdefault((known, wanted, one.source, reached.stopped), []).append(one.signal)
    return FarPast(found, {signal: text for text, signals in _sentences(shorter, spoken) for signal in signals})


def _of_file(
    file: CsvFile, delivered: set[str], short: set[str], grid: TimeGrid, days: int, *, helped: bool
) -> dict[str, Series]:
    # A file of weather may have columns that no plan asks for and that help to forecast.
    helpful = [signal for signal in WEATHER if helped and "dry_bulb" in delivered]
    found = {}
    for signal in dict.fromkeys([*(delivered & short), *helpful]):
        with suppress(DataUnavailable):  # what stands in for the file, if anything, is carried on without it
            if file.has(signal):
                found[signal] = file.fetch(signal, "", grid.start - timedelta(days=days), grid.end)
    return found


def _sentences(
    shorter: Mapping[tuple[int, int, str, str], list[str]], spoken: Mapping[str, str]
) -> list[tuple[str, list[str]]]:
    told = []
    for (known, wanted, source, why), signals in shorter.items():
        names = ", ".join(spoken[signal] for signal in signals)
        told.append((f"Forecasts of this week see {known} of {wanted} days of {names} of {source}: {why}.", signals))
    return told
