"""Each part of a plant: its nominal point, no load, no flow, frost, and numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import exprel as scipy_exprel

from thermal.circuit import circuit
from thermal.coil import coil, inlet_c_for
from thermal.components import cdu, chiller, cold_plate, heat_pump, pump, store
from thermal.components.chiller import Chiller
from thermal.components.cold_plate import ColdPlate
from thermal.components.dry_cooler import DryCooler, Pad, air_in_c, pad_water_l_per_kwh
from thermal.components.heat_pump import HeatPump
from thermal.components.pump import Pump
from thermal.components.room import RoomAir, room_state
from thermal.components.store import Store
from thermal.components.tower import WATER_KJ_PER_KG_K, Tower
from thermal.exchanger import closing_ua_per_k, cold_end_k, exprel
from thermal.loop import LiquidLoop
from thermal.psychro import saturated_enthalpy_kj_per_kg
from thermal.units_out import ALL

ht = pytest.importorskip("ht")


def one(value):
    return np.array([value])


class TestExchanger:
    def test_exprel_agrees_with_scipy_on_both_sides_of_zero(self):
        x = np.concatenate([[0.0], np.logspace(-12, 2.5, 60), -np.logspace(-12, 2.5, 60)])
        assert exprel(x) == pytest.approx(scipy_exprel(x), rel=1e-9)

    @pytest.mark.parametrize("hot", [0.05, 0.1, 0.3])
    @pytest.mark.parametrize("cold", [0.05, 0.1, 0.3])
    @pytest.mark.parametrize("ua", [0.02, 0.2, 2.0])
    def test_approach_agrees_with_the_textbook_effectiveness(self, hot, cold, ua):
        heat, least, most = 0.8, min(hot, cold), max(hot, cold)
        effectiveness = ht.effectiveness_from_NTU(ua / least, least / most, subtype="counterflow")
        inlet_difference_k = heat / (effectiveness * least)
        got = cold_end_k(one(heat), one(ua), one(hot), one(cold))
        assert got == pytest.approx([inlet_difference_k - heat / hot], rel=1e-8)

    def test_a_design_point_closes(self):
        for hot, cold in ((0.1, 0.1), (0.1, 0.12), (0.12, 0.1)):
            ua = closing_ua_per_k(1.05, 4.0, hot, cold)
            assert cold_end_k(one(1.05), one(ua), one(hot), one(cold)) == pytest.approx([4.0])

    def test_an_approach_out_of_reach_is_refused_with_the_least(self):
        # the cold stream takes 20 K, the hot one gives 10 K: 10 K between the cold ends at least
        with pytest.raises(ValueError, match="4 K is out of reach; 10 K is the least"):
            closing_ua_per_k(1.0, 4.0, 0.1, 0.05)

    def test_no_heat_needs_no_difference(self):
        assert cold_end_k(one(0.0), one(0.3), one(0.1), one(0.2)).tolist() == [0.0]


class TestColdPlate:
    OCP = ((0.4, 38.9), (0.6, 30.0), (0.8, 26.5), (1.0, 24.5), (1.4, 22.0), (2.0, 20.4), (2.4, 19.7))

    def test_follows_the_measured_points_within_the_fits_error(self):
        for flow, k_per_kw in self.OCP:
            assert cold_plate.resistance_k_per_kw("pg25", one(flow)) == pytest.approx([k_per_kw], rel=0.027)
        for flow, k_per_kw in ((2.0, 17.2), (3.0, 16.0), (5.0, 15.1)):
            assert cold_plate.resistance_k_per_kw("water", one(flow)) == pytest.approx([k_per_kw], rel=0.01)

    def test_case_temperature_by_hand(self):
        # 0.8 kW at 1 L/min: 40 + 0.8 x (17.7 + 6.5)
        assert cold_plate.case_c(ColdPlate(), "pg25", one(40.0), one(0.8), one(1.0)) == pytest.approx([59.36])

    def test_no_flow_is_a_still_plate_and_no_load_is_the_supply(self):
        assert cold_plate.resistance_k_per_kw("pg25", one(0.0)).tolist() == [cold_plate.STILL_K_PER_KW]
        assert cold_plate.case_c(ColdPlate(), "pg25", one(40.0), one(0.0), one(0.0)).tolist() == [40.0]

    def test_rises_as_flow_falls_without_a_step_at_the_fits_end(self):
        flow = np.linspace(0.01, 3.0, 600)
        assert (np.diff(cold_plate.resistance_k_per_kw("pg25", flow)) < 0.0).all()
        near = cold_plate.resistance_k_per_kw("pg25", np.array([0.4 - 1e-9, 0.4 + 1e-9]))
        assert near[0] == pytest.approx(near[1], rel=1e-6)


class TestPump:
    def test_power_at_design_by_hand(self):
        # 250 kPa / (4008 kJ/m3K x 10 K x 0.65) of the heat
        assert pump.design_power(Pump(), 4008.0, 10.0) == pytest.approx(250.0 / (4008.0 * 6.5))

    def test_affinity_above_the_static_head(self):
        share = pump.power(Pump(), 1.0, np.array([0.0, 0.5, 1.0]))
        assert share == pytest.approx([0.0, 0.2 * 0.5 + 0.8 * 0.125, 1.0])

    def test_flow_follows_the_load_down_to_the_floor(self):
        assert pump.flow(Pump(flow_floor=0.4), np.array([0.0, 0.3, 0.7, 1.1])).tolist() == [0.4, 0.4, 0.7, 1.1]

    def test_pumps_out_cap_the_flow_and_load_the_others(self):
        flow = pump.flow(Pump(), np.array([1.0]), 0.5)
        assert flow == pytest.approx([0.55])
        assert pump.power(Pump(), 1.0, flow, 0.5) == pytest.approx([0.5 * (0.2 * 1.1 + 0.8 * 1.1**3)])


class TestCdu:
    def test_closes_at_its_design_point(self):
        loop = LiquidLoop()
        closed = circuit(loop, one(1.0), ALL)
        assert closed.cdu_k == pytest.approx([4.0])
        assert closed.rack_heat + closed.facility_pump == pytest.approx([loop.design_heat_share])

    def test_conserves_energy_at_part_flow(self):
        # rack side and facility side of the exchanger, from the four temperatures and NTU
        heat, rack, facility = one(0.6), one(0.7), one(0.9)
        ua, rates = 1.2, (0.1, 0.08)
        approach = cdu.approach_k(ua, rates, heat, rack, facility)
        film_ua = 2.0 * ua / (0.7**-0.8 + 0.9**-0.8)
        hot_end = approach + heat / (0.7 * 0.1) - heat / (0.9 * 0.08)
        lmtd = (hot_end - approach) / np.log(hot_end / approach)
        assert film_ua * lmtd == pytest.approx(heat, rel=1e-9)

    def test_no_load_and_no_flow(self):
        assert cdu.approach_k(1.2, (0.1, 0.1), one(0.0), one(0.9), one(0.9)).tolist() == [0.0]
        assert cdu.approach_k(1.2, (0.1, 0.1), one(0.0), one(0.0), one(0.0)).tolist() == [0.0]
        stopped = cdu.approach_k(1.2, (0.1, 0.1), one(0.5), one(0.9), one(0.0))
        assert np.isfinite(stopped).all()
        assert stopped[0] > 100.0

    def test_one_of_eight_out_by_hand(self):
        loop = LiquidLoop()
        seven = cdu.approach_k(loop.cdu_ua_per_k, (0.1, 0.1), one(0.8), one(0.875), one(0.875), 0.875)
        # each of the seven then carries 0.8 / 0.875 of its design heat at design flow
        assert seven == pytest.approx(
            cdu.approach_k(loop.cdu_ua_per_k, (0.1, 0.1), one(0.8 / 0.875), one(1.0), one(1.0))
        )


class TestDryCooler:
    LOOP = LiquidLoop()

    def test_closes_at_its_design_point(self):
        # air 30 C, supply 36 C, and the water 10 K x 1.029 warmer before it
        heat = self.LOOP.design_heat_share
        free = coil(self.LOOP, one(1.0), one(36.0 + 10.0 * heat), one(30.0), 1.0)
        assert free.carried(1.0) == pytest.approx([heat])
        assert free.air_flow_for(one(heat)) == pytest.approx([1.0])

    def test_conductance_follows_both_films(self):
        ratio = self.LOOP.rejection.ua_ratio(one(0.5), one(0.25))
        assert ratio == pytest.approx([1.0 / (2 / 3 * 0.25**-0.8 + 1 / 3 * 0.5**-0.85)])

    @pytest.mark.parametrize("air_flow", [0.1, 0.17, 0.5, 0.93])
    def test_the_air_flow_for_a_heat_carries_it(self, air_flow):
        free = coil(self.LOOP, one(0.8), one(45.0), one(20.0), 1.0)
        heat = free.carried(air_flow)
        assert free.air_flow_for(heat) == pytest.approx([air_flow], rel=1e-9)

    def test_air_warmer_than_the_water_takes_nothing(self):
        assert coil(self.LOOP, one(1.0), one(30.0), one(40.0), 1.0).carried(1.0).tolist() == [0.0]

    def test_fewer_coolers_carry_less_and_each_more(self):
        args = (one(1.0), one(46.0), one(30.0))
        all_, seven = coil(self.LOOP, *args, 1.0).carried(1.0), coil(self.LOOP, *args, 0.875).carried(1.0)
        assert 0.875 * all_[0] < seven[0] < all_[0]

    def test_pad_by_hand(self):
        pad = Pad(effectiveness=0.75)
        assert air_in_c(pad, np.array([40.0, 20.0, 30.0]), np.array([26.0, 12.0, 31.0])).tolist() == [29.5, 20.0, 30.0]
        assert pad_water_l_per_kwh(pad, one(0.115), one(10.5)) == pytest.approx([0.115 * 10.5 / 2430 * 3600 / 0.75])


class TestTower:
    LOOP = LiquidLoop(rejection=Tower(), facility_coolant="water", supply_setpoint_c=30.0, supply_limit_c=35.0)

    def test_closes_at_its_design_point(self):
        heat = self.LOOP.design_heat_share
        free = coil(self.LOOP, one(1.0), one(25.6 + 4.0 + 10.0 * heat), one(25.6), 1.0)
        assert free.carried(1.0) == pytest.approx([heat])
        assert free.stretch == pytest.approx([1.0])

    @pytest.mark.parametrize("wet_bulb_c", [-10.0, 5.0, 20.0, 27.0])
    @pytest.mark.parametrize("air_flow", [0.4, 0.7, 1.0])
    def test_agrees_with_merkels_equation_integrated(self, wet_bulb_c, air_flow):
        tower, rate, heat = self.LOOP.rejection, self.LOOP.facility_rate_per_k, self.LOOP.design_heat_share
        water_kg, full_kg = rate / WATER_KJ_PER_KG_K, tower.air_kg_per_s(rate)

        def merkel_inlet_c(outlet_c, sink_c, transfer_kg, air_kg):
            """Water before a counter-flow fill: the equations of water and air along it, midpoint rule."""

            def driving(water_c, air_kj):
                # steam is left out: the search for the outlet passes by it
                return float(saturated_enthalpy_kj_per_kg(np.array(min(water_c, 85.0)))) - air_kj

            water_c, air_kj, steps = outlet_c, float(saturated_enthalpy_kj_per_kg(np.array(sink_c))), 60
            per_water, per_air = (transfer_kg / steps / m for m in (water_kg * WATER_KJ_PER_KG_K, air_kg))
            for _ in range(steps):
                here = driving(water_c, air_kj)
                half = driving(water_c + here * per_water / 2.0, air_kj + here * per_air / 2.0)
                water_c, air_kj = water_c + half * per_water, air_kj + half * per_air
            return water_c

        # the fill that closes the same design point
        fill_kg = brentq(lambda k: merkel_inlet_c(29.6, 25.6, k, full_kg) - 29.6 - heat / rate, 1e-4, 0.1, xtol=1e-8)
        for inlet_c in (wet_bulb_c + 8.0, wet_bulb_c + 16.0):
            carried = coil(self.LOOP, one(1.0), one(inlet_c), one(wet_bulb_c), 1.0).carried(air_flow)[0]
            outlet_c = brentq(
                lambda t: merkel_inlet_c(t, wet_bulb_c, fill_kg * air_flow**0.6, full_kg * air_flow) - inlet_c,  # noqa: B023
                wet_bulb_c,
                inlet_c,
                xtol=1e-6,
            )
            # one slope for the whole fill costs up to 8 % of the heat, and never promises more than 3 % too much
            assert 0.92 < carried / (rate * (inlet_c - outlet_c)) < 1.03

    def test_over_cools_nothing_at_little_load(self):
        # natural draught alone would carry far more; the bypass takes the rest past the tower
        free = coil(self.LOOP, one(0.9), one(27.0), one(-20.0), 1.0)
        assert free.carried(self.LOOP.rejection.natural_draught_share)[0] > 0.05

    def test_water_by_balance(self):
        # all heat as latent heat would be 1.48 L/kWh; in frost most of it is sensible
        tower = Tower(cycles_of_concentration=1e9)
        air_kg = tower.air_kg_per_s(0.1)
        warm = tower.water_l_per_kwh(one(1.0), air_kg, one(35.0), one(22.0))
        cold = tower.water_l_per_kwh(one(1.0), air_kg, one(-10.0), one(-11.0))
        assert 1.1 < warm[0] < 1.7
        assert 0.4 < cold[0] < 0.95
        assert Tower(cycles_of_concentration=4.0).water_l_per_kwh(
            one(1.0), air_kg, one(35.0), one(22.0)
        ) == pytest.approx(warm * 4.0 / 3.0)
        assert tower.water_l_per_kwh(one(0.0), air_kg, one(35.0), one(22.0)).tolist() == [0.0]

    def test_a_tower_in_frost_stays_finite(self):
        free = coil(self.LOOP, one(0.9), one(27.0), one(-40.0), 1.0)
        assert np.isfinite(free.carried(1.0)).all()
        assert np.isfinite(free.air_flow_for(one(0.5))).all()


class TestChiller:
    MADE = Chiller(capacity_share=0.6, count=2)

    def test_cop_by_hand(self):
        # out 20 C, evaporating 17 C; sink 30 C, condensing 42 C: 0.55 x 290.15 / 25
        assert chiller.cop(self.MADE, one(20.0), one(30.0)) == pytest.approx([0.55 * 290.15 / 25.0])

    def test_closes_at_its_nominal_point(self):
        assert sum(chiller.PART_LOAD) == pytest.approx(1.0)
        assert chiller.power(self.MADE, one(0.6), one(5.0)) == pytest.approx([0.12])

    def test_a_kelvin_of_warmer_supply_saves_some_four_per_cent(self):
        base, warmer = (1.0 / chiller.cop(self.MADE, one(t), one(25.0))[0] for t in (18.0, 19.0))
        assert 0.03 < 1.0 - warmer / base < 0.06

    def test_the_least_of_all_numbers_on(self):
        many = Chiller(capacity_share=1.2, count=6)
        cooled = np.linspace(0.001, 1.2, 400)
        least = np.min(
            [np.where(cooled <= 0.2 * n, chiller.power_of(many, cooled, one(5.0), n), np.inf) for n in range(1, 7)],
            axis=0,
        )
        got = chiller.power(many, cooled, one(5.0))
        assert got == pytest.approx(least)
        assert (np.diff(got) >= 0.0).all()

    def test_nothing_cooled_takes_nothing_and_a_little_takes_the_least_load(self):
        assert chiller.power(self.MADE, one(0.0), one(5.0)).tolist() == [0.0]
        least = 0.3 * (0.033 + 0.0685 + 0.00282) / 5.0
        assert chiller.power(self.MADE, one(1e-6), one(5.0)) == pytest.approx([least])

    def test_lift_has_a_floor_in_frost(self):
        frost = chiller.cop(self.MADE, one(20.0), np.array([-40.0, 0.0]))
        assert frost[0] == frost[1] == pytest.approx(0.55 * 290.15 / 15.0)

    def test_one_out_leaves_one(self):
        both, single = chiller.power(self.MADE, one(0.3), one(5.0)), chiller.power(self.MADE, one(0.3), one(5.0), 0.5)
        assert single[0] > both[0]


class TestHeatPump:
    def test_kajaani(self):
        # 30 to 85 C: 33.5 MW of heat from 25.8 MW of cooling
        cop = heat_pump.cop(HeatPump(), one(30.0))
        assert cop == pytest.approx([4.35], rel=0.005)
        assert 33.5 * heat_pump.taken_per_sold(cop) == pytest.approx([25.8], rel=0.005)

    def test_energy_closes_and_a_source_warmer_than_the_sink_stays_finite(self):
        cop = heat_pump.cop(HeatPump(), np.array([-10.0, 45.0, 84.9, 95.0]))
        assert heat_pump.taken_per_sold(cop) + 1.0 / cop == pytest.approx([1.0] * 4)
        assert (cop > 1.0).all()
        assert cop[2] == cop[3]


class TestStore:
    def test_capacity_by_hand(self):
        # 1,000 m3 of water near 20 C, 90 % usable, 10 K: 900 x 4.18343 x 998.298 x 10 / 3600 kWh
        made = Store(volume_m3=1000.0)
        assert store.capacity_kwh_th(made, "water", 20.0) == pytest.approx(900 * 4.18343 * 998.298 / 360.0)

    def test_energy_closes_over_a_day(self):
        made = Store(volume_m3=1000.0, daily_loss_share=0.3)
        rate = -math.log(0.7) / 24.0
        cold = solve_ivp(lambda _, c: [120.0 - 20.0 - rate * c[0]], (0.0, 24.0), [500.0], rtol=1e-10, atol=1e-8).y[
            0, -1
        ]
        assert store.cold_after_kwh_th(made, 500.0, 120.0, 20.0, 24.0) == pytest.approx(cold, rel=1e-7)

    def test_a_tank_without_loss_keeps_all(self):
        made = Store(volume_m3=10.0, daily_loss_share=0.0)
        assert store.cold_after_kwh_th(made, 50.0, 10.0, 4.0, 2.0) == pytest.approx(62.0)
        assert store.kept_share(made, 100.0) == 1.0

    def test_half_steps_make_a_whole_one(self):
        made = Store(volume_m3=10.0)
        half = store.cold_after_kwh_th(made, 50.0, 10.0, 4.0, 0.5)
        assert store.cold_after_kwh_th(made, half, 10.0, 4.0, 0.5) == pytest.approx(
            store.cold_after_kwh_th(made, 50.0, 10.0, 4.0, 1.0)
        )


class TestRoom:
    def test_closes_at_its_nominal_point(self):
        state = room_state(RoomAir(dx_capacity_share=1.0), one(1.0), one(35.0))
        assert state.supply_c == pytest.approx([24.0])

    def test_one_of_two_units_out_halves_what_it_carries(self):
        made = RoomAir(dx_capacity_share=1.0)
        assert room_state(made, one(1.0), one(35.0), 0.5).supply_c[0] == pytest.approx(24.0 + 1.0 / 0.03)

    def test_no_load_in_frost(self):
        state = room_state(RoomAir(), one(0.0), one(-40.0))
        assert state.compressor.tolist() == [0.0]
        assert state.heat == pytest.approx(state.room_fan)


@pytest.mark.parametrize("rejection", [DryCooler(), Tower()])
def test_the_inlet_found_carries_the_heat(rejection):
    loop = LiquidLoop(rejection=rejection)
    heat, sink_c = np.linspace(0.0, 1.2, 7)[:, None], np.array([-30.0, 0.0, 20.0, 30.0])
    inlet_c = inlet_c_for(loop, one(0.9), heat, sink_c, 0.875)
    assert coil(loop, one(0.9), inlet_c, sink_c, 0.875).carried(1.0) == pytest.approx(
        np.broadcast_to(heat, (7, 4)), abs=1e-9
    )
