"""The books of one Governor: stretches of time with their tokens, joules and adherence."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from trainer_hooks.directive import planned
from trainer_hooks.energy import NO_ENERGY
from trainer_hooks.exposition import write_metrics
from trainer_hooks.loader import LoaderWatch
from trainer_hooks.meter import EnergyMeter
from trainer_hooks.meter_locks import MeterLocks
from trainer_hooks.metering import Metering
from trainer_hooks.node_meter import NO_NODE, NodeMeter
from trainer_hooks.report import GovernorReport
from trainer_hooks.resume import earlier_work
from trainer_hooks.telemetry import Record, new_writer
from trainer_hooks.tokens import TokenMeter
from trainer_hooks.waste import IDLE_STATES, NO_WASTE, idle_waste

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from typing import TypeVar

    from trainer_hooks.clock import Clock
    from trainer_hooks.contract import RunCalendar
    from trainer_hooks.gpu import Gpu
    from trainer_hooks.limits import LimitSet
    from trainer_hooks.telemetry import TelemetryWriter

    Item = TypeVar("Item")

# The states of a calendar's windows that a state of the Governor fulfils.
FULFILS: dict[str, frozenset[str]] = {
    "run": frozenset({"run"}),
    "save": frozenset({"run"}),
    "hold": frozenset({"hold"}),
    "wait": frozenset({"off"}),
    "exit": frozenset({"off"}),
    "safe": frozenset(),
}


class Journal:
    """Cuts time into stretches of one state and writes each down.

    Args:
        gpus: Boards of this process; those that another process of the node meters are left to it.
        clock: Time.
        telemetry: Where records go; None keeps sums only.
        metering: What is metered beside the boards, and how processes agree.
        sees_steps: False where the training's steps cannot be seen, so that their absence is no waste.
    """

    def __init__(
        self,
        gpus: Sequence[Gpu],
        clock: Clock,
        telemetry: TelemetryWriter | None,
        metering: Metering | None = None,
        *,
        sees_steps: bool = True,
    ) -> None:
        self._clock = clock
        self._sees_steps = sees_steps
        self._telemetry = telemetry
        self._metering = metering or Metering()
        self._writer = telemetry.writer if telemetry else new_writer()
        self.tokens = TokenMeter((lambda: earlier_work(telemetry.earlier())) if telemetry else None)
        self.loader = LoaderWatch(clock.monotonic, self._begin)
        self._locks = MeterLocks(self._metering.locks) if self._metering.locks else None
        self._elsewhere = tuple(gpus)
        # How many are metered, and which of them are physical: what two processes name was counted twice.
        self._n_boards = 0
        self._boards: tuple[str, ...] = ()
        self._meter = EnergyMeter((), clock.monotonic)
        self._claim()
        self._node_meter = NodeMeter(self._metering, self._locks, clock.monotonic)
        self._sequence = 0
        self._start = self._since = clock.wall()
        self._since_s = clock.monotonic()
        self._since_tokens = self._since_useful = 0
        self._steps = 0
        self._stepped = False
        self._begun_s: float | None = None
        self._startup_j = 0.0
        self._energy, self._node = NO_ENERGY, NO_NODE
        self._total_node, self._waste = NO_NODE, NO_WASTE
        self._seconds: dict[str, float] = {}
        self._matching_s = self._covered_s = self._planned_tokens = 0.0
        self._metrics_error: OSError | None = None
        self._limit_settled_s: float | None = None

    def age_s(self) -> float:
        """Return the length of the open stretch, s, by the clock that nobody sets."""
        return self._clock.monotonic() - self._since_s

    def note_steps(self, steps: int) -> None:
        """Say how many steps were done: a rank that counts no tokens, because another counts them, trains all the same.

        Args:
            steps: Steps of the training so far.
        """
        self._stepped = self._stepped or steps > self._steps
        self._steps = steps

    def resume_steps(self, steps: int) -> None:
        """Say how many steps the loaded state has behind it."""
        self._steps = steps

    def watch(self, loader: Iterable[Item]) -> Iterator[Item]:
        """Hand on a loader's items, and time the waits for them; see `LoaderWatch.watch`."""
        return self.loader.watch(loader)

    def sample(self) -> None:
        """Read the meters, so that integrated power stays fine-grained."""
        self._energy = self._energy.then(self._meter.sample())
        self._node = self._node.then(self._node_meter.sample())
        if self._begun_s is None and (self._stepped or self.tokens.tokens):
            # Without a watched loader the first step counts as start-up: it compiles, and warms up.
            self._begun_s, self._startup_j = self._clock.monotonic(), self._energy.energy_j

    def cut(self, run: str, state: str, calendar: RunCalendar | None, limits: LimitSet) -> OSError | None:
        """End the open stretch, write it down, and begin the next.

        Args:
            run: Name of the run.
            state: State the stretch was spent in, a key of FULFILS.
            calendar: Calendar followed in it.
            limits: Power limits of the boards.

        Returns:
            The error if the disk refused the record.
        """
        self.sample()
        settled_s = limits.settled_s()
        if settled_s is not None:
            self._limit_settled_s = max(self._limit_settled_s or 0.0, settled_s)
        now, now_s = self._clock.wall(), self._clock.monotonic()
        # A wall clock that was set back gives a stretch without length, not a negative one.
        start = min(self._since, now)
        since_s = self._since_s
        self._since, self._since_s = now, now_s
        duration_s = (now - start).total_seconds()
        tokens = self.tokens.tokens - self._since_tokens
        useful = self.tokens.useful_tokens - self._since_useful
        if not duration_s and not tokens and not useful:
            return None
        self._energy = self._energy.then(self._meter.model(state not in IDLE_STATES, limits.limit_w))
        self._seconds[state] = self._seconds.get(state, 0.0) + duration_s
        training_s = now_s - max(since_s, self._begun_s or since_s)
        starved_share = self.loader.take_s() / training_s if training_s > 0 else 0.0
        energy_j = self._energy.energy_j
        trained, self._stepped = self._stepped or tokens > 0 or not self._sees_steps, False
        waste = idle_waste(state, energy_j, trained, starved_share, self._startup_j)
        waste = replace(waste, recompute_j=self.tokens.settle(energy_j - waste.total_j))
        record = Record(
            run=run,
            calendar_id=calendar.calendar_id if calendar else None,
            writer=self._writer,
            sequence=self._sequence,
            t_start=start,
            t_end=now,
            state=state,
            tokens=tokens,
            useful_tokens=useful,
            position_tokens=self.tokens.position_tokens,
            energy_j=energy_j,
            energy_error_j=self._energy.error_j,
            energy_source=self._energy.source,
            gpus=self._n_boards,
            gpu_power_limit_w=limits.limit_w,
            enforced_limit_w=limits.enforced_w(),
            adherence=self._adherence(state, calendar, start, now),
            rank=self._telemetry.rank if self._telemetry else None,
            boards=self._boards,
            **asdict(waste),
            host_j=self._node.host.energy_j,
            host_error_j=self._node.host.error_j,
            node_j=self._node.node.energy_j,
            node_error_j=self._node.node.error_j,
        )
        self._sequence += 1
        self._waste, self._total_node = self._waste.plus(waste), self._total_node.then(self._node)
        self._energy, self._node, self._startup_j = NO_ENERGY, NO_NODE, 0.0
        self._since_tokens, self._since_useful = self.tokens.tokens, self.tokens.useful_tokens
        self._claim()
        self._node_meter.claim()
        self._export(run, calendar)
        return self._telemetry.write(record) if self._telemetry else None

    def report(self, run: str, calendar: RunCalendar | None) -> GovernorReport:
        """Sum up every stretch so far."""
        return GovernorReport(
            run=run,
            calendar_id=calendar.calendar_id if calendar else None,
            tokens=self.tokens.tokens,
            useful_tokens=self.tokens.useful_tokens,
            energy=self._meter.total,
            gpus=self._n_boards,
            seconds=dict(self._seconds),
            adherence=self._matching_s / self._covered_s if self._covered_s else None,
            planned_tokens=self._planned_tokens,
            waste=self._waste,
            node=self._total_node,
            metered_elsewhere=len(self._elsewhere),
            loader_watched=self.loader.watched,
            limit_settled_s=self._limit_settled_s,
        )

    def notices(self) -> tuple[str, ...]:
        """Return what should be said about the meters; a sentence may come again."""
        found = list(self._node_meter.notices())
        found += [
            f"GPU {uuid} shows neither energy nor power: its joules are modelled from its limit and whether it works."
            for uuid in self._meter.modelled
        ]
        if self._telemetry is not None and self._telemetry.dropped:
            found.append("records of telemetry are lost: the disk has refused more than are kept in memory.")
        if self._locks is not None and self._locks.fault is not None:
            found.append(
                f"no lock on the boards can be had ({self._locks.fault}): ranks that share a GPU would each meter it; "
                "name a folder that all of them can write in GRIDPACE_METER_LOCKS."
            )
        if self._metrics_error is not None:
            found.append(f"metrics cannot be written to {self._metering.metrics} ({self._metrics_error}).")
        return tuple(found)

    def close(self) -> None:
        """Let the boards go, so that another process may meter them."""
        self._node_meter.close()
        if self._locks is not None:
            self._locks.release()

    def _begin(self) -> None:
        """Note that the loop begins: what was used until now was start-up."""
        if self._begun_s is None:
            self.sample()
            self._begun_s, self._startup_j = self._clock.monotonic(), self._energy.energy_j

    def _claim(self) -> None:
        """Take over the meters of boards that nobody meters; twins are of this process alone."""
        if not self._elsewhere:
            return
        wanted = [gpu.uuid for gpu in self._elsewhere if not gpu.simulated]
        taken = set(wanted) if self._locks is None else set(self._locks.take(wanted))
        mine = tuple(gpu for gpu in self._elsewhere if gpu.simulated or gpu.uuid in taken)
        self._elsewhere = tuple(gpu for gpu in self._elsewhere if gpu not in mine)
        self._n_boards += len(mine)
        self._boards += tuple(gpu.uuid for gpu in mine if not gpu.simulated)
        self._meter.add(mine)

    def _export(self, run: str, calendar: RunCalendar | None) -> None:
        path, self._metrics_error = self._metering.metrics, None
        if path is None:
            return
        try:
            write_metrics(path, self.report(run, calendar), self._writer, self._start, self._clock.wall())
        except OSError as error:
            self._metrics_error = error

    def _adherence(self, state: str, calendar: RunCalendar | None, start: datetime, now: datetime) -> float | None:
        if calendar is None:
            return None
        plan = planned(calendar, FULFILS.get(state, frozenset()), start, now)
        self._matching_s += plan.matching_s
        self._covered_s += plan.covered_s
        self._planned_tokens += plan.tokens
        return plan.matching_s / plan.covered_s if plan.covered_s else None
