"""Prolog and epilog of Slurm's nodes: a job may limit its GPUs through the node agent, for as long as it runs.

Slurm says which GPUs a job was given only when it starts, so the grant is written then, by root, and taken away at the
end. A prolog that fails takes its node out of service; this one says what is wrong and lets the job start without a
grant, so that it trains without a limit.
"""

from __future__ import annotations

import shlex

from planner.errors import ConfigError


def prolog_script(folder: str) -> bytes:
    """Return the Prolog that writes a job's grant.

    Args:
        folder: The agent's folder of grants on the nodes, absolute.

    Raises:
        ConfigError: The path is not absolute.
    """
    return _PROLOG.replace("FOLDER", _quoted(folder)).encode()


def epilog_script(folder: str) -> bytes:
    """Return the Epilog that takes a job's grant away; arguments as for `prolog_script`."""
    return _EPILOG.replace("FOLDER", _quoted(folder)).encode()


def _quoted(folder: str) -> str:
    if not folder.startswith("/"):
        raise ConfigError(
            f"--grants names {folder!r}, which is not an absolute path", fix="name the agent's folder of grants"
        )
    return shlex.quote(folder.rstrip("/"))


_PROLOG = """\
#!/bin/sh
# Prolog of slurmd, run as root: the job may limit the GPUs that it was given, through the node agent.
folder=FOLDER
say() { echo "gridpace prolog, job $SLURM_JOB_ID: $*; the job runs without limits of its own" >&2; }

[ -n "${SLURM_JOB_GPUS:-}" ] || exit 0
if ! uuids=$(nvidia-smi --id="$SLURM_JOB_GPUS" --query-gpu=uuid --format=csv,noheader); then
    say "nvidia-smi does not tell the UUIDs of GPUs $SLURM_JOB_GPUS"
    exit 0
fi
staged="$folder/.slurm-$SLURM_JOB_ID.$$"
umask 022
if ! {
    echo "[grant slurm-$SLURM_JOB_ID]"
    echo "slurm_jobs = $SLURM_JOB_ID"
    echo "gpus = $(echo "$uuids" | paste -s -d , -)"
} >"$staged" || ! mv "$staged" "$folder/slurm-$SLURM_JOB_ID.ini"; then
    rm -f "$staged"
    say "no grant can be written to $folder"
fi
exit 0
"""

_EPILOG = """\
#!/bin/sh
# Epilog of slurmd, run as root: the job's grant ends with it; a limit it left is restored by the node agent.
rm -f FOLDER/"slurm-$SLURM_JOB_ID.ini"
exit 0
"""
