"""CodeCarbon's cost; it runs in the peers' environment, and opens no connection."""

from __future__ import annotations

from typing import Any

from meter_cost import reply

_J_PER_KWH = 3.6e6


class CodeCarbon:
    """An offline tracker that writes no file."""

    def __init__(self) -> None:
        from codecarbon import OfflineEmissionsTracker

        self._tracker: Any = OfflineEmissionsTracker(country_iso_code="FRA", save_to_file=False, log_level="critical")
        self._tracker.start()
        self._tasks = 0

    def begin(self) -> None:
        self._tasks += 1
        self._tracker.start_task(f"task {self._tasks}")

    def end(self) -> float:
        return float(self._tracker.stop_task().gpu_energy) * _J_PER_KWH

    def step(self) -> None:
        """Measure the step as a task, which is what it offers for parts of a program."""
        self.begin()
        self.end()

    def close(self) -> None:
        self._tracker.stop()


if __name__ == "__main__":
    reply("CodeCarbon", ("codecarbon", "nvidia-ml-py"), CodeCarbon)
