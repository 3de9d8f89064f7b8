"""The ranks of a tiny data-parallel training on the CPU, trained once freely and once with holds at random steps.

Usage: python -m tests.ddp_ranks OUT RANKS HOLDS MODE [AGENT ...]. MODE is `hub` or `reduce`; each AGENT is the socket
of an agent, whose node has an equal part of the ranks. The ranks are forked from one process, which has loaded PyTorch
for all of them. Each writes the steps at which it held, and the losses of both trainings, every digit of them.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
import traceback
from datetime import timedelta
from pathlib import Path

import torch
import torch._dynamo  # noqa: F401 - DDP loads it, which takes longer than training: once for all ranks
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from tests.run_calendars import run_calendar, second, window
from trainer_hooks import Governor
from trainer_hooks.agreement.choice import choose_agreement
from trainer_hooks.agreement.session import HubAgreement
from trainer_hooks.clock import Clock

BATCH, WIDTH, SPELL_S, MOST_RUN_STEPS, LOOK_S = 4, 8, 12.0, 4, 0.002


def main() -> None:
    out, ranks, holds, mode, *agents = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
    torch.set_num_threads(1)
    children = [fork(out, rank, ranks, holds, mode, agents) for rank in range(ranks)]
    endings = [os.waitpid(child, 0)[1] for child in children]
    sys.exit(int(any(endings)))


def fork(out, rank, ranks, holds, mode, agents):
    """Start a rank with the variables that torchrun sets; returns its process."""
    child = os.fork()
    if child:
        return child
    try:
        on_node = ranks // max(len(agents), 1)
        named = {"WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": on_node, "RANK": rank, "LOCAL_RANK": rank % on_node}
        named |= {"GRIDPACE_AGENT": agents[rank // on_node]} if agents else {}
        os.environ.update({name: str(value) for name, value in named.items()})
        be_rank(out, rank, holds, mode)
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        os._exit(1)
    os._exit(0)  # with eight ranks on two cores, taking PyTorch down takes longer than training


def be_rank(out, rank, holds, mode):
    dist.init_process_group("gloo", timeout=timedelta(seconds=300))
    agreement = choose_agreement(os.environ, reduced if mode == "reduce" else None, 3)
    if mode == "hub":
        assert agreement.reach(time.monotonic() + 300.0)
    dist.barrier()
    with HeldGovernor(holds, leads=rank == 0, agreement=Stands(agreement)) as governor:
        held = train(rank, governor.after_step)
    steps = iter(range(len(held)))
    free = train(rank, lambda: next(steps) == len(held) - 1)
    facts = {"held_at": governor.held_at, "stood_at": governor.stands.at, "saved_at": governor.saved_at}
    (out / f"{rank}.json").write_text(json.dumps({**facts, "held": held, "free": free, "state": governor.state}))
    dist.barrier()


def train(rank, after_step):
    """Train the same model on the same data until told to end; return the losses."""
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.Generator().manual_seed(rank)
    losses = []
    while True:
        batch = torch.randn(BATCH, WIDTH, generator=data)
        loss = (model(batch) - batch.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item().hex())
        if after_step():
            return losses


class Stands:
    """Notes at which steps this rank stood still, as it told the hub, or as the collective told it."""

    def __init__(self, agreement):
        self.at = []
        self._agreement = agreement
        if isinstance(agreement, HubAgreement):
            agreement._ask = self.listen(agreement._ask)

    def listen(self, ask):
        def asked(message):
            report = message.get("report", {})
            if report.get("mark") == "at":
                self.at.append(report["step"])
            return ask(message)

        return asked

    def __getattr__(self, name):
        return getattr(self._agreement, name)

    def stance(self, step, wish):
        stance = self._agreement.stance(step, wish)
        if stance == "hold":
            self.at.append(step)
        return stance


class HeldGovernor(Governor):
    """Rank 0's calendar asks for a hold after a random number of steps; a hold lasts for three looks, then all end.

    Its clock moves with the steps of run windows and with the looks of holds: none is missed on a slow machine.
    """

    def __init__(self, holds, *, leads, agreement):
        self.stands = agreement
        self.held_at, self.saved_at = [], []
        self.now_s = 0.0
        self.holds = holds
        self.dice = random.Random(1)
        self.run_steps = 1
        windows = [
            window(SPELL_S * part, SPELL_S * (part + 1), "hold" if part % 2 else "run") for part in range(2 * holds)
        ]
        windows.append(window(2 * holds * SPELL_S, 1e9, "run"))
        clock = Clock(lambda: second(self.now_s), lambda: self.now_s, self.look)
        super().__init__(run_calendar(*windows) if leads else None, clock=clock, agreement=agreement, record_s=1e9)

    def after_step(self):
        if self.now_s % (2 * SPELL_S) < SPELL_S:
            self.now_s += SPELL_S / self.run_steps
            self.run_steps = self.dice.randint(1, MOST_RUN_STEPS)
        if len(self.held_at) == self.holds:
            self.request_stop()
        return self.step(tokens=BATCH, save=lambda: self.saved_at.append(self._steps))

    def look(self, duration_s):
        in_hold = self.state == "hold" and self.now_s % (2 * SPELL_S) >= SPELL_S
        time.sleep(min(duration_s, LOOK_S))
        if in_hold:
            self.now_s += SPELL_S / 3

    def _enter(self, state):
        if state == "hold" != self.state and not self.should_exit:
            self.held_at.append(self._steps)
        super()._enter(state)


def reduced(number):
    joint = torch.tensor(number)
    dist.all_reduce(joint, dist.ReduceOp.MAX)
    return int(joint.item())


if __name__ == "__main__":
    main()
