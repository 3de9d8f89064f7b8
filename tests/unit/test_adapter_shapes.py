"""Adapters held to the shape of a framework's loop: Composer, which needs an older PyTorch; torchtitan; plain loops."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tests.followed import EVENING_S, STEPS, Follower
from trainer_hooks.adapters.batches import batch_tokens
from trainer_hooks.adapters.composer import follow as follow_composer
from trainer_hooks.adapters.pytorch import follow
from trainer_hooks.adapters.torchtitan import governed

TOKENS = 512


class Checkpointer:
    """The parts of torchtitan's CheckpointManager that its trainer and the adapter use."""

    def __init__(self, disk, *, interval=1000, enable=True):
        self.disk = disk
        self.interval = interval
        self.enable = enable
        self.load_only = False
        self.pending = None
        self.trainer = None

    def load(self):
        if self.disk:
            self.trainer.step, self.trainer.ntokens_seen = self.disk[max(self.disk)]

    def save(self, step, last_step=False):
        if self.enable and (last_step or step % self.interval == 0):
            self._async_wait()
            self.pending = (step, (self.trainer.step, self.trainer.ntokens_seen))

    def maybe_wait_for_staging(self):
        pass

    def _async_wait(self):
        if self.pending:
            self.disk[self.pending[0]] = self.pending[1]
            self.pending = None


class Titan:
    """torchtitan's Trainer around its loop."""

    def __init__(self, checkpointer, follower):
        self.checkpointer = checkpointer
        checkpointer.trainer = self
        self.follower = follower
        self.step = self.ntokens_seen = 0
        self.trained = []
        self.closed = False

    def batch_generator(self, batches):
        for _ in batches:
            self.ntokens_seen += TOKENS
            yield

    def train_step(self, batches):
        next(batches)
        self.trained.append(self.step)
        self.follower.tick()

    def train(self):
        self.checkpointer.load()
        batches = self.batch_generator(range(10 * STEPS))
        while self.should_continue_training():
            self.step += 1
            self.train_step(batches)
            self.checkpointer.save(self.step, last_step=self.step == STEPS)
        return self

    def should_continue_training(self):
        return self.step < STEPS

    def close(self):
        self.closed = True


def test_torchtitan_is_held_saved_ended_and_resumed():
    disk = {}
    morning = Follower()
    first = governed(Titan, morning.governor)(Checkpointer(disk), morning).train()
    morning.check_morning(20 * TOKENS)
    assert morning.governor.report().loader_watched
    assert sorted(disk) == [10, 20]  # on the disk, not on its way there
    assert first.checkpointer.interval == 1000
    evening = Follower(EVENING_S)
    second = governed(Titan, evening.governor)(Checkpointer(disk), evening).train()
    evening.check_evening(10 * TOKENS, 30 * TOKENS)
    assert first.trained + second.trained == list(range(1, STEPS + 1))
    second.close()
    assert second.closed


def test_torchtitan_does_not_write_a_step_twice_and_waits_where_it_saves_nothing():
    disk = {}
    follower = Follower()
    saver = Checkpointer(disk, interval=5)
    saves = []
    save = saver.save
    saver.save = lambda step, last_step=False: (saves.append(step), save(step, last_step))
    governed(Titan, follower.governor)(saver, follower).train()
    assert saves == list(range(1, 21))
    assert sorted(disk) == [5, 10, 15, 20]
    follower = Follower()
    trainer = governed(Titan, follower.governor)(Checkpointer({}, enable=False), follower).train()
    assert trainer.step == STEPS
    assert sum(follower.manual.slept_s) == 300.0 + 600.0


class Composed:
    """Composer's Trainer: events around batches, a timestamp, and a state that can be told to stop."""

    def __init__(self, disk):
        self.disk = disk
        self.state = SimpleNamespace(callbacks=[], timestamp=SimpleNamespace(batch=0, token=0), stopped=False)
        self.state.stop_training = lambda: setattr(self.state, "stopped", True)

    def save_checkpoint(self, name):
        self.disk[name] = (self.state.timestamp.batch, self.state.timestamp.token)

    def fit(self, follower):
        stamp = self.state.timestamp
        if self.disk:
            stamp.batch, stamp.token = next(iter(self.disk.values()))
        for callback in self.state.callbacks:
            callback.fit_start(self.state, None)
        while stamp.batch < STEPS and not self.state.stopped:
            follower.tick()
            stamp.batch, stamp.token = stamp.batch + 1, stamp.token + TOKENS
            for callback in self.state.callbacks:
                callback.batch_end(self.state, None)
        for callback in self.state.callbacks:
            callback.fit_end(self.state, None)
        return stamp.batch


@pytest.mark.parametrize("rank", [0, 1])
def test_composer_is_held_saved_ended_and_resumed(monkeypatch, rank):
    ranks = SimpleNamespace(dist=SimpleNamespace(get_global_rank=lambda: rank))
    monkeypatch.setitem(sys.modules, "composer", SimpleNamespace(Callback=object))
    monkeypatch.setitem(sys.modules, "composer.utils", ranks)
    counted = 0 if rank else TOKENS  # the first rank counts those of all
    disk = {}
    morning = Follower()
    trainer = Composed(disk)
    assert follow_composer(trainer, "gridpace.pt", morning.governor) is morning.governor
    assert trainer.fit(morning) == 20
    morning.check_morning(20 * counted)
    assert disk == {"gridpace.pt": (20, 20 * TOKENS)}
    evening = Follower(EVENING_S)
    trainer = Composed(disk)
    follow_composer(trainer, "gridpace.pt", evening.governor)
    assert trainer.fit(evening) == 30
    evening.check_evening(10 * counted, 30 * counted)


def test_a_plain_loop_ends_early_and_steps_at_accumulation_boundaries():
    follower = Follower()
    saves, trained = [], []
    batches = [[SimpleNamespace(numel=lambda: 100)]] * (2 * STEPS)
    governor = follower.governor
    for batch in follow(batches, save=lambda: saves.append(len(trained)), governor=governor, accumulate=2):
        trained.append(batch)
        if len(trained) % 2 == 0:
            follower.tick()
    follower.check_morning(40 * 100)
    assert saves == [20, 40]


def test_a_plain_loop_goes_on_from_what_was_loaded_and_its_wait_for_data_is_timed():
    follower = Follower(EVENING_S)

    def loader():
        for _ in range(10):
            follower.manual.now_s += 20.0
            yield [SimpleNamespace(numel=lambda: 100)]

    made = {"save": None, "governor": follower.governor, "loaded_step": 20, "loaded_tokens": 2000}
    for _ in follow(loader(), **made):
        follower.tick()
    follower.check_evening(10 * 100, 30 * 100)
    report = follower.governor.report()
    assert report.loader_watched
    # Ten waits of 20 s beside ten steps of 60 s.
    assert report.waste.starvation_j == pytest.approx(0.25 * report.energy.energy_j, rel=0.05)


class Array:
    size = 24


class Tensor:
    def numel(self):
        return 48

    def size(self):
        return (6, 8)


@pytest.mark.parametrize(
    ("batch", "tokens"),
    [
        (Tensor(), 48),
        (Array(), 24),
        ((Tensor(), Array()), 48),
        ({"labels": Array(), "input_ids": Tensor()}, 48),
        ({"input": Array()}, 24),
        ({"pixels": Tensor()}, 0),
        ([], 0),
        ("text", 0),
    ],
)
def test_tokens_of_batches(batch, tokens):
    assert batch_tokens(batch) == tokens
