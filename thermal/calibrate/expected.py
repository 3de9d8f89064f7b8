"""What a plant would show on average over all that the noise of its sensors may hide, and how far readings scatter.

Where a chiller starts or an economiser closes, a tenth of a kelvin in a noisy reading decides between much power and
none. The mean over the noise is the best that can be said of such an hour, and the scatter about it is what the noise
alone leaves of a model without any error.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thermal.calibrate.prediction import Inputs, inputs, predict
from thermal.calibrate.telemetry import DRIVING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from thermal.calibrate.telemetry import Telemetry
    from thermal.description import CoolingPlant
    from thermal.units_out import Running

# the middles of the four quarters of a normal distribution, in standard deviations
QUARTERS = tuple(NormalDist().inv_cdf(share) for share in (0.125, 0.375, 0.625, 0.875))
NORMED = float(np.mean(np.square(QUARTERS)))  # their variance, of the distribution's 1


class Expected(NamedTuple):
    """A signal as a model expects it; arrays of shape (N,).

    Args:
        middle: What the model says at the readings as they are, in the signal's unit.
        mean: Its mean over the noise of what drives the plant.
        variance: Mean square of readings about the mean, by the noise of the signal and of what drives the plant.
    """

    middle: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    variance: npt.NDArray[np.float64]


def expected(
    plant: CoolingPlant,
    telemetry: Telemetry,
    sums: Mapping[str, tuple[str, ...]],
    running: Running,
    sensor_errors: Mapping[str, float],
) -> dict[str, Expected]:
    """Return what a plant is expected to show at what drove it.

    Args:
        plant: The plant.
        telemetry: The readings.
        sums: Name -> the signals whose sum it is, all of which the plant has.
        running: Units that run.
        sensor_errors: Errors of the instruments that show what drives the plant, as `prediction.inputs` takes them.

    Returns:
        Name -> what is expected. The noises of different sensors count one by one, their joint effect does not.
    """
    wanted = frozenset(name for parts in sums.values() for name in parts)
    given = inputs(telemetry, sensor_errors)

    def summed(at: Inputs) -> dict[str, npt.NDArray[np.float64]]:
        shown = predict(plant, at, wanted, running)
        return {name: np.sum([shown[part] for part in parts], axis=0) for name, parts in sums.items()}

    middle = summed(given)
    shift = {name: np.zeros_like(values) for name, values in middle.items()}
    variance = {name: np.sum([telemetry.spread(part) ** 2 for part in parts], axis=0) for name, parts in sums.items()}
    for signal, field in zip(DRIVING, given._fields, strict=True):
        if not np.isfinite(telemetry[signal]).any():
            continue
        spread = telemetry.spread(signal)
        away = [summed(given._replace(**{field: getattr(given, field) + z * spread})) for z in QUARTERS]
        for name in sums:
            off = np.stack([there[name] - middle[name] for there in away])
            shift[name] += np.nan_to_num(off.mean(axis=0))
            variance[name] += np.nan_to_num(off.var(axis=0)) / NORMED
    return {name: Expected(middle[name], middle[name] + shift[name], variance[name]) for name in sums}
