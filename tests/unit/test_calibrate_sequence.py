"""Telemetry of each control sequence tells which one it was, and says so where it cannot tell."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from planner.calibration import calibrate_block
from planner.config import load_site
from planner.errors import ConfigError
from planner.export.calibration import calibration_lines
from tests.drawn_plants import COOLER, LOOPS, RATED_KW
from tests.plant_telemetry import made_up
from thermal.calibrate import SequenceEvidence, calibrate
from thermal.calibrate.calibration import held_out
from thermal.calibrate.fit import Fit
from thermal.calibrate.score import Score
from thermal.calibrate.sequence import sequence_evidence
from thermal.plant import dry_cooler
from thermal.units_out import ALL

# facility water of 26 C from dry coolers in a warm month: the chillers run on most afternoons
SITE = {"chiller_capacity_share": 0.5, "supply_setpoint_c": 30.0}
SHOWN = {
    "signals": (
        "it_power_kw",
        "dry_bulb_c",
        "wet_bulb_c",
        "supply_setpoint_c",
        "rack_supply_temp_c",
        "facility_supply_temp_c",
        "facility_return_temp_c",
        "rack_flow_l_per_min",
        "facility_flow_l_per_min",
        "rack_pump_kw",
        "facility_pump_kw",
        "fan_kw",
        "chiller_kw",
        "fan_speed",
    ),
    "days": 8,
}


HIDDEN = LOOPS | COOLER | {"chiller_carnot_share": 0.48} | SITE


def readings(sequence, **changes):
    return made_up(dry_cooler(RATED_KW, sequence=sequence, **HIDDEN), **(SHOWN | changes))


def stated(sequence):
    return dry_cooler(RATED_KW, sequence=sequence, **SITE)


def test_readings_of_the_stated_sequence_make_it_a_measurement():
    found = calibrate(stated("site"), readings("site"))
    assert found.sequence.supported == "site"
    assert 'the readings speak for "site"' in found.sequence.sentence
    assert {p.setting: p.grade for p in found.plant.provenance}["sequence"] == "measured"


def test_either_sequence_may_be_the_one_that_is_stated():
    """From the true plant, without a fit before: fans first are told where least power is stated."""
    truth = dry_cooler(RATED_KW, sequence="optimal", **HIDDEN)
    shown = readings("site")
    held = held_out(shown.days)
    found = sequence_evidence(Fit(truth, (), ()), shown.at(~held), shown.at(held), ALL)
    assert (found.stated, found.supported) == ("optimal", "site")


def test_a_plan_fitted_to_the_wrong_sequence_is_a_fault_with_its_mend(root):
    (block,) = load_site(root / "data" / "sites" / "block-20mw.toml").blocks
    wrong = replace(block, plant=stated("site"))
    with pytest.raises(ConfigError) as fault:
        calibrate_block(wrong, readings("optimal"))
    assert 'states sequence = "site", and made-up readings contradicts it' in fault.value.what
    assert "times likelier" in fault.value.why
    assert fault.value.fix.startswith('write sequence = "optimal"')


def test_days_in_which_no_chiller_is_called_do_not_tell():
    found = calibrate(stated("site"), readings("site", warmest_c=5.0, days=4))
    assert found.sequence.supported is None
    assert "do not tell whether" in found.sequence.sentence
    assert "the plant does the same under both" in found.sequence.sentence
    assert "sequence" not in {p.setting for p in found.plant.provenance}
    assert any("Control sequence:" in line for line in calibration_lines(found, readings("site", days=1)))


def test_one_day_does_not_tell_for_want_of_another():
    found = calibrate(stated("site"), readings("site", days=1, warmest_c=33.0))
    assert found.sequence.supported is None
    assert "on a day that was not fitted" in found.sequence.sentence


def test_a_plant_without_chillers_has_no_sequence():
    assert calibrate(dry_cooler(RATED_KW), made_up(dry_cooler(RATED_KW), days=2)).sequence is None


def score(cv_rmse_pct, floor_pct=1.0):
    return Score("parts_kw", 100, cv_rmse_pct, 0.0, 1.0, 0.0, floor_pct)


@pytest.mark.parametrize(
    ("log_odds", "own", "other", "supported"),
    [
        (math.log(1_001.0), 1.0, 1.42, "site"),
        (math.log(999.0), 1.0, 9.0, None),  # not likely enough
        (50.0, 1.0, 1.41, None),  # less than twice the squared error
        (50.0, 0.1, 1.41, None),  # nor twice what the noise alone leaves
        (-50.0, 1.42, 1.0, "optimal"),
        (-50.0, 1.0, 1.42, None),  # one kind of days against the other
        (50.0, math.nan, math.nan, None),
    ],
)
def test_it_is_clear_only_where_both_kinds_of_days_are(log_odds, own, other, supported):
    assert SequenceEvidence("site", log_odds, score(own), score(other)).supported == supported


def test_the_sentence_by_hand():
    told = SequenceEvidence("site", -7.0 * math.log(10.0), score(9.5, 2.0), score(2.4, 1.8))
    assert told.sentence == (
        'the readings speak for "optimal": on days not fitted, the power of fans and chillers by the hour is met to '
        '9.5 % (CV-RMSE) under "site" and to 2.4 % under "optimal", where the sensors\' noise alone leaves 1.8 %; the '
        'fitted days are 10^7 times likelier under "optimal"'
    )
    assert "are 2.0 times likelier" in replace(told, log_odds=math.log(2.0)).sentence
