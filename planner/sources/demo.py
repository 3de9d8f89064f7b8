"""The bundled demo: four weeks of three made-up zones, synthetic and labelled so."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from planner.bundled import data_dir
from planner.errors import ConfigError
from planner.sources.align import HISTORY
from planner.sources.csv_file import Column, CsvFile
from planner.sources.options import did_you_mean
from planner.sources.rows import add_flag
from planner.sources.series import SYNTHETIC, Series
from planner.sources.units import conversion

if TYPE_CHECKING:
    from planner.sources.options import Options

_COLUMNS = {
    "price": "price_per_mwh",
    "dry_bulb": "dry_bulb_c",
    "wet_bulb": "wet_bulb_c",
    "ghi": "ghi_w_per_m2",
    "wind_speed_100m": "wind_speed_100m_m_per_s",
}
_CARBON = {"direct": "ci_direct_g_per_kwh", "lifecycle": "ci_lifecycle_g_per_kwh"}
_UNITS = {
    "carbon": "gCO2e/kWh",
    "dry_bulb": "degC",
    "wet_bulb": "degC",
    "ghi": "W/m2",
    "wind_speed_100m": "m/s",
}


@dataclass(frozen=True)
class Demo:
    """The demo zones of `data/demo`.

    Args:
        basis: "direct" or "lifecycle" carbon intensity.
    """

    basis: str = "direct"
    name: str = "demo"

    @classmethod
    def from_options(cls, options: Options) -> Demo:
        """Return the demo that the options declare.

        Raises:
            ConfigError: An option is unknown or wrong.
        """
        source = cls(basis=options.choice("basis", tuple(_CARBON), "direct"))
        options.finish()
        return source

    def fetch(self, signal: str, zone: str, start: datetime, end: datetime) -> Series:
        """Return the demo's rows in [start, end), each flagged synthetic.

        Where the demo ends before `end`, the rows reach back far enough to hold its last 28 days, so that a week after
        it can be filled by their hourly profile.

        Raises:
            ConfigError: There is no such demo zone or signal.
            DataUnavailable: The span lies before the demo.
        """
        facts = self._zone(zone)
        file = self._file(zone, facts["file"], facts["currency"])
        reach = min(start, self._meta["span_end"] - HISTORY) if end > self._meta["span_end"] else start
        series = file.fetch(signal, zone, reach, end)
        return Series(
            signal,
            zone,
            series.unit,
            series.basis,
            f"demo {zone}",
            f"{self._meta['licence']}; synthetic, made-up zone",
            add_flag(series.rows, SYNTHETIC),
            None,
            None,
        )

    @cached_property
    def _meta(self) -> dict[str, Any]:
        return tomllib.loads((data_dir() / "demo" / "demo.toml").read_text(encoding="utf-8"))

    @cached_property
    def _files(self) -> dict[str, CsvFile]:
        return {}

    def _zone(self, zone: str) -> dict[str, Any]:
        zones = {facts["name"]: facts for facts in self._meta["zone"]}
        if zone not in zones:
            raise ConfigError(
                f"the demo has no zone {zone!r}", fix=f"{did_you_mean(zone, zones)}its zones are {', '.join(zones)}"
            )
        found: dict[str, Any] = zones[zone]
        return found

    def _file(self, zone: str, file: str, currency: str) -> CsvFile:
        if zone not in self._files:
            units = {**_UNITS, "price": f"{currency}/MWh"}
            names = {**_COLUMNS, "carbon": _CARBON[self.basis]}
            self._files[zone] = CsvFile(
                path=Path(data_dir() / "demo" / file),
                time_column="t_start",
                stamp="start",
                tz=ZoneInfo("UTC"),
                step=timedelta(minutes=self._meta["step_minutes"]),
                columns={
                    signal: Column(
                        name, units[signal], conversion(signal, units[signal]), self.basis if signal == "carbon" else ""
                    )
                    for signal, name in names.items()
                },
                kind="modelled",
                comment=self._meta["comment_prefix"],
            )
        return self._files[zone]
