"""Answers of a site with a tank and a buyer of heat: what the racks no longer give is neither stored nor sold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.heat import HeatSale
from tests.answers import answer_to, limit
from tests.judged import N_SLOTS, kept, power, published, site
from tests.weeks import at
from thermal.plant import dry_cooler

STORE = {"store_volume_m3": 60.0, "store_daily_loss_share": 0.05, "store_final_share": 0.1}
PUMPS = {"heat_pump_capacity_share": 1.0, "heat_pump_supply_c": 70.0}
FILL_KW, DRAW_KW, SOLD_KW = 30.0, 25.0, 1000.0  # the sale as much as the racks give


def cold_site(**plant):
    week = site()
    hall, other = week.blocks
    buyer = HeatSale(0.03, np.full(N_SLOTS, SOLD_KW))
    hall = replace(hall, plant=dry_cooler(470.0, **(STORE | PUMPS | plant)), heat=buyer)
    return replace(week, blocks=(hall, other))


def cold_plan(week):
    fill, draw = np.zeros(N_SLOTS), np.zeros(N_SLOTS)
    fill[2:6], draw[9:13] = FILL_KW, DRAW_KW
    schedule = power(kept(), "hall-a", fill_kw_th=fill, draw_kw_th=draw, heat_sold_kw_th=np.full(N_SLOTS, SOLD_KW))
    return published(week, schedule)


WEEK = cold_site()
CALENDAR = cold_plan(WEEK)
HALL = CALENDAR[0].blocks[0]
IMPORT_KW = np.sum([plan.import_kw for plan in CALENDAR[0].blocks], axis=0)


def answered(share, first=9, after=12, **changes):
    asked = limit(first, after, float((1.0 - share) * IMPORT_KW[int(first) : int(np.ceil(after))].min()))
    return answer_to(WEEK, CALENDAR, asked, **({"now": at(8.5)} | changes))


def test_the_plan_itself_is_clean_and_has_flows():
    response, _ = answered(0.0)
    assert response.was.clean, response.was.violations
    assert sum(HALL.fill_kw_th) > 0.0
    assert sum(HALL.draw_kw_th) > 0.0
    assert min(HALL.heat_sold_kw_th) > 0.0


@pytest.mark.parametrize(("share", "first", "after"), [(0.05, 9, 12), (0.2, 9, 12), (0.2, 9.25, 11.6), (0.25, 10, 14)])
def test_the_judge_finds_an_answer_with_flows_clean(share, first, after):
    response, _ = answered(share, first, after, most_lost=0.5)
    assert response.changes
    assert response.found.clean, response.found.violations
    plan = response.after.blocks[0]
    balance = np.array(plan.it_kw) + plan.cooling_kw + plan.heat_pump_kw
    assert np.array(plan.facility_kw) == pytest.approx(balance, abs=2e-6)
    taken = np.array(plan.charge_kw) - plan.discharge_kw - plan.solar_kw
    assert np.array(plan.import_kw) == pytest.approx(balance + taken, abs=4e-6)


def test_flows_stay_where_the_load_does():
    response, _ = answered(0.2, most_lost=0.5)
    plan = response.after.blocks[0]
    assert plan.fill_kw_th == HALL.fill_kw_th
    assert plan.heat_sold_kw_th[:8] == HALL.heat_sold_kw_th[:8]
    assert plan.cold_kwh_th[:8] == HALL.cold_kwh_th[:8]


def test_racks_that_give_less_sell_less():
    response, _ = answered(0.25, most_lost=0.5)
    plan = response.after.blocks[0]
    cut = slice(9, 12)
    assert sum(plan.it_kw[cut]) < sum(HALL.it_kw[cut])
    assert sum(plan.heat_sold_kw_th[cut]) < sum(HALL.heat_sold_kw_th[cut])
    heat = [e.terms.heat for e in (response.was, response.found)]
    assert heat[1] > heat[0]


def test_a_calendar_that_keeps_the_limit_is_left_as_it_is():
    response, _ = answer_to(WEEK, CALENDAR, limit(9, 12, float(IMPORT_KW.max()) + 1.0), now=at(8.5))
    assert not response.changes
    assert response.after.blocks == CALENDAR[0].blocks
