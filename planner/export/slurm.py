"""A calendar as work for Slurm: one job per stretch in which a run holds its GPUs, and one reservation for each.

A run's jobs are submitted in one go and share a name, so that Slurm never runs two of them at once; each begins with
its stretch and is dropped where it could not begin before the stretch ends. What happens inside a stretch (limits,
holds, checkpoints) the Governor or `gridpace-run` in the job does. All times are written as seconds from the moment
the script runs: a wall time would be read in the time zone of whoever runs it, and twice a year be two moments.
"""

from __future__ import annotations

import hashlib
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.errors import ConfigError
from planner.export.spells import stretches
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.export.spells import Stretch
    from trainer_hooks.contract import Calendar, RunCalendar

PREFIX = "gp-"

_MINUTE_S = 60
_WARNING_EARLY_S = 60  # Slurm may send the warning up to this much earlier than asked (sbatch, --signal)
_NAME_LIMIT = 100


@dataclass(frozen=True)
class SlurmSite:
    """How a calendar's runs and pools are called at the cluster.

    Attributes:
        scripts: Run -> its batch script, as seen from where the jobs are submitted.
        calendar: Where the nodes find the published calendars.
        partitions: Pool -> partition; a pool without one goes to the script's own or the default.
        gpus_per_node: GPUs of a node; None leaves node counts to the batch scripts.
        lead_s: Seconds before a job's end at which Slurm sends SIGUSR1 to its tasks.
        reserved: Whether the jobs run in the calendar's reservations.
    """

    scripts: Mapping[str, str]
    calendar: str
    partitions: Mapping[str, str]
    gpus_per_node: int | None
    lead_s: int
    reserved: bool

    @property
    def grace_s(self) -> int:
        """Seconds that a job may outlast its stretch.

        A training that follows the calendar leaves by itself at the end; with this grace the warning reaches only one
        that did not. In a reservation there is none: what follows it may need the nodes at once.
        """
        return 0 if self.reserved else self.lead_s + _WARNING_EARLY_S + _MINUTE_S

    def limit_minutes(self, stretch: Stretch) -> int:
        """Return the time limit of a stretch's job, whole minutes as Slurm counts; one that fits a reservation."""
        minutes = (stretch.length_s + self.grace_s) / _MINUTE_S
        return max(1, math.floor(minutes) if self.reserved else math.ceil(minutes))

    def nodes(self, stretch: Stretch) -> int | None:
        """Return the nodes that a stretch needs, or None where the size of a node is not known."""
        return None if self.gpus_per_node is None else math.ceil(stretch.gpus / self.gpus_per_node)


def job_name(run: str) -> str:
    """Return the name that all jobs of a run bear: what Slurm's commands take without quoting, and unmistakable."""
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", run)
    if safe == run and len(run) <= _NAME_LIMIT:
        return PREFIX + run
    return f"{PREFIX}{safe[:_NAME_LIMIT]}-{hashlib.sha256(run.encode()).hexdigest()[:8]}"


def submit_script(calendar: Calendar, runs: Sequence[RunCalendar], site: SlurmSite) -> bytes:
    """Return the shell script that submits the calendar's jobs, as the user whose jobs they are.

    It first takes back the jobs of the same runs that have not begun, so that running the script of a newer calendar
    replaces the older one's; jobs that run go on and follow the newer calendar from inside.

    Raises:
        ConfigError: A script is named for a run that the calendar does not have, or none is named.
    """
    _check_names("--script", site.scripts, [run.run for run in runs])
    chosen = [run for run in runs if run.run in site.scripts]
    if not chosen:
        raise ConfigError(
            "no run of the calendar has a batch script", fix="name one as --script RUN=FILE, for each run to submit"
        )
    for run in chosen:
        _check_moves(run, site)
    lines = [
        *_opening(calendar, "Submits the jobs of this calendar's runs; run it as the user who trains."),
        f"export GRIDPACE_CALENDAR={shlex.quote(site.calendar)}",
        f"grace={site.grace_s}",
        "",
        _SUBMIT,
        _cancel(chosen, None),
        "",
    ]
    for run in chosen:
        lines.append(f"export GRIDPACE_RUN={shlex.quote(run.run)}")
        lines += [_submission(calendar, stretch, site) for stretch in stretches(run)]
    return _ended(lines)


