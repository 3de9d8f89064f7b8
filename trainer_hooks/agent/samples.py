"""What the agent sees of its GPUs, for the guard and for the metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer_hooks.agent.guard import GuardRules, margin_c
from trainer_hooks.agent.metrics import Metric
from trainer_hooks.errors import GpuError

if TYPE_CHECKING:
    from trainer_hooks.agent.leases import LeaseBook
    from trainer_hooks.gpu import Gpu


@dataclass(frozen=True)
class Sample:
    """One look at a GPU; None where it does not say.

    Attributes:
        gpu: UUID.
        limit_w: Limit set, W.
        power_w: Power, W.
        energy_j: Energy counter, J.
        temperature_c: Temperature of the die, degrees C.
        margin_c: Margin to slowdown, K.
        answers: Whether it answered at all.
    """

    gpu: str
    limit_w: float | None = None
    power_w: float | None = None
    energy_j: float | None = None
    temperature_c: float | None = None
    margin_c: float | None = None
    answers: bool = True


def take_sample(gpu: Gpu, rules: GuardRules, *, whole: bool) -> Sample:
    """Look at a GPU.

    Args:
        gpu: The GPU.
        rules: Rules of the guard, which say what stands for a margin that the board does not offer.
        whole: Also read what only the metrics tell.
    """
    try:
        return Sample(
            gpu.uuid,
            gpu.power_limit_w(),
            gpu.power_w() if whole else None,
            gpu.energy_j() if whole else None,
            gpu.temperature_c() if whole else None,
            margin_c(gpu, rules),
        )
    except GpuError:
        return Sample(gpu.uuid, answers=False)


def metrics_of(
    samples: Iterable[Sample], book: LeaseBook, turned_away: int, served: int, failures: int
) -> list[Metric]:
    """Write samples and counts as metrics.

    Args:
        samples: Last look at every GPU.
        book: The claims.
        turned_away: Requests turned away unread.
        served: Requests answered.
        failures: Pulls of the calendar that failed in a row.
    """
    looks = tuple(samples)
    states = [book.state_of(gpu) for gpu in book.boards]

    def gauge(name: str, text: str, key: str) -> Metric:
        found = [(look.gpu, getattr(look, key)) for look in looks]
        return Metric(name, "gauge", text, tuple(({"gpu": gpu}, value) for gpu, value in found if value is not None))

    def state(name: str, text: str, key: str) -> Metric:
        found = [(str(state["gpu"]), state[key]) for state in states]
        values = ((gpu, value) for gpu, value in found if isinstance(value, (int, float)))
        return Metric(name, "gauge", text, tuple(({"gpu": gpu}, float(value)) for gpu, value in values))

    energies = [(look.gpu, look.energy_j) for look in looks if look.energy_j is not None]
    return [
        gauge("gridpace_gpu_power_watts", "Power of the board.", "power_w"),
        gauge("gridpace_gpu_power_limit_watts", "Power limit that is set.", "limit_w"),
        gauge("gridpace_gpu_temperature_celsius", "Temperature of the die.", "temperature_c"),
        gauge("gridpace_gpu_thermal_margin_celsius", "Kelvin left until the board slows down.", "margin_c"),
        gauge("gridpace_gpu_answers_bool", "1 if the GPU answers.", "answers"),
        Metric(
            "gridpace_gpu_energy_joules_total",
            "counter",
            "Energy of the board since its driver was loaded.",
            tuple(({"gpu": gpu}, energy_j) for gpu, energy_j in energies),
        ),
        state("gridpace_gpu_prior_limit_watts", "Limit that will be given back.", "prior_w"),
        state("gridpace_gpu_wanted_limit_watts", "Lowest limit that is claimed.", "wanted_w"),
        state("gridpace_gpu_claims", "Claims of jobs that are alive.", "claims"),
        state("gridpace_gpu_guarded_bool", "1 while heat lowers the limit.", "guarded"),
        state("gridpace_gpu_overridden_bool", "1 while someone else's limit stands.", "overridden"),
        Metric("gridpace_lapsed_claims_total", "counter", "Claims that were not renewed.", (({}, book.lapsed),)),
        Metric("gridpace_answered_requests_total", "counter", "Requests answered.", (({}, served),)),
        Metric("gridpace_refused_requests_total", "counter", "Requests turned away unread.", (({}, turned_away),)),
        Metric("gridpace_calendar_failures", "gauge", "Pulls that failed in a row.", (({}, failures),)),
    ]
