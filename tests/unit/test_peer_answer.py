"""A peer's answer is read with distrust and compared by hand-worked figures."""

from __future__ import annotations

import json

import pytest

from tests.bench.peers.answer import BadAnswerError, differences, ratio, read_answer

STATE = {"rack_return_c": 50.0, "facility_return_c": 46.0, "rack_pump_kw": 9.0, "facility_pump_kw": 8.0}
WHOLE = {"peer": "made up", "versions": {"made-up": "1"}, "states": [STATE, STATE], "seconds": [0.04, 0.01, 0.02, 0.03]}


def read(**changes):
    return read_answer(json.dumps(WHOLE | changes), 2, 2)


def test_times_are_told_as_median_and_best():
    answer = read()
    assert (answer.median_s, answer.best_s) == (0.025, 0.01)
    assert ratio(answer.median_s, 0.0005) == pytest.approx(50.0)


def test_kelvins_are_told_for_temperatures_and_shares_for_powers():
    own = [STATE | {"supply_c": 40.0}, STATE | {"rack_return_c": 50.25, "rack_pump_kw": 10.0, "supply_c": 40.0}]
    found = {each.name: each for each in differences(own, read())}
    assert set(found) == set(STATE)  # what only ours tells is not compared
    assert found["rack_return_c"].largest == pytest.approx(0.25)
    assert not found["rack_return_c"].equal
    assert found["rack_pump_kw"].largest == pytest.approx(0.1)
    assert not found["rack_pump_kw"].equal
    assert found["facility_return_c"].largest == 0.0
    assert found["facility_return_c"].equal


def test_a_difference_counts_in_both_directions():
    below = [STATE, STATE | {"facility_return_c": 46.05, "rack_pump_kw": 9.05}]
    above = [STATE, STATE | {"facility_return_c": 45.95, "rack_pump_kw": 8.95}]
    for own in (below, above):
        found = {each.name: each for each in differences(own, read())}
        assert found["facility_return_c"].largest == pytest.approx(0.05)
        assert found["facility_return_c"].equal
        assert found["rack_pump_kw"].equal


def test_states_that_do_not_pair_are_refused():
    with pytest.raises(ValueError, match="argument"):
        differences([STATE], read())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Solving the block raised an error", "no JSON"),
        ("[]", "peer, versions, states and seconds are wanted"),
        ("{}", "peer, versions, states and seconds are wanted"),
        (json.dumps(WHOLE | {"more": 1}), "are wanted"),
        (json.dumps(WHOLE | {"peer": 3}), "peer must be a name"),
        (json.dumps(WHOLE | {"states": [STATE]}), "states must be a list of 2, not 1"),
        (json.dumps(WHOLE | {"states": "two"}), "states must be a list of 2, not no list"),
        (json.dumps(WHOLE | {"states": [STATE, 7]}), "every state must be an object"),
        (json.dumps(WHOLE | {"states": [STATE, {"rack_return_c": 50.0}]}), "state 1 lacks facility_return_c"),
        (json.dumps(WHOLE | {"states": [STATE, STATE | {"rack_return_c": float("nan")}]}), "rack_return_c of state 1"),
        (json.dumps(WHOLE | {"states": [STATE, STATE | {"rack_pump_kw": -1.0}]}), "rack_pump_kw of state 1 is -1"),
        (json.dumps(WHOLE | {"states": [STATE, STATE | {"rack_pump_kw": True}]}), "rack_pump_kw of state 1 is True"),
        (json.dumps(WHOLE | {"states": [STATE, STATE | {"rack_pump_kw": "9"}]}), "rack_pump_kw of state 1 is '9'"),
        (json.dumps(WHOLE | {"seconds": [0.1]}), "seconds must be a list of 4, not 1"),
        (json.dumps(WHOLE | {"seconds": [0.1, 0.1, 0.0, 0.1]}), "time 2 is 0 s"),
        (json.dumps(WHOLE | {"seconds": [0.1, 0.1, -0.1, 0.1]}), "time 2 is -0.1"),
    ],
)
def test_what_is_no_answer_is_refused(text, told):
    with pytest.raises(BadAnswerError, match=told):
        read_answer(text, 2, 2)
