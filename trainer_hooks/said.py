"""Sentences for whoever follows the training's log, each of them once."""

from __future__ import annotations

import logging

_LOG = logging.getLogger("trainer_hooks")


class Said:
    """Logs each sentence once."""

    def __init__(self) -> None:
        self._sentences: set[str] = set()

    def __call__(self, sentence: str) -> None:
        """Log a sentence unless it was said before."""
        if sentence not in self._sentences:
            self._sentences.add(sentence)
            _LOG.warning("gridpace: %s", sentence)
