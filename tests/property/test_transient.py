"""What holds for every loop, load and weather after every failure."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from thermal.transient import Event, LoopInertia, LoopOperation, course, ride_through_row, time_to_limit_s
from thermal.transient.operation import steady_loop
from thermal.transient.state_space import NODES, generator, rates

RATED_KW = 2_000.0
TIMES_S = np.array([0.0, 0.5, 3.0, 20.0, 150.0, 900.0, 5e3, 2e4, 1e5])
LIMITS_C = np.array([60.0, 75.0, 85.0])
events = st.sampled_from(list(Event))


@st.composite
def loops(draw: st.DrawFn) -> tuple[LoopInertia, LoopOperation]:
    inertia = LoopInertia(
        RATED_KW,
        case_j_per_kw_per_k=draw(st.floats(30.0, 300.0)),
        plate_j_per_kw_per_k=draw(st.floats(50.0, 600.0)),
        solid_share=draw(st.floats(0.1, 0.9)),
        stagnant_w_per_kw_per_k=draw(st.floats(0.1, 5.0)),
        rack_supply_l_per_kw=draw(st.floats(0.1, 3.0)),
        rack_return_l_per_kw=draw(st.floats(0.1, 3.0)),
        cdu_j_per_kw_per_k=draw(st.floats(20.0, 500.0)),
        facility_supply_l_per_kw=draw(st.floats(0.2, 40.0)),
        facility_return_l_per_kw=draw(st.floats(0.2, 40.0)),
        cooler_j_per_kw_per_k=draw(st.floats(50.0, 3000.0)),
        passive_w_per_kw_per_k=draw(st.sampled_from([0.0, 0.5, 4.0, 20.0])),
    )
    rack_warming_k, facility_warming_k = draw(st.floats(4.0, 20.0)), draw(st.floats(4.0, 20.0))
    supply_c = draw(st.floats(15.0, 45.0))
    operation = LoopOperation(
        heat_kw=draw(st.floats(0.0, 1.1)) * RATED_KW,
        rack_supply_c=supply_c,
        rack_rate_kw_per_k=RATED_KW / rack_warming_k,
        facility_rate_kw_per_k=RATED_KW / facility_warming_k,
        rated_case_rise_k=rack_warming_k + draw(st.floats(1.0, 25.0)),
        rated_cdu_approach_k=max(facility_warming_k - rack_warming_k, 0.0) + draw(st.floats(0.5, 8.0)),
        ambient_c=draw(st.floats(-40.0, 55.0)),
        rack_pump_kw=draw(st.floats(0.0, 0.05)) * RATED_KW,
        facility_pump_kw=draw(st.floats(0.0, 0.03)) * RATED_KW,
    )
    return inertia, operation


@settings(max_examples=150, deadline=None)
@given(events, loops())
def test_energy_closes_and_everything_is_a_number(event, loop):
    found = course(event, *loop, TIMES_S)
    for field in fields(found):
        assert np.isfinite(getattr(found, field.name)).all(), field.name
    scale_kj = np.abs(found.heat_in_kj) + np.abs(found.heat_out_kj)
    assert (np.abs(found.heat_in_kj - found.stored_kj - found.heat_out_kj) <= 1e-9 * scale_kj).all()


@settings(max_examples=150, deadline=None)
@given(events, loops())
def test_heat_only_flows_from_warm_to_cold(event, loop):
    g = generator(event, loop[0], rates(steady_loop(*loop)))[: len(NODES), : len(NODES)]
    assert (g - np.diag(np.diag(g)) >= 0.0).all()
    assert (g.sum(axis=1) <= 1e-12 * np.abs(np.diag(g))).all()


@settings(max_examples=150, deadline=None)
@given(events, loops())
def test_the_case_never_turns(event, loop):
    steps_k = np.diff(course(event, *loop, TIMES_S).case_c)
    noise_k = 1e-9 * np.abs(steps_k).max() + 1e-9
    assert (steps_k >= -noise_k).all() or (steps_k <= noise_k).all()


@settings(max_examples=150, deadline=None)
@given(events, loops())
def test_before_the_time_found_the_case_is_below_and_after_it_above(event, loop):
    time_s = time_to_limit_s(event, *loop, LIMITS_C)
    assert (np.diff(time_s[np.isfinite(time_s)]) >= 0.0).all()
    for limit_c, limit_s in zip(LIMITS_C, time_s, strict=True):
        if limit_s == 0.0:
            assert course(event, *loop, 0.0).case_c[0] >= limit_c - 1e-9
        elif np.isfinite(limit_s):
            before, after = course(event, *loop, [limit_s * (1.0 - 1e-7), limit_s * (1.0 + 1e-7)]).case_c
            assert before <= limit_c + 1e-9
            assert after >= limit_c - 1e-9
        else:
            assert course(event, *loop, 4e6).case_c[0] < limit_c


@settings(max_examples=100, deadline=None)
@given(events, loops(), st.floats(1.001, 1.5), st.floats(0.1, 10.0))
def test_more_heat_and_warmer_weather_leave_less_time(event, loop, factor, warmer_k):
    inertia, operation = loop
    time_s = time_to_limit_s(event, inertia, operation, LIMITS_C)
    warm = replace(
        operation, rack_supply_c=operation.rack_supply_c + warmer_k, ambient_c=operation.ambient_c + warmer_k
    )
    for worse in (replace(operation, heat_kw=operation.heat_kw * factor), warm):
        assert (time_to_limit_s(event, inertia, worse, LIMITS_C) <= time_s * (1.0 + 1e-9)).all()


@settings(max_examples=100, deadline=None)
@given(events, loops(), st.floats(1.0, 4.0))
def test_more_water_leaves_more_time(event, loop, factor):
    inertia, operation = loop
    time_s = time_to_limit_s(event, inertia, operation, LIMITS_C)
    for name in (
        "rack_supply_l_per_kw",
        "rack_return_l_per_kw",
        "facility_supply_l_per_kw",
        "facility_return_l_per_kw",
    ):
        larger = replace(inertia, **{name: getattr(inertia, name) * factor})
        assert (time_to_limit_s(event, larger, operation, LIMITS_C) >= time_s * (1.0 - 1e-9)).all()


@settings(max_examples=100, deadline=None)
@given(events, loops(), st.floats(1.0, 3600.0), st.floats(0.0, 1.0))
def test_the_row_is_the_course(event, loop, restart_s, share):
    inertia, operation = loop
    row = ride_through_row(event, inertia, operation, restart_s, 75.0)
    heat_kw = share * RATED_KW
    case_c = course(event, inertia, replace(operation, heat_kw=heat_kw), restart_s).case_c[0]
    np.testing.assert_allclose(75.0 - case_c, row.room_k - row.rise_k_per_kw * heat_kw, rtol=1e-8, atol=1e-8)
