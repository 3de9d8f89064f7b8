"""What a forecast is worth to the planner itself: weeks planned on it and on what came, both judged on what came.

Each week is planned by carbon alone and, where there is a price, by money alone, so that a share says what the forecast
of that one signal is worth. The work, the limits and the physics are the same for all plans; each calendar is carried
out as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from planner.backtest_kept import CARBON, MONEY, ORACLE, Came, PlannedWeek, Plans, kept
from planner.backtest_weeks import HORIZON, home_start, weather_of, week_at
from planner.baseline import counterfactuals
from planner.errors import ConfigError, DataUnavailable
from planner.evaluate import evaluate
from planner.forecast.lead_error import with_lead_error
from planner.geography import one_site_only
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.site_options import site_options
from power.tariff import Tariff

if TYPE_CHECKING:
    import numpy.typing as npt

    from planner.config.site import Site
    from planner.evaluate import Evaluation
    from planner.forecast.backtest import Backtest
    from planner.forecast.history import History
    from planner.forecast_history import Past
    from planner.schedule import Plan
    from planner.week import Week

CARBON_PER_T = 100.0
"""Carbon price of a site that has none, where carbon alone is weighed: it weighs carbon against lateness."""
_FREE = Tariff()
_N_HOURS = HORIZON // timedelta(hours=1)
_SIMULATED_WEEKS = 0  # no share depends on the chances of failures


@dataclass(frozen=True)
class PlanTask:
    """One week to plan by one weight.

    Args:
        weight: CARBON or MONEY.
        known: The week on what came.
        expected: (model, the week on its forecast).
        options: Gap target and time limit.
    """

    weight: str
    known: Week
    expected: tuple[tuple[str, Week], ...]
    options: PlanOptions


def check_site(site: Site, past: Past, signals: Sequence[str], command: str = "gridpace backtest --plan") -> None:
    """Make sure that a site can be planned on a past, before hours are spent on forecasts.

    Args:
        site: The site.
        past: The past.
        signals: Signals that are scored.
        command: Who plans, for errors.

    Raises:
        ConfigError: Carbon intensity is not scored, prices are in another currency, or the site file names no week.
        DataUnavailable: The past lacks weather that the site's plans ask for.
    """
    one_site_only(command, site.name, [other.name for other in site.others])
    if "carbon" not in signals:
        raise ConfigError("--plan needs forecasts of carbon", fix="add --signal carbon, or leave --signal out")
    unit = past.series["price"].unit if _money(site, signals) else site.place.currency + "/"
    if not unit.startswith(f"{site.place.currency}/"):
        raise ConfigError(
            f"prices are in {unit}; the currency of {site.file} is {site.place.currency}",
            why="money is never converted silently",
            fix=f'set currency = "{unit.split("/")[0]}" in the site file, and its other prices with it',
        )
    missing = [name for name in weather_of(site) if name not in past.history.signals]
    if missing:
        raise DataUnavailable(
            f"there is no past of {', '.join(missing)}, which plans of {site.file} ask for",
            fix="declare the column in a table of [sources]; relative_humidity beside dry_bulb gives wet_bulb",
        )
    home_start(site)


def planned(
    site: Site,
    history: History,
    basis: str,
    found: Backtest,
    every_days: int,
    run: Callable[[Sequence[PlanTask]], Iterable[PlannedWeek]],
    *,
    seed: int = 0,
) -> Plans:
    """Return what the forecasts of a backtest are worth to the planner at a site.

    Args:
        site: The site, found fit by `check_site`.
        history: What came.
        basis: Basis of its carbon intensity.
        found: The backtest that was made on it.
        every_days: Days between two weeks' starts.
        run: Carries the tasks out, in order.
        seed: Of the errors laid on the weather that plans on forecasts see.
    """
    weather = weather_of(site)
    money = _money(site, found.signals)
    weights, planned_by = ((CARBON, MONEY), ("carbon", "price")) if money else ((CARBON,), ("carbon",))
    unpriced = {} if money else {"price": np.zeros(_N_HOURS)}
    options = site_options(site)
    tasks, left_out = [], 0
    for i in range(0, len(found.origins), every_days):
        origin = found.origins[i]
        at = history.position(origin)
        came = {name: history.signals[name][at : at + _N_HOURS] for name in (*planned_by, *weather)}
        if any(np.isnan(values).any() for values in came.values()):
            left_out += 1
            continue
        # What came reaches a forecast's plan in no other way than through the weather, with the errors of its leads.
        ahead = {name: with_lead_error(name, came[name][None], np.array([at]), seed)[0] for name in weather}
        known = week_at(site, origin, unpriced | came, basis)
        expected = [
            (model, week_at(site, origin, unpriced | ahead | hours, basis))
            for model, hours in _forecasts(found, planned_by, i).items()
        ]
        tasks += [
            PlanTask(weight, weighed(known, weight), tuple((m, weighed(w, weight)) for m, w in expected), options)
            for weight in weights
        ]
    weeks = tuple(run(tasks))
    return Plans(
        site=site.name,
        currency=site.place.currency,
        every_days=every_days,
        gap_target=options.gap_target,
        weather=weather,
        weeks=weeks,
        left_out=left_out,
        kept=tuple(one for weight in weights for one in kept([week for week in weeks if week.weight == weight])),
    )


def weighed(week: Week, weight: str) -> Week:
    """Return a week in which carbon alone, or money alone, is weighed; deadlines count in both.

    By carbon, energy has no price and nothing is contracted; water, wear and fuel keep theirs.

    Args:
        week: The week.
        weight: CARBON or MONEY.
    """
    if weight == MONEY:
        return replace(week, prices=replace(week.prices, carbon_per_t=0.0))
    return replace(
        week,
        signals=replace(week.signals, price_per_kwh=np.zeros(week.grid.n_slots)),
        tariff=_FREE,
        contracts=(),
        ppas=(),
        prices=replace(week.prices, carbon_per_t=week.prices.carbon_per_t or CARBON_PER_T),
    )


def plan_both(task: PlanTask) -> PlannedWeek:
    """Return what plans on forecasts and on perfect foresight, and the week without a plan, come to on what came.

    Args:
        task: The week.

    Raises:
        Infeasible: Physics leaves no plan.
    """
    weeks = ((ORACLE, task.known), *task.expected)
    return PlannedWeek(
        origin=task.known.grid.start,
        weight=task.weight,
        plans=tuple(judged_on(name, week, plan(week, task.options), task.known, task.weight) for name, week in weeks),
    )


def _money(site: Site, signals: Sequence[str]) -> bool:
    return "price" in signals and site.flat_price_per_kwh is None


def _forecasts(found: Backtest, signals: Sequence[str], i: int) -> dict[str, dict[str, npt.NDArray[np.float64]]]:
    """Return model -> signal -> forecast of one origin."""
    made: dict[str, dict[str, npt.NDArray[np.float64]]] = {}
    for scored in found.scored:
        if scored.signal in signals:
            made.setdefault(scored.model, {})[scored.signal] = scored.points[i]
    return made


def judged_on(name: str, week: Week, made: Plan, known: Week, weight: str) -> Came:
    """Return what a plan of a week comes to on what came, beside the same work without a plan.

    Args:
        name: Of the plan.
        week: The week that it was made from.
        made: The plan.
        known: The week on what came.
        weight: CARBON or MONEY.
    """
    calendar, runs = to_calendar(
        week, made.schedule, status=made.status, certified_gap=made.mip_gap, shortfalls=made.shortfalls
    )
    verdict = evaluate(calendar, runs, week, known.signals, simulated_weeks=_SIMULATED_WEEKS)
    others = counterfactuals(known, verdict)
    return Came(
        name=name,
        figure=_figure(verdict, weight),
        usual={other.name: _figure(other.evaluation, weight) for other in others},
        late=verdict.deadlines_missed,
        beyond=not verdict.clean,
        gap=made.mip_gap,
        reason=next((other.reason for other in others if other.reason), ""),
    )


def _figure(verdict: Evaluation, weight: str) -> float:
    return verdict.carbon_kg if weight == CARBON else verdict.cost
