"""Megatron-LM's end of an iteration, by the shape it has in its repository: its training loop is in no package."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.followed import EVENING_S, STEPS, Follower
from trainer_hooks.adapters.megatron import follow
from trainer_hooks.errors import SettingError

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make test-frameworks installs it")
pytestmark = pytest.mark.frameworks

SAMPLES, LENGTH = 8, 16
TOKENS = SAMPLES * LENGTH


class Megatron:
    """The parts of `megatron.training.training` around an iteration."""

    def __init__(self, folder, follower, **settings):
        self.folder = folder
        self.follower = follower
        self.arguments = SimpleNamespace(
            save=str(folder), seq_length=LENGTH, global_batch_size=SAMPLES, consumed_train_samples=0, rank=0,
            save_interval=None, exit_signal_handler=True, async_save=False, iteration=0,
        )  # fmt: skip
        vars(self.arguments).update(settings)
        self.signals = []
        self.saved = []
        self.finalized = 0

    def get_args(self):
        return self.arguments

    def maybe_finalize_async_save(self, blocking=False):
        assert blocking
        self.finalized += 1

    def save_checkpoint_and_time(
        self,
        iteration,
        model,
        optimizer,
        opt_param_scheduler,
        num_floating_point_operations_so_far,
        checkpointing_context,
        non_persistent_ckpt=False,
        train_data_iterator=None,
    ):
        self.saved.append(iteration)
        state = {
            "model": model[0].state_dict(),
            "optimizer": optimizer.state_dict(),
            "iteration": iteration,
            "samples": self.arguments.consumed_train_samples,
        }
        torch.save(state, self.folder / "checkpoint.pt")

    def checkpoint_and_decide_exit(
        self,
        model,
        optimizer,
        opt_param_scheduler,
        iteration,
        num_floating_point_operations_so_far,
        checkpointing_context,
        train_data_iterator,
    ):
        if self.arguments.exit_signal_handler and self.signals:
            self.save_checkpoint_and_time(iteration, model, optimizer, opt_param_scheduler, 0, {})
            return True
        if self.arguments.save_interval and iteration % self.arguments.save_interval == 0:
            self.save_checkpoint_and_time(iteration, model, optimizer, opt_param_scheduler, 0, {})
        return False

    def train(self, before_decision=lambda iteration: None):
        torch.manual_seed(0)
        model = torch.nn.Linear(LENGTH, LENGTH)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        iteration = 0
        if (self.folder / "checkpoint.pt").exists():
            state = torch.load(self.folder / "checkpoint.pt")
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            iteration, self.arguments.consumed_train_samples = state["iteration"], state["samples"]
        losses = []
        while iteration < STEPS:
            rows = torch.randn(SAMPLES, LENGTH, generator=torch.Generator().manual_seed(iteration))
            loss = torch.nn.functional.mse_loss(model(rows), rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item().hex())
            iteration += 1
            self.arguments.consumed_train_samples += SAMPLES
            if self.follower:
                self.follower.tick()
            before_decision(iteration)
            if self.checkpoint_and_decide_exit([model], optimizer, None, iteration, 0.0, {}, None):
                break
        return losses


def test_held_saved_ended_and_resumed_with_the_losses_of_an_uninterrupted_run(tmp_path):
    (tmp_path / "free").mkdir()
    (tmp_path / "run").mkdir()
    free = Megatron(tmp_path / "free", None).train()
    morning = Follower()
    megatron = Megatron(tmp_path / "run", morning)
    follow(morning.governor, megatron)
    losses = megatron.train()
    morning.check_morning(20 * TOKENS)
    assert megatron.saved == [10, 20]
    evening = Follower(EVENING_S)
    megatron = Megatron(tmp_path / "run", evening)
    follow(evening.governor, megatron)
    rest = megatron.train()
    evening.check_evening(10 * TOKENS, 30 * TOKENS)
    assert losses + rest == free


def test_its_own_exit_signal_comes_first(tmp_path):
    follower = Follower()
    megatron = Megatron(tmp_path, follower)
    follow(follower.governor, megatron)
    losses = megatron.train(lambda iteration: megatron.signals.append(15) if iteration == 4 else None)
    assert len(losses) == 4
    assert megatron.saved == [4]


def test_other_ranks_count_no_tokens_and_a_save_on_its_way_is_waited_for(tmp_path):
    follower = Follower()
    megatron = Megatron(tmp_path, follower, rank=3, async_save=True)
    follow(follower.governor, megatron)
    megatron.train()
    follower.check_morning(0)
    assert megatron.finalized == 2


def test_without_a_place_to_save_the_run_waits_instead_of_ending(tmp_path):
    follower = Follower()
    megatron = Megatron(tmp_path, follower, save=None)
    follow(follower.governor, megatron)
    assert len(megatron.train()) == STEPS
    assert sum(follower.manual.slept_s) == 300.0 + 600.0


def test_another_shape_is_refused():
    with pytest.raises(SettingError, match="exit-signal-handler"):
        follow(None, SimpleNamespace(checkpoint_and_decide_exit=lambda state: False))
