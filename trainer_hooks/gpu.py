"""GPUs in watts, joules and degrees: the protocol, and NVML behind it.

NVML counts milliwatts and millijoules; they become watts and joules here and nowhere else. Limits are set with the
first version of the setter and read back, because the second version of the binding drops the return code (seen in
nvidia-ml-py 12.575 to 13.615), so that an unprivileged call looks like a success.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from trainer_hooks.errors import GpuError

if TYPE_CHECKING:
    from collections.abc import Callable

Outcome = Literal["applied", "clamped", "overridden", "denied", "ignored", "unsupported", "lost"]

_BLANK = frozenset({0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF})
_MILLI = 1000.0
# Drivers keep whole milliwatts, but some boards round a limit to whole watts.
LIMIT_TOLERANCE_W = 1.0
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
    """

    requested_w: float
    limit_w: float | None
    enforced_w: float | None
    outcome: Outcome
    settled_s: float | None = None

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


class NvmlSession:
    """NVML, loaded on first use and again in a forked child, where the parent's handles are void.

    Args:
        load: Returns the module `pynvml`.
    """

    def __init__(self, load: Callable[[], Any] | None = None) -> None:
        self._load = load or (lambda: importlib.import_module("pynvml"))
        self._nvml: Any = None
        self._pid = 0
        self._handles: dict[str, Any] = {}

    def module(self) -> Any:
        """Return the initialised module `pynvml`.

        Raises:
            GpuError: The binding, the driver's library or the driver is not there.
        """
        if self._pid != os.getpid():
            try:
                nvml = self._load()
                nvml.nvmlInit()
            except Exception as error:
                raise GpuError(
                    "NVML", f"it cannot be started ({error}).", "Install the NVIDIA driver, or train without a cap."
                ) from error
            self._nvml, self._handles, self._pid = nvml, {}, os.getpid()
        return self._nvml

    def handle(self, uuid: str) -> Any:
        """Return the handle of a GPU in this process."""
        nvml = self.module()
        if uuid not in self._handles:
            self._handles[uuid] = nvml.nvmlDeviceGetHandleByUUID(uuid)
        return self._handles[uuid]


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

    def power_limit_w(self) -> float | None:
        """Return the limit that was requested last, W."""
        return self._read_milli("nvmlDeviceGetPowerManagementLimit")

    def enforced_limit_w(self) -> float | None:
        """Return the limit in force from all sources, W."""
        return self._read_milli("nvmlDeviceGetEnforcedPowerLimit")

    def limit_range_w(self) -> tuple[float, float] | None:
        """Return the lowest and highest limit the board takes, W."""
        found = self._read("nvmlDeviceGetPowerManagementLimitConstraints")
        if found is None or _BLANK.intersection(found):
            return None
        return found[0] / _MILLI, found[1] / _MILLI

    def power_w(self) -> float | None:
        """Return the power of the board, W: a mean over 1 s on most boards, an instant on the A100."""
        return self._read_milli("nvmlDeviceGetPowerUsage")

    def energy_j(self) -> float | None:
        """Return the energy since the driver was loaded, J; renewed about every 100 ms."""
        return self._read_milli("nvmlDeviceGetTotalEnergyConsumption")

    def temperature_c(self) -> float | None:
        """Return the temperature of the GPU die, degrees C."""
        found = self._read("nvmlDeviceGetTemperature", 0)
        return None if found is None else float(found)

    def set_power_limit_w(self, limit_w: float) -> LimitVerdict:
        """Ask for a limit, W, within the board's range, and read back what came of it."""
        try:
            bounds = self.limit_range_w()
            wanted_w = limit_w if bounds is None else min(max(limit_w, bounds[0]), bounds[1])
            refusal = self._set(wanted_w)
            limit, enforced = self.power_limit_w(), self.enforced_limit_w()
        except GpuError:
            return LimitVerdict(limit_w, None, None, "lost")
        outcome: Outcome
        if refusal is not None:
            outcome = refusal
        elif limit is None or abs(limit - wanted_w) > LIMIT_TOLERANCE_W:
            outcome = "ignored"
        else:
            outcome = "applied" if wanted_w == limit_w else "clamped"
        return LimitVerdict(limit_w, limit, enforced, outcome)

    def _set(self, limit_w: float) -> Outcome | None:
        nvml = self._session.module()
        try:
            nvml.nvmlDeviceSetPowerManagementLimit(self._session.handle(self.uuid), round(limit_w * _MILLI))
        except nvml.NVMLError as error:
            if error.value == nvml.NVML_ERROR_NO_PERMISSION:
                return "denied"
            if error.value in {nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_INVALID_ARGUMENT}:
                return "unsupported"
            raise self._fault("set the power limit", error) from error
        return None

    def _read_milli(self, function: str) -> float | None:
        found = self._read(function)
        return None if found is None else found / _MILLI

    def _read(self, function: str, *arguments: int) -> Any:
        nvml = self._session.module()
        try:
            found = getattr(nvml, function)(self._session.handle(self.uuid), *arguments)
        except nvml.NVMLError as error:
            absent = {
                nvml.NVML_ERROR_NOT_SUPPORTED,
                nvml.NVML_ERROR_FUNCTION_NOT_FOUND,
                nvml.NVML_ERROR_NO_DATA,
            }
            if error.value in absent:
                return None
            raise self._fault(f"answer {function}", error) from error
        return None if isinstance(found, int) and found in _BLANK else found

    def _fault(self, action: str, error: Exception) -> GpuError:
        return GpuError(f"GPU {self.uuid} ({self.name})", f"it does not {action}: {error}.", _CHECK_DRIVER)
