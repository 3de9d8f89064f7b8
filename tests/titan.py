"""torchtitan's own Trainer and checkpoints around a tiny model on the CPU: run free, followed, and taken up again.

    python -m tests.titan FOLDER

It writes FOLDER/found.json. torchtitan takes a machine without an accelerator for one with CUDA, so it is told
otherwise; its kernels for experts are left out where Triton is not installed, which they are written in.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import socket
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import torch

from tests.followed import EVENING_S, STEPS, Follower
from trainer_hooks.adapters.torchtitan import governed

ROWS, LENGTH, WORDS = 4, 16, 32


def import_titan():
    if importlib.util.find_spec("triton") is None:
        sys.modules["torchtitan.models.moe.kernels"] = SimpleNamespace(generate_permute_indices=None)
    import torchtitan.train

    for module in [module for name, module in sys.modules.items() if name.startswith("torchtitan")]:
        if getattr(module, "device_type", None) == "cuda":
            module.device_type, module.device_module = "cpu", torch.cpu
    torchtitan.train.dist_utils.set_pg_timeouts = lambda **_: None  # for NCCL only
    torchtitan.train.time = SimpleNamespace(
        sleep=lambda _: None, perf_counter=time.perf_counter
    )  # no other rank is waited for
    return torchtitan.train


@dataclasses.dataclass
class Arguments:
    width: int = 8

    def update_from_config(self, job):
        pass

    def get_nparams_and_flops(self, model, length):
        return 1, 1.0


class Model(torch.nn.Module):
    def __init__(self, arguments):
        super().__init__()
        self.embed = torch.nn.Embedding(WORDS, arguments.width)
        self.read_out = torch.nn.Linear(arguments.width, WORDS)

    def init_weights(self, buffer_device=None):
        random = torch.Generator().manual_seed(0)
        for weights in self.parameters():
            weights.copy_(torch.randn(weights.shape, generator=random))

    def forward(self, words):
        return self.read_out(self.embed(words))


class Loader:
    def __init__(self, **_):
        self.given = 0

    def __iter__(self):
        while True:
            words = torch.randint(WORDS, (ROWS, LENGTH + 1), generator=torch.Generator().manual_seed(self.given))
            self.given += 1
            yield {"input": words[:, :-1]}, words[:, 1:]

    def state_dict(self):
        return {"given": self.given}

    def load_state_dict(self, state):
        self.given = state["given"]


class Metrics:
    """Keeps every digit of each loss, and lets a minute pass."""

    losses: ClassVar[list] = []
    follower = None

    def __init__(self, *_):
        self.color = SimpleNamespace(blue="", red="", green="", yellow="", cyan="", reset="")
        self.ntokens_since_last_log = 0
        self.data_loading_times = []
        stats = SimpleNamespace(max_reserved_gib=0.0, max_reserved_pct=0.0)
        self.device_memory_monitor = SimpleNamespace(device_name="cpu", get_peak_stats=lambda: stats)

    def should_log(self, step):
        return True

    def log(self, step, loss, *_, **__):
        Metrics.losses.append([step, float(loss).hex()])
        if Metrics.follower:
            Metrics.follower.tick()

    def close(self):
        pass


def register():
    from torchtitan.components.loss import build_cross_entropy_loss
    from torchtitan.components.lr_scheduler import build_lr_schedulers
    from torchtitan.components.optimizer import build_optimizers
    from torchtitan.protocols.train_spec import TrainSpec, register_train_spec

    parts = {
        "model_cls": Model,
        "model_args": {"small": Arguments()},
        "parallelize_fn": lambda model, *_: model,
        "pipelining_fn": None,
        "build_optimizers_fn": build_optimizers,
        "build_lr_schedulers_fn": build_lr_schedulers,
        "build_dataloader_fn": Loader,
        "build_tokenizer_fn": None,
        "build_loss_fn": build_cross_entropy_loss,
        "build_metrics_processor_fn": Metrics,
    }
    register_train_spec("tiny", TrainSpec(**parts))


def train(titan, folder, follower=None):
    from torchtitan.config import JobConfig

    job = JobConfig()
    job.job.dump_folder = str(folder)
    job.model.name, job.model.flavor = "tiny", "small"
    job.training.steps, job.training.local_batch_size, job.training.seq_len = STEPS, ROWS, LENGTH
    job.optimizer.implementation = "foreach"
    job.lr_scheduler.warmup_steps = 2
    job.checkpoint.enable, job.checkpoint.interval = True, 1000
    job.checkpoint.enable_ft_dataloader_checkpoints = False
    Metrics.losses, Metrics.follower = [], follower
    trainer = (governed(titan.Trainer, follower.governor) if follower else titan.Trainer)(job)
    trainer.train()
    trainer.close()
    torch.distributed.destroy_process_group()
    return Metrics.losses


def main():
    folder = Path(sys.argv[1])
    with socket.create_server(("127.0.0.1", 0)) as free_port:
        port = free_port.getsockname()[1]
    one_rank = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in one_rank.items()})
    titan = import_titan()
    register()
    free = train(titan, folder / "free")
    morning = Follower()
    losses = train(titan, folder / "run", morning)
    morning.check_morning(20 * ROWS * LENGTH)
    assert morning.governor.report().loader_watched
    kept = sorted(path.name for path in (folder / "run" / "checkpoint").iterdir())
    evening = Follower(EVENING_S)
    rest = train(titan, folder / "run", evening)
    evening.check_evening(10 * ROWS * LENGTH, 30 * ROWS * LENGTH)
    (folder / "found.json").write_text(json.dumps({"free": free, "followed": losses + rest, "kept": kept}))


if __name__ == "__main__":
    main()
