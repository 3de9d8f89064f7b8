"""Lightning's Trainer follows a calendar and loses nothing."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.followed import EVENING_S, STEPS, Follower
from trainer_hooks.adapters.lightning import calendar_callback, newest_checkpoint

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make test-frameworks installs it")
lightning = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed; make test-frameworks does")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")]

ROWS, LENGTH = 4, 16
TOKENS = ROWS * LENGTH


class Loader:
    """Batches in a fixed order that can be taken up where they were left, twelve an epoch."""

    def __init__(self):
        self.rows = torch.randn(12, ROWS, LENGTH, generator=torch.Generator().manual_seed(1))
        self.given = 0

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        while self.given < len(self.rows):
            self.given += 1
            yield self.rows[self.given - 1]
        self.given = 0

    def state_dict(self):
        return {"given": self.given}

    def load_state_dict(self, state):
        self.given = state["given"]


class Module(lightning.LightningModule):
    def __init__(self, follower):
        super().__init__()
        self.follower = follower
        self.layer = torch.nn.Sequential(torch.nn.Linear(LENGTH, 8), torch.nn.Tanh(), torch.nn.Linear(8, LENGTH))
        self.losses = []

    def training_step(self, batch, _number):
        loss = torch.nn.functional.mse_loss(self.layer(batch), batch)
        self.losses.append(loss.item().hex())
        if self.follower:
            self.follower.tick()
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-2)


def fit(folder, follower=None, more=(), **options):
    torch.manual_seed(0)
    module = Module(follower)
    callbacks = [calendar_callback(folder, follower.governor)] if follower else []
    trainer = lightning.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[*callbacks, *more],
        **options,
    )
    trainer.fit(module, Loader(), ckpt_path=newest_checkpoint(folder), weights_only=False)
    return module.losses, trainer


def test_held_saved_ended_and_resumed_with_the_losses_of_an_uninterrupted_run(tmp_path):
    free, _ = fit(tmp_path / "free")
    assert newest_checkpoint(tmp_path / "run") is None
    morning = Follower()
    losses, trainer = fit(tmp_path / "run", morning)
    morning.check_morning(20 * TOKENS)
    assert trainer.global_step == 20
    # The one of step 10 was replaced when that of step 20 was whole.
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["gridpace-step=20.ckpt"]
    evening = Follower(EVENING_S)
    rest, trainer = fit(tmp_path / "run", evening)
    evening.check_evening(10 * TOKENS, 30 * TOKENS)
    assert trainer.global_step == 30
    assert losses + rest == free


def test_within_an_accumulation_nothing_is_done(tmp_path):
    follower = Follower()
    follower.tick = lambda: None
    steps = []
    follower.governor.step = lambda tokens, save: bool(steps.append(tokens))
    fit(tmp_path, follower, accumulate_grad_batches=2)
    assert steps == [2 * TOKENS] * STEPS


def test_sigterm_sets_a_flag_and_the_step_is_finished_and_saved(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    follower = Follower()
    module_step = []

    class Sends(lightning.Callback):
        def on_train_batch_start(self, trainer, module, batch, number):
            module_step.append(trainer.global_step)
            if trainer.global_step == 6:
                signal.raise_signal(signal.SIGTERM)

    _, trainer = fit(tmp_path, follower, more=[Sends()])
    # No exception flies out of fit: the seventh step ends, is saved, and the loop stops.
    assert trainer.global_step == 7
    assert newest_checkpoint(tmp_path).name == "gridpace-step=7.ckpt"
    assert signal.getsignal(signal.SIGTERM) == before


def test_lightning_14893_under_a_manager_that_has_handlers_of_its_own(tmp_path):
    """Lightning-AI/pytorch-lightning#14893: under submitit every process takes SIGTERM, again and again, to no end."""
    manager, ended = [], []

    class Sends(lightning.Callback):
        def on_train_batch_start(self, trainer, module, batch, number):
            if trainer.global_step == 4:
                there, tells = os.pipe()
                worker = os.fork()
                if not worker:
                    os.write(tells, b".")
                    while True:
                        time.sleep(0.01)
                os.read(there, 1)  # Python drops a signal that reaches a child before its interpreter stands
                os.kill(worker, signal.SIGTERM)  # as a data loader ends its workers
                ended.append(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]))
            if trainer.global_step == 6:
                for _ in range(5):
                    signal.raise_signal(signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda number, frame: manager.append(number))
    try:
        _, trainer = fit(tmp_path, Follower(), more=[Sends()])
        assert ended == [-signal.SIGTERM]  # the worker ended, and the training went on
        assert trainer.global_step == 7
        assert [path.name for path in tmp_path.iterdir()] == ["gridpace-step=7.ckpt"]
        signal.raise_signal(signal.SIGTERM)
        assert manager == [signal.SIGTERM]  # the manager has its handler back
    finally:
        signal.signal(signal.SIGTERM, before)
