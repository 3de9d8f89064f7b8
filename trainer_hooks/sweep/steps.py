"""How a command that cannot be changed tells its steps: by the lines it prints, or by a small file."""

from __future__ import annotations

import os
import re
import selectors
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from trainer_hooks.errors import SweepError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import IO

STEP_LINE = r"(?i)\bstep\b\D{0,3}(?P<step>\d+)"
_LOOK_S = 0.02
_CHUNK = 65536


@dataclass(frozen=True)
class Progress:
    """Steps and tokens since the last look.

    Attributes:
        steps: Steps, at least 0.
        tokens: Tokens of the whole job; 0 where it does not tell.
    """

    steps: int
    tokens: int


NONE = Progress(0, 0)


class Teller(Protocol):
    """Tells a job's steps."""

    def look(self) -> Progress:
        """Wait a little and return what was done since the last look."""


class Counter:
    """Turns totals into differences; a total that falls back counts from there.

    Args:
        tokens_per_step: Tokens of a step where the job does not tell them.
    """

    def __init__(self, tokens_per_step: int) -> None:
        self._tokens_per_step = tokens_per_step
        self._step: int | None = None
        self._tokens = 0

    def at(self, step: int, tokens: int | None) -> Progress:
        """Take totals; the first ones are where counting begins."""
        before, self._step = self._step, step
        tokens_before, self._tokens = self._tokens, tokens or 0
        if before is None:
            return NONE
        steps = max(step - before, 0)
        told = self._tokens_per_step * steps if tokens is None else max(tokens - tokens_before, 0)
        return Progress(steps, told)

    def one(self, tokens: int | None) -> Progress:
        """Take one step, with its tokens where they are told."""
        return Progress(1, self._tokens_per_step if tokens is None else tokens)


class StepLines:
    """Reads a job's output, hands it on, and counts the lines that tell a step.

    Args:
        output: The job's standard output, a pipe.
        pattern: A line that tells a step. Its groups may be `step`, the number of the step, and `tokens`, those
            since the line before; without `step` each such line is one step.
        tokens_per_step: Tokens of a step where lines do not tell them.

    Raises:
        SweepError: The pattern is none.
    """

    def __init__(self, output: IO[bytes], pattern: str, tokens_per_step: int) -> None:
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise SweepError("--step-line", f"{pattern!r} is no regular expression ({error}).", "Mend it.") from error
        self._output = output
        self._has_reader = True
        self._counter = Counter(tokens_per_step)
        self._rest = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(output, selectors.EVENT_READ)

    def look(self) -> Progress:
        """Wait a little and return what was done since the last look."""
        if not self._selector.select(_LOOK_S):
            return NONE
        chunk = os.read(self._output.fileno(), _CHUNK)
        if not chunk:
            self._selector.unregister(self._output)  # closed: from now on only the waiting is left
            return NONE
        self._hand_on(chunk)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._rest = self._rest[-_CHUNK:]
        found = [self._step_of(line.decode("utf-8", "replace")) for line in lines]
        return Progress(sum(one.steps for one in found), sum(one.tokens for one in found))

    def _hand_on(self, chunk: bytes) -> None:
        if not self._has_reader:
            return
        try:
            sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
        except OSError:
            # Nobody reads it any more: that ends neither the training nor the sweep.
            self._has_reader = False
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what Python still has to write

    def _step_of(self, line: str) -> Progress:
        match = self._pattern.search(line)
        if match is None:
            return NONE
        groups = match.groupdict()
        tokens = _number(groups.get("tokens"))
        step = _number(groups.get("step"))
        if step is None:
            return self._counter.one(tokens)
        found = self._counter.at(step, None)
        return found if tokens is None else Progress(found.steps, tokens if found.steps else 0)


class StepFile:
    """Looks into a file in which a job keeps its number of steps and, if it likes, of tokens: `120 983040`.

    Args:
        path: The file; it need not be there yet.
        tokens_per_step: Tokens of a step where the file does not tell them.
        sleep: Waits for a number of seconds.
    """

    def __init__(self, path: Path, tokens_per_step: int) -> None:
        self._path = path
        self._counter = Counter(tokens_per_step)
        self._timer = selectors.DefaultSelector()

    def look(self) -> Progress:
        """Wait a little and return what was done since the last look."""
        self._timer.select(_LOOK_S)
        try:
            *_, line = self._path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):  # not there yet, or just being written
            return NONE
        step, tokens = (*(_number(word) for word in line.split()[:2]), None, None)[:2]
        return NONE if step is None else self._counter.at(step, tokens)


def _number(text: str | None) -> int | None:
    cleaned = (text or "").replace(",", "").replace("_", "")
    return int(cleaned) if cleaned.isdecimal() else None
