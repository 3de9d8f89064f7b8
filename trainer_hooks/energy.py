"""Joules that say where they come from and how far they may be off.

Three errors are kept apart because they add up differently. A sensor's error is a constant share of what it reads and
grows with the energy. The error from when a counter was last renewed counts once, however long the time. The error
from what the sensor does not look at is random, so that it grows with the root of the time: a stretch of a second says
so in its error, an hour hardly has it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# Source: NVIDIA, NVML API reference, nvmlDeviceGetPowerUsage: within 5 % of the present power. Yang, Adamek and
# Armour, "Part-time Power Measurements" (2023, arXiv 2312.02741), find a constant share of each board's power.
SENSOR_ERROR = 0.05
# Source: the same study and NVML: the energy counter is renewed about every 100 ms.
COUNTER_PERIOD_S = 0.1
# Source: the same study: A100 and H100 look at their power for 25 ms of every 100 ms. Boards that nobody has studied
# are taken to be no better.
OBSERVED_SHARE = 0.25
# Stretches below this are named as short beside their figures; NVML's counter alone is then off by a tenth or more.
SHORT_S = 10.0
_MODELLED = {"model", "partial"}


class Energy(NamedTuple):
    """Energy over a stretch of time.

    Attributes:
        energy_j: Energy, J.
        sensor_error_j: Half-width of the sensors' error, J; grows with the energy.
        edge_error_j: Half-width of the error from when the counter was last renewed, J; counts once per stretch.
        source: `counter`, `power` (integrated), `mixed` of measured kinds, `model`, `partial` where some of it is
            modelled, `simulated`, or `none` if nothing is known.
        sampling_error_j: Half-width of the error from time the sensor does not look at, J; grows with the root.
    """

    energy_j: float
    sensor_error_j: float
    edge_error_j: float
    source: str
    sampling_error_j: float = 0.0

    @property
    def error_j(self) -> float:
        """Half-width of the uncertainty, J."""
        return self.sensor_error_j + self.edge_error_j + self.sampling_error_j

    def beside(self, other: Energy) -> Energy:
        """Add the energy of other boards over the same time; see `together`."""
        return together((self, other))

    def then(self, other: Energy) -> Energy:
        """Add the energy of the same boards over the time that follows; the shared edge cancels."""
        return together((self, other))._replace(edge_error_j=max(self.edge_error_j, other.edge_error_j))


NO_ENERGY = Energy(0.0, 0.0, 0.0, "none")


def together(parts: Iterable[Energy]) -> Energy:
    """Add the energy of several boards over the same time; the errors of one kind of sensor do not cancel."""
    energy_j = sensor_error_j = edge_error_j = unseen_j2 = 0.0
    source = "none"
    for part in parts:
        energy_j += part.energy_j
        sensor_error_j += part.sensor_error_j
        edge_error_j += part.edge_error_j
        unseen_j2 += part.sampling_error_j**2
        if part.source not in {source, "none"}:
            source = part.source if source == "none" else "partial" if _MODELLED & {source, part.source} else "mixed"
    return Energy(energy_j, sensor_error_j, edge_error_j, source, math.sqrt(unseen_j2))


def counted(used_j: float, elapsed_s: float, highest_w: float) -> Energy:
    """Return what an energy counter has counted over a stretch.

    Each period of the counter is looked at for `OBSERVED_SHARE` of its time; the rest may differ by all that the board
    draws, independently of the periods before.

    Args:
        used_j: Difference of two readings, J.
        elapsed_s: Time between them, s, above 0.
        highest_w: The most that the board draws, W, which is what a counter may miss that was not renewed yet; 0 if
            unknown.
    """
    mean_w = used_j / elapsed_s
    unseen_j = (1.0 - OBSERVED_SHARE) * mean_w * math.sqrt(COUNTER_PERIOD_S * elapsed_s)
    edge_j = COUNTER_PERIOD_S * max(mean_w, highest_w)
    return Energy(used_j, SENSOR_ERROR * used_j, edge_j, "counter", min(unseen_j, used_j))


def integrated(begin_w: float | None, end_w: float | None, elapsed_s: float, seen_s: float, highest_w: float) -> Energy:
    """Return the energy of a stretch from the power at its ends.

    Between two readings the power may have been at either for the whole time; with one it may have been anything the
    board can draw. What lies between readings is not seen at all: a reading is one draw from what the power does, whose
    standard deviation is at most half of the board's range. The half-width is two of these, or what the board can draw.

    Args:
        begin_w: Power at the begin, W, if it could be read.
        end_w: Power at the end, W, if it could be read.
        elapsed_s: Time between them, s.
        seen_s: Time that one reading looks at, s.
        highest_w: The most that the board draws, W; 0 if unknown.

    Returns:
        The energy; `NO_ENERGY` without a reading.
    """
    ends_w = [value for value in (begin_w, end_w) if value is not None]
    if not ends_w or elapsed_s <= 0.0:
        return NO_ENERGY
    mean_w = sum(ends_w) / len(ends_w)
    spread_w = abs(ends_w[0] - mean_w) if len(ends_w) == 2 else max(mean_w, highest_w - mean_w)
    used_j = mean_w * elapsed_s
    unseen_share = 1.0 - min(len(ends_w) * seen_s / elapsed_s, 1.0)
    unseen_w = max(mean_w, highest_w) * math.sqrt(unseen_share / len(ends_w))
    most_w = max(mean_w, highest_w - mean_w) - spread_w
    unseen_j = min(unseen_w, most_w) * elapsed_s
    return Energy(used_j, SENSOR_ERROR * used_j + spread_w * elapsed_s, 0.0, "power", unseen_j)
