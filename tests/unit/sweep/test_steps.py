"""Steps that a job tells by lines or by a file."""

from __future__ import annotations

import os

import pytest

from trainer_hooks.errors import SweepError
from trainer_hooks.sweep.steps import STEP_LINE, Progress, StepFile, StepLines


@pytest.fixture
def pipe():
    read, write = os.pipe()
    with os.fdopen(read, "rb", 0) as output:
        yield output, write
    os.close(write)


def looks(teller, write, *chunks):
    found = []
    for chunk in chunks:
        os.write(write, chunk)
        found.append(teller.look())
    return found


def test_lines_with_numbers_count_their_difference(pipe):
    output, write = pipe
    lines = StepLines(output, STEP_LINE, 1000)
    assert looks(lines, write, b"loading\nstep 5 loss 3.1\n", b"step: 6\nStep 8/90 loss 2.9\nst", b"ep=9\n") == [
        Progress(0, 0),  # counting begins at the first number told
        Progress(3, 3000),
        Progress(1, 1000),
    ]


def test_lines_may_tell_tokens_or_be_one_step_each(pipe, capfdbinary):
    output, write = pipe
    lines = StepLines(output, r"it (?P<step>\d+) tokens (?P<tokens>[\d,]+)", 0)
    assert looks(lines, write, b"it 1 tokens 500\n", b"it 3 tokens 4,096\nit 3 tokens 7\n") == [
        Progress(0, 0),
        Progress(2, 4096),
    ]
    each = StepLines(output, r"^\.$", 256)
    assert looks(each, write, b".\n.\nother\n") == [Progress(2, 512)]


def test_a_job_that_closes_its_output_is_waited_for():
    read, write = os.pipe()
    with os.fdopen(read, "rb", 0) as output:
        lines = StepLines(output, STEP_LINE, 0)
        os.close(write)
        assert [lines.look(), lines.look()] == [Progress(0, 0)] * 2


def test_a_pattern_that_is_none_is_refused(pipe):
    with pytest.raises(SweepError, match="no regular expression"):
        StepLines(pipe[0], "step (", 0)


def test_a_file_is_looked_into(tmp_path):
    path = tmp_path / "steps"
    file = StepFile(path, 100)
    found = [file.look()]
    for text in ("7", "9\n", "", "half", "12 5000\n", "14 6000", "2"):
        path.write_text(text)
        found.append(file.look())
    assert found == [
        Progress(0, 0),
        Progress(0, 0),
        Progress(2, 200),
        Progress(0, 0),
        Progress(0, 0),
        Progress(3, 5000),
        Progress(2, 1000),
        Progress(0, 0),  # started anew
    ]
