"""Train a tiny transformer under a run calendar: it is throttled, held, saved, ended, and resumed exactly.

The day below is compressed: a training step stands for a minute of it. By default the clock jumps from step to step, so
that the day takes seconds; with `--speed 3600` an hour of it takes a real second, and the holds can be watched. The GPU
is a simulated one: its power limit slows the steps as a real limit would.

    python docs/examples/train_tiny.py --out out/tiny             # the morning; ends itself when the calendar says off
    python docs/examples/train_tiny.py --out out/tiny --hour 8    # the job scheduler starts it again at 08:00
    python docs/examples/train_tiny.py --out out/plain --free     # the same training without a calendar

The files `losses.txt` of the first two starts together and of the third are the same, digit for digit.
"""

from __future__ import annotations

import argparse
import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import torch
from torch import nn

from trainer_hooks import Governor
from trainer_hooks.calendar import Calendar, RunCalendar, State, Window, write_calendar
from trainer_hooks.clock import Clock, accelerated_clock
from trainer_hooks.feed import CalendarFeed
from trainer_hooks.simulated import SimulatedGpu
from trainer_hooks.telemetry import TelemetryWriter, new_writer

RUN = "tiny"
DAY = datetime(2024, 5, 13, tzinfo=UTC)
STEP_S = 60.0
BATCH, CONTEXT, WIDTH = 8, 32, 32
# Until which hour, state, power limit in watts, why.
PLAN: tuple[tuple[int, State, float | None, str], ...] = (
    (2, "run", 400.0, "windy night"),
    (4, "run", 250.0, "less wind: fewer watts"),
    (5, "hold", None, "the morning ramp"),
    (6, "run", 400.0, "the sun is up"),
    (8, "off", None, "another run has the GPUs"),
    (12, "run", 300.0, "noon"),
)


def main() -> None:
    """Train until the calendar or the number of steps ends it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out/tiny"), help="folder for calendar, checkpoint and losses")
    parser.add_argument("--hour", type=float, default=0.0, help="hour of the day at which this start happens")
    parser.add_argument("--steps", type=int, default=360, help="steps of the whole training")
    parser.add_argument("--speed", type=float, default=0.0, help="seconds of the day per real second; 0 jumps")
    parser.add_argument("--free", action="store_true", help="train without a calendar")
    options = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    torch.use_deterministic_algorithms(mode=True)
    torch.set_num_threads(1)  # the model is too small to be worth a second one

    options.out.mkdir(parents=True, exist_ok=True)
    start = DAY + timedelta(hours=options.hour)
    clock = accelerated_clock(start, options.speed) if options.speed else jumping_clock(start)
    gpu = SimulatedGpu(monotonic=clock.monotonic)
    feed = None if options.free else CalendarFeed(publish_day(options.out / "calendar"), RUN)
    telemetry = TelemetryWriter(options.out / "telemetry", RUN, new_writer())
    training = Training.load(options.out)
    print(f"{clock.wall():%H:%M} begin at step {training.step}")
    with Governor(feed=feed, run=RUN, gpus=[gpu], clock=clock, telemetry=telemetry, record_s=1800.0) as gov:
        gov.resume_at(training.tokens)
        while training.step < options.steps:
            begin_s = clock.monotonic()
            training.train_step()
            step_s = STEP_S / gpu.relative_throughput()
            clock.sleep(max(step_s - (clock.monotonic() - begin_s), 0.0))
            if gov.step(tokens=BATCH * CONTEXT, save=training.save):
                break
        else:
            training.save()
        print(f"{clock.wall():%H:%M} end at step {training.step}, {gov.state}")
        print(gov.report())


def jumping_clock(start: datetime) -> Clock:
    """Make a clock that moves only when someone sleeps."""
    slept_s = [0.0]

    def sleep(duration_s: float) -> None:
        slept_s[0] += duration_s

    return Clock(lambda: start + timedelta(seconds=slept_s[0]), lambda: slept_s[0], sleep)


def publish_day(folder: Path) -> Path:
    """Publish PLAN as a run calendar."""
    windows = []
    begin_hour = 0
    twin = SimulatedGpu()
    for hour, state, limit_w, why in PLAN:
        twin.set_power_limit_w(limit_w or 0.0)
        twin.set_busy(state == "run")
        duration_s = 3600.0 * (hour - begin_hour)
        work_s = duration_s * twin.relative_throughput() if state == "run" else 0.0
        power_w = 0.0 if state == "off" else twin.power_w() or 0.0
        windows.append(
            Window(
                start=DAY + timedelta(hours=begin_hour),
                end=DAY + timedelta(hours=hour),
                state=state,
                pool=None if state == "off" else "pool",
                block=None if state == "off" else "block",
                gpus=0 if state == "off" else 1,
                gpu_power_limit_w=limit_w,
                checkpoint="none" if state == "run" else "before",
                tokens=work_s / STEP_S * BATCH * CONTEXT,
                energy_kwh=power_w * duration_s / 3.6e6,
                kgco2e=0.0,
                why=why,
            )
        )
        begin_hour = hour
    end = DAY + timedelta(hours=begin_hour)
    run = RunCalendar("tiny-day", DAY, DAY, end, "desk", RUN, tuple(windows))
    header = Calendar(
        calendar_id="tiny-day",
        issued_at=DAY,
        valid_from=DAY,
        valid_until=end,
        site="desk",
        timezone="UTC",
        slot_minutes=60,
        n_slots=begin_hour,
        inputs={},
        status="written by hand",
        certified_gap=None,
        shortfalls=(),
        blocks=(),
        notes=("example",),
    )
    write_calendar(folder, header, [run])
    return folder


def make_text() -> str:
    """Make a text with something to learn: sums that are right."""
    return "".join(f"{a}+{b}={a + b};" for a in range(40) for b in range(40))


class TinyTransformer(nn.Module):
    """A causal character model of two layers.

    Args:
        n_characters: Size of the alphabet.
    """

    def __init__(self, n_characters: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(n_characters, WIDTH)
        self.place = nn.Embedding(CONTEXT, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, nhead=4, dim_feedforward=4 * WIDTH, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, num_layers=2)
        self.read_out = nn.Linear(WIDTH, n_characters)

    def forward(self, characters: torch.Tensor) -> torch.Tensor:
        """Return the next character's logits at every place."""
        length = characters.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        hidden = self.embed(characters) + self.place(torch.arange(length))
        return self.read_out(self.layers(hidden, mask=mask, is_causal=True))


