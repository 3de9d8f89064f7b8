"""One rank of a training on two, with an adapter: run free, followed by a morning, and taken up in the evening.

    python -m tests.adapter_ranks MODE FOLDER

It writes FOLDER/RANK.json.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import warnings
from pathlib import Path

import torch
from torch import distributed
from torch.distributed import checkpoint
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

from tests.followed import EVENING_S, STEPS, Follower
from trainer_hooks.adapters.pytorch import follow
from trainer_hooks.adapters.torch_ranks import drain, highest_of_ranks

ROWS, LENGTH = 4, 16
TOKENS = ROWS * LENGTH


def follower(start_s):
    return Follower(start_s, all_reduce=highest_of_ranks(), every=1, drain=drain)


class Plain:
    """A loop of plain PyTorch, data parallel or sharded."""

    def __init__(self, mode, folder):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(LENGTH, 32), torch.nn.Tanh(), torch.nn.Linear(32, LENGTH))
        if mode == "fsdp":
            fully_shard(model)
            self.model = model
        else:
            self.model = torch.nn.parallel.DistributedDataParallel(model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-2)
        self.folder = folder
        self.step = 0
        self.saved = []
        self.losses = []

    def save(self):
        self.saved.append(self.step)
        model, optimizer = get_state_dict(self.model, self.optimizer)
        checkpoint.save(
            {"model": model, "optimizer": optimizer, "step": torch.tensor(self.step)},
            checkpoint_id=self.folder / "saved",
        )

    def load(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        state = {"model": model, "optimizer": optimizer, "step": torch.tensor(0)}
        checkpoint.load(state, checkpoint_id=self.folder / "saved")
        set_state_dict(self.model, self.optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        self.step = int(state["step"])

    def batches(self):
        for step in range(self.step, STEPS):
            seed = 1000 * step + distributed.get_rank()
            yield torch.randn(ROWS, LENGTH, generator=torch.Generator().manual_seed(seed))

    def train(self, followed):
        batches = self.batches()
        for rows in follow(batches, save=self.save, governor=followed.governor) if followed else batches:
            loss = torch.nn.functional.mse_loss(self.model(rows), rows)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            self.losses.append(loss.item().hex())
            if followed:
                followed.tick()
        return self.losses


def plain(mode, folder):
    distributed.init_process_group("gloo")
    free = Plain(mode, folder).train(None)
    morning = follower(0.0)
    first = Plain(mode, folder)
    first.train(morning)
    morning.check_morning(20 * TOKENS)
    second = Plain(mode, folder)
    second.load()
    evening = follower(EVENING_S)
    evening.governor.resume_at(second.step * TOKENS, step=second.step)
    second.train(evening)
    evening.check_evening(10 * TOKENS, 30 * TOKENS)
    distributed.destroy_process_group()
    return {"free": free, "followed": first.losses + second.losses, "saved": first.saved}


def lightning_told_to_end(folder, told_rank):
    """One rank gets SIGTERM in the middle of a step; every rank is to save and end after the same step."""
    import lightning.pytorch as pl
    from lightning.pytorch.plugins.environments import TorchElasticEnvironment

    from trainer_hooks.adapters.lightning import calendar_callback
    from trainer_hooks.governor import Governor

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(LENGTH, LENGTH)

        def training_step(self, batch, number):
            if self.global_step == 6 and self.global_rank == told_rank:
                signal.raise_signal(signal.SIGTERM)
            return torch.nn.functional.mse_loss(self.layer(batch), batch)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1e-2)

    class Meets(pl.Callback):
        """Makes the Governor when the ranks have met, as the callback itself does from the environment."""

        def __init__(self, callback):
            self.callback = callback

        def setup(self, trainer, module, stage):
            self.callback._governor = Governor(all_reduce=highest_of_ranks(), every=4, drain=drain)

    followed = calendar_callback(folder)
    trainer = pl.Trainer(
        max_steps=STEPS, accelerator="cpu", devices=2, strategy="ddp", plugins=[TorchElasticEnvironment()],
        logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[Meets(followed), followed],
    )  # fmt: skip
    rows = torch.randn(ROWS * STEPS * 2, LENGTH, generator=torch.Generator().manual_seed(1))
    ending = "returned"
    try:
        trainer.fit(Module(), torch.utils.data.DataLoader(rows, batch_size=ROWS))
    except SystemExit as raised:
        ending = repr(raised)
    kept = sorted(path.name for path in Path(folder).glob("*.ckpt"))
    return {"step": trainer.global_step, "ending": ending, "kept": kept}


def main():
    mode, folder = sys.argv[1], Path(sys.argv[2])
    torch.set_num_threads(1)
    with warnings.catch_warnings(), contextlib.suppress(KeyboardInterrupt):
        warnings.simplefilter("ignore")
        found = lightning_told_to_end(folder, int(mode[-1])) if mode.startswith("told") else plain(mode, folder)
        (folder / f"{os.environ['RANK']}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
