"""The loops that the peers are asked about, and what is told where they cannot be asked."""

from __future__ import annotations

import json
import sys

import pytest

from tests.bench import thermal_peers
from tests.bench.peers.environment import MADE, EnvironmentFailedError, ask, make
from tests.bench.peers.reference import RATED_KW, loads_and_weather, own_states, task


def test_the_task_closes_by_hand():
    """At the design point 1,000 kW warm the racks' water by 10 K: 23.93 kg/s at 4.179 kJ/kgK; the pumps add theirs."""
    asked = task(3)
    design = asked["design"]
    assert design["rack_kg_per_s"] == pytest.approx(RATED_KW / 10.0 / 4.179, rel=1e-4)
    assert design["supply_c"] == pytest.approx(40.0)
    assert design["facility_supply_c"] == pytest.approx(36.0)
    assert design["dry_bulb_c"] == pytest.approx(30.0)
    assert design["rack_return_c"] == pytest.approx(40.0 + 10.0 * (1.0 + design["rack_pump_kw"] / RATED_KW))
    # the hydraulic power is the head times the flow; a cubic metre of water at 40 C is 992.2 kg
    m3_per_s = design["rack_kg_per_s"] / 992.2
    assert design["rack_pump_kw"] == pytest.approx(m3_per_s * design["rack_head_kpa"] / 0.65, rel=1e-3)
    assert asked["rounds"] == 3
    json.dumps(asked, allow_nan=False)


def test_heat_is_conserved_in_every_state():
    it_kw, dry_c = loads_and_weather()
    for load_kw, state in zip(it_kw, own_states(it_kw, dry_c), strict=True):
        pumps_kw = state["rack_pump_kw"] + state["facility_pump_kw"]
        assert state["heat_rejected_kw"] == pytest.approx(load_kw + pumps_kw, rel=1e-6)
        assert state["supply_c"] == pytest.approx(40.0)  # every state is one whose supply the fans hold


def test_it_is_told_plainly_that_the_environment_cannot_be_made(tmp_path):
    taken = tmp_path / "a file"
    taken.write_text("in the way", encoding="utf-8")
    with pytest.raises(SystemExit, match="no comparison with TESPy and pandapipes: cannot make a virtual environment"):
        thermal_peers.main(["--env", str(taken)])


def test_what_is_installed_already_is_taken_as_it_is(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    wanted = tmp_path / "wanted.txt"
    wanted.write_text("tespy==0.0.0\n", encoding="utf-8")
    (tmp_path / MADE).write_text("tespy==0.0.0\n", encoding="utf-8")
    assert make(tmp_path, wanted) == tmp_path / "bin" / "python"


def test_a_script_that_fails_is_named_with_its_last_words(tmp_path):
    script = tmp_path / "peer.py"
    script.write_text("import no_such_package\n", encoding="utf-8")
    with pytest.raises(EnvironmentFailedError, match=r"peer\.py failed: ModuleNotFoundError"):
        ask(sys.executable, script, "{}")
    with pytest.raises(EnvironmentFailedError, match=r"peer\.py failed"):
        ask(tmp_path / "no-python", script, "{}")
    script.write_text("import sys; print(sys.stdin.read())\n", encoding="utf-8")
    assert ask(sys.executable, script, "{}") == "{}\n"
