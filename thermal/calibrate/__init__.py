"""Calibration: the settings of a cooling plant from the telemetry of its meters and sensors."""

from thermal.calibrate.balance import Balance, EnergyBalanceError, balances, check_balance
from thermal.calibrate.calibration import Calibration, Sample, calibrate
from thermal.calibrate.fit import Estimate
from thermal.calibrate.parameters import changed
from thermal.calibrate.score import Score, cv_rmse_pct, nmbe_pct, scores
from thermal.calibrate.sequence import SequenceEvidence
from thermal.calibrate.telemetry import SIGNALS, Telemetry

__all__ = [
    "SIGNALS",
    "Balance",
    "Calibration",
    "EnergyBalanceError",
    "Estimate",
    "Sample",
    "Score",
    "SequenceEvidence",
    "Telemetry",
    "balances",
    "calibrate",
    "changed",
    "check_balance",
    "cv_rmse_pct",
    "nmbe_pct",
    "scores",
]
