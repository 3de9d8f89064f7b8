"""What a peer's script prints is the answer that is read: `tests.bench.peers.reply` beside `answer`."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version

from tests.bench.peers import answer
from tests.bench.peers.environment import ask

SCRIPT = """
import sys

sys.path.insert(0, {folder!r})
from reply import reply


class Loops:
    def __init__(self, task):
        self.offset = task["design"]["offset"]
        self.solved = 0

    def solve(self, state):
        self.found = self.offset + state["heat_kw"]
        self.solved += 1

    def told(self):
        names = ("rack_return_c", "facility_return_c", "rack_pump_kw", "facility_pump_kw")
        return dict.fromkeys(names, self.found) | {{"solved": self.solved}}


reply("stand-in", ("numpy",), Loops)
"""


def test_every_state_is_solved_once_to_be_told_and_then_timed_every_round(tmp_path):
    script = tmp_path / "stand_in.py"
    script.write_text(SCRIPT.format(folder=answer.__file__.rpartition("/")[0]), encoding="utf-8")
    task = {"design": {"offset": 30.0}, "states": [{"heat_kw": 1.0}, {"heat_kw": 2.0}], "rounds": 3}
    found = answer.read_answer(ask(sys.executable, script, json.dumps(task)), n_states=2, rounds=3)
    assert found.peer == "stand-in"
    assert found.versions == {"numpy": version("numpy")}
    assert [state["rack_return_c"] for state in found.states] == [31.0, 32.0]
    assert [state["solved"] for state in found.states] == [1, 2]  # what is told is not told after the timed rounds
    assert len(found.seconds) == 6
