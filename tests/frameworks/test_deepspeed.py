"""An engine of DeepSpeed follows a calendar and loses nothing."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.followed import EVENING_S, STEPS, Follower
from trainer_hooks.adapters.deepspeed import EngineFollower

torch = pytest.importorskip("torch", reason="PyTorch is not installed; make test-frameworks installs it")
pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore")]

ROWS, LENGTH, ACCUMULATE = 2, 16, 2
TOKENS = ROWS * ACCUMULATE * LENGTH


class Engine:
    """An engine of DeepSpeed's shape: counters that move at the accumulation boundary, its own checkpoints."""

    dp_world_size = 1

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.global_steps = self.global_samples = self.micro_steps = 0

    def __call__(self, rows):
        return torch.nn.functional.mse_loss(self.model(rows), rows)

    def backward(self, loss):
        (loss / ACCUMULATE).backward()

    def step(self):
        self.micro_steps += 1
        if self.micro_steps % ACCUMULATE == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.global_steps += 1
            self.global_samples += ROWS * ACCUMULATE

    def save_checkpoint(self, folder, client_state):
        Path(folder).mkdir(exist_ok=True)
        counters = (self.global_steps, self.global_samples, self.micro_steps)
        state = (self.model.state_dict(), self.optimizer.state_dict(), counters, client_state)
        torch.save(state, Path(folder) / "newest.pt")

    def load_checkpoint(self, folder):
        path = Path(folder) / "newest.pt"
        if not path.exists():
            return None, None
        model, optimizer, counters, client_state = torch.load(path)
        self.model.load_state_dict(model)
        self.optimizer.load_state_dict(optimizer)
        self.global_steps, self.global_samples, self.micro_steps = counters
        return str(path), client_state


def of_its_shape(model):
    return Engine(model, torch.optim.AdamW(model.parameters(), lr=1e-2))


def real(model):
    deepspeed = pytest.importorskip("deepspeed", reason="DeepSpeed is not installed; make test-frameworks installs it")

    # Its collective over shared memory would be compiled first; one rank needs none.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False

    class WithLoss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, rows):
            return torch.nn.functional.mse_loss(self.model(rows), rows)

    whole = WithLoss()
    engine, *_ = deepspeed.initialize(
        model=whole,
        optimizer=torch.optim.AdamW(whole.parameters(), lr=1e-2),
        config={
            "train_micro_batch_size_per_gpu": ROWS,
            "gradient_accumulation_steps": ACCUMULATE,
            "steps_per_print": 10**9,
        },
    )
    return engine


def train(make_engine, folder, follower=None):
    torch.manual_seed(0)
    engine = make_engine(torch.nn.Linear(LENGTH, LENGTH))
    governed = EngineFollower(engine, folder, seq_length=LENGTH, governor=follower.governor) if follower else None
    state = governed.load() if governed else None
    first = state["micro"] if state else 0
    losses = []
    for micro in range(first, STEPS * ACCUMULATE):
        rows = torch.randn(ROWS, LENGTH, generator=torch.Generator().manual_seed(micro))
        loss = engine(rows)
        engine.backward(loss)
        engine.step()
        losses.append(loss.item().hex())
        if follower and micro % ACCUMULATE:
            follower.tick()
        if governed and governed.after_step({"micro": micro + 1}):
            break
    return losses


@pytest.fixture
def one_rank(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    values = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    for name, value in {**values, "DS_ACCELERATOR": "cpu"}.items():
        monkeypatch.setenv(name, value)
    yield
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("make_engine", [of_its_shape, real])
def test_held_saved_ended_and_resumed_with_the_losses_of_an_uninterrupted_run(make_engine, tmp_path, one_rank):
    free = train(make_engine, tmp_path / "free")
    morning = Follower()
    losses = train(make_engine, tmp_path / "run", morning)
    assert len(losses) == 20 * ACCUMULATE
    morning.check_morning(20 * TOKENS)
    evening = Follower(EVENING_S)
    rest = train(make_engine, tmp_path / "run", evening)
    evening.check_evening(10 * TOKENS, 30 * TOKENS)
    assert losses + rest == free
