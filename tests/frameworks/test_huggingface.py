"""The Trainer of Hugging Face transformers follows a calendar and loses nothing."""

from __future__ import annotations

import pytest

from tests.followed import EVENING_S, STEPS, Follower
from trainer_hooks.adapters.huggingface import follow

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make test-frameworks installs it")
transformers = pytest.importorskip("transformers", reason="transformers is not installed; make test-frameworks does")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")]

ROWS, LENGTH, WORDS = 4, 16, 32
TOKENS = ROWS * LENGTH


class Model(torch.nn.Module):
    """Predicts the next word from the last, with dropout: the random state counts too."""

    def __init__(self, losses, follower):
        super().__init__()
        self.embed = torch.nn.Embedding(WORDS, 8)
        self.drop = torch.nn.Dropout(0.2)
        self.read_out = torch.nn.Linear(8, WORDS)
        self.losses = losses
        self.follower = follower

    def forward(self, input_ids, labels):
        logits = self.read_out(self.drop(self.embed(input_ids)))
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        self.losses.append(loss.item().hex())
        if self.follower:
            self.follower.tick()
        return {"loss": loss, "logits": logits}


def train(folder, follower=None, resume=None, **options):
    torch.manual_seed(0)
    words = torch.randint(WORDS, (ROWS * STEPS, LENGTH), generator=torch.Generator().manual_seed(1))
    losses = []
    model = Model(losses, follower)
    settings = {
        "per_device_train_batch_size": ROWS,
        "save_strategy": "no",
        "logging_strategy": "no",
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "seed": 3,
        **options,
    }
    trainer = transformers.Trainer(
        model=model,
        args=transformers.TrainingArguments(output_dir=str(folder), max_steps=STEPS, **settings),
        train_dataset=[{"input_ids": row, "labels": row} for row in words],
    )
    if follower:
        assert follow(trainer, follower.governor) is follower.governor
    trainer.train(resume_from_checkpoint=resume)
    return losses, trainer


def test_held_saved_ended_and_resumed_with_the_losses_of_an_uninterrupted_run(tmp_path):
    free, _ = train(tmp_path / "free")
    morning = Follower()
    losses, trainer = train(tmp_path / "run", morning)
    morning.check_morning(20 * TOKENS)
    assert morning.governor.report().loader_watched
    assert trainer.state.global_step == 20
    assert sorted(path.name for path in (tmp_path / "run").glob("checkpoint-*")) == ["checkpoint-10", "checkpoint-20"]
    evening = Follower(EVENING_S)
    rest, trainer = train(tmp_path / "run", evening, resume=True)
    evening.check_evening(10 * TOKENS, 30 * TOKENS)
    assert trainer.state.global_step == 30
    assert losses + rest == free


def test_a_checkpoint_of_the_trainers_own_at_the_same_step_is_not_written_twice(tmp_path):
    saves = []

    class Counts(transformers.TrainerCallback):
        def on_save(self, args, state, control, **named):
            saves.append(state.global_step)

    torch.manual_seed(0)
    follower = Follower()
    original = transformers.Trainer.__init__

    def with_counts(self, *positional, **named):
        original(self, *positional, callbacks=[Counts()], **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformers.Trainer, "__init__", with_counts)
        train(tmp_path, follower, save_strategy="steps", save_steps=5)
    assert saves == [5, 10, 15, 20]


def test_tokens_are_counted_by_batch_under_accumulation(tmp_path):
    follower = Follower()
    follower.tick = lambda: None
    train(tmp_path, follower, gradient_accumulation_steps=2, per_device_train_batch_size=2)
    assert follower.governor.report().tokens == STEPS * TOKENS
