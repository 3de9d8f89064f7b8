"""The loops after a failure: worked by hand, and against an integrator that knows nothing of the matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from tests.loops import loop_kj_per_k
from thermal.transient import (
    Event,
    LoopInertia,
    LoopOperation,
    course,
    ride_through_heat_kw,
    ride_through_row,
    ride_through_s,
    time_to_limit_s,
)
from thermal.transient.operation import steady_loop
from thermal.transient.state_space import generator, rates, start
from thermal.transient.step import doubled, increments, short_s

RATED_KW = 1_000.0
EVEN = LoopInertia(RATED_KW)
BUFFER = LoopInertia(RATED_KW, facility_supply_l_per_kw=7.92, facility_return_l_per_kw=0.08)
FULL = LoopOperation(
    heat_kw=RATED_KW,
    rack_supply_c=40.0,
    rack_rate_kw_per_k=100.0,
    facility_rate_kw_per_k=100.0,
    rated_case_rise_k=21.7,
    rated_cdu_approach_k=4.0,
    ambient_c=30.0,
)
PUMPED = replace(FULL, rack_pump_kw=20.0, facility_pump_kw=10.0, facility_rate_kw_per_k=120.0)
NODES = (
    "case_c",
    "plate_c",
    "rack_return_c",
    "cdu_c",
    "rack_supply_c",
    "facility_return_c",
    "cooler_c",
    "facility_supply_c",
)


def at_start(operation: LoopOperation, inertia: LoopInertia = EVEN) -> list[float]:
    first = course(Event.PUMP_LOSS, inertia, operation, 0.0)
    return [float(getattr(first, name)[..., 0]) for name in NODES]


def slopes(event, inertia: LoopInertia, op: LoopOperation):
    """The heat balance of each part in kW and kJ/K, written part by part."""
    mw = inertia.rated_heat_kw / 1000.0
    rack_l, facility_l = inertia.rack_coolant_kj_per_m3_per_k, inertia.facility_coolant_kj_per_m3_per_k
    rack_warming_k = inertia.rated_heat_kw / op.rack_rate_kw_per_k
    film_k = op.rated_case_rise_k - rack_warming_k
    solid = inertia.rated_heat_kw / (inertia.solid_share * film_k)
    film = inertia.rated_heat_kw / ((1.0 - inertia.solid_share) * film_k + rack_warming_k)
    exchange = inertia.rated_heat_kw / (op.rated_cdu_approach_k + rack_warming_k)
    pumping, cdu_open, cooled = (
        event is not Event.PUMP_LOSS,
        event is not Event.CDU_LOSS,
        event is not Event.REJECTION_LOSS,
    )

    rack = op.rack_rate_kw_per_k if pumping else 0.0
    facility = op.facility_rate_kw_per_k

    def of(_time_s, temps):
        case, plate, back, cdu, supply, fac_back, cooler, fac_supply = temps
        taken = film * (plate - supply) if pumping else inertia.stagnant_w_per_kw_per_k * mw * (plate - back)
        into_return = rack * (supply - back) + taken
        over = exchange * (back - fac_supply) if pumping and cdu_open else 0.0
        passive = inertia.passive_w_per_kw_per_k * mw * (cooler - op.ambient_c)
        return [
            (op.heat_kw - solid * (case - plate)) / (inertia.case_j_per_kw_per_k * mw),
            (solid * (case - plate) - taken) / (inertia.plate_j_per_kw_per_k * mw),
            into_return / (inertia.rack_return_l_per_kw * mw * rack_l),
            (rack * (back - cdu) - over) / (inertia.cdu_j_per_kw_per_k * mw),
            (rack * (cdu - supply) + (op.rack_pump_kw if pumping else 0.0))
            / (inertia.rack_supply_l_per_kw * mw * rack_l),
            (facility * (fac_supply - fac_back) + over) / (inertia.facility_return_l_per_kw * mw * facility_l),
            0.0 if cooled else (facility * (fac_back - cooler) - passive) / (inertia.cooler_j_per_kw_per_k * mw),
            (facility * (cooler - fac_supply) + op.facility_pump_kw)
            / (inertia.facility_supply_l_per_kw * mw * facility_l),
        ]

    return of


@pytest.mark.parametrize(
    ("event", "load", "expected_s"),
    [
        (Event.PUMP_LOSS, 1.0, (5.0, 9.0)),
        (Event.PUMP_LOSS, 0.4, (25.0, 35.0)),
        (Event.CDU_LOSS, 1.0, (77.0, 140.0)),
        (Event.REJECTION_LOSS, 1.0, (612.0, 1008.0)),
    ],
)
def test_the_reference_case_is_met_within_five_per_cent(event, load, expected_s):
    found_s = time_to_limit_s(event, BUFFER, replace(FULL, heat_kw=load * RATED_KW), [75.0, 85.0])
    np.testing.assert_allclose(found_s, expected_s, rtol=0.05)


def test_warm_water_in_the_return_leg_leaves_less_time_yet_within_a_fifth():
    even_s = time_to_limit_s(Event.REJECTION_LOSS, EVEN, FULL, [75.0, 85.0])
    buffer_s = time_to_limit_s(Event.REJECTION_LOSS, BUFFER, FULL, [75.0, 85.0])
    assert (even_s < 0.92 * buffer_s).all()
    np.testing.assert_allclose(even_s, (612.0, 1008.0), rtol=0.2)


def test_the_steady_state_before_the_failure_by_hand():
    # 20 kW of pumps: 0.2 K; the CDU's 14 K carry 1,000 kW, so 1,020 kW need 14.28 K; facility: 1,020 / 120 = 8.5 K
    assert at_start(PUMPED) == pytest.approx(
        [61.7, 40.0 + 21.7 - 5.85, 50.0, 39.8, 40.0, 35.72 + 8.5, 35.72 - 10.0 / 120.0, 35.72], abs=1e-9
    )


@pytest.mark.parametrize("event", list(Event))
def test_before_the_failure_nothing_but_what_it_cuts_off_is_out_of_balance(event):
    moved = np.flatnonzero(np.abs(slopes(event, EVEN, PUMPED)(0.0, at_start(PUMPED))) > 1e-9)
    # plates lose their flow; the return leg begins to take heat of standing coolant; the rest of the loop cools down
    expected = {
        Event.PUMP_LOSS: {"plate_c", "rack_return_c", "facility_return_c"},
        Event.CDU_LOSS: {"cdu_c", "facility_return_c"},
        Event.REJECTION_LOSS: {"cooler_c"},
    }
    assert {NODES[i] for i in moved} == expected[event]


def test_pump_loss_by_hand():
    # nothing leaves: the mean of case and plate rises by Q / (Cc + Cp) = 1000 / 350 K/s, and their difference goes from
    # 5.85 K to that of a ramp, Q Cp / (Cc + Cp) / K, by exp(-K (1/Cc + 1/Cp) t) with K = 1000 / 5.85 kW/K
    sealed = replace(EVEN, stagnant_w_per_kw_per_k=1e-12)
    time_s = np.array([0.0, 0.2, 1.0, 5.0, 30.0])
    solid = 1000.0 / 5.85
    ramp_k = 1000.0 * 250.0 / 350.0 / solid
    apart_k = ramp_k + (5.85 - ramp_k) * np.exp(-solid * (1.0 / 100.0 + 1.0 / 250.0) * time_s)
    mean_c = (100.0 * 61.7 + 250.0 * (61.7 - 5.85)) / 350.0 + 1000.0 / 350.0 * time_s
    found = course(Event.PUMP_LOSS, sealed, FULL, time_s)
    np.testing.assert_allclose(found.case_c, mean_c + 250.0 / 350.0 * apart_k, rtol=1e-12)
    np.testing.assert_allclose(found.plate_c, mean_c - 100.0 / 350.0 * apart_k, rtol=1e-12)


def test_rejection_loss_in_a_loop_without_differences_is_the_closed_form():
    tight = LoopOperation(RATED_KW, 40.0, 1e6, 1e6, 2e-3, 1e-3, 30.0)
    limit_c = np.array([45.0, 60.0, 75.0, 85.0])
    found_s = time_to_limit_s(Event.REJECTION_LOSS, EVEN, tight, limit_c)
    by_hand_s = loop_kj_per_k(EVEN) * (limit_c - 40.0) / RATED_KW
    np.testing.assert_allclose(found_s, by_hand_s, rtol=1e-3)
    np.testing.assert_allclose(ride_through_s(RATED_KW, loop_kj_per_k(EVEN), 40.0, limit_c), by_hand_s, rtol=1e-12)


def test_the_heat_capacity_of_the_loop_by_hand():
    # 1.5 m3 of 4,008.3 kJ/m3K, 8 m3 of 4,153.9 kJ/m3K, 100 + 250 + 150 + 500 kJ/K of solids
    assert pytest.approx(1.5 * 4008.2931 + 8.0 * 4153.926 + 1000.0) == loop_kj_per_k(EVEN)


@pytest.mark.parametrize("event", list(Event))
def test_long_after_a_loss_the_loop_that_is_cut_off_warms_at_heat_over_capacity(event):
    sealed = replace(EVEN, stagnant_w_per_kw_per_k=1e-12)
    rack_kj = 1.5 * EVEN.rack_coolant_kj_per_m3_per_k
    c_kj_per_k, q_kw = {
        Event.PUMP_LOSS: (350.0, 1000.0),
        Event.CDU_LOSS: (350.0 + 150.0 + rack_kj, 1020.0),
        Event.REJECTION_LOSS: (loop_kj_per_k(EVEN), 1030.0),
    }[event]
    found = course(event, sealed, PUMPED, [1e6, 1e6 + 3600.0])
    assert np.diff(found.case_c)[0] == pytest.approx(3600.0 * q_kw / c_kj_per_k, rel=1e-6)


@pytest.mark.parametrize("inertia", [EVEN, BUFFER, replace(EVEN, passive_w_per_kw_per_k=10.0, rated_heat_kw=1_300.0)])
@pytest.mark.parametrize("event", list(Event))
def test_an_integrator_that_knows_nothing_of_the_matrix_finds_the_same(event, inertia):
    def crossing(_time_s, temps):
        return temps[0] - 75.0

    crossing.terminal = True
    time_s = np.array([0.5, 4.0, 60.0, 400.0])
    of = slopes(event, inertia, PUMPED)
    first = at_start(PUMPED, inertia)
    want = solve_ivp(of, (0.0, 400.0), first, "Radau", t_eval=time_s, rtol=1e-9, atol=1e-9)
    found = course(event, inertia, PUMPED, time_s)
    np.testing.assert_allclose([getattr(found, name) for name in NODES], want.y, rtol=0.0, atol=1e-5)
    hit = solve_ivp(of, (0.0, 1e5), first, "Radau", events=crossing, rtol=1e-9, atol=1e-9)
    assert time_to_limit_s(event, inertia, PUMPED, 75.0) == pytest.approx(hit.t_events[0][0], rel=1e-6)


@pytest.mark.parametrize("event", list(Event))
@pytest.mark.parametrize("limit_c", [61.8, 75.0, 85.0, 400.0])
def test_at_the_time_found_the_case_is_at_the_limit(event, limit_c):
    time_s = float(time_to_limit_s(event, EVEN, PUMPED, limit_c))
    assert course(event, EVEN, PUMPED, time_s).case_c[0] == pytest.approx(limit_c, rel=1e-11)


def test_heat_rejection_that_still_works_holds_the_facility_loop():
    late = course(Event.CDU_LOSS, EVEN, PUMPED, 1e5)
    held_c = at_start(PUMPED)[6]
    assert late.cooler_c[0] == pytest.approx(held_c)
    assert late.facility_return_c[0] == pytest.approx(held_c + 10.0 / 120.0)
    assert late.rack_return_c[0] > late.rack_supply_c[0] > 100.0


def test_natural_draught_holds_a_low_load_for_ever():
    draught = replace(EVEN, passive_w_per_kw_per_k=10.0)
    quarter = replace(FULL, heat_kw=250.0)
    # 250 kW over 10 kW/K: the cooler settles 25 K above the ambient of 30 C; from there to the case there are 250 kW of
    # 100 kW/K, of the CDU's 14 K per MW and of the plates' 21.7 K per MW, less the 10 K per MW both count
    settled_c = 30.0 + 25.0 + 0.25 * (14.0 + 21.7 - 10.0)
    assert course(Event.REJECTION_LOSS, draught, quarter, 1e7).case_c[0] == pytest.approx(settled_c, abs=1e-6)
    found_s = time_to_limit_s(Event.REJECTION_LOSS, draught, quarter, [settled_c - 1e-3, settled_c + 1e-3])
    assert np.isfinite(found_s[0])
    assert np.isinf(found_s[1])


def test_a_passive_cooler_in_the_cold_takes_more_than_the_heat_and_the_case_cools():
    draught = replace(EVEN, passive_w_per_kw_per_k=10.0)
    cold = replace(FULL, heat_kw=250.0, ambient_c=-20.0)
    after = course(Event.REJECTION_LOSS, draught, cold, [0.0, 60.0, 3600.0]).case_c
    assert (np.diff(after) < 0.0).all()
    assert np.isinf(time_to_limit_s(Event.REJECTION_LOSS, draught, cold, 75.0))


@pytest.mark.parametrize("event", list(Event))
def test_without_heat_no_limit_is_ever_reached(event):
    assert np.isinf(time_to_limit_s(event, EVEN, replace(FULL, heat_kw=0.0), 75.0))


@pytest.mark.parametrize("event", list(Event))
def test_at_or_above_the_limit_no_time_is_left(event):
    assert (time_to_limit_s(event, EVEN, FULL, [61.0, 61.7]) == 0.0).all()


def test_what_takes_more_than_48_days_counts_as_never():
    # 10 W into 39.2 MJ/K: 4 K in 182 days
    trickle = replace(FULL, heat_kw=0.01)
    assert np.isinf(time_to_limit_s(Event.REJECTION_LOSS, EVEN, trickle, 44.0))
    assert np.isfinite(time_to_limit_s(Event.REJECTION_LOSS, EVEN, trickle, 40.5))


@pytest.mark.parametrize("event", list(Event))
def test_loads_ambients_and_limits_broadcast_also_where_flows_follow_the_load(event):
    draught = replace(EVEN, passive_w_per_kw_per_k=10.0)
    load = np.array([0.4, 0.7, 1.0])[:, None, None]
    ambient_c = np.array([-10.0, 44.0])[:, None]
    flow = np.maximum(load, 0.6)
    many = replace(
        FULL, heat_kw=load * RATED_KW, rack_rate_kw_per_k=100.0 * flow, facility_rate_kw_per_k=150.0 * flow,
        rack_supply_c=40.0 + 0.1 * ambient_c, ambient_c=ambient_c,
    )  # fmt: skip
    found_s = time_to_limit_s(event, draught, many, [75.0, 85.0])
    assert found_s.shape == (3, 2, 2)
    for i, j, k in np.ndindex(found_s.shape):
        rate = max(float(load[i, 0, 0]), 0.6)
        one = replace(
            FULL, heat_kw=float(load[i, 0, 0]) * RATED_KW, rack_rate_kw_per_k=100.0 * rate,
            facility_rate_kw_per_k=150.0 * rate, rack_supply_c=40.0 + 0.1 * float(ambient_c[j, 0]),
            ambient_c=float(ambient_c[j, 0]),
        )  # fmt: skip
        alone_s = time_to_limit_s(event, draught, one, (75.0, 85.0)[k])
        assert found_s[i, j, k] == pytest.approx(float(alone_s), rel=1e-12)


def test_a_course_has_the_shape_of_the_operation_and_then_of_the_times():
    many = replace(FULL, heat_kw=np.array([400.0, 1000.0])[:, None], ambient_c=np.array([0.0, 20.0, 40.0]))
    found = course(Event.CDU_LOSS, EVEN, many, [10.0, 0.0, 20.0, 30.0])
    assert found.case_c.shape == found.heat_out_kj.shape == (2, 3, 4)
    assert found.heat_in_kj[0, 0] == pytest.approx([4e3, 0.0, 8e3, 12e3])
    assert found.case_c[1, 2, 0] == pytest.approx(course(Event.CDU_LOSS, EVEN, FULL, 10.0).case_c[0])


def test_a_plant_a_hundred_times_as_large_has_the_same_times():
    large = replace(EVEN, rated_heat_kw=100.0 * RATED_KW)
    loops = replace(
        PUMPED, heat_kw=100e3, rack_rate_kw_per_k=10e3, facility_rate_kw_per_k=12e3,
        rack_pump_kw=2e3, facility_pump_kw=1e3,
    )  # fmt: skip
    for event in Event:
        assert time_to_limit_s(event, large, loops, 75.0) == pytest.approx(time_to_limit_s(event, EVEN, PUMPED, 75.0))
    assert course(Event.CDU_LOSS, large, loops, 9.0).heat_in_kj[0] == pytest.approx(9.0 * 103e3)


def test_ride_through_is_heat_capacity_times_rise_over_heat():
    assert ride_through_s(500.0, 40_000.0, 60.0, 75.0) == pytest.approx(1_200.0)
    assert ride_through_heat_kw(40_000.0, 60.0, 75.0, 1_200.0) == pytest.approx(500.0)
    np.testing.assert_array_equal(ride_through_s([0.0, 0.0, 5.0], 4e4, [60.0, 75.0, 76.0], 75.0), [np.inf, 0.0, 0.0])
    np.testing.assert_array_equal(ride_through_heat_kw(4e4, [75.0, 76.0], 75.0, 60.0), [0.0, 0.0])


@pytest.mark.parametrize("event", list(Event))
def test_a_load_on_the_row_reaches_the_limit_as_cooling_comes_back(event):
    draught = replace(EVEN, passive_w_per_kw_per_k=8.0)
    restart_s = {Event.PUMP_LOSS: 8.0, Event.CDU_LOSS: 120.0, Event.REJECTION_LOSS: 900.0}[event]
    hours = replace(PUMPED, ambient_c=np.array([-10.0, 20.0, 44.0]), rack_supply_c=np.array([38.0, 40.0, 44.0]))
    row = ride_through_row(event, draught, hours, restart_s, 80.0)
    heat_kw = row.room_k / row.rise_k_per_kw
    assert (np.diff(heat_kw) < 0.0).all()
    found_s = time_to_limit_s(event, draught, replace(hours, heat_kw=heat_kw), 80.0)
    np.testing.assert_allclose(found_s, restart_s, rtol=1e-9)


def test_a_row_for_no_time_is_the_steady_state():
    row = ride_through_row(Event.REJECTION_LOSS, EVEN, FULL, 0.0, 75.0)
    assert row.rise_k_per_kw == pytest.approx(0.0217)
    assert row.room_k == pytest.approx(35.0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"rack_supply_c": np.nan}, "rack_supply_c holds a value that is not finite"),
        ({"heat_kw": [100.0, -1.0]}, "heat_kw is -1 kW; heat into the loop is 0 or more"),
        ({"facility_pump_kw": -2.0}, "facility_pump_kw is -2 kW"),
        ({"rack_rate_kw_per_k": 0.0}, "rack_rate_kw_per_k is 0 kW/K; before a failure a loop has a flow above 0"),
        ({"facility_rate_kw_per_k": -1.0}, "facility_rate_kw_per_k is -1 kW/K"),
        ({"rated_case_rise_k": [21.7, 10.0]}, "rated_case_rise_k is 10 K, not above the 10 K"),
        ({"rated_cdu_approach_k": -0.5}, "rated_cdu_approach_k is -0.5 K, below 0 K"),
        ({"facility_rate_kw_per_k": 50.0}, "rated_cdu_approach_k is 4 K, below 10 K"),
    ],
)
def test_an_operation_that_cannot_be_is_refused(change, text):
    with pytest.raises(ValueError, match=text):
        time_to_limit_s(Event.CDU_LOSS, EVEN, replace(FULL, **change), 75.0)


def test_standing_coolant_that_cools_better_than_flowing_is_refused():
    with pytest.raises(ValueError, match=r"stagnant_w_per_kw_per_k is 70 W/K per kW, above the 63.0915 W/K per kW"):
        time_to_limit_s(Event.PUMP_LOSS, replace(EVEN, stagnant_w_per_kw_per_k=70.0), FULL, 75.0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"rated_heat_kw": 0.0}, "rated_heat_kw is 0; a finite value above 0 is wanted"),
        ({"rack_supply_l_per_kw": -1.0}, "rack_supply_l_per_kw is -1"),
        ({"case_j_per_kw_per_k": np.inf}, "case_j_per_kw_per_k is inf"),
        ({"passive_w_per_kw_per_k": -0.1}, "passive_w_per_kw_per_k is -0.1"),
        ({"solid_share": 1.0}, "solid_share is 1; a share below 1"),
    ],
)
def test_an_inertia_that_cannot_be_is_refused(change, text):
    with pytest.raises(ValueError, match=text):
        replace(EVEN, **change)


def test_a_limit_that_is_no_number_and_a_time_before_the_failure_are_refused():
    with pytest.raises(ValueError, match="limit_c holds a value that is not a number"):
        time_to_limit_s(Event.PUMP_LOSS, EVEN, FULL, [75.0, np.nan])
    for bad in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="time_s holds a value that is negative or not finite"):
            course(Event.PUMP_LOSS, EVEN, FULL, bad)


@pytest.mark.parametrize("event", list(Event))
def test_a_step_is_the_matrix_exponential(event):
    steady = steady_loop(EVEN, PUMPED)
    g = generator(event, EVEN, rates(steady))
    time_s = np.array([0.0, 1e-3, 1.0, 100.0])
    np.testing.assert_allclose(increments(g, time_s), expm(g * time_s[:, None, None]) - np.eye(13), atol=1e-9)
    np.testing.assert_allclose(doubled(increments(g, 40.0)), increments(g, 80.0), atol=1e-12)
    # the case and its plate exchange 171 kW/K over 100 kJ/K: 1.71 /s, so that 2^-2 s is the largest power within 0.29 s
    assert short_s(g) == 0.25
    assert start(steady) == pytest.approx([*np.subtract(at_start(PUMPED), 40.0), 0.0, 1.0, 0.02, 0.01, -10.0])


@pytest.mark.parametrize(("event", "power_kw"), list(zip(Event, (1010.0, 1030.0, 1030.0), strict=True)))
def test_what_goes_in_is_stored_or_goes_out(event, power_kw):
    time_s = np.array([0.0, 7.0, 300.0, 3e5, 1e6])
    found = course(event, replace(EVEN, passive_w_per_kw_per_k=3.0), PUMPED, time_s)
    np.testing.assert_allclose(found.heat_in_kj, power_kw * time_s)
    np.testing.assert_allclose(found.stored_kj + found.heat_out_kj, found.heat_in_kj, rtol=1e-9)
    # three days after a loss of rejection natural draught carries all
    if event is Event.REJECTION_LOSS:
        out_kw = np.diff(found.heat_out_kj)[-1] / 7e5
        assert out_kw == pytest.approx(1030.0, rel=1e-6)
