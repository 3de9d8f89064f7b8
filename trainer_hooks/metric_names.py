"""The metrics that the hooks export: one table, whose names end in their unit or are refused.

Prometheus and OpenTelemetry both let a name say anything. Here a metric is made of a subject and a unit, so that the
name cannot leave the unit out, and a counter's name says that it is one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge"]

# Unit at the end of a name -> the same unit as OpenTelemetry writes it (UCUM).
UNITS = {
    "joules": "J",
    "watts": "W",
    "seconds": "s",
    "tokens": "{token}",
    "ratio": "1",
    "tokens_per_joule": "{token}/J",
    "boards": "{board}",
}
_SUBJECT = re.compile(r"[a-z]+(_[a-z]+)*")


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes:
        subject: What is measured, in words joined by `_`, without its unit.
        unit: A key of UNITS.
        kind: `counter` never falls while its process lives; `gauge` may.
        help: One sentence.
        label: Name of the label that tells its series apart, or "".

    Raises:
        ValueError: The unit is not in the table, the subject holds a unit or is not such words, or the help is empty.
    """

    subject: str
    unit: str
    kind: Kind
    help: str
    label: str = ""

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"metric {self.subject!r}: its unit {self.unit!r} is none of {', '.join(UNITS)}")
        if not _SUBJECT.fullmatch(self.subject) or set(self.subject.split("_")) & {*UNITS, "total", "kwh", "mw", "wh"}:
            raise ValueError(f"metric {self.subject!r}: a subject is words in lower case, without unit and `total`")
        if not self.help or "\n" in self.help:
            raise ValueError(f"metric {self.subject!r}: its help must be one sentence")

    @property
    def prometheus(self) -> str:
        """Its name for Prometheus: subject, unit, and `total` behind it for a counter."""
        return f"gridpace_{self.subject}_{self.unit}" + ("_total" if self.kind == "counter" else "")

    @property
    def otel(self) -> str:
        """Its name for OpenTelemetry: the same words, parted by dots before the unit."""
        return f"gridpace.{self.subject.replace('_', '.')}.{self.unit}"


GPU_ENERGY = Metric("gpu_energy", "joules", "counter", "Energy of the GPU boards that this process meters.", "source")
GPU_ENERGY_ERROR = Metric("gpu_energy_error", "joules", "gauge", "Half-width of the uncertainty of that energy.")
HOST_ENERGY = Metric("host_energy", "joules", "counter", "Energy of the node's processors and memory by RAPL.")
NODE_ENERGY = Metric("node_energy", "joules", "counter", "Energy of the whole node by its PDU or BMC.")
WASTED = Metric("wasted_energy", "joules", "counter", "Energy of the boards that trained nothing kept.", "cause")
USEFUL_ENERGY = Metric("useful_energy", "joules", "gauge", "Energy of the boards less what was wasted.")
TRAINED = Metric("trained", "tokens", "counter", "Tokens trained by this process.")
USEFUL = Metric("useful", "tokens", "gauge", "Tokens trained less those that a rollback made worthless.")
EFFICIENCY = Metric("efficiency", "tokens_per_joule", "gauge", "Useful tokens per joule of the boards.")
STATE_TIME = Metric("state_time", "seconds", "counter", "Time spent in each state of the Governor.", "state")
ADHERENCE = Metric("plan_adherence", "ratio", "gauge", "Share of the time spent in the state the calendar asks for.")
METERED = Metric("metered", "boards", "gauge", "GPU boards that this process meters.")

METRICS = (
    GPU_ENERGY,
    GPU_ENERGY_ERROR,
    HOST_ENERGY,
    NODE_ENERGY,
    WASTED,
    USEFUL_ENERGY,
    TRAINED,
    USEFUL,
    EFFICIENCY,
    STATE_TIME,
    ADHERENCE,
    METERED,
)