@dataclass
class Training:
    """Everything that a checkpoint has to hold, and the file of losses."""

    folder: Path
    model: TinyTransformer
    optimizer: torch.optim.Optimizer
    text: torch.Tensor
    step: int = 0
    tokens: int = 0

    @classmethod
    def load(cls, folder: Path) -> Training:
        """Begin anew, or where the checkpoint left off."""
        torch.manual_seed(0)
        text = make_text()
        alphabet = sorted(set(text))
        model = TinyTransformer(len(alphabet))
        training = cls(
            folder,
            model,
            torch.optim.AdamW(model.parameters(), lr=3e-3),
            torch.tensor([alphabet.index(character) for character in text]),
        )
        checkpoint, losses = folder / "checkpoint.pt", folder / "losses.txt"
        if checkpoint.exists():
            state = torch.load(checkpoint)
            training.model.load_state_dict(state["model"])
            training.optimizer.load_state_dict(state["optimizer"])
            torch.set_rng_state(state["random"])
            training.step, training.tokens = state["step"], state["tokens"]
        # Losses of steps that no checkpoint holds are trained again.
        kept = losses.read_text().splitlines(keepends=True)[: training.step] if losses.exists() else []
        losses.write_text("".join(kept))
        return training

    def save(self) -> None:
        """Write the checkpoint whole or not at all."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "step": self.step,
            "tokens": self.tokens,
        }
        partial = self.folder / "checkpoint.partial"
        torch.save(state, partial)
        partial.replace(self.folder / "checkpoint.pt")

    def train_step(self) -> None:
        """Train on one random batch and write the loss down, every digit of it."""
        starts = torch.randint(len(self.text) - CONTEXT - 1, (BATCH,))
        rows = torch.stack([self.text[start : start + CONTEXT + 1] for start in starts.tolist()])
        logits = self.model(rows[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1
        self.tokens += BATCH * CONTEXT
        with (self.folder / "losses.txt").open("a") as file:
            file.write(f"{self.step} {loss.item().hex()}\n")


if __name__ == "__main__":
    main()