def _check_moves(run: RunCalendar, site: SlurmSite) -> None:
    """Refuse a run whose jobs would all look alike though its calendar changes its pool or its count of GPUs.

    Raises:
        ConfigError: Nothing says of them in which partition, or on how many nodes, each is to run.
    """
    found = stretches(run)
    counts, pools = sorted({one.gpus for one in found}), sorted({one.pool for one in found})
    if len(counts) > 1 and site.gpus_per_node is None:
        raise ConfigError(
            f"run {run.run!r} is on {' and '.join(map(str, counts))} GPUs in turn, and a job's nodes are not known",
            fix="say how many GPUs a node has, by --gpus-per-node",
        )
    without = [pool for pool in pools if pool not in site.partitions]
    if len(pools) > 1 and without:
        raise ConfigError(
            f"run {run.run!r} goes from pool to pool, and no partition is named for {' and '.join(without)}",
            fix=f"name one for each, such as --partition {without[0]}=NAME",
        )


def reservations_script(
    calendar: Calendar, runs: Sequence[RunCalendar], site: SlurmSite, users: Iterable[str]
) -> bytes:
    """Return the shell script that reserves nodes for the runs' stretches, as an operator of the cluster.

    Reservations of the same runs from an earlier calendar that no job runs in are deleted first.

    Args:
        calendar: The header.
        runs: The windows of every run.
        site: Names at the cluster, with `gpus_per_node`.
        users: Who may use the reservations.

    Raises:
        ConfigError: The GPUs of a node are not known, or nobody is named.
    """
    who = ",".join(users)
    if site.gpus_per_node is None or not who:
        raise ConfigError(
            "a reservation needs a number of nodes and users",
            fix="name --gpus-per-node N and --user NAME, or leave --reserve out",
        )
    _check_names("--script", site.scripts, [run.run for run in runs])
    chosen = [run for run in runs if run.run in site.scripts]
    lines = [
        *_opening(calendar, "Reserves nodes for this calendar's runs; run it as an operator of the cluster."),
        "",
        _RESERVE,
        # Jobs that wait for a reservation keep it from being deleted; submit.sh brings their successors.
        _cancel(chosen, who),
        "",
    ]
    for run in chosen:
        lines.append(f"withdraw {job_name(run.run)}")
        for stretch in stretches(run):
            partition = site.partitions.get(stretch.pool)
            words = [
                reservation_name(calendar, stretch),
                *_bounds(stretch),
                f"Users={who}",
                f"NodeCnt={site.nodes(stretch)}",
                *([f"PartitionName={partition}"] if partition else []),
            ]
            lines.append("reserve " + shlex.join(words))
    return _ended(lines)


def reservation_name(calendar: Calendar, stretch: Stretch) -> str:
    """Return the name of a stretch's reservation, which no other calendar's bears."""
    return f"{job_name(stretch.run)}.{calendar.calendar_id[:12]}.{stretch.number}"


