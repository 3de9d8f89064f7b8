"""Weeks with a tank or a buyer of heat, by hand and by another program; and what the judge says when they lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from planner.baseline import asap
from planner.cold_flows import planned_flows, usual_sale_kw
from planner.evaluate import evaluate
from planner.heat import HeatBuyer, HeatSale
from planner.optimize import PlanOptions, plan
from planner.publish import to_calendar
from planner.schedule import BlockSchedule, RunSchedule, Schedule
from planner.timegrid import TimeGrid, zone
from power.export import GridExport
from power.tariff import Period, Tariff
from tests.weeks import FULL_POWER, IDLE_W, START, at, battery, make_block, make_pool, make_run, solar, tiny_week
from thermal.plant import cooling, dry_cooler, tower_chiller

EXACT = PlanOptions(gap_target=1e-6, time_limit_s=20.0)
RATED_KW = 1000.0
BUSY_KW = 512 * 1.1  # all GPUs at their highest point
STORE = {"store_volume_m3": 40.0, "store_daily_loss_share": 0.05}
PUMPS = {"heat_pump_capacity_share": 0.3, "heat_pump_supply_c": 70.0}


def busy_week(n_slots=12, *, plant=None, heat=None, **signals):
    """One gang that fills the pool and is on in every slot, so that the IT power is known."""
    block = make_block(n_slots=n_slots, plant=plant or dry_cooler(RATED_KW, **STORE))
    run = make_run("r1", 512, float(n_slots), float(n_slots), points=FULL_POWER)
    return tiny_week(n_slots=n_slots, blocks=(replace(block, heat=heat),), runs=(run,), **signals)


def decided(week, **flows):
    """A schedule with the gang on throughout and given flows of tank and heat."""
    n_slots = week.grid.n_slots
    still = np.zeros(n_slots)
    series = {name: np.broadcast_to(np.asarray(kw, float), n_slots).copy() for name, kw in flows.items()}
    run = RunSchedule("r1", "a1", np.full(n_slots, 700.0))
    return Schedule((run,), (BlockSchedule("hall", still, still, still, **series),))


def published(week, schedule):
    return to_calendar(week, schedule, status="by hand", certified_gap=None)


def judge(week, header, runs):
    return evaluate(header, runs, week)


class TestTank:
    def test_three_slots_by_hand(self):
        week = busy_week(3, dry_bulb_c=20.0)
        schedule = decided(week, fill_kw_th=[60.0, 0.0, 0.0], draw_kw_th=[0.0, 0.0, 45.0])
        header, runs = published(week, schedule)
        plan_of_block = header.blocks[0]
        # 36 m3 of propylene glycol at 36 C that warm by 10 K; 5 % a day are lost in proportion
        loop = week.blocks[0].plant.loop
        capacity_kwh = 36.0 * loop.facility_volume_kj_per_m3_k * 10.0 / 3600.0
        rate = -np.log(0.95) / 24.0
        kept, hours = np.exp(-rate), (1.0 - np.exp(-rate)) / rate
        first = 0.5 * capacity_kwh * kept + 60.0 * hours
        states = [first, first * kept, first * kept**2 - 45.0 * hours]
        assert plan_of_block.cold_kwh_th == pytest.approx(states, abs=2e-6)
        assert plan_of_block.fill_kw_th == (60.0, 0.0, 0.0)
        assert plan_of_block.draw_kw_th == (0.0, 0.0, 45.0)
        seen = judge(week, header, runs)
        assert seen.blocks[0].cold_kwh_th == pytest.approx(states, rel=1e-9)
        assert seen.cold_change_kwh_th == pytest.approx(states[-1] - 0.5 * capacity_kwh, rel=1e-9)
        for t, tank_kw in enumerate((60.0, 0.0, -45.0)):
            exact = cooling(week.blocks[0].plant, BUSY_KW, 20.0, 10.0, tank_kw=tank_kw)
            assert plan_of_block.cooling_kw[t] == pytest.approx(float(exact.cooling_kw), abs=1e-6)
        assert seen.violations == ()

    def test_flows_that_the_tank_cannot_take_are_cut(self):
        week = busy_week(4, plant=dry_cooler(RATED_KW, store_volume_m3=3.0, store_final_share=0.0), dry_bulb_c=20.0)
        header, runs = published(week, decided(week, fill_kw_th=[500.0, 0, 0, 0], draw_kw_th=[0, 500.0, 500.0, 0]))
        cold, capacity_kwh = header.blocks[0].cold_kwh_th, 2.7 * week.blocks[0].plant.loop.facility_volume_kj_per_m3_k
        assert cold[0] == pytest.approx(capacity_kwh * 10.0 / 3600.0, abs=1e-5)
        assert cold[1:] == pytest.approx((0.0, 0.0, 0.0), abs=1e-5)
        assert judge(week, header, runs).violations == ()

    def test_a_tank_is_not_filled_where_its_water_would_be_warm(self):
        # above 30 C outdoors the plant no longer holds 40 C at the racks
        week = busy_week(2, dry_bulb_c=[20.0, 33.0])
        header, runs = published(week, decided(week, fill_kw_th=[50.0, 50.0], draw_kw_th=[0.0, 0.0]))
        assert header.blocks[0].fill_kw_th == (50.0, 0.0)
        assert judge(week, header, runs).violations == ()

    def test_cheap_hours_make_the_cold_of_dear_ones_as_another_program_finds(self):
        price = np.array([0.02] * 6 + [0.25] * 6)
        week = busy_week(12, plant=dry_cooler(600.0, **STORE), price_per_kwh=price, dry_bulb_c=27.0)
        found = plan(week, EXACT)
        header, runs = published(week, found.schedule)
        seen = judge(week, header, runs)
        assert seen.violations == ()
        least, resting = _least_cooling_cost(week), _cooling_cost(week, np.zeros(12))
        ours = _cooling_cost(week, np.array(header.blocks[0].fill_kw_th) - np.array(header.blocks[0].draw_kw_th))
        # the program cannot do better than the other, and loses little of what is to be gained
        assert ours >= least - 1e-6
        assert resting - ours > 0.9 * (resting - least) > 0.02 * resting
        assert np.array(header.blocks[0].draw_kw_th)[:6].sum() == 0.0
        assert np.array(header.blocks[0].fill_kw_th)[6:].sum() == pytest.approx(0.0, abs=1e-3)
        fit = found.cooling[0]
        assert fit.energy_kwh == pytest.approx(float(seen.blocks[0].cooling_kw.sum()), rel=0.02)

    def test_a_hot_hour_carries_more_with_a_tank(self):
        # 36.3 C: without a tank the plant carries less than the whole gang
        hot = [20.0] * 3 + [36.3] * 2 + [20.0] * 3
        plants = {vol: dry_cooler(BUSY_KW * 1.02, store_volume_m3=vol, store_final_share=0.1) for vol in (0.0, 60.0)}
        weeks = {vol: busy_week(8, plant=made, dry_bulb_c=hot) for vol, made in plants.items()}
        kept = {}
        for vol, week in weeks.items():
            found = plan(week, EXACT)
            header, runs = to_calendar(
                week, found.schedule, status=found.status, certified_gap=0.0, shortfalls=found.shortfalls
            )
            seen = judge(week, header, runs)
            assert seen.violations == ()
            kept[vol] = seen
        assert kept[0.0].tokens < 0.9 * kept[60.0].tokens
        assert kept[60.0].deadlines_missed == 0
        assert min(kept[60.0].blocks[0].w_max_kw[3:5]) >= BUSY_KW - 1e-3

    def test_without_a_plan_the_tank_rests(self):
        week = busy_week(6, dry_bulb_c=20.0)
        header, runs = published(week, asap(week, {"r1": week.runs[0].stages[0].tokens}).schedule)
        assert set(header.blocks[0].fill_kw_th) == set(header.blocks[0].draw_kw_th) == {0.0}
        assert judge(week, header, runs).violations == ()

    def test_paid_hours_do_not_fill_and_draw_at_once(self):
        week = busy_week(8, price_per_kwh=[-0.2] * 4 + [0.1] * 4, dry_bulb_c=24.0)
        found = plan(week, EXACT)
        header, runs = published(week, found.schedule)
        both = np.minimum(header.blocks[0].fill_kw_th, header.blocks[0].draw_kw_th)
        assert both.max() == 0.0
        assert judge(week, header, runs).violations == ()


def _cooling_cost(week, tank_kw):
    """Money for cooling, on the whole physics."""
    kw = cooling(week.blocks[0].plant, BUSY_KW, week.signals.dry_bulb_c, week.signals.wet_bulb_c, tank_kw=tank_kw)
    return float(kw.cooling_kw @ _worth(week))


def _worth(week):
    carbon = week.signals.ci_gco2_per_kwh * week.prices.carbon_per_t / 1e6
    return week.signals.price_per_kwh + carbon


def _least_cooling_cost(week):
    """The least money for cooling: flows mixed from a fine grid of them, by a linear program of its own."""
    plant, n_slots = week.blocks[0].plant, week.grid.n_slots
    most_kw = 0.3 * plant.rated_it_kw * plant.liquid_heat_share
    grid_kw = np.linspace(-most_kw, most_kw, 121)
    power_kw = cooling(plant, BUSY_KW, 27.0, 10.0, tank_kw=grid_kw).cooling_kw
    carried = cooling(plant, BUSY_KW, 27.0, 10.0, tank_kw=grid_kw).supply_temp_c <= 40.0 + 1e-6
    grid_kw, power_kw = grid_kw[carried], power_kw[carried]
    loop = plant.loop
    capacity_kwh = 36.0 * loop.facility_volume_kj_per_m3_k * 10.0 / 3600.0
    rate = -np.log(0.95) / 24.0
    kept, hours = np.exp(-rate), (1.0 - np.exp(-rate)) / rate
    count = len(grid_kw)
    cost = np.concatenate([np.kron(_worth(week), power_kw), np.zeros(n_slots)])
    rows, right = [], []
    for t in range(n_slots):
        mix, state = np.zeros(len(cost)), np.zeros(len(cost))
        mix[t * count : (t + 1) * count] = 1.0
        state[t * count : (t + 1) * count] = -hours * grid_kw
        state[n_slots * count + t] = 1.0
        if t:
            state[n_slots * count + t - 1] = -kept
        rows += [mix, state]
        right += [1.0, 0.0 if t else kept * 0.5 * capacity_kwh]
    last = 0.5 * capacity_kwh * kept**n_slots
    bounds = [(0.0, 1.0)] * (count * n_slots) + [(0.0, capacity_kwh)] * (n_slots - 1) + [(last, capacity_kwh)]
    found = linprog(cost, A_eq=np.array(rows), b_eq=np.array(right), bounds=bounds)
    assert found.status == 0
    return found.fun


class TestHeat:
    def test_what_heat_brings_to_the_cent(self):
        # 80 kW for 12 h at 0.09 a kWh
        week = busy_week(12, plant=dry_cooler(RATED_KW, **PUMPS), heat=HeatSale(0.09, np.full(12, 80.0)))
        found = plan(week, EXACT)
        header, runs = published(week, found.schedule)
        seen = judge(week, header, runs)
        assert seen.violations == ()
        assert seen.heat_sold_kwh_th == pytest.approx(960.0, rel=1e-5)
        assert seen.terms.heat == pytest.approx(-86.40, abs=0.005)
        assert dict(found.terms)["heat"] == pytest.approx(-86.40, abs=0.005)
        # facility water at 36 C warms by 10 K of IT heat at 0.5632 of rated and 0.9 of flow, and by the pumps
        exact = cooling(week.blocks[0].plant, BUSY_KW, 15.0, 10.0, heat_sold_kw=80.0)
        assert header.blocks[0].heat_pump_kw == pytest.approx([float(exact.heat_pump_kw)] * 12, rel=1e-5)
        assert seen.heat_pump_kwh == pytest.approx(12.0 * float(exact.heat_pump_kw), rel=1e-5)
        assert seen.cost == pytest.approx(seen.terms.energy + seen.terms.water - 86.40, abs=0.005)
        assert seen.erf == pytest.approx(960.0 / seen.energy_kwh, rel=1e-5)
        assert seen.ere == pytest.approx((seen.energy_kwh - 960.0) / seen.it_energy_kwh, rel=1e-5)
        assert seen.ere == pytest.approx((1.0 - seen.erf) * seen.pue)

    def test_heat_is_sold_where_it_pays_only(self):
        # heat pumps take about a fifth of the heat as power: worth it at 0.05, not at 0.60 a kWh
        price = [0.05, 0.60, 0.05, 0.60]
        week = busy_week(
            4, plant=dry_cooler(RATED_KW, **PUMPS), heat=HeatSale(0.04, np.full(4, 60.0)), price_per_kwh=price
        )
        header, _ = published(week, plan(week, EXACT).schedule)
        assert np.array(header.blocks[0].heat_sold_kw_th) == pytest.approx([60.0, 0.0, 60.0, 0.0], abs=1e-3)

    def test_a_better_price_of_export_takes_nothing_from_load_and_heat_pumps(self):
        plant = dry_cooler(566.0, **STORE, **PUMPS)  # little above the racks' own power
        block = make_block(n_slots=4, capacity_kw=660.0, plant=plant, solar=solar(900.0))
        sale, sun = HeatSale(0.5, np.full(4, 150.0)), [0.0, 900.0, 1000.0, 0.0]
        run = make_run("r1", 512, 4.0, 4.0, points=FULL_POWER)
        found = []
        for paid in (0.05, 0.2):  # of the tariff's 0.08: at 0.2 buying and selling at once would pay
            export = GridExport(500.0, fixed_per_kwh=paid)
            week = tiny_week(
                n_slots=4,
                blocks=(replace(block, heat=sale, export=export),),
                runs=(run,),
                ghi_w_per_m2=sun,
                dry_bulb_c=20.0,
            )
            header, runs = published(week, plan(week, EXACT).schedule)
            seen = judge(week, header, runs)
            assert seen.violations == ()
            assert seen.deadlines_missed == 0
            assert header.blocks[0].heat_sold_kw_th == pytest.approx([150.0] * 4, rel=1e-4)
            found.append(seen)
        assert found[1].export_kwh == pytest.approx(found[0].export_kwh, rel=1e-3)
        assert found[1].terms.objective < found[0].terms.objective

    def test_a_battery_keeps_its_reserve_for_the_heat_pumps_too(self):
        store = battery(400.0, 200.0, reserve_min=15.0, initial_share=0.7, final_share=0.1)
        week = busy_week(
            6,
            plant=dry_cooler(RATED_KW, **PUMPS),
            heat=HeatSale(0.5, np.full(6, 150.0)),
            price_per_kwh=[0.05] * 3 + [0.9] * 3,
        )
        week = replace(week, blocks=(replace(week.blocks[0], battery=store),))
        header, runs = published(week, plan(week, EXACT).schedule)
        (found,) = header.blocks
        assert min(found.heat_pump_kw) > 10.0
        assert judge(week, header, runs).violations == ()
        # a quarter of an hour of all that the block takes, above the lowest state, and little more
        least_kwh = 40.0 + 0.25 * found.facility_kw[-1] / 0.95
        assert least_kwh - 1e-3 <= found.battery_kwh[-1] <= 1.005 * least_kwh

    def test_no_more_is_sold_than_racks_and_heat_pumps_give(self):
        week = busy_week(3, plant=dry_cooler(RATED_KW, **PUMPS), heat=HeatSale(1.0, np.full(3, 1e4)))
        for schedule in (decided(week, heat_sold_kw_th=1e4), plan(week, EXACT).schedule):
            header, runs = published(week, schedule)
            sold_kw = header.blocks[0].heat_sold_kw_th[1]
            taken_kw = sold_kw - header.blocks[0].heat_pump_kw[1]
            assert taken_kw == pytest.approx(0.3 * 0.945 * RATED_KW, rel=0.02)
            assert taken_kw <= 0.3 * 0.945 * RATED_KW
            assert judge(week, header, runs).violations == ()

    def test_heat_pumps_hold_back_within_the_capacity(self):
        alone = busy_week(2, plant=dry_cooler(RATED_KW, **PUMPS))
        takes_kw = BUSY_KW + float(cooling(alone.blocks[0].plant, BUSY_KW, 15.0, 10.0).cooling_kw)
        week = busy_week(2, plant=dry_cooler(RATED_KW, **PUMPS), heat=HeatSale(1.0, np.full(2, 300.0)))
        block = replace(week.blocks[0], power=replace(week.blocks[0].power, capacity_kw=takes_kw + 20.0))
        week = replace(week, blocks=(block,))
        for schedule in (decided(week, heat_sold_kw_th=300.0), plan(week, EXACT).schedule):
            header, runs = published(week, schedule)
            assert 15.0 < header.blocks[0].heat_pump_kw[0] < 22.0
            assert judge(week, header, runs).violations == ()

    def test_without_a_plan_heat_is_sold_where_it_pays_on_the_whole(self):
        for price, sells in ((0.05, True), (0.60, False)):
            sale = HeatSale(0.04, np.full(4, 60.0))
            week = busy_week(4, plant=dry_cooler(RATED_KW, **PUMPS), heat=sale, price_per_kwh=price)
            assert usual_sale_kw(week, week.blocks[0]).tolist() == [60.0 * sells] * 4
            header, runs = published(week, asap(week, {"r1": week.runs[0].stages[0].tokens}).schedule)
            assert header.blocks[0].heat_sold_kw_th == (60.0 * sells,) * 4
            assert judge(week, header, runs).violations == ()
        assert usual_sale_kw(busy_week(4), busy_week(4).blocks[0]) is None

    @pytest.mark.parametrize(("period_price", "sells"), [(0.05, True), (0.60, False)])
    def test_without_a_plan_heat_pumps_are_reckoned_at_the_tariffs_periods(self, period_price, sells):
        sale, spot = HeatSale(0.04, np.full(4, 60.0)), 0.65 - period_price  # the other way round than the period
        week = busy_week(4, plant=dry_cooler(RATED_KW, **PUMPS), heat=sale, price_per_kwh=spot)
        always = Period("always", price_per_kwh=period_price)
        week = replace(week, tariff=Tariff(periods=(always,)))
        assert usual_sale_kw(week, week.blocks[0]).tolist() == [60.0 * sells] * 4

    def test_the_buyers_hours_are_those_of_the_site(self):
        # Berlin is two hours ahead in May: 22 h UTC is the first hour of a day there
        share = (0.5,) + (1.0,) * 23
        grid = TimeGrid(at(21), 60, 4)
        assert HeatBuyer(0.1, 80.0, share).over(grid, zone("Europe/Berlin")).demand_kw.tolist() == [80, 40, 80, 80]
        assert HeatBuyer(0.1, 80.0, share, (6, 7)).over(grid, zone("Europe/Berlin")).demand_kw.tolist() == [0] * 4


@pytest.fixture(scope="module")
def sound():
    plant = tower_chiller(RATED_KW, **STORE, **PUMPS)
    week = busy_week(4, plant=plant, heat=HeatSale(0.1, np.full(4, 90.0)), dry_bulb_c=18.0)
    schedule = decided(week, fill_kw_th=[40.0, 0, 0, 0], draw_kw_th=[0, 0, 30.0, 0], heat_sold_kw_th=80.0)
    header, runs = published(week, schedule)
    assert [v.sentence for v in judge(week, header, runs).violations] == []
    return week, header, runs


class TestLies:
    """A calendar that says otherwise than the physics is found out."""

    @pytest.mark.parametrize(
        ("changes", "kind", "told"),
        [
            ({"fill_kw_th": (400.0, 0.0, 0.0, 0.0)}, "tank-power", "is filled at 400 kW"),
            ({"draw_kw_th": (0.0, 0.0, 300.0, 0.0)}, "tank-power", "takes up heat at 300 kW"),
            ({"fill_kw_th": (-1.0, 0.0, 0.0, 0.0)}, "tank-power", "less than the 0 kW allowed"),
            ({"draw_kw_th": (10.0, 0.0, 30.0, 0.0)}, "tank-both", "filled and drawn on at once at 10 kW"),
            ({"draw_kw_th": (0.0, 250.0, 250.0, 0.0)}, "tank-state", "holds -"),
            ({"fill_kw_th": (250.0, 0.0, 0.0, 0.0)}, "tank-state", "more than the 417"),
            ({"draw_kw_th": (0.0, 0.0, 60.0, 0.0)}, "tank-final", "ends with 1"),
            ({"heat_sold_kw_th": (95.0, 80.0, 80.0, 80.0)}, "heat-demand", "is sold at 95 kW"),
            ({"cold_kwh_th": (250.0, 250.0, 250.0, 250.0)}, "stated-cold", "250 kWh of stored cold"),
            ({"heat_sold_kw_th": ()}, "stated-heat-pump", "kW of heat pumps"),
            ({"heat_pump_kw": ()}, "balance", "all sources together"),
            ({"heat_pump_kw": (9.0, 9.0, 9.0, 9.0)}, "stated-heat-pump", "9 kW of heat pumps"),
        ],
    )
    def test_each_lie_is_named(self, sound, changes, kind, told):
        week, header, runs = sound
        lying = replace(header, blocks=(replace(header.blocks[0], **changes),))
        found = {v.kind: v.sentence for v in judge(week, lying, runs).violations}
        assert kind in found
        assert told in found[kind]

    def test_heat_beyond_what_racks_and_pumps_give(self, sound):
        week, header, runs = sound
        greedy = replace(week.blocks[0], heat=HeatSale(0.1, np.full(4, 1e4)))
        week = replace(week, blocks=(greedy,))
        lying = replace(header, blocks=(replace(header.blocks[0], heat_sold_kw_th=(900.0,) * 4),))
        kinds = {v.kind for v in judge(week, lying, runs).violations}
        assert {"heat-pump-power", "heat-given"} <= kinds

    def test_a_tank_that_is_not_there_does_nothing(self):
        week = busy_week(3, plant=dry_cooler(RATED_KW))
        header, runs = published(week, decided(week))
        assert header.blocks[0].cold_kwh_th == header.blocks[0].heat_sold_kw_th == ()
        lying = replace(header, blocks=(replace(header.blocks[0], fill_kw_th=(10.0,) * 3, heat_sold_kw_th=(5.0,) * 3),))
        assert {"tank-power", "heat-demand"} <= {v.kind for v in judge(week, lying, runs).violations}

    def test_filling_with_warm_water(self):
        week = busy_week(2, dry_bulb_c=33.0)
        header, runs = published(week, decided(week))
        lying = replace(header, blocks=(replace(header.blocks[0], fill_kw_th=(20.0, 20.0)),))
        (found,) = [v for v in judge(week, lying, runs).violations if v.kind == "tank-warm"]
        assert "is filled while the racks get 43 C" in found.sentence

    def test_filling_beyond_what_the_plant_carries(self):
        plant = dry_cooler(BUSY_KW, **STORE)
        week = busy_week(2, plant=plant, dry_bulb_c=34.5)
        header, runs = published(week, decided(week))
        lying = replace(header, blocks=(replace(header.blocks[0], fill_kw_th=(100.0, 0.0)),))
        assert "cooling-limit" in {v.kind for v in judge(week, lying, runs).violations}


def test_a_gang_that_ends_within_a_slot_gives_no_heat_after_it():
    # half of the last slot is idle: the racks then give 0.945 of 512 x 150 W
    week = busy_week(2, plant=dry_cooler(RATED_KW, **STORE, **PUMPS), heat=HeatSale(1.0, np.full(2, 400.0)))
    schedule = decided(week, draw_kw_th=[0.0, 200.0], heat_sold_kw_th=300.0)
    cut = replace(schedule, runs=(replace(schedule.runs[0], ends=START + 1.5 * week.grid.slot),))
    header, runs = published(week, cut)
    assert header.blocks[0].draw_kw_th[1] == pytest.approx(0.945 * 512 * IDLE_W / 1000.0, abs=1e-5)
    assert header.blocks[0].heat_sold_kw_th[1] == pytest.approx(0.0, abs=1e-5)
    assert [v.kind for v in judge(week, header, runs).violations if v.kind.startswith(("tank-p", "heat"))] == []


def test_pools_of_other_blocks_are_not_touched():
    week = busy_week(2)
    other = make_block("annex", 300.0, n_slots=2)
    week = replace(week, blocks=(*week.blocks, other), pools=(*week.pools, make_pool("b1", 64, "annex")))
    still = np.zeros(2)
    schedule = decided(week, fill_kw_th=30.0)
    schedule = replace(schedule, blocks=(*schedule.blocks, BlockSchedule("annex", still, still, still)))
    header, runs = published(week, schedule)
    assert header.blocks[1].cold_kwh_th == ()
    assert judge(week, header, runs).violations == ()


def test_a_calendar_tells_the_thermal_report_its_flows():
    week = busy_week(3, plant=dry_cooler(RATED_KW, **STORE, **PUMPS), heat=HeatSale(0.1, np.full(3, 90.0)))
    header, _ = published(week, decided(week, fill_kw_th=[40.0, 0, 0], draw_kw_th=[0, 30.0, 0], heat_sold_kw_th=80.0))
    flows = planned_flows(header.blocks[0])
    assert flows.tank_kw.tolist() == [40.0, -30.0, 0.0]
    assert flows.sold_kw.tolist() == [80.0] * 3
    silent = planned_flows(replace(header.blocks[0], fill_kw_th=(), draw_kw_th=(), heat_sold_kw_th=()))
    assert silent.tank_kw.tolist() == silent.sold_kw.tolist() == [0.0] * 3


class TestRoom:
    def test_heat_pumps_hold_back_where_the_grid_lets_in_no_more(self):
        plant = dry_cooler(RATED_KW, **PUMPS)
        week = busy_week(3, plant=plant, heat=HeatSale(0.04, np.full(3, 200.0)))
        free, _ = published(week, decided(week, heat_sold_kw_th=200.0))
        most_kw = free.blocks[0].import_kw[0] - 12.0
        (block,) = week.blocks
        tight = replace(week, blocks=(replace(block, power=replace(block.power, grid_kw=most_kw)),))
        header, runs = published(tight, decided(tight, heat_sold_kw_th=200.0))
        assert header.blocks[0].import_kw == pytest.approx([most_kw] * 3, abs=1e-4)
        assert 0.0 < header.blocks[0].heat_sold_kw_th[0] < free.blocks[0].heat_sold_kw_th[0] - 20.0
        assert judge(tight, header, runs).violations == ()
