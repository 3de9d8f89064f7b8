"""Gradient-boosted trees (LightGBM, the extra `forecast`) on what differs from the profile, with the weather ahead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from planner.errors import ConfigError
from planner.forecast.features import features
from planner.forecast.history import DAY_H, PROFILE_H

if TYPE_CHECKING:
    import lightgbm as lgb

NAME = "lightgbm-wx/2"
"""Model and version, where it sees weather."""
NAME_WITHOUT_WEATHER = "lightgbm/2"

LEAST_TRAINING_H = 120 * DAY_H
"""Hours of history below which the trees learn noise."""
_STRIDE_H = 54  # origins of all hours of the day, six hours on each time
_MOST_ORIGINS = 500
_ROUNDS = 300
_N_THREADS = 1  # the tasks of a backtest run side by side in processes
_PARAMETERS = {
    "learning_rate": 0.04,
    "num_leaves": 15,
    "feature_fraction": 0.6,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "verbosity": -1,
    "seed": 1,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": _N_THREADS,
}
_TAIL = 0.01  # of differences from the profile, on either side, where tails are heavy
_LEAF_SHARE = 1 / 160  # of the rows: 500 of 80,000
_MOST_IN_LEAF = 500


def available() -> bool:
    """Return whether LightGBM is installed."""
    return find_spec("lightgbm") is not None


@dataclass(frozen=True)
class Boosted:
    """Fitted trees.

    Args:
        model: The trees.
        start: Start of the first hour of the history they count from, UTC.
        horizon_h: Hours ahead that they know.
    """

    model: lgb.Booster
    start: datetime
    horizon_h: int

    def paths(
        self,
        values: npt.NDArray[np.float64],
        weather: Mapping[str, npt.NDArray[np.float64]],
        origins: npt.NDArray[np.int64],
        seed: int | None,
    ) -> npt.NDArray[np.float64]:
        """Return the forecasts made at each origin, shape (m, horizon_h); arguments as for `features`."""
        seen, profile = features(self.start, values, weather, origins, self.horizon_h, seed)
        found = np.asarray(self.model.predict(seen, num_threads=_N_THREADS), dtype=np.float64)
        return found.reshape(profile.shape) + profile


def fit_boosted(
    start: datetime,
    values: npt.NDArray[np.float64],
    weather: Mapping[str, npt.NDArray[np.float64]],
    until: int,
    horizon_h: int,
    *,
    absolute: bool,
    seed: int,
) -> Boosted:
    """Return trees fitted to what was known before an hour.

    Args:
        start: Start of the first hour, UTC.
        values: The signal, one value per hour, without NaN, shape (n,).
        weather: Weather by name as it was, shape (n,) each; errors that grow with lead are laid on it.
        until: First hour that is not known.
        horizon_h: Hours ahead.
        absolute: Whether absolute errors are minimised, which heavy tails ask for, else squared ones.
        seed: Of the errors of the weather.

    Raises:
        ConfigError: LightGBM is not installed.
    """
    if not available():
        raise ConfigError("the boosted forecast needs LightGBM", fix='install it: pip install "gridpace[forecast]"')
    import lightgbm as lgb

    origins = np.arange(until - horizon_h, PROFILE_H - 1, -_STRIDE_H, dtype=np.int64)[:_MOST_ORIGINS]
    seen, profile = features(start, values, weather, origins, horizon_h, seed)
    wanted = (values[origins[:, None] + np.arange(horizon_h)] - profile).ravel()
    if absolute:
        # A storm once in years would be forecast again, on a scale that stretches it a hundredfold.
        wanted = np.clip(wanted, *np.quantile(wanted, [_TAIL, 1.0 - _TAIL]))
    parameters = _PARAMETERS | {
        "objective": "l1" if absolute else "l2",
        "min_data_in_leaf": int(np.clip(len(wanted) * _LEAF_SHARE, 20, _MOST_IN_LEAF)),
    }
    return Boosted(lgb.train(parameters, lgb.Dataset(seen, wanted), _ROUNDS), start, horizon_h)