def read_pairs(option: str, given: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    """Return what was typed as NAME=VALUE.

    Raises:
        ConfigError: A text has another shape, or its name is none of the calendar's.
    """
    pairs: dict[str, str] = {}
    for text in given:
        # A name may hold "=" itself: the longest known name that fits is meant.
        name = max((n for n in known if text.startswith(f"{n}=")), key=len, default=None)
        if name is None or len(text) == len(name) + 1:
            raise ConfigError(
                f"{option} {text!r} is not NAME=VALUE with a name of the calendar",
                fix=f"write one of: {', '.join(sorted(known)) or '(the calendar has none)'}",
            )
        pairs[name] = text[len(name) + 1 :]
    return pairs


def _submission(calendar: Calendar, stretch: Stretch, site: SlurmSite) -> str:
    partition, nodes = site.partitions.get(stretch.pool), site.nodes(stretch)
    words = [
        *_bounds(stretch),
        f"--job-name={job_name(stretch.run)}",
        f"--time={site.limit_minutes(stretch)}",
        f"--signal=USR1@{site.lead_s}",
        f"--comment={_comment(calendar, stretch)}",
        *([f"--partition={partition}"] if partition else []),
        *([f"--nodes={nodes}"] if nodes is not None else []),
        *([f"--reservation={reservation_name(calendar, stretch)}"] if site.reserved else []),
        site.scripts[stretch.run],
    ]
    return "submit " + shlex.join(words)


def _cancel(runs: Sequence[RunCalendar], users: str | None) -> str:
    names = ",".join(job_name(run.run) for run in runs)
    who = '"$(id -un)"' if users is None else shlex.quote(users)
    return f"scancel --quiet --state=PENDING --user={who} --name={names}"


def _comment(calendar: Calendar, stretch: Stretch) -> str:
    limits = [window.gpu_power_limit_w for window in stretch.windows]
    told = {"none" if limit is None else f"{limit:g} W" for limit in limits}
    return f"gridpace {calendar.calendar_id[:12]} GPU power limit {' then '.join(sorted(told))}"


def _bounds(stretch: Stretch) -> tuple[str, str]:
    return f"{stretch.start.timestamp():.0f}", f"{stretch.end.timestamp():.0f}"


def _check_names(option: str, given: Iterable[str], known: Sequence[str]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ConfigError(
            f"{option} names {unknown[0]!r}, which the calendar does not have", fix=f"runs: {', '.join(sorted(known))}"
        )


def _opening(calendar: Calendar, purpose: str) -> list[str]:
    return [
        "#!/bin/sh",
        f"# {purpose}",
        f"# Calendar {calendar.calendar_id}, from {iso(calendar.valid_from)} to {iso(calendar.valid_until)}.",
        "set -eu",
        "failed=0",
    ]


def _ended(lines: Sequence[str]) -> bytes:
    return ("\n".join((*lines, 'exit "$failed"')) + "\n").encode()


_SUBMIT = """\
# submit START END ARGUMENTS: START and END are seconds since 1970.
submit() {
    now=$(date +%s)
    start=$1
    end=$2
    shift 2
    if [ "$now" -ge "$end" ]; then
        echo "over, not submitted: $*" >&2
        return
    fi
    if [ "$start" -gt "$now" ]; then
        set -- --begin="now+$((start - now))" "$@"
    fi
    # A job that begins late is cut to what is left of its stretch, at the least a minute, and dropped after that.
    sbatch --export=ALL --dependency=singleton --requeue --open-mode=append --time-min=1 \\
        --deadline="now+$((end - now + grace))" "$@" || failed=1
}
"""

_RESERVE = """\
# withdraw NAME: deletes the reservations of a run's earlier calendars; one in use stays until its end.
withdraw() {
    scontrol --oneliner show reservation | sed -n "s/^ReservationName=\\\\($1\\\\.[^ ]*\\\\) .*/\\\\1/p" |
        while read -r name; do
            scontrol delete "ReservationName=$name" || echo "in use, left: $name" >&2
        done
}

# reserve NAME START END ARGUMENTS: START and END are seconds since 1970.
reserve() {
    now=$(date +%s)
    name=$1
    start=$2
    end=$3
    shift 3
    if [ "$now" -ge "$end" ]; then
        echo "over, not reserved: $name" >&2
        return
    fi
    if [ "$start" -gt "$now" ]; then when="now+$((start - now))"; else when=now; fi
    # What runs there when the time comes is not looked at: it may be this very run's job of the calendar before.
    scontrol create reservation "ReservationName=$name" "StartTime=$when" "EndTime=now+$((end - now))" \\
        Flags=IGNORE_JOBS "$@" || failed=1
}
"""
