"""Last acts before a signal ends the process, also where the interrupted code holds what they need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LOCKED = """
import os, signal, threading, time
from trainer_hooks.signals import before_ending
lock = threading.Lock()
def act():
    with lock:
        print("given back", flush=True)
before_ending(act)
with lock:
    os.kill(os.getpid(), signal.SIGTERM)
    print("let go", flush=True)
time.sleep(30)
"""


def test_last_acts_wait_for_a_lock_that_the_interrupted_code_holds():
    done = subprocess.run(
        [sys.executable, "-c", LOCKED],
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
        cwd=Path(__file__).parents[2],
    )
    assert (done.stdout.split("\n")[:2], done.returncode) == (["let go", "given back"], -15), done.stderr
