"""NVML as a session: started on first use, again after a fork, and again after a driver was loaded anew.

What it reads is checked here: each field's own return code, values that say "blank", and values that no board can have.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from trainer_hooks.errors import GpuError

if TYPE_CHECKING:
    from collections.abc import Callable

# The first restart after a GPU was lost, and the longest wait between two of them: starting NVML costs the driver work.
_FIRST_RETRY_S = 2.0
_LAST_RETRY_S = 120.0
# Codes by which NVML says that what it holds of the driver or of a board is void. After a driver was loaded anew an
# unknown error is as likely as the others.
_VOID = (
    "NVML_ERROR_UNINITIALIZED",
    "NVML_ERROR_DRIVER_NOT_LOADED",
    "NVML_ERROR_GPU_IS_LOST",
    "NVML_ERROR_RESET_REQUIRED",
    "NVML_ERROR_UNKNOWN",
)
# Codes by which NVML says that there is no such reading on this board or in this driver.
_ABSENT = (
    "NVML_ERROR_NOT_SUPPORTED",
    "NVML_ERROR_FUNCTION_NOT_FOUND",
    "NVML_ERROR_NO_DATA",
    "NVML_ERROR_DEPRECATED",
    "NVML_ERROR_ARGUMENT_VERSION_MISMATCH",
)
BLANK_32 = 0xFFFFFFFF
BLANK_64 = 0xFFFFFFFFFFFFFFFF
# Members of nvmlValue_t by nvmlValueType_t, as in nvml.h.
_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
_BLANKS = {"uiVal": BLANK_32, "ulVal": BLANK_64, "ullVal": BLANK_64, "usVal": 0xFFFF}


class NvmlSession:
    """NVML for one process and the children that it forks.

    Args:
        load: Returns the module `pynvml`.
        monotonic: Clock, s, that restarts are spaced by.
    """

    def __init__(
        self, load: Callable[[], Any] | None = None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._load = load or (lambda: importlib.import_module("pynvml"))
        self._monotonic = monotonic
        self._nvml: Any = None
        self._pid = 0
        self._lock = threading.RLock()
        self._handles: dict[str, Any] = {}
        self._lost: set[str] = set()
        self._void = False
        self._retry_s, self._retry_due_s = _FIRST_RETRY_S, 0.0

    def module(self) -> Any:
        """Return the initialised module `pynvml`.

        Raises:
            GpuError: The binding, the driver's library or the driver is not there.
        """
        if self._pid != os.getpid():
            # The parent's handles are void here, and a thread of it may have held the lock when this child was forked.
            self._lock = threading.RLock()
            with self._lock:
                self._start()
        elif self._void and self._monotonic() >= self._retry_due_s:
            with self._lock:
                self._restart()
        return self._nvml

    def handle(self, uuid: str) -> Any:
        """Return the handle of a GPU in this process; raises the binding's NVMLError if there is none."""
        nvml = self.module()
        with self._lock:
            if uuid not in self._handles:
                self._handles[uuid] = nvml.nvmlDeviceGetHandleByUUID(uuid)
            return self._handles[uuid]

    def call(self, uuid: str, function: str, *arguments: Any) -> Any:
        """Call a function of the binding on a GPU.

        Args:
            uuid: UUID of the GPU.
            function: Name of the function, whose first argument is the handle.
            arguments: Its other arguments.

        Returns:
            What the function returns.

        Raises:
            NVMLError: The binding's error. Where it says that the GPU or the driver is gone, NVML is started again by
                a later call, so that the GPU is found once it is back.
            GpuError: NVML cannot be started.
        """
        nvml = self.module()
        try:
            handle = self._handles.get(uuid)
            found = getattr(nvml, function)(self.handle(uuid) if handle is None else handle, *arguments)
        except nvml.NVMLError as error:
            if error.value in {getattr(nvml, name) for name in _VOID}:
                self._give_up(uuid)
            raise
        if self._lost:
            self._found(uuid)
        return found

    def read(self, uuid: str, function: str, *arguments: Any) -> Any:
        """Call a function that reads; None where board or driver has no such reading.

        Raises:
            NVMLError: Another error than that.
            GpuError: NVML cannot be started.
        """
        nvml = self.module()
        try:
            return self.call(uuid, function, *arguments)
        except nvml.NVMLError as error:
            if error.value in {getattr(nvml, name) for name in _ABSENT}:
                return None
            raise

    def fields(self, uuid: str, *fields: int | tuple[int, int]) -> tuple[float | None, ...]:
        """Read field values.

        Args:
            uuid: UUID of the GPU.
            fields: Field ids, or pairs of field id and scope.

        Returns:
            A value per field; None for a field that is not offered, whose own code is an error, or that is blank.

        Raises:
            NVMLError: The GPU does not answer.
            GpuError: NVML cannot be started.
        """
        nvml = self.module()
        try:
            found = self.read(uuid, "nvmlDeviceGetFieldValues", list(fields))
        except nvml.NVMLError as error:
            if error.value != nvml.NVML_ERROR_INVALID_ARGUMENT:
                raise
            found = None  # a driver that does not know a field may refuse them all
        if found is None:
            return (None,) * len(fields)
        return tuple(_value(field, nvml.NVML_SUCCESS) for field in found)

    def _start(self) -> None:
        try:
            nvml = self._load()
            nvml.nvmlInit()
        except Exception as error:
            raise GpuError(
                "NVML", f"it cannot be started ({error}).", "Install the NVIDIA driver, or train without a cap."
            ) from error
        self._nvml, self._handles, self._pid, self._void = nvml, {}, os.getpid(), False

    def _restart(self) -> None:
        if not self._void or self._monotonic() < self._retry_due_s:
            return  # another thread was first
        self._retry_due_s = self._monotonic() + self._retry_s
        self._retry_s = min(2 * self._retry_s, _LAST_RETRY_S)
        self._handles = {}
        with contextlib.suppress(self._nvml.NVMLError):  # what was void needs no end
            self._nvml.nvmlShutdown()
        self._start()

    def _give_up(self, uuid: str) -> None:
        with self._lock:
            self._lost.add(uuid)
            self._handles.pop(uuid, None)
            if not self._void:
                self._void = True
                self._retry_due_s = max(self._retry_due_s, self._monotonic() + _FIRST_RETRY_S)

    def _found(self, uuid: str) -> None:
        with self._lock:
            self._lost.discard(uuid)
            if not self._lost:
                self._void, self._retry_s = False, _FIRST_RETRY_S


def _value(field: Any, success: int) -> float | None:
    if field.nvmlReturn != success or not 0 <= field.valueType < len(_MEMBERS):
        return None
    member = _MEMBERS[field.valueType]
    value = getattr(field.value, member)
    return None if value == _BLANKS.get(member) else float(value)
