"""Segments of cooling power: hand-worked curves, the plant's own, and hours too hot for any load."""

from __future__ import annotations

import numpy as np
import pytest

from thermal.envelope import CONVEX_SHARE, CoolingEnvelope, fit_branches, fit_envelope
from thermal.kinks import chiller_start_kw
from thermal.plant import cooling, dry_cooler, room_air, setpoint_c, tower_chiller, w_max_kw, w_max_n1_kw
from thermal.secants import fit_secants

RATED_KW = 20_000.0


def test_a_parabola_is_cut_into_equal_secants():
    x = np.linspace(0.0, 4.0, 65)[None, :]
    fit = fit_secants(x, x**2, 4, 4)
    assert fit.slope[0] == pytest.approx([1.0, 3.0, 5.0, 7.0])
    assert fit.intercept[0] == pytest.approx([0.0, -2.0, -6.0, -12.0])
    assert fit.hull_gap[0] == pytest.approx(0.0)
    # a quarter in the middle of a secant; the bound between samples adds h^2 at h = 1/16
    assert 0.25 <= fit.error[0] <= 0.25 + 1 / 256 + 1e-12


def test_a_kink_becomes_a_breakpoint_and_nothing_is_lost():
    x = np.linspace(0.0, 8.0, 65)[None, :]
    fit = fit_secants(x, np.maximum(1.0, 3.0 * x - 8.0), 2, 4)
    assert fit.slope[0] == pytest.approx([0.0, 3.0])
    assert fit.intercept[0] == pytest.approx([1.0, -8.0])


def test_a_concave_curve_is_lifted_over_and_its_gap_told():
    # min(x, 1) on 0..2: the hull is x / 2, half below the curve at x = 1
    x = np.linspace(0.0, 2.0, 17)[None, :]
    y = np.minimum(x, 1.0)
    fit = fit_secants(x, y, 2, 4)
    assert fit.hull_gap[0] == pytest.approx(0.5)
    estimate = np.max(fit.slope[0] * x[0, :, None] + fit.intercept[0], axis=1)
    assert (estimate >= y[0]).all()
    assert fit.error[0] >= np.max(estimate - y[0])


def test_a_kink_between_two_samples_stays_below_the_segments():
    x = np.linspace(0.0, 2.0, 17)[None, :]
    bend = 1.0 + 1.0 / 16.0  # midway between samples
    fit = fit_secants(x, np.minimum(x, bend), 2, 4)
    assert np.max(fit.slope[0] * bend + fit.intercept[0]) >= bend


def test_a_curve_of_one_point_gives_flat_segments():
    fit = fit_secants(np.zeros((1, 17)), np.full((1, 17), 7.0), 3, 4)
    assert fit.slope.tolist() == [[0.0, 0.0, 0.0]]
    assert fit.intercept.tolist() == [[7.0, 7.0, 7.0]]
    assert fit.error.tolist() == [0.0]


@pytest.fixture(scope="module")
def dry():
    return np.linspace(-20.0, 43.0, 64)


@pytest.fixture(scope="module")
def envelope(dry):
    return fit_envelope(dry_cooler(RATED_KW), dry, dry - 6.0)


def test_shapes_and_the_plants_own_facts(envelope, dry):
    plant = dry_cooler(RATED_KW)
    assert envelope.slope.shape == envelope.intercept_kw.shape == (64, 4)
    assert envelope.w_max_kw.tolist() == w_max_kw(plant, dry, dry - 6.0).tolist()
    assert envelope.supply_setpoint_c.tolist() == setpoint_c(plant, dry, dry - 6.0).tolist()
    assert envelope.water_l_per_kwh.tolist() == [0.0] * 64


def test_segments_never_promise_less_than_the_plant_takes(envelope, dry):
    plant = dry_cooler(RATED_KW)
    for share in np.linspace(0.0, 1.0, 97):
        it_kw = share * envelope.w_max_kw
        excess = envelope.cooling_kw(it_kw) - cooling(plant, it_kw, dry, dry - 6.0).cooling_kw
        assert excess.min() >= -1e-9
        assert (excess <= envelope.fit_error_kw).all()


