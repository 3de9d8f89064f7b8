"""GPUs in watts, joules and degrees: the protocol, and NVML behind it.

NVML counts milliwatts, millijoules and nanoseconds; they become watts, joules and seconds here and nowhere else. Limits
are set with the first version of the setter and read back, because the second version of the binding drops the return
code (seen in nvidia-ml-py 12.575 to 13.615), so that an unprivileged call looks like a success.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from trainer_hooks.errors import GpuError
from trainer_hooks.nvml import BLANK_32, BLANK_64, NvmlSession
from trainer_hooks.throttle import HeldBack

__all__ = [
    "LIMIT_TOLERANCE_W",
    "Gpu",
    "LimitVerdict",
    "NvmlGpu",
    "NvmlSession",
    "Outcome",
]

Outcome = Literal["applied", "clamped", "overridden", "denied", "ignored", "unsupported", "lost"]

_MILLI = 1000.0
_NANO = 1e9
# No board draws or takes more, and none is colder or hotter; beyond these a driver's answer is garbage, not data. The
# largest announced module (two GPUs and a CPU) stays below 3 kW.
_MOST_W = 10_000.0
_COLDEST_C, _HOTTEST_C = -50.0, 200.0
# Drivers keep whole milliwatts, but some boards round a limit to whole watts.
LIMIT_TOLERANCE_W = 1.0
_SPLIT = "The board is split into MIG instances: its limit would bind the jobs of others on it too."
_CHECK_DRIVER = "Run nvidia-smi on this machine to see whether driver and GPU are well."


@dataclass(frozen=True)
class LimitVerdict:
    """What became of a request for a power limit.

    Attributes:
        requested_w: Limit asked for, W.
        limit_w: Limit read back afterwards, W; None if it cannot be read.
        enforced_w: Limit the driver enforces from all sources, W; None if it cannot be read.
        outcome: `applied` as asked; `clamped` to the board's range; `overridden`: ours was read back, a moment later
            another; `denied` for want of rights; `ignored`: accepted, but reading back shows another;
            `unsupported` by the board; `lost`: the GPU does not answer.
        settled_s: Time from the request until the limit was in force, s; None where that was not measured.
        why: What stands in the way, in one sentence, where there is more to say than the outcome; else "".
    """

    requested_w: float
    limit_w: float | None
    enforced_w: float | None
    outcome: Outcome
    settled_s: float | None = None
    why: str = ""

    @property
    def applied(self) -> bool:
        """Whether a limit of ours is now in force."""
        return self.outcome in {"applied", "clamped"}


class Gpu(Protocol):
    """One physical GPU. Readings are None where the board does not offer them.

    Every method raises GpuError when the GPU does not answer, except `set_power_limit_w`, whose verdict says so.
    """

    @property
    def uuid(self) -> str:
        """Identity that survives renumbering."""

    @property
    def name(self) -> str:
        """Product name."""

    @property
    def simulated(self) -> bool:
        """Whether readings are computed instead of measured."""

    def power_limit_w(self) -> float | None:
        """Return the limit that was requested last, W."""

    def enforced_limit_w(self) -> float | None:
        """Return the limit in force from all sources, W."""

    def limit_range_w(self) -> tuple[float, float] | None:
        """Return the lowest and highest limit the board takes, W."""

    def set_power_limit_w(self, limit_w: float) -> LimitVerdict:
        """Ask for a limit, W, and read back what came of it."""

    def power_w(self) -> float | None:
        """Return the present power of the board, W."""

    def energy_j(self) -> float | None:
        """Return the energy counter, J; it may be reset at any time."""

    def temperature_c(self) -> float | None:
        """Return the temperature of the GPU die, degrees C."""


class NvmlGpu:
    """A physical NVIDIA GPU.

    Args:
        session: NVML.
        uuid: UUID as NVML gives it, GPU-...
        name: Product name.
    """

    simulated = False

    def __init__(self, session: NvmlSession, uuid: str, name: str) -> None:
        self._session = session
        self.uuid = uuid
        self.name = name
        self._is_module: bool | None = None

    def power_limit_w(self) -> float | None:
        """Return the limit that was requested last, W."""
        return self._limit_w("NVML_FI_DEV_POWER_REQUESTED_LIMIT", "nvmlDeviceGetPowerManagementLimit")

    def enforced_limit_w(self) -> float | None:
        """Return the limit in force from all sources, W: the lowest of ours, the board's own and an outside one."""
        return self._limit_w("NVML_FI_DEV_POWER_CURRENT_LIMIT", "nvmlDeviceGetEnforcedPowerLimit")

    def limit_range_w(self) -> tuple[float, float] | None:
        """Return the lowest and highest limit the board takes, W."""
        found = self._read("nvmlDeviceGetPowerManagementLimitConstraints")
        if found is None:
            return None
        lowest_w, highest_w = (_watts(value / _MILLI) for value in found)
        return None if lowest_w is None or highest_w is None else (lowest_w, highest_w)

    def module_limit_w(self) -> float | None:
        """Return the limit in force for the whole module (GPU and CPU, on Grace), W; None where there is none."""
        nvml = self._session.module()
        field = (nvml.NVML_FI_DEV_POWER_CURRENT_LIMIT, nvml.NVML_POWER_SCOPE_MODULE)
        return _watts(_scaled(self._fields(field)[0], _MILLI))

    def power_w(self) -> float | None:
        """Return the power of the board, W: a mean over 1 s on most boards, an instant on the A100."""
        return _watts(_scaled(self._read("nvmlDeviceGetPowerUsage"), _MILLI))

    def energy_j(self) -> float | None:
        """Return the energy since the driver was loaded, J; renewed about every 100 ms.

        None on a module (Grace): its counter counts the CPU and all else on it too, so that it is not this GPU's.
        Source: Zeus, pull request 172 (2025), on a GH200.
        """
        if self._is_module is None:
            self._is_module = self.module_limit_w() is not None
        if self._is_module:
            return None
        found = self._read("nvmlDeviceGetTotalEnergyConsumption")
        return None if found is None or found in {BLANK_32, BLANK_64} else found / _MILLI

    def temperature_c(self) -> float | None:
        """Return the temperature of the GPU die, degrees C."""
        return _degrees(self._read("nvmlDeviceGetTemperature", 0))

    def margin_c(self) -> float | None:
        """Return how much hotter the GPU may get before it slows down for heat, K; negative beyond.

        Boards before Ada do not tell it; there it is their highest operating temperature less the present one.
        """
        found = _degrees(self._read("nvmlDeviceGetMarginTemperature"))
        # A blank reads as -1 here, which is a margin too: it counts where the board's temperature can be read.
        if found is not None and (found != -1 or self.temperature_c() is not None):
            return found
        nvml, present_c = self._session.module(), self.temperature_c()
        for threshold in (nvml.NVML_TEMPERATURE_THRESHOLD_GPU_MAX, nvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN):
            highest_c = _degrees(self._read("nvmlDeviceGetTemperatureThreshold", threshold))
            if highest_c is not None and present_c is not None:
                return highest_c - present_c
        return None

    def held_back(self) -> HeldBack:
        """Return how long the GPU has been held back since the driver was loaded, by cause."""
        nvml = self._session.module()
        found = self._fields(
            nvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP,
            nvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN,
            nvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN,
            nvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN,
        )
        return HeldBack(*(_scaled(value, _NANO) for value in found))

    def is_split(self) -> bool:
        """Return whether the board is split into MIG instances, which share its power, energy and limit."""
        found = self._read("nvmlDeviceGetMigMode")
        return found is not None and bool(found[0])

    def set_power_limit_w(self, limit_w: float) -> LimitVerdict:
        """Ask for a limit, W, within the board's range, and read back what came of it; it does not wait for more.

        The limit of a board that is split into MIG instances is not touched: it would bind the jobs of others.
        """
        try:
            if self.is_split():
                return LimitVerdict(limit_w, self.power_limit_w(), self.enforced_limit_w(), "unsupported", why=_SPLIT)
            bounds = self.limit_range_w()
            wanted_w = limit_w if bounds is None else min(max(limit_w, bounds[0]), bounds[1])
            refusal = self._set(wanted_w)
            limit, enforced = self.power_limit_w(), self.enforced_limit_w()
            why = self._why(refusal)
        except GpuError as error:
            return LimitVerdict(limit_w, None, None, "lost", why=error.why)
        outcome: Outcome
        if refusal is not None:
            outcome = refusal
        elif limit is None or abs(limit - wanted_w) > LIMIT_TOLERANCE_W:
            outcome = "ignored"
        else:
            outcome = "applied" if wanted_w == limit_w else "clamped"
        return LimitVerdict(limit_w, limit, enforced, outcome, why=why)

    def _set(self, limit_w: float) -> Outcome | None:
        nvml = self._session.module()
        try:
            self._session.call(self.uuid, "nvmlDeviceSetPowerManagementLimit", round(limit_w * _MILLI))
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_NO_PERMISSION:
                return "denied"
            if error.value in {nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_INVALID_ARGUMENT}:
                return "unsupported"
            raise self._fault("set the power limit", error) from error
        return None

    def _why(self, refusal: Outcome | None) -> str:
        if refusal == "denied":
            return "Setting a limit needs root, in a container CAP_SYS_ADMIN; without it the node's agent sets limits."
        if refusal == "unsupported" and self.module_limit_w() is not None:
            return "This board takes a limit for the whole module only, GPU and CPU together, not for the GPU."
        return "The board, or its driver, takes no limit." if refusal == "unsupported" else ""

    def _limit_w(self, field: str, function: str) -> float | None:
        """Read a limit by its field where the driver has that, else by the older function."""
        found = self._fields(getattr(self._session.module(), field))[0]
        return _watts(_scaled(self._read(function) if found is None else found, _MILLI))

    def _read(self, function: str, *arguments: int) -> Any:
        nvml = self._session.module()
        try:
            return self._session.read(self.uuid, function, *arguments)
        except nvml.NVMLError as error:
            raise self._fault(f"answer {function}", error) from error

    def _fields(self, *fields: int | tuple[int, int]) -> tuple[float | None, ...]:
        nvml = self._session.module()
        try:
            return self._session.fields(self.uuid, *fields)
        except nvml.NVMLError as error:
            raise self._fault("answer nvmlDeviceGetFieldValues", error) from error

    def _fault(self, action: str, error: Exception) -> GpuError:
        return GpuError(f"GPU {self.uuid} ({self.name})", f"it does not {action}: {error}.", _CHECK_DRIVER)


def _scaled(value: float | None, per_unit: float) -> float | None:
    return None if value is None else value / per_unit


def _watts(value_w: float | None) -> float | None:
    return None if value_w is None or not 0 <= value_w < _MOST_W else value_w


def _degrees(value_c: float | None) -> float | None:
    return None if value_c is None or not _COLDEST_C < value_c < _HOTTEST_C else float(value_c)
