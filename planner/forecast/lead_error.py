"""Errors that a weather forecast would have had: what stands in for weather as issued where only its archive is kept.

Training and backtests take the archive plus these errors, which grow with lead; a score made so says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_PERSISTENCE = 0.95
_FULL_H = 168


@dataclass(frozen=True)
class _Spread:
    first: float
    last: float
    factor: bool = False

    def __str__(self) -> str:
        digits = ".2f" if self.factor else "g"
        return f"{self.first:{digits}} to {self.last:{digits}}"


_SPREADS = {
    "dry_bulb": _Spread(1.0, 3.5),
    "wet_bulb": _Spread(1.0, 3.5),
    "wind_speed_10m": _Spread(0.12, 0.40, factor=True),
    "wind_speed_100m": _Spread(0.12, 0.40, factor=True),
    "cloud_cover": _Spread(10.0, 35.0),
    "ghi": _Spread(0.12, 0.40, factor=True),
}

STATEMENT = (
    f"weather input: archive plus a synthetic error that grows with lead (AR(1) of {_PERSISTENCE:g} an hour; standard "
    f"deviation from the first to the {_FULL_H}th hour: temperature {_SPREADS['dry_bulb']} K, wind a log-factor of "
    f"{_SPREADS['wind_speed_10m']}, cloud {_SPREADS['cloud_cover']} points, irradiance a log-factor of "
    f"{_SPREADS['ghi']}), not weather forecasts as issued"
)
"""What is said beside every score."""


def with_lead_error(
    name: str, weather: npt.NDArray[np.float64], origins: npt.NDArray[np.int64], seed: int
) -> npt.NDArray[np.float64]:
    """Return weather as a forecast made at each origin might have told it.

    Args:
        name: Signal.
        weather: As it was, one row per origin, shape (m, horizon_h).
        origins: Positions of the origins, shape (m,); each has errors of its own, the same in any order and process.
        seed: Changes all errors.

    Returns:
        Shape (m, horizon_h).
    """
    from scipy.signal import lfilter  # slow to import, and a plan without trees has no need of it

    spread = _SPREADS[name]
    horizon_h = weather.shape[1]
    column = list(_SPREADS).index(name)
    shocks = np.array([np.random.default_rng([seed, column, int(o)]).standard_normal(horizon_h) for o in origins])
    # The first shock is the stationary start, the others are scaled so that the variance stays one.
    shocks[:, 1:] *= np.sqrt(1.0 - _PERSISTENCE**2)
    path = np.asarray(lfilter([1.0], [1.0, -_PERSISTENCE], shocks, axis=1))
    lead = np.arange(horizon_h) / (_FULL_H - 1)
    error = path * (spread.first + (spread.last - spread.first) * lead)
    return np.asarray(weather * np.exp(error) if spread.factor else weather + error)
