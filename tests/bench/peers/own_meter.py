"""The hooks' cost, taken as that of the peers is."""

from __future__ import annotations

import os
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from meter_cost import reply


class Hooks:
    """A Governor that follows a calendar on all GPUs and writes telemetry; its meter beside it for windows."""

    def __init__(self) -> None:
        from trainer_hooks import Governor
        from trainer_hooks.calendar import Calendar, RunCalendar, Window, write_calendar
        from trainer_hooks.devices import process_gpus
        from trainer_hooks.gpu import NvmlSession
        from trainer_hooks.meter import EnergyMeter

        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        end = now + timedelta(hours=24)
        windows = (Window(now, end, "run", "pool", "block", 8, 700.0, "none", 1e9, 10.0, 3.0, "bench"),)
        run = RunCalendar("bench", now, now, end, "bench", "run", windows)
        header = Calendar("bench", now, now, end, "bench", "UTC", 60, 24, {}, "bench", None, (), ())
        write_calendar(folder / "calendars", header, [run])
        environ = {
            **os.environ,
            "GRIDPACE_CALENDAR": str(folder / "calendars"),
            "GRIDPACE_RUN": "run",
            "GRIDPACE_TELEMETRY": str(folder / "telemetry"),
            "GRIDPACE_METER_LOCKS": str(folder),
        }
        self._governor = Governor.from_env(environ, strict=True)
        self._meter = EnergyMeter(process_gpus(os.environ, NvmlSession()), time.monotonic)

    def begin(self) -> None:
        self._meter.sample()

    def end(self) -> float:
        return self._meter.sample().energy_j

    def step(self) -> None:
        self._governor.step(tokens=1)

    def close(self) -> None:
        self._governor.close()
        self._folder.cleanup()


if __name__ == "__main__":
    reply("gridpace-hooks", ("nvidia-ml-py",), Hooks)
