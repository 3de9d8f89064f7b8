"""Ranks as threads of one process that speak to a hub without a socket in between."""

from __future__ import annotations

import os
import threading
import time

from trainer_hooks.agreement.coordinator import Timing
from trainer_hooks.agreement.session import HubAgreement, Place
from trainer_hooks.agreement.wish import Wish
from trainer_hooks.wire import Peer

# For tests that wait for the timeout, and for those in which a slow machine must not reach it.
QUICK = Timing(timeout_s=0.4, patience_s=3.0, save_s=1.0, retry_s=0.02)
PATIENT = Timing(timeout_s=10.0, patience_s=10.0, save_s=10.0, retry_s=0.02)
ME = Peer(os.getpid(), os.getuid(), os.getgid())
STEP_S = 0.002


class RankThread:
    """Trains steps of some thousandths of a second until told to end, and notes where it stood."""

    def __init__(self, hub, rank, ranks, *, root="", wish=lambda _step: Wish.GO, saves=True, timing=PATIENT):
        self.wish = wish
        self.saves = saves
        self.step = 0
        self.held, self.saved, self.failed = [], [], []
        self.ended_at = None
        self.end = threading.Event()
        place = Place("job", rank, ranks, root)
        self.agreement = HubAgreement(place, lambda message: hub.handle(ME, message), timing.timeout_s)
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.end.is_set() and self.ended_at is None:
            time.sleep(STEP_S)
            self.step += 1
            self.meet()

    def meet(self):
        while not self.end.is_set():
            stance = self.agreement.stance(self.step, self.wish(self.step))
            if stance == "save":
                self.saved.append(self.step)
                self.agreement.saved(self.saves)
                continue
            if stance in {"wait", "hold"}:
                self.held += [self.step] if stance == "hold" and self.step not in self.held else []
                time.sleep(self.agreement.pause_s)
                continue
            self.failed += [self.step] if stance == "failed" else []
            self.ended_at = self.step if stance == "exit" else None
            return


def start(*ranks):
    for rank in ranks:
        rank.thread.start()


def finish(*ranks):
    for rank in ranks:
        rank.end.set()
    for rank in ranks:
        rank.thread.join(5.0)
        rank.agreement.close()


def until(true, limit_s=20.0):
    deadline_s = time.monotonic() + limit_s
    while not true() and time.monotonic() < deadline_s:
        time.sleep(0.005)
    assert true()
