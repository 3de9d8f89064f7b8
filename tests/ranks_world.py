"""Ranks and a hub on a network that loses, delays, doubles and reorders what they say, in simulated time."""

from __future__ import annotations

import heapq
import itertools
import random
from dataclasses import dataclass, field

from trainer_hooks.agreement.coordinator import Coordinator, Timing
from trainer_hooks.agreement.member import Member
from trainer_hooks.agreement.wish import Wish

TIMING = Timing(timeout_s=2.0, patience_s=8.0, save_s=6.0, retry_s=0.2)
LOOK_S = 0.1
STANDING = {"wait", "save", "hold"}
HELD = {"save", "hold"}


@dataclass(frozen=True)
class Weather:
    """What the network and the processes do."""

    loss: float = 0.0
    delay_s: float = 0.01
    doubling: float = 0.0
    step_s: tuple[float, float] = (0.02, 0.2)
    run_ahead: int | None = 4  # steps a rank may be ahead of the slowest; None: ranks without collectives
    deaths: tuple[tuple[float, int, float], ...] = ()  # when, who, how long until it starts again
    hub_deaths: tuple[tuple[float, float], ...] = ()  # when, how long
    failed_saves: frozenset[int] = frozenset()  # ranks whose first checkpoint fails


@dataclass
class Rank:
    number: int
    member: Member
    life: int = 0
    alive: bool = True
    step: int = 0
    stance: str = "go"
    waiting_since_s: float | None = None
    longest_wait_s: float = 0.0
    failures: int = 0
    trained: list[int] = field(default_factory=list)


class World:
    """Runs until a time; `wishes` maps an instant to what rank 0 wants."""

    def __init__(self, ranks, seed, weather, wishes):
        self.dice = random.Random(seed)
        self.weather = weather
        self.wishes = wishes
        self.now_s = 0.0
        self.tokens = itertools.count()
        self.events = []
        self.order = itertools.count()
        self.n = ranks
        self.hub = Coordinator(ranks, self.token(), TIMING)
        self.hub_life = 0
        self.hub_alive = True
        self.ranks = [Rank(i, Member(i, self.token(), TIMING.timeout_s)) for i in range(ranks)]
        self.held = {}  # (hub, epoch) -> steps at which ranks held in it
        self.joint_holds = set()
        self.apart_since_s = None
        self.longest_apart_s = 0.0
        self.moved = False  # whether a rank may have changed since the last check: what is under way changes none
        for rank in self.ranks:
            rank.failures = int(rank.number in weather.failed_saves)
            self.at(self.dice.uniform(*weather.step_s), lambda rank=rank: self.finish_step(rank, 0))
        for when, who, pause in weather.deaths:
            self.at(when, lambda who=who, pause=pause: self.kill(self.ranks[who % ranks], pause))
        for when, pause in weather.hub_deaths:
            self.at(when, lambda pause=pause: self.kill_hub(pause))
        self.at(LOOK_S, self.tick)

    def token(self):
        return f"{next(self.tokens):016x}"

    def at(self, delay_s, act):
        heapq.heappush(self.events, (self.now_s + delay_s, next(self.order), act))

    def run(self, until_s):
        while self.events and self.events[0][0] <= until_s:
            self.now_s, _, act = heapq.heappop(self.events)
            act()
            if self.moved:
                self.check()
        self.now_s = until_s
        return self

    def tick(self):
        if self.hub_alive:
            self.hub.advance(self.now_s)
        self.moved = True
        self.at(LOOK_S, self.tick)

    def kill(self, rank, pause_s):
        self.moved = True
        rank.alive, rank.life, rank.stance, rank.waiting_since_s = False, rank.life + 1, "go", None
        self.at(pause_s, lambda life=rank.life: self.start_again(rank, life))

    def start_again(self, rank, life):
        if rank.life == life and not rank.alive:
            # a rank that comes back is at the step of the others, as after loading the state from them
            rank.alive, rank.member = True, Member(rank.number, self.token(), TIMING.timeout_s)
            rank.step = max(other.step for other in self.ranks)
            self.at(0.0, lambda: self.look(rank, rank.life))

    def kill_hub(self, pause_s):
        self.hub_alive, self.hub_life = False, self.hub_life + 1
        self.at(pause_s, lambda life=self.hub_life: self.start_hub(life))

    def start_hub(self, life):
        if self.hub_life == life:
            self.hub_alive, self.hub = True, Coordinator(self.n, self.token(), TIMING)

    def finish_step(self, rank, life):
        if rank.life != life or not rank.alive:
            return
        ahead = self.weather.run_ahead
        if ahead is not None and rank.step + 1 - min(r.step for r in self.ranks) > ahead:
            self.at(LOOK_S / 5, lambda: self.finish_step(rank, life))
            return
        self.moved = True
        rank.step += 1
        rank.trained.append(rank.step)
        self.look(rank, life)

    def look(self, rank, life):
        if rank.life != life or not rank.alive:
            return
        self.moved = True
        wish = self.wishes(self.now_s) if rank.number == 0 else Wish.GO
        if rank.stance == "save":
            rank.failures, ok = max(rank.failures - 1, 0), not rank.failures
            rank.member.saved(ok)
        rank.stance = rank.member.meet(rank.step, wish, self.now_s)
        self.say(rank)
        self.note(rank)
        if rank.stance in STANDING:
            self.at(LOOK_S, lambda: self.look(rank, life))
        elif rank.stance == "exit":
            rank.alive = False
        else:
            self.at(self.dice.uniform(*self.weather.step_s), lambda: self.finish_step(rank, life))

    def note(self, rank):
        order = rank.member.order
        if rank.stance in HELD:
            self.held.setdefault((order.hub, order.epoch), set()).add(rank.step)
        if rank.stance == "wait" and order.phase in {"prepare", "commit"}:
            rank.waiting_since_s = self.now_s if rank.waiting_since_s is None else rank.waiting_since_s
            rank.longest_wait_s = max(rank.longest_wait_s, self.now_s - rank.waiting_since_s)
        else:
            rank.waiting_since_s = None

    def say(self, rank):
        report, sent_s, life = rank.member.tell(rank.step), self.now_s, rank.life
        hub_life = self.hub_life

        def arrive():
            if not self.hub_alive or self.hub_life != hub_life:
                return
            self.hub.receive(report, self.now_s)
            order = self.hub.order
            self.carry(lambda: self.answer(rank, life, order, report.version, sent_s))

        self.carry(arrive)

    def answer(self, rank, life, order, told, sent_s):
        # a hub that died has closed its connections: nothing of it arrives any more
        if rank.life == life and rank.alive and order.hub == self.hub.order.hub:
            rank.member.take(order, told, sent_s)

    def carry(self, arrive):
        copies = 0 if self.dice.random() < self.weather.loss else 1 + (self.dice.random() < self.weather.doubling)
        for _ in range(copies):
            self.at(self.dice.uniform(0.0, self.weather.delay_s), arrive)

    def check(self):
        self.moved = False
        alive = [rank for rank in self.ranks if rank.alive]
        held = {rank.step for rank in alive if rank.stance in HELD}
        assert len(held) <= 1, f"at {self.now_s:.2f} s ranks hold at steps {held}"
        if len(alive) == self.n and held and all(rank.stance == "hold" for rank in alive):
            self.joint_holds |= held
        apart = bool(held) and any(rank.step not in held or rank.stance not in STANDING for rank in alive)
        if not apart:
            self.apart_since_s = None
        elif self.apart_since_s is None:
            self.apart_since_s = self.now_s
        else:
            self.longest_apart_s = max(self.longest_apart_s, self.now_s - self.apart_since_s)