def test_a_dry_cooler_plant_is_convex_and_well_fitted(envelope):
    assert envelope.hull_gap_kw.max() < 1e-6
    assert envelope.fit_error_kw.max() < 0.0025 * RATED_KW
    assert (np.diff(envelope.slope, axis=1) >= 0.0).all()


def test_more_segments_fit_better(dry):
    plant = dry_cooler(RATED_KW)
    errors = [fit_envelope(plant, dry, dry - 6.0, n).fit_error_kw.max() for n in (1, 2, 4, 8)]
    assert errors == sorted(errors, reverse=True)
    assert errors[3] < errors[0] / 20.0


def test_hours_too_hot_for_any_load_stay_finite():
    plant = dry_cooler(RATED_KW)
    hot = fit_envelope(plant, np.array([46.0, 55.0]), np.array([25.0, 30.0]))
    assert hot.w_max_kw.tolist() == [0.0, 0.0]
    assert hot.slope.tolist() == [[0.0] * 4] * 2
    idle = cooling(plant, 0.0, np.array([46.0, 55.0]), np.array([25.0, 30.0])).cooling_kw
    assert hot.cooling_kw(np.zeros(2)) == pytest.approx(idle)
    assert np.isfinite(hot.fit_error_kw).all()


def test_a_sliver_of_capacity_stays_finite_and_safe():
    plant = dry_cooler(RATED_KW)
    warm = np.array([44.8])
    fit = fit_envelope(plant, warm, warm - 20.0)
    assert 0.0 < fit.w_max_kw[0] < 500.0
    at = cooling(plant, fit.w_max_kw, warm, warm - 20.0).cooling_kw
    assert fit.cooling_kw(fit.w_max_kw)[0] >= at[0] - 1e-9


def test_a_room_of_eight_gpus(dry):
    fit = fit_envelope(room_air(12.0), dry, dry - 6.0)
    assert fit.hull_gap_kw.max() < 1e-9
    assert fit.fit_error_kw.max() < 0.01 * 12.0
    assert fit.w_max_kw.tolist() == [12.0] * 64


def test_a_floor_that_makes_the_curve_bend_down_is_told_not_hidden():
    # pumps cost next to nothing here, so past their floor the added flow helps the fans more than it costs
    plant = dry_cooler(
        1_000.0,
        liquid_heat_share=0.92,
        rack_pump_head_kpa=25.0,
        facility_pump_head_kpa=25.0,
        rack_pump_flow_floor=0.3,
        facility_pump_flow_floor=0.3,
        cooler_water_resistance_share=0.7,
        cooler_fan_w_per_kw=160.0,
        cooler_approach_k=20.0,
        cdu_approach_k=7.0,
    )
    dry = np.linspace(10.0, 40.0, 31)
    fit = fit_envelope(plant, dry, dry - 6.0)
    assert fit.hull_gap_kw.max() > 0.1
    for share in np.linspace(0.0, 1.0, 97):
        it_kw = share * fit.w_max_kw
        excess = fit.cooling_kw(it_kw) - cooling(plant, it_kw, dry, dry - 6.0).cooling_kw
        assert excess.min() >= -1e-9
        assert (excess <= fit.fit_error_kw).all()


def test_pad_water_per_kwh_is_that_of_the_largest_load():
    plant = dry_cooler(RATED_KW, pad_effectiveness=0.75)
    dry, wet = np.array([20.0, 38.0]), np.array([12.0, 22.0])
    fit = fit_envelope(plant, dry, wet)
    state = cooling(plant, fit.w_max_kw, dry, wet)
    assert fit.water_l_per_kwh == pytest.approx(state.water_l_per_h / fit.w_max_kw)
    assert fit.water_l_per_kwh[0] == 0.0
    assert 0.5 < fit.water_l_per_kwh[1] < 4.0


def test_like_hours_get_like_segments():
    fit = fit_envelope(dry_cooler(RATED_KW), np.array([30.0, 5.0, 30.0]), np.array([20.0, 3.0, 20.0]))
    assert fit.slope[0].tolist() == fit.slope[2].tolist()
    assert fit.slope[0].tolist() != fit.slope[1].tolist()


