"""Answers of a site whose import is low beside generators, and whose peaks are billed by period."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.schedule import GeneratorSchedule
from power.generation import Generator
from power.tariff import Period, Tariff
from tests.answers import answer_to, limit
from tests.judged import N_SLOTS, kept, power, published, site
from tests.weeks import at, battery

SETS = Generator("sets", 1, 240.0, 0.4, 1.0, 1.0, 0.0, 0.10, 500.0)
DEAR = Period("dear", from_min=14 * 60, until_min=22 * 60, demand_charge_per_kw_month=20.0)


def own_site(**tariff):
    """`site` with generators at work in the big run's hours, and a battery larger than the import left beside them."""
    week = site()
    hall, other = week.blocks
    hall = replace(hall, generators=(SETS,), battery=battery(600.0, 300.0, initial_share=0.9, final_share=0.1))
    price = np.where((np.arange(N_SLOTS) >= 8) & (np.arange(N_SLOTS) < 12), 0.6, 0.03)
    signals = replace(week.signals, price_per_kwh=price)
    return replace(week, signals=signals, blocks=(hall, other), tariff=Tariff(**tariff))


def own_plan(week):
    on = np.zeros(N_SLOTS, dtype=np.int64)
    on[8:12] = 1
    sets = GeneratorSchedule("sets", on, 240.0 * on)
    return published(week, power(kept(), "hall-a", generators=(sets,)))


def battery_kwh(header):
    return header.blocks[0].battery_kwh


@pytest.mark.parametrize("share", [0.1, 0.3, 0.4])
def test_a_battery_gives_no_more_than_is_imported(share):
    week = own_site()
    calendar = own_plan(week)
    import_kw = np.sum([plan.import_kw for plan in calendar[0].blocks], axis=0)
    asked = limit(9, 11, float((1.0 - share) * import_kw[9:11].min()))
    response, _ = answer_to(week, calendar, asked, now=at(8.5), most_lost=0.3)
    assert response.was.clean, response.was.violations
    assert response.found.clean, response.found.violations
    assert response.stores[0].relieved_kw > 0.0
    hall = response.after.blocks[0]
    assert min(hall.import_kw) > -1e-5
    assert battery_kwh(response.after)[-1] == pytest.approx(battery_kwh(calendar[0])[-1], abs=1e-3)
    assert hall.generators == calendar[0].blocks[0].generators


def test_a_battery_is_not_filled_again_in_hours_whose_peak_is_billed():
    # the horizon starts at 02:00 site time: the dear hours are its slots 12 to 19
    costs = {}
    for name, periods in (("flat", ()), ("dear", (DEAR,))):
        week = own_site(periods=periods)
        calendar = own_plan(week)
        import_kw = np.sum([plan.import_kw for plan in calendar[0].blocks], axis=0)
        asked = limit(9, 11, float(0.6 * import_kw[9:11].min()))
        response, _ = answer_to(week, calendar, asked, now=at(8.5), most_lost=0.3)
        assert response.found.clean, response.found.violations
        costs[name] = response.found.terms.demand - response.was.terms.demand
        peak_kw = float(np.sum([plan.import_kw for plan in response.after.blocks], axis=0)[12:20].max())
        if name == "dear":
            assert peak_kw == pytest.approx(float(import_kw[12:20].max()), abs=0.1)
    assert costs == pytest.approx({"flat": 0.0, "dear": 0.0}, abs=2.0)
