"""Which physical GPUs belong to this training process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from trainer_hooks.errors import GpuError
from trainer_hooks.gpu import NvmlGpu, NvmlSession

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class _Board(NamedTuple):
    bus_id: str
    uuid: str
    name: str


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
        GpuError: NVML does not answer, the order of unlike GPUs is not defined, or a MIG instance is named.
    """
    nvml = session.module()
    try:
        boards = sorted(_board(nvml, index) for index in range(nvml.nvmlDeviceGetCount()))
    except nvml.NVMLError as error:
        raise GpuError("NVML", f"it cannot list the GPUs ({error}).", "Run nvidia-smi to see why.") from error
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    unordered = environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID" and len({board.name for board in boards}) > 1
    chosen = boards if visible is None else _select(visible, boards, unordered)
    return tuple(NvmlGpu(session, board.uuid, board.name) for board in _share_of_rank(chosen, environ))


def _board(nvml: Any, index: int) -> _Board:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    return _Board(
        _text(nvml.nvmlDeviceGetPciInfo(handle).busId),
        _text(nvml.nvmlDeviceGetUUID(handle)),
        _text(nvml.nvmlDeviceGetName(handle)),
    )


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _select(visible: str, boards: Sequence[_Board], unordered: bool) -> list[_Board]:
    """Resolve the list as CUDA does: the first entry that names no GPU ends it, a GPU named twice voids it."""
    chosen: list[_Board] = []
    for raw in visible.split(","):
        entry = raw.strip()
        if entry.startswith("MIG-"):
            raise GpuError(
                f"CUDA_VISIBLE_DEVICES entry {entry!r}",
                "power and energy belong to a whole GPU, not to a MIG instance.",
                "Run on a whole GPU to have it limited and metered.",
            )
        if entry.isdecimal() and unordered:
            raise GpuError(
                f"CUDA_VISIBLE_DEVICES entry {entry!r}",
                "with unlike GPUs and CUDA's own order a number does not say which GPU is meant.",
                "Set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by UUID.",
            )
        matches = (
            [board for board in boards if board.uuid.lower().startswith(entry.lower())]
            if entry.upper().startswith("GPU-")
            else list(boards[int(entry) : int(entry) + 1])
            if entry.isdecimal()
            else []
        )
        if len(matches) != 1:
            break
        chosen += matches
    return chosen if len(set(chosen)) == len(chosen) else []


def _share_of_rank(boards: Sequence[_Board], environ: Mapping[str, str]) -> Sequence[_Board]:
    rank, ranks = environ.get("LOCAL_RANK", ""), environ.get("LOCAL_WORLD_SIZE", "")
    if not (rank.isdecimal() and ranks.isdecimal()) or int(ranks) < 2 or len(boards) < 2:
        return boards
    return boards[int(rank) : int(rank) + 1]
