"""ZeusMonitor's cost; it runs in the peers' environment."""

from __future__ import annotations

from typing import Any

from meter_cost import reply


class Zeus:
    """ZeusMonitor over all GPUs, without synchronising them."""

    def __init__(self) -> None:
        from zeus.monitor import ZeusMonitor

        # A processor's counters are not there to be read, and are left out for all.
        self._monitor: Any = ZeusMonitor(cpu_indices=[])

    def begin(self) -> None:
        self._monitor.begin_window("step", sync_execution=False)

    def end(self) -> float:
        return float(self._monitor.end_window("step", sync_execution=False).total_energy)

    def step(self) -> None:
        """Measure the step, which is what its documentation has a training loop do."""
        self.begin()
        self.end()

    def close(self) -> None:
        """Nothing of it runs on."""


if __name__ == "__main__":
    reply("ZeusMonitor", ("zeus", "nvidia-ml-py"), Zeus)
