"""What processes meter that cannot see each other, and who takes over what one leaves."""

from __future__ import annotations

import pytest

from planner.ledger.board_time import shares_not_told_before
from planner.ledger.intake import columns_of
from planner.ledger.tables import Telemetry
from tests.run_calendars import ManualClock
from trainer_hooks.devices import process_gpus
from trainer_hooks.gpu import NvmlSession
from trainer_hooks.journal import Journal
from trainer_hooks.limits import LimitSet
from trainer_hooks.metering import Metering
from trainer_hooks.telemetry import TelemetryWriter, read_records


@pytest.fixture
def machine(nvml_twin):
    """Two boards at work, and a clock that moves the twin's with it."""
    twin, clock = nvml_twin("a100", stopped=True), ManualClock()
    twin[0].load = 1.0

    def passes(seconds):
        twin.advance(seconds)
        clock.now_s += seconds

    with twin.in_process():
        yield twin, clock, passes, process_gpus({}, NvmlSession())


def journal(machine, folder, locks, writer, **metering):
    _, clock, _, gpus = machine
    locks.mkdir(exist_ok=True)
    telemetry = TelemetryWriter(folder, "llm", writer)
    return Journal(gpus, clock.clock, telemetry, Metering(locks=locks, **metering))


def test_a_board_metered_in_two_containers_counts_once_in_the_planner(machine, tmp_path):
    twin, _, passes, gpus = machine
    one = journal(machine, tmp_path / "t", tmp_path / "locks-1", "one")
    two = journal(machine, tmp_path / "t", tmp_path / "locks-2", "two")
    begin_j = twin[0].energy_j
    for _ in range(5):
        passes(60.0)
        one.tokens.add(100)
        one.cut("llm", "run", None, LimitSet(gpus))
        two.cut("llm", "run", None, LimitSet(gpus))
    true_j = twin[0].energy_j - begin_j
    records = [Telemetry(**columns_of(record)) for record in read_records(tmp_path / "t")]
    assert sum(record.energy_j for record in records) == pytest.approx(2 * true_j, rel=0.01)
    shares = shares_not_told_before(records)
    counted_j = sum(share * record.energy_j for share, record in zip(shares, records, strict=True))
    assert counted_j == pytest.approx(true_j, rel=0.01)
    one.close()
    two.close()


def test_another_process_takes_over_board_and_node_with_its_next_record(machine, tmp_path):
    _, _, passes, gpus = machine
    zone = tmp_path / "powercap" / "intel-rapl:0"
    zone.mkdir(parents=True)
    (zone / "name").write_text("package-0")
    (zone / "max_energy_range_uj").write_text("262143328850")

    def host(used_j):
        (zone / "energy_uj").write_text(str(round(used_j * 1e6)))

    host(0.0)
    settings = {"powercap": tmp_path / "powercap"}
    one = journal(machine, tmp_path / "t", tmp_path / "locks", "one", **settings)
    two = journal(machine, tmp_path / "t", tmp_path / "locks", "two", **settings)
    for minute in range(1, 5):
        passes(60.0)
        host(6000.0 * minute)
        for each in (one, two)[minute > 2 :]:
            each.tokens.add(100)
            each.cut("llm", "run", None, LimitSet(gpus))
        if minute == 2:
            one.close()
    records = list(read_records(tmp_path / "t"))
    told = {name: [r for r in records if r.writer == name] for name in ("one", "two")}
    assert [r.gpus for r in told["two"]] == [0, 0, 0, 1]  # taken over at the end of the third minute
    assert [r.host_j for r in told["two"]] == pytest.approx([0.0, 0.0, 0.0, 6000.0])
    assert sum(r.tokens for r in told["two"]) == 400
    assert "1 more metered by another process" not in two.report("llm", None).scope
    two.close()
