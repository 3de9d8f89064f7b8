"""What the meters and sensors of one block say, and how far each can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

TIME_UNIT = "datetime64[s]"


class Signal(NamedTuple):
    """A signal that telemetry may have.

    Args:
        unit: Its unit; "" for a plain number.
        meaning: What it is, for people.
        gain: Largest error of the instrument that goes with the value, by its class, share.
        offset: Largest error of the instrument that does not, in the unit.
        noise_share: Standard deviation of one reading around the truth, share of the value.
        noise: The same that does not go with the value, in the unit; for powers and flows, share of the largest value.
    """

    unit: str
    meaning: str
    gain: float = 0.0
    offset: float = 0.0
    noise_share: float = 0.0
    noise: float = 0.0


def _power(meaning: str) -> Signal:
    # class 1 of IEC 62053-21 allows 1 %; readings of a drive's own display are no better
    return Signal("kW", meaning, gain=0.01, noise_share=0.005, noise=0.002)


def _temp(meaning: str, offset: float = 0.3) -> Signal:
    # class B of IEC 60751 allows 0.3 K + 0.5 % of the temperature
    return Signal("C", meaning, offset=offset, noise=0.1)


def _flow(meaning: str) -> Signal:
    # class 2 of ISO 4064 and EN 1434 allows 2 % and more at little flow
    return Signal("L/min", meaning, gain=0.02, noise_share=0.005, noise=0.002)


SIGNALS: dict[str, Signal] = {
    "it_power_kw": _power("IT power of the block"),
    "dry_bulb_c": _temp("outdoor dry bulb at the coolers' intakes", offset=0.5),
    "wet_bulb_c": _temp("outdoor wet bulb", offset=0.5),
    "supply_setpoint_c": _temp("rack supply temperature that the controls hold"),
    "rack_supply_temp_c": _temp("liquid to the racks"),
    "rack_return_temp_c": _temp("liquid from the racks"),
    "facility_supply_temp_c": _temp("facility water to the CDUs"),
    "facility_return_temp_c": _temp("facility water into the heat rejection"),
    "rack_flow_l_per_min": _flow("flow of the rack loop"),
    "facility_flow_l_per_min": _flow("flow of the facility loop"),
    "rack_pump_kw": _power("pumps of the rack loop"),
    "facility_pump_kw": _power("pumps of the facility loop"),
    "pump_kw": _power("pumps of both loops, where one meter has both"),
    "fan_kw": _power("fans of coolers or towers and of the chillers' condensers; of an air-cooled room, all fans"),
    "fan_speed": Signal("", "speed of the coolers' or towers' fans over full speed", noise=0.01),
    "chiller_kw": _power("compressors of the chillers, or of an air-cooled room"),
    "cooling_kw": _power("all electric power of cooling"),
    "chip_work": Signal("", "work of the chips over their most: utilisation, or tokens per second over the best"),
}
# what drives a plant, as the fields of `thermal.calibrate.prediction.Inputs`
DRIVING = ("it_power_kw", "dry_bulb_c", "wet_bulb_c", "supply_setpoint_c")
INPUTS = (*DRIVING, "chip_work")


@dataclass(frozen=True)
class Telemetry:
    """Readings of one block at N instants.

    Args:
        source: Where they come from, such as a file's name.
        time: Start of each reading's interval, UTC, rising, shape (N,), datetime64[s].
        readings: Signal of `SIGNALS` -> its values in the signal's unit, shape (N,); not a number where a sensor is
            silent. A signal that is not there at all is left out.
    """

    source: str
    time: npt.NDArray[np.datetime64]
    readings: Mapping[str, npt.NDArray[np.float64]]

    def __post_init__(self) -> None:
        if np.any(np.diff(self.time) <= np.timedelta64(0, "s")):
            at = int(np.argmin(np.diff(self.time) > np.timedelta64(0, "s"))) + 1
            raise ValueError(f"the time of reading {at + 1} is {self.time[at]}, not after the one before it")
        for name, values in self.readings.items():
            if name not in SIGNALS:
                raise ValueError(f"{name} is no signal; known are {', '.join(SIGNALS)}")
            if values.shape != self.time.shape:
                raise ValueError(f"{name} has shape {values.shape}; the times have {self.time.shape}")
        for name in ("it_power_kw", "dry_bulb_c"):
            if not np.isfinite(self[name]).any():
                raise ValueError(f"{name} has no reading; a cooling plant cannot be calibrated without it")

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        """Return a signal's readings, shape (N,); none are there of a signal that was left out."""
        if name in self.readings:
            return self.readings[name]
        return np.full(self.time.shape, np.nan)

    def __len__(self) -> int:
        return len(self.time)

    @property
    def measured(self) -> tuple[str, ...]:
        """Signals with readings, in the order of `SIGNALS`."""
        return tuple(name for name in SIGNALS if np.isfinite(self[name]).any())

    @property
    def days(self) -> npt.NDArray[np.int64]:
        """Number of the day of each reading, from 0 for the first, UTC, shape (N,)."""
        day = self.time.astype("datetime64[D]").astype(np.int64)
        return np.asarray(day - day[0])

    @property
    def span(self) -> str:
        """First and last instant, such as "2024-05-01 to 2024-05-28"."""
        first, last = (str(t.astype("datetime64[D]")) for t in (self.time[0], self.time[-1]))
        return first if first == last else f"{first} to {last}"

    def at(self, where: npt.NDArray[np.bool_]) -> Telemetry:
        """Return the readings at some of the instants, shape (N,)."""
        return Telemetry(self.source, self.time[where], {name: v[where] for name, v in self.readings.items()})

    def compared(self, name: str) -> npt.NDArray[np.bool_]:
        """Return where a signal says something of the plant, shape (N,); fans that stand, or silence, say nothing."""
        values = self[name]
        return np.isfinite(values) & ((values > 0.0) if name == "fan_speed" else np.ones(values.shape, dtype=np.bool_))

    def spread(self, name: str) -> npt.NDArray[np.float64]:
        """Return the standard deviation of each reading of a signal around the truth, in its unit, shape (N,)."""
        signal, values = SIGNALS[name], self[name]
        largest = float(np.nanmax(np.abs(values))) if np.isfinite(values).any() else 0.0
        floor = signal.noise * largest if signal.noise_share else signal.noise
        return np.hypot(signal.noise_share * values, max(floor, 1e-9))
