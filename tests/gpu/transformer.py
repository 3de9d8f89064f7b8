"""A small transformer that trains on random tokens: enough matrix work to draw a board's power."""

from __future__ import annotations

import torch
from torch import nn

WIDTH, DEPTH, HEADS, VOCABULARY = {"cuda": 2048, "cpu": 16}, {"cuda": 8, "cpu": 1}, 8, 512
BATCH, LENGTH = {"cuda": 16, "cpu": 1}, {"cuda": 1024, "cpu": 8}


class TinyTransformer:
    """A model, its optimiser and its data on one device.

    Args:
        device: "cuda", or "cpu" for a try without a GPU.
    """

    def __init__(self, device: str) -> None:
        torch.manual_seed(0)
        if device == "cpu":
            torch.set_num_threads(1)  # else so small a step waits for threads
        layer = nn.TransformerEncoderLayer(WIDTH[device], HEADS, 4 * WIDTH[device], batch_first=True, dropout=0.0)
        self._model = nn.Sequential(
            nn.Embedding(VOCABULARY, WIDTH[device]),
            nn.TransformerEncoder(layer, DEPTH[device], enable_nested_tensor=False),
            nn.Linear(WIDTH[device], VOCABULARY),
        ).to(device)
        self._optimiser = torch.optim.AdamW(self._model.parameters())
        self._batch = torch.randint(0, VOCABULARY, (BATCH[device], LENGTH[device]), device=device)
        self._device = device

    def step(self) -> int:
        """Train one step to its end and return its tokens."""
        with torch.autocast(self._device, dtype=torch.bfloat16, enabled=self._device == "cuda"):
            loss = nn.functional.cross_entropy(self._model(self._batch).flatten(0, 1), self._batch.flatten())
        self._optimiser.zero_grad()
        loss.backward()
        self._optimiser.step()
        if self._device == "cuda":
            torch.cuda.synchronize()
        return self._batch.numel()
