"""Public reports of meters that told wrong joules or cost too much, one test each, by repository and number."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pynvml
import pytest

from tests.conftest import ROOT
from tests.fake_nvml import Board, FakeNvml, NvmlCode
from tests.governed import Training, warnings_of
from tests.run_calendars import ManualClock, run_calendar, window
from trainer_hooks import Governor
from trainer_hooks.devices import process_gpus
from trainer_hooks.gpu import NvmlGpu, NvmlSession
from trainer_hooks.meter import EnergyMeter
from trainer_hooks.meter_locks import MeterLocks
from trainer_hooks.metering import Metering
from trainer_hooks.rapl import RaplMeter, find_domains

ENERGY, POWER = "nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetPowerUsage"


@pytest.fixture
def clock():
    return ManualClock()


def fake_gpus(*boards):
    session = NvmlSession(lambda: FakeNvml(*boards))
    return [NvmlGpu(session, board.uuid, board.name) for board in boards]


def board(number=0, **answers):
    return Board(f"GPU-{number}", f"00000000:{number:02d}:00.0", answers=answers)


def code(number):
    return NvmlCode(number)


UNSUPPORTED = code(pynvml.NVML_ERROR_NOT_SUPPORTED)


def trained(gpus, clock, seconds=100.0, **settings):
    """A training of ten-second steps under a limit of 500 W, and its report."""
    calendar = run_calendar(window(0, 1000, "run", limit_w=500.0))
    with Governor(calendar, gpus=gpus, clock=clock.clock, **settings) as governor:
        Training(governor, clock).run(clock.now_s + seconds)
        return governor.report()


def test_mlco2_codecarbon_518(clock):
    """A GPU that allows no power monitoring ended the program; it is modelled, and the training goes on."""
    gpus = fake_gpus(board(nvmlDeviceGetTotalEnergyConsumption=UNSUPPORTED, nvmlDeviceGetPowerUsage=UNSUPPORTED))
    report = trained(gpus, clock)
    assert report.energy.source == "model"
    assert report.energy.energy_j == pytest.approx(0.88 * 500.0 * 100.0)
    assert report.energy.error_j == pytest.approx(0.12 * 500.0 * 100.0)


@pytest.mark.parametrize("number", [*range(1, 29), pynvml.NVML_ERROR_UNKNOWN])
def test_mlco2_codecarbon_586(clock, number):
    """Reading the energy counter raised; whatever NVML answers, at the start or later, power stands in."""
    faulty = board(**{ENERGY: code(number)})
    faulty.power_mw = 300_000
    meter = EnergyMeter(fake_gpus(faulty), clock.clock.monotonic)
    clock.now_s = 10.0
    assert meter.sample().energy_j == pytest.approx(3000.0)
    del faulty.answers[ENERGY]
    clock.now_s = 20.0
    meter.sample()
    faulty.answers[ENERGY] = code(number)
    clock.now_s = 30.0
    meter.sample()
    assert meter.total.energy_j == pytest.approx(9000.0)
    assert meter.total.source == "power"


def test_mlco2_codecarbon_1316(nvml_twin):
    """A GPU without an energy counter was told to take 0 kWh; its power is integrated."""
    twin = nvml_twin("bare", stopped=True)
    with twin.in_process():
        meter = EnergyMeter(process_gpus({}, NvmlSession()), twin.now_s)
        twin[0].load = 1.0
        begin_j = twin[0].energy_j
        for _ in range(60):
            twin.advance(1.0)
            meter.sample()
        assert meter.total.source == "power"
        true_j = twin[0].energy_j - begin_j
        assert true_j > 60 * 300.0
        assert meter.total.energy_j == pytest.approx(true_j, abs=meter.total.error_j)
        assert meter.total.energy_j == pytest.approx(true_j, rel=0.02)


def test_mlco2_codecarbon_378(clock):
    """Energy and power stood at 0 for hours as if measured; what is not known is never 0 J with a source."""
    unknown = {ENERGY: UNSUPPORTED, POWER: UNSUPPORTED, "nvmlDeviceGetPowerManagementLimitConstraints": UNSUPPORTED}
    calendar = run_calendar(window(0, 1000, "run"))
    with Governor(calendar, gpus=fake_gpus(board(**unknown)), clock=clock.clock) as governor:
        Training(governor, clock).run(100)
        report = governor.report()
    assert report.energy.source == "none"
    assert "energy     not known" in str(report)
    assert report.tokens_per_joule is None


def test_mlco2_codecarbon_393(clock):
    """One GPU without readings hid those of all; the others are counted, and the sum says how it was made."""
    silent = board(1, **{ENERGY: UNSUPPORTED, POWER: UNSUPPORTED})
    sound = board(0)
    gpus = fake_gpus(sound, silent)
    meter = EnergyMeter(gpus, clock.clock.monotonic)
    clock.now_s, sound.energy_mj = 10.0, sound.energy_mj + 4_000_000
    assert meter.sample().energy_j == pytest.approx(4000.0)
    assert meter.model(busy=True, limit_w=500.0).source == "model"
    assert meter.total.source == "partial"
    assert meter.modelled == ("GPU-1",)


def test_mlco2_codecarbon_578(clock):
    """ "System is not in ready state" at the start ended the program; the meter begins when the system is ready."""
    waking = board(all=code(pynvml.NVML_ERROR_NOT_READY))
    meter = EnergyMeter(fake_gpus(waking), clock.clock.monotonic)
    clock.now_s = 10.0
    assert meter.sample().energy_j == 0.0
    waking.answers.clear()
    clock.now_s = 20.0
    meter.sample()
    clock.now_s, waking.energy_mj = 30.0, waking.energy_mj + 5_000_000
    counted = meter.sample()
    assert (counted.energy_j, counted.source) == (5000.0, "counter")


def test_mlco2_codecarbon_985(nvml_twin):
    """The power told was that of the last sample, when the work was over; ours is that of the whole time."""
    twin = nvml_twin("h100", stopped=True)
    with twin.in_process():
        meter = EnergyMeter(process_gpus({}, NvmlSession()), twin.now_s)
        begin_j, begin_s = twin[0].energy_j, twin.now_s()
        twin[0].load = 1.0
        twin.advance(60.0)
        twin[0].load = 0.0
        twin.advance(5.0)
        meter.sample()
        mean_w = meter.total.energy_j / (twin.now_s() - begin_s)
        assert mean_w == pytest.approx((twin[0].energy_j - begin_j) / 65.0, rel=0.01)
        assert mean_w > 5 * twin[0].power_w


def test_mlco2_codecarbon_1309(tmp_path):
    """A RAPL counter whose range could not be read wrapped around and gave negative joules; it gives none."""
    zone = tmp_path / "intel-rapl:0"
    zone.mkdir()
    (zone / "name").write_text("package-0\n")
    now_s = [0.0]
    (zone / "energy_uj").write_text("4000000000\n")
    meter = RaplMeter(find_domains(tmp_path), lambda: now_s[0])
    for now_s[0], energy_uj, used_j in ((10.0, 10_000, 0.0), (20.0, 1_000_010_000, 1000.0)):
        (zone / "energy_uj").write_text(f"{energy_uj}\n")
        assert meter.sample().energy_j == pytest.approx(used_j)


def test_saintslab_carbontracker_36(clock, caplog):
    """A GPU model without power readings was left out in silence; it is named, once."""
    gpus = fake_gpus(board(0), board(1, **{ENERGY: UNSUPPORTED, POWER: UNSUPPORTED}))
    trained(gpus, clock, seconds=500.0, record_s=50.0)
    said = [text for text in warnings_of(caplog) if "shows neither energy nor power" in text]
    assert len(said) == 1
    assert "GPU-1" in said[0]


def test_guilbaults_slurm_job_exporter_30(clock):
    """Readings of H100s were not renewed and told again and again; a counter that stands still is not believed."""
    stale = board()
    stale.power_mw = 570_000
    meter = EnergyMeter(fake_gpus(stale), clock.clock.monotonic)
    for _ in range(6):
        clock.now_s += 10.0
        meter.sample()
    assert meter.total.energy_j == pytest.approx(570.0 * 60.0)
    assert meter.total.source == "power"


def test_lssi_eth_plmfit_40(nvml_twin):
    """One of several GPUs was lost in the middle of a run; the others count on, and so does it when it is back."""
    twin = nvml_twin("h100x8", stopped=True)
    with twin.in_process():
        meter = EnergyMeter(process_gpus({}, NvmlSession()), twin.now_s)
        begin_j = [each.energy_j for each in twin.boards]
        for each in twin.boards:
            each.load = 1.0
        twin.advance(30.0)
        meter.sample()
        twin[3].fault("lost")
        for _ in range(3):
            twin.advance(30.0)
            meter.sample()
        twin[3].fault()
        twin.advance(30.0)
        meter.sample()
        true_j = sum(each.energy_j - begin for each, begin in zip(twin.boards, begin_j, strict=True))
        assert meter.total.energy_j == pytest.approx(true_j, rel=0.01)


RANK = """
import os, sys, time
from pathlib import Path
from tests.nvml_twin import Twin
from trainer_hooks.clock import Clock
from trainer_hooks.devices import process_gpus
from trainer_hooks.gpu import NvmlSession
from trainer_hooks.journal import Journal
from trainer_hooks.limits import LimitSet
from trainer_hooks.metering import Metering

