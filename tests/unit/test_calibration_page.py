"""docs/calibration.md lists what telemetry may hold, with the units and accuracies that the fit uses."""

from __future__ import annotations

import pytest

from thermal.calibrate import SIGNALS


@pytest.mark.parametrize("name", SIGNALS)
def test_every_signal_is_on_the_page_with_its_unit_and_accuracy(root, name):
    signal = SIGNALS[name]
    accuracy = f"{100 * signal.gain:g} %" if signal.gain else f"{signal.offset:g} K" if signal.offset else "-"
    unit = {"": "-", "C": "°C"}.get(signal.unit, signal.unit)
    row = f"| `{name}` | {unit} | {signal.meaning} | {accuracy} |"
    assert row in (root / "docs" / "calibration.md").read_text(encoding="utf-8")
