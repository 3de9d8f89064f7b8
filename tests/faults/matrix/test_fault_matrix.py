"""Every fault to every subject in every state: see docs/faults.md for what is seen to in each cell."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.agents import place
from tests.faults.matrix.cell import STATES, SUBJECTS, Cell
from tests.faults.matrix.faults import FAULTS
from tests.faults.matrix.job import Job
from tests.faults.matrix.machine import FOUND_W, Machine
from tests.nvml_twin import H100, TwinUnavailable, nvml_twin

pytestmark = pytest.mark.matrix


@pytest.fixture(scope="session")
def shim():
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("the fault matrix needs gcc, which is not on PATH")
    with tempfile.TemporaryDirectory(prefix="gp-") as folder:
        library = Path(folder) / "wall_clock.so"
        source = Path(__file__).with_name("wall_clock.c")
        subprocess.run([compiler, "-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-o", library, source], check=True)
        yield library


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.name)
def test_a_fault(kind, subject, shim, tmp_path, record_property):
    """The five states in one job, one after the other; each begins and ends with plain training."""
    try:
        with place() as folder, nvml_twin(folder, [H100] * 3) as twin:
            machine = Machine(folder, twin, shim)
            try:
                job = Job(
                    machine,
                    1 if subject == "Governor" else 2,
                    own_calendars=subject in kind.own_calendars,
                )
                try:
                    follow_states(kind, subject, machine, job, record_property)
                    job.end()
                    job.check_steps()
                    last = max(job.records(), key=lambda record: record.t_end)
                    assert last.position_tokens == job.steps()[0], "the record does not end where the training does"
                    assert machine.limits_w(job.ranks) == [FOUND_W] * len(job.ranks)
                finally:
                    job.close()
            finally:
                machine.close()
                for log in folder.glob("*.log"):
                    shutil.copy(log, tmp_path)  # for whoever looks at a failure
    except TwinUnavailable as missing:
        pytest.skip(str(missing))


def follow_states(kind, subject, machine, job, record_property):
    fault = kind()
    for state in STATES:
        cell = Cell(machine, job, subject, state)
        try:
            cell.reach()
            fault.strike(cell)
            job.go_on()
            fault.follow(cell)
            fault.heal(cell)
            cell.settle(fault.more_s)
            fault.told(cell)
        except Exception as error:
            record_property("cell", (kind.name, subject, state, "FAILED", None))
            raise AssertionError(f"{kind.name} / {subject} / {state}: {error}") from error
        record_property("cell", (kind.name, subject, state, cell.outcome, cell.restored_s))
        for board in cell.end_w:
            machine.twin[board].limit_w = FOUND_W