def test_cooling_kw_is_the_highest_segment():
    fit = CoolingEnvelope(
        slope=np.array([[0.0, 0.1]]),
        intercept_kw=np.array([[5.0, 0.0]]),
        w_max_kw=np.array([100.0]),
        w_max_n1_kw=np.array([90.0]),
        water_l_per_kwh=np.zeros(1),
        convex=np.array([True]),
        hull_gap_kw=np.zeros(1),
        fit_error_kw=np.zeros(1),
        supply_setpoint_c=np.array([40.0]),
    )
    assert fit.cooling_kw(np.array([20.0])) == pytest.approx([5.0])
    assert fit.cooling_kw(np.array([80.0])) == pytest.approx([8.0])


@pytest.mark.parametrize("segments", [0, 25])
def test_count_of_segments_has_limits(segments):
    with pytest.raises(ValueError, match=f"segments is {segments}; .* 1 to 24"):
        fit_envelope(room_air(12.0), np.zeros(2), np.zeros(2), segments)


def test_series_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"dry_bulb_c has shape \(2,\) and wet_bulb_c \(3,\)"):
        fit_envelope(room_air(12.0), np.zeros(2), np.zeros(3))


@pytest.fixture(scope="module")
def warm():
    return np.linspace(14.0, 33.0, 27)


def test_fans_first_then_chillers_is_told_not_to_be_convex(warm):
    plant = tower_chiller(RATED_KW)
    fit = fit_envelope(plant, warm, warm - 6.0)
    assert (fit.convex == (fit.hull_gap_kw <= CONVEX_SHARE * RATED_KW)).all()
    assert not fit.convex.all()
    assert fit.convex.any()


def test_both_at_their_best_is_nearer_to_convex(warm):
    site, best = (fit_envelope(tower_chiller(RATED_KW, sequence=q), warm, warm - 6.0) for q in ("site", "optimal"))
    assert best.hull_gap_kw.max() < 0.7 * site.hull_gap_kw.max()
    assert best.convex.sum() > site.convex.sum()


def test_the_gap_is_told_where_chillers_start_in_mid_range(warm):
    plant = dry_cooler(RATED_KW, chiller_capacity_share=0.6)
    setpoint = setpoint_c(plant, warm, warm - 6.0)
    start_kw = chiller_start_kw(plant, warm, warm - 6.0, setpoint)
    off, on = (cooling(plant, kw, warm, warm - 6.0).chiller_kw for kw in (start_kw, start_kw + 1e-3))
    inside = (start_kw > 0.3 * RATED_KW) & (start_kw < 0.9 * RATED_KW)
    assert inside.any()
    assert (off[inside] == 0.0).all()
    # the step is the least load of one of two chillers
    assert (on[inside] > 30.0).all()
    assert not fit_envelope(plant, warm, warm - 6.0).convex[inside].any()


def test_two_branches_follow_the_step_that_no_convex_curve_does(warm):
    plant = dry_cooler(RATED_KW, chiller_capacity_share=0.6)
    fit, cut = (make(plant, warm, warm - 6.0, 5) for make in (fit_envelope, fit_branches))
    assert cut.fit_error_kw.max() < 0.4 * fit.fit_error_kw.max()


def test_the_limit_with_a_unit_out_stands_beside_that_with_all(dry):
    plant = dry_cooler(RATED_KW)
    fit = fit_envelope(plant, dry, dry - 6.0)
    assert fit.w_max_n1_kw.tolist() == w_max_n1_kw(plant, dry, dry - 6.0).tolist()
    assert (fit.w_max_n1_kw <= fit.w_max_kw).all()
    assert (fit.w_max_n1_kw < fit.w_max_kw).any()


def test_tower_water_per_kwh():
    fit = fit_envelope(tower_chiller(RATED_KW), np.array([-5.0, 30.0]), np.array([-6.0, 21.0]))
    assert 0.8 < fit.water_l_per_kwh[0] < 1.3
    assert 1.5 < fit.water_l_per_kwh[1] < 2.2  # all heat evaporating would be 1.48, and a third more for the bleed
