"""A training of two ranks without a framework: a number that each step changes, meeting over TCP after every step.

Every step of each rank is one line of `steps.log`, so that a step lost or done twice shows; the number after the last
step tells whether the state went through all of them in order.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

from trainer_hooks import Governor

STEP_S = 0.05
MODULUS = 2**31 - 1


def after(state: int, step: int) -> int:
    """Return the state after one step; the order of steps matters to it."""
    return (state * 48271 + step) % MODULUS


class Pair:
    """Two ranks that take the greater of their numbers."""

    def __init__(self, rank: int, port: int) -> None:
        if rank == 0:
            with socket.create_server(("127.0.0.1", port)) as server:
                server.settimeout(20)
                self._other, _ = server.accept()
        else:
            self._other = _reached(port)
        self._other.settimeout(60)
        self._lines = self._other.makefile("r")

    def greatest(self, number: int) -> int:
        self._other.sendall(f"{number}\n".encode())
        return max(number, int(self._lines.readline()))


def _reached(port: int) -> socket.socket:
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"rank 0 is not there on port {port}")


def main(folder: Path, last: int) -> None:
    rank = int(os.environ["SLURM_PROCID"])
    pair = Pair(rank, 20000 + int(os.environ["SLURM_JOB_ID"]) * 7 % 20000)
    checkpoint = folder / "checkpoint.json"
    state, step = json.loads(checkpoint.read_text()) if checkpoint.exists() else (1, 0)
    pair.greatest(0)  # both have read before either writes

    def save() -> None:
        if rank == 0:
            staged = checkpoint.with_suffix(".new")
            staged.write_text(json.dumps((state, step)))
            staged.replace(checkpoint)

    governor = Governor.from_env(install_signals=True, all_reduce=pair.greatest, every=4)
    governor.resume_at(step, step)
    with (folder / "steps.log").open("a", encoding="utf-8", buffering=1) as log:
        print(f"begin {rank} {step} {os.environ['SLURM_JOB_ID']} {time.time():.2f}", file=log)
        while step < last:
            time.sleep(STEP_S)
            pair.greatest(0)  # what a backward pass waits for
            step += 1
            state = after(state, step)
            print(f"step {rank} {step} {state} {time.time():.2f}", file=log)
            if governor.step(tokens=1, save=save):
                break
        else:
            save()
        print(f"end {rank} {step} {governor.state} {time.time():.2f}", file=log)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
