"""Faults of other frameworks' signal handling that the adapters are immune to, as far as they need no framework.

With the frameworks themselves: tests/frameworks/test_lightning.py (#14893) and test_torch_ranks.py (#20806).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

SCRIPT = """
import os, signal, sys, time
from trainer_hooks import Governor
governor = Governor()
governor.install_signal_handlers()
worker = os.fork()
if not worker:
    print('up', flush=True)
    while True: time.sleep(0.01)
if sys.stdin.readline():
    os.kill(worker, int(sys.argv[1]))
    ended = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
    print(ended, governor.step(save=lambda: None))
    signal.raise_signal(int(sys.argv[1]))
    print(governor.step(save=lambda: None))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_lightning_14893_a_worker_ends_by_its_signal_and_the_training_goes_on(root, number):
    """Lightning-AI/pytorch-lightning#14893: forked workers inherit handlers that let no signal end them."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(int(number))],
        env={**os.environ, "PYTHONPATH": str(root)},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == "up\n"
    out, _ = process.communicate("on\n", timeout=60)
    # The worker's signal is the worker's; the training's own is its request to end.
    assert out.splitlines() == [f"{-number} False", "True"]
