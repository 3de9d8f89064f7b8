"""Commands whose standard streams are closed or no longer read: what they open and say goes nowhere else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SHOWS = """
import os, sys
from trainer_hooks.stdio import fill_standard_streams, tell
fill_standard_streams()
first = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
tell("gridpace")
print("a line", flush=True)
os.write(first, str(first).encode())
"""


@pytest.mark.parametrize("closed", ["", "0<&-", "2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"])
def test_no_file_takes_the_place_of_a_closed_stream(tmp_path, root, closed):
    file = tmp_path / "record"
    words = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-S", "-c", SHOWS, str(file)]
    subprocess.run(words, check=True, env={"PYTHONPATH": str(root)}, capture_output=True)
    assert int(file.read_text()) > 2, "what is said did not go into it"


@pytest.mark.parametrize("way", ["2>&-", "0<&- 1>&- 2>&-", "2>&1 | true"])
def test_the_job_s_exit_code_is_kept_where_nobody_reads_the_report(tmp_path, root, way):
    """The report itself stays within standard error, and so does its failure."""
    script = "from trainer_hooks.launch.command import main; main(['--', 'sh', '-c', 'sleep 0.2; exit 7'])"
    words = ["sh", "-c", f'("$@"; echo $? >{tmp_path}/code) {way}', "sh", sys.executable, "-S", "-c", script]
    subprocess.run(words, check=True, env={**os.environ, "PYTHONPATH": str(root), "GRIDPACE_SIMULATE": "1"})
    assert (tmp_path / "code").read_text() == "7\n"