twin = Twin.of_environment()
gpus = process_gpus(os.environ, NvmlSession())
journal = Journal(gpus, Clock(monotonic=twin.now_s), None, Metering(locks=Path(sys.argv[1])))
print("ready", flush=True)
sys.stdin.readline()
journal.tokens.add(100)
journal.cut("llm-8b", "run", None, LimitSet(gpus))
report = journal.report("llm-8b", None)
print(report.energy.energy_j, report.gpus, report.tokens, flush=True)
sys.stdin.readline()
"""


def told_by_ranks(twin, locks, environments):
    """Have a process per environment meter a minute of the twin; returns joules, boards and tokens of each."""
    base = {**os.environ, **twin.environment(), "PYTHONPATH": str(ROOT)}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, str(locks)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=base | environment,
        )
        for environment in environments
    ]
    for rank in ranks:
        assert rank.stdout.readline() == "ready\n"
    for each in twin.boards:
        each.load = 1.0
    begin_j = sum(each.energy_j for each in twin.boards)
    twin.advance(60.0)
    true_j = sum(each.energy_j for each in twin.boards) - begin_j
    for rank in ranks:
        rank.stdin.write("go\n")
        rank.stdin.flush()
    told = [rank.stdout.readline().split() for rank in ranks]  # before the first ends, and lets its boards go
    for rank in ranks:
        rank.communicate("end\n", timeout=60)
    return true_j, [(float(energy_j), int(gpus), int(tokens)) for energy_j, gpus, tokens in told]


def test_mlco2_codecarbon_pr_1390(nvml_twin, tmp_path):
    """Four ranks of srun each metered the whole node, so that the job took four times the energy."""
    twin = nvml_twin("h100x8", stopped=True)
    ranks = [{"SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)} for rank in range(4)]
    true_j, told = told_by_ranks(twin, tmp_path, ranks)
    assert sum(energy_j for energy_j, _, _ in told) == pytest.approx(true_j, rel=0.01)
    assert sum(gpus for _, gpus, _ in told) == 8
    assert [tokens for _, _, tokens in told] == [100] * 4


def test_mlco2_codecarbon_936(nvml_twin, tmp_path):
    """Clients of a federated learning, each a process on the same GPU, each counted all of its energy."""
    twin = nvml_twin("h100", stopped=True)
    true_j, told = told_by_ranks(twin, tmp_path, [{"CUDA_VISIBLE_DEVICES": "0"}] * 3)
    assert sorted(gpus for _, gpus, _ in told) == [0, 0, 1]
    assert sum(energy_j for energy_j, _, _ in told) == pytest.approx(true_j, rel=0.01)


def test_mlco2_codecarbon_779(tmp_path):
    """A lock file that a crash left behind kept every later tracker from running; ours ends with its process."""
    crash = (
        "import os, pathlib, signal, sys; from trainer_hooks.meter_locks import MeterLocks; "
        "assert MeterLocks(pathlib.Path(sys.argv[1])).take(['GPU-a']); os.kill(os.getpid(), signal.SIGSEGV)"
    )
    crashed = subprocess.run([sys.executable, "-c", crash, str(tmp_path)], cwd=ROOT, check=False)
    assert crashed.returncode == -signal.SIGSEGV
    assert list(tmp_path.iterdir())
    locks = MeterLocks(tmp_path)
    assert locks.take(["GPU-a"]) == ("GPU-a",)
    locks.release()


def test_mlco2_codecarbon_878(nvml_twin):
    """Tracking short iterations took 11 s to 115 s, half a second of sleep each; our steps neither sleep nor read."""
    twin, clock = nvml_twin("h100x8", stopped=True), ManualClock()
    with twin.in_process():
        gpus = process_gpus({}, NvmlSession())
        with Governor(run_calendar(window(0, 1000, "run")), gpus=gpus, clock=clock.clock) as governor:
            governor.step(tokens=1)
            reads = [each.reads for each in twin.boards]
            begin_s = time.perf_counter()
            for _ in range(1000):
                governor.step(tokens=1)
            assert time.perf_counter() - begin_s < 0.5
            assert [each.reads for each in twin.boards] == reads
    assert clock.slept_s == []


def test_mlco2_codecarbon_1237(nvml_twin):
    """Every second all details of every GPU were asked for to learn its power; a sample of ours is one call a board."""
    twin = nvml_twin("h100x8", stopped=True)
    with twin.in_process():
        meter = EnergyMeter(process_gpus({}, NvmlSession()), twin.now_s)
        for each in twin.boards:
            each.load = 1.0
        twin.advance(1.0)
        meter.sample()
        reads = [each.reads for each in twin.boards]
        for _ in range(10):
            twin.advance(1.0)
            meter.sample()
        assert [each.reads - before for each, before in zip(twin.boards, reads, strict=True)] == [10] * 8
        assert meter.total.source == "counter"


def test_saintslab_carbontracker_41(tmp_path):
    """A tracker that was made and not started slowed everything 70-fold from a thread of its own; ours has none."""
    before = threading.active_count()
    governor = Governor(
        run_calendar(window(0, 1000, "run")),
        gpus=fake_gpus(board()),
        clock=ManualClock().clock,
        metering=Metering(locks=tmp_path, powercap=tmp_path),
    )
    begin_s = time.process_time()
    time.sleep(0.2)
    assert threading.active_count() == before
    assert time.process_time() - begin_s < 0.05
    governor.close()


def test_nvidia_dcgm_exporter_464(clock):
    """Polling profiling counters raised idle A100s from 50 W to 100 W; a hold reads one counter a second at most."""
    asked = []

    class Listening(FakeNvml):
        def __getattribute__(self, name):
            if name.startswith("nvml"):
                asked.append((name, clock.now_s))
            return super().__getattribute__(name)

    idle = board()
    session = NvmlSession(lambda: Listening(idle))
    gpus = [NvmlGpu(session, idle.uuid, idle.name)]
    calendar = run_calendar(window(0, 100, "run"), window(100, 400, "hold"), window(400, 500, "run"))
    with Governor(calendar, gpus=gpus, clock=clock.clock) as governor:
        Training(governor, clock).run(400)
    reads = [at_s for name, at_s in asked if name == ENERGY and 101.0 <= at_s < 400.0]
    assert 250 < len(reads) <= 300
    assert max(reads.count(at_s) for at_s in reads) <= 2
    assert not [name for name, _ in asked if "Gpm" in name or "Sample" in name or "Process" in name]


def test_saintslab_carbontracker_calls_a_web_service_at_start(monkeypatch, tmp_path):
    """CarbonTracker asks a web service where it is before it begins; the hooks open no connection at all."""

    def refuse(*arguments):
        raise AssertionError(f"a connection was opened: {arguments}")

    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, refuse, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    environ = {
        "GRIDPACE_CALENDAR": str(tmp_path / "absent"),
        "GRIDPACE_TELEMETRY": str(tmp_path / "telemetry"),
        "GRIDPACE_SIMULATE": "8",
        "GRIDPACE_METRICS": str(tmp_path / "gridpace.prom"),
        "GRIDPACE_METER_LOCKS": str(tmp_path),
    }
    governor = Governor.from_env(environ, strict=False)
    for _ in range(3):
        governor.step(tokens=10)
    report = governor.report()
    governor.close()
    assert report.tokens == 30
    assert report.gpus == 8
