"""Which physical GPUs belong to this training process."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from trainer_hooks.errors import GpuError, ScopeError
from trainer_hooks.gpu import NvmlGpu, NvmlSession
from trainer_hooks.visible import Board, Slice, visible_boards

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def process_gpus(environ: Mapping[str, str], session: NvmlSession) -> tuple[NvmlGpu, ...]:
    """Find the GPUs whose energy and limit are this process's to account for.

    Without CUDA_VISIBLE_DEVICES these are all GPUs. Where one launcher starts several ranks on a node (LOCAL_RANK
    with LOCAL_WORLD_SIZE above 1) and each sees several GPUs, a rank has the GPU of its number only, so that ranks
    do not multiply the node's energy.

    Args:
        environ: Environment of the process.
        session: NVML.

    Returns:
        The GPUs in CUDA's order; empty if CUDA would see none.

    Raises:
        ScopeError: The process has a MIG instance, not a whole board.
        GpuError: NVML does not answer, or a number does not say which GPU is meant.
    """
    boards, silent = _boards(session)
    visible = environ.get(_VISIBLE)
    found = visible_boards(visible, boards)
    if any(one.slice for one in found):
        name = next(one.board.uuid for one in found if one.slice)
        raise ScopeError(
            f"GPU {name}",
            "it is split into MIG instances and this process has one of them; power, energy and limit belong to the "
            "whole board, which others use too.",
            "Run on a whole GPU to have it limited and metered.",
        )
    numbers = visible is not None and any(one.by_number for one in found)
    ordered = environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    if numbers and not ordered and len({board.name for board in boards}) > 1:
        raise GpuError(
            f"{_VISIBLE}={visible}",
            "with unlike GPUs and CUDA's own order a number does not say which GPU is meant.",
            "Set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by UUID.",
        )
    if numbers and silent:
        raise GpuError(
            f"{_VISIBLE}={visible}",
            f"a GPU of this machine does not answer ({silent}), and a number may mean another one without it.",
            "Name GPUs by UUID, or have the GPU mended.",
        )
    mine = _share_of_rank([one.board for one in found], environ)
    return tuple(NvmlGpu(session, board.uuid, board.name) for board in mine)


def machine_gpus(session: NvmlSession) -> tuple[NvmlGpu, ...]:
    """Find every GPU of this machine that answers, in the order of PCI bus ids.

    Args:
        session: NVML.

    Raises:
        GpuError: NVML does not answer.
    """
    return tuple(NvmlGpu(session, board.uuid, board.name) for board in _boards(session)[0])


def _boards(session: NvmlSession) -> tuple[list[Board], str]:
    """List the boards in CUDA's order by bus id, and say why one that is there is not among them."""
    nvml = session.module()
    try:
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as error:
        raise GpuError("NVML", f"it cannot list the GPUs ({error}).", "Run nvidia-smi to see why.") from error
    found = [_board(nvml, index) for index in range(count)]
    silent = next((answer for answer in found if isinstance(answer, str) and answer), "")
    return sorted(board for board in found if isinstance(board, Board)), silent


def _board(nvml: Any, index: int) -> Board | str:
    """Look at a board; returns why it does not answer, or "" for one that this process may not use."""
    try:
        return _described(nvml, nvml.nvmlDeviceGetHandleByIndex(index))
    except nvml.NVMLError as error:
        # What the control group of this process keeps from it, CUDA does not count either.
        return "" if error.value == nvml.NVML_ERROR_NO_PERMISSION else str(error)


def _described(nvml: Any, handle: Any) -> Board:
    return Board(
        _text(nvml.nvmlDeviceGetPciInfo(handle).busId),
        _text(nvml.nvmlDeviceGetUUID(handle)),
        _text(nvml.nvmlDeviceGetName(handle)),
        tuple(_slices(nvml, handle)) if _is_split(nvml, handle) else None,
    )


def _is_split(nvml: Any, handle: Any) -> bool:
    try:
        return bool(nvml.nvmlDeviceGetMigMode(handle)[0])
    except nvml.NVMLError:
        return False  # boards and drivers before MIG


def _slices(nvml: Any, handle: Any) -> Iterator[Slice]:
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        with contextlib.suppress(nvml.NVMLError):  # places of instances that were not made
            one = nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
            yield Slice(
                _text(nvml.nvmlDeviceGetUUID(one)),
                nvml.nvmlDeviceGetGpuInstanceId(one),
                nvml.nvmlDeviceGetComputeInstanceId(one),
            )


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _share_of_rank(boards: Sequence[Board], environ: Mapping[str, str]) -> Sequence[Board]:
    rank, ranks = environ.get("LOCAL_RANK", ""), environ.get("LOCAL_WORLD_SIZE", "")
    if not (rank.isdecimal() and ranks.isdecimal()) or int(ranks) < 2 or len(boards) < 2:
        return boards
    return boards[int(rank) : int(rank) + 1]
