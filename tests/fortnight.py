"""A site of forty runs in two halls, its series over an autumn, and trainings that follow what is published.

Everything is made from formulas of the hour: the series are nobody's, and the same each time. The fortnight is that of
2024-10-21 to 2024-11-03 in Berlin, whose first week has 169 hours.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.own_series import COLUMNS, own_sources
from trainer_hooks.contract import RunCalendar
from trainer_hooks.telemetry import Record

SITE_NAME = "Autumn"
HOUR = timedelta(hours=1)
FRIDAY = datetime(2024, 10, 18, 6, tzinfo=UTC)
WEEKS = tuple(datetime(2024, *day, tzinfo=UTC) for day in ((10, 20, 22), (10, 27, 23), (11, 3, 23)))
RUNS = 40
HALLS = {"north": 20, "south": 20}
"""Hall -> its runs."""
GPUS = 384
"""In each hall."""
_SIZES = (8, 16, 16, 32)
_FIRST, _LAST = datetime(2024, 9, 12, tzinfo=UTC), datetime(2024, 11, 13, tzinfo=UTC)

_HEAD = f"""
[site]
name = "{SITE_NAME}"
timezone = "Europe/Berlin"
latitude = 51.0
longitude = 10.0
zone = "made-up"
currency = "EUR"

[plan]
time_limit_s = 4
gap_target = 0.02

[prices]
carbon_per_t = 80
lateness_per_gpu_h = 2.5

[tariff]
adder_per_kwh = 0.02

[demand_response]
simple_shed_share = [0.05, 0.1, 0.15]
emergency_shed_share = 0.08

[service]
approve = "policy"
raw_days = 8
"""
_HALL = """
[[block]]
name = "{hall}"
capacity_kw = 400
[block.cooling]
kind = "dry_cooler"
rated_it_kw = 360
cdu_count = 4
[[pool]]
name = "{hall}-gpus"
block = "{hall}"
gpu = "H100-SXM"
count = {gpus}
"""
_RUN = """
[[run]]
name = "{name}"
gpus = {gpus}
tokens_per_gpu_s = 1000
pools = ["{hall}-gpus"]
priority = {priority}
stages = [{{ name = "train", tokens = {tokens:.6e}, deadline = 2024-11-24T18:00:00 }}]
checkpoint_s = 60
reload_s = 120
min_run_h = 4
min_pause_h = 2
max_pauses = 5
on_off_grid_h = 2
"""


def write_site(folder: Path) -> Path:
    """Write the site file and the series that it names; returns the site file."""
    series: dict[str, list[str]] = {name: [] for name in COLUMNS}
    hour = _FIRST
    while hour < _LAST:
        stamp, day = hour.strftime("%Y-%m-%dT%H:%M:%SZ"), hour.timetuple().tm_yday
        turn = 2.0 * math.pi * (hour.hour - 6) / 24.0
        wind = math.sin(day * 1.7) + math.sin(day * 0.6)
        series["carbon"].append(f"{stamp},{300.0 + 110.0 * math.cos(2.0 * turn) - 40.0 * wind:.3f}")
        series["price"].append(f"{stamp},{80.0 + 30.0 * math.cos(2.0 * turn) - 12.0 * wind:.3f}")
        dry = 10.0 + 5.0 * math.sin(turn) + 2.0 * math.sin(day)
        series["weather"].append(f"{stamp},{dry:.3f},{dry - 2.0:.3f}")
        hour += HOUR
    heads = {"carbon": "time,carbon", "price": "time,price", "weather": "time,dry,wet"}
    for name, lines in series.items():
        (folder / f"{name}.csv").write_text("\n".join((heads[name], *lines, "")), encoding="utf-8")
    sources = own_sources()
    halls = "".join(_HALL.format(hall=hall, gpus=GPUS) for hall in HALLS)
    (folder / "site.toml").write_text(_HEAD + sources + halls + "".join(_runs()), encoding="utf-8")
    return folder / "site.toml"


def _runs() -> Iterator[str]:
    number = 0
    for hall, count in HALLS.items():
        for _ in range(count):
            gpus = _SIZES[number % len(_SIZES)]
            tokens = gpus * 1000.0 * 3600.0 * (480.0 + 15.0 * (number % 7))
            yield _RUN.format(name=f"{hall}-{number:02d}", gpus=gpus, hall=hall, priority=1 + number % 5, tokens=tokens)
            number += 1


@dataclass
class Trainings:
    """What the trainings of the site report: they do what the calendar in force says, a little off it.

    Attributes:
        reported: Every record, in the order in which it was made.
        waiting: Those that no server has had yet.
    """

    reported: list[Record]
    waiting: list[Record]
    draw: random.Random

    def train(self, run: RunCalendar, start: datetime, until: datetime, speed: float = 1.0) -> None:
        """Report what a run did between two instants of one hour, window by window, at a share of its planned speed."""
        for window in run.windows:
            begin, end = max(window.start, start), min(window.end, until)
            if begin >= end or window.state == "off":
                continue
            share = (end - begin) / (window.end - window.start)
            off = 1.0 + self.draw.uniform(-0.03, 0.03)
            tokens = round(window.tokens * share * off * speed)
            record = Record(
                run=run.run, calendar_id=run.calendar_id, writer=f"{run.run}-0", sequence=0, t_start=begin, t_end=end,
                state=window.state, tokens=tokens, useful_tokens=round(0.99 * tokens), position_tokens=0,
                energy_j=window.energy_kwh * share * off * 3.6e6, energy_error_j=1e3, energy_source="counter",
                gpus=window.gpus, gpu_power_limit_w=window.gpu_power_limit_w, enforced_limit_w=None, adherence=1.0,
            )  # fmt: skip
            self._report(record)

    def batch(self) -> list[Record]:
        """Return what reaches the server this time: some late, some twice, in no order; the rest waits."""
        self.draw.shuffle(self.waiting)
        late = self.waiting[: self.draw.randint(0, 5)]
        sent = self.waiting[len(late) :]
        self.waiting = late
        return [*sent, *self.draw.sample(self.reported, min(5, len(self.reported)))]

    def _report(self, record: Record) -> None:
        found = replace(record, sequence=len(self.reported))
        self.reported.append(found)
        self.waiting.append(found)
