"""A stand-in for the module `pynvml`: the same names, units and error codes, with faults on demand."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pynvml


@dataclass
class Board:
    uuid: str
    bus_id: str
    name: str = "NVIDIA H100 80GB HBM3"
    limit_mw: int = 700_000
    power_mw: int = 120_500
    energy_mj: int = 5_000_250
    answers: dict[str, Any] = field(default_factory=dict)


class FakeNvml:
    """Boards by NVML index; a board's `answers` replace a function's answer, an int there being an error code."""

    NVMLError = pynvml.NVMLError

    def __init__(self, *boards: Board) -> None:
        self.boards = list(boards)
        self.inits = self.shutdowns = 0

    def __getattr__(self, name: str) -> Any:
        if name.startswith("NVML_"):
            return getattr(pynvml, name)
        raise AttributeError(name)

    def nvmlInit(self) -> None:
        self.inits += 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.boards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Board:
        return self.boards[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> Board:
        for board in self.boards:
            if board.uuid == uuid:
                return board
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)

    def nvmlDeviceGetPciInfo(self, board: Board) -> Any:
        return SimpleNamespace(busId=board.bus_id)

    def nvmlDeviceGetUUID(self, board: Board) -> str:
        return board.uuid

    def nvmlDeviceGetName(self, board: Board) -> bytes:
        return board.name.encode()

    def nvmlDeviceGetPowerManagementLimit(self, board: Board) -> Any:
        return self._answer(board, board.limit_mw)

    def nvmlDeviceGetEnforcedPowerLimit(self, board: Board) -> Any:
        return self._answer(board, board.limit_mw)

    def nvmlDeviceGetPowerManagementLimitConstraints(self, board: Board) -> Any:
        return self._answer(board, [200_000, 700_000])

    def nvmlDeviceGetPowerUsage(self, board: Board) -> Any:
        return self._answer(board, board.power_mw)

    def nvmlDeviceGetTotalEnergyConsumption(self, board: Board) -> Any:
        return self._answer(board, board.energy_mj)

    def nvmlDeviceGetTemperature(self, board: Board, sensor: int) -> Any:
        assert sensor == pynvml.NVML_TEMPERATURE_GPU
        return self._answer(board, 41)

    def nvmlShutdown(self) -> None:
        self.shutdowns += 1

    def nvmlDeviceGetMigMode(self, board: Board) -> Any:
        return self._answer(board, NvmlCode(pynvml.NVML_ERROR_NOT_SUPPORTED))

    def nvmlDeviceGetMarginTemperature(self, board: Board) -> Any:
        return self._answer(board, NvmlCode(pynvml.NVML_ERROR_NOT_SUPPORTED))

    def nvmlDeviceGetTemperatureThreshold(self, board: Board, threshold: int) -> Any:
        return self._answer(board, NvmlCode(pynvml.NVML_ERROR_NOT_SUPPORTED))

    def nvmlDeviceGetFieldValues(self, board: Board, fields: list[Any]) -> Any:
        return self._answer(board, NvmlCode(pynvml.NVML_ERROR_NOT_SUPPORTED))

    def nvmlDeviceSetPowerManagementLimit(self, board: Board, limit_mw: int) -> None:
        if self._answer(board, None) != "ignored":
            board.limit_mw = limit_mw

    def _answer(self, board: Board, usual: Any) -> Any:
        function = sys._getframe(1).f_code.co_name
        code = board.answers.get("all", board.answers.get(function, usual))
        if isinstance(code, NvmlCode):
            raise pynvml.NVMLError(code.code)
        return code


@dataclass(frozen=True)
class NvmlCode:
    """An error that a function of NVML ends with."""

    code: int
