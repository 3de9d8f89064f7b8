"""The command `gridpace export slurm`."""

from __future__ import annotations

from pathlib import Path

import click

from planner.command import FILE
from planner.errors import ConfigError
from planner.terminal import note

LEAD_S = 300
LONGEST_LEAD_S = 65535  # Slurm takes no longer warning (sbatch, --signal)


@click.command("slurm", short_help="Write scripts that submit a calendar's jobs to Slurm.")
@click.argument("calendar", type=FILE)
@click.option("--script", "scripts", metavar="RUN=FILE", multiple=True, help="Batch script of a run; once per run.")
@click.option("--partition", "partitions", metavar="POOL=NAME", multiple=True, help="Partition of a pool's nodes.")
@click.option("--gpus-per-node", type=click.IntRange(1), help="GPUs of a node; else the batch script asks for nodes.")
@click.option(
    "--lead",
    "lead_s",
    type=click.IntRange(1, LONGEST_LEAD_S),
    default=LEAD_S,
    show_default=True,
    metavar="S",
    help="How long before a job's end Slurm sends SIGUSR1 to its tasks, s: what a checkpoint takes.",
)
@click.option("--reserve", is_flag=True, help="Also write reserve.sh, and have the jobs run in its reservations.")
@click.option("--user", "users", metavar="NAME", multiple=True, help="User of the reservations; repeatable.")
@click.option(
    "--calendar-at", metavar="PATH", help="Where the nodes find the calendars. [default: where they were read]"
)
@click.option(
    "--grants", metavar="PATH", help="Folder of the node agents' grants: also write prolog.sh and epilog.sh for it."
)
@click.option("--out", type=FILE, default=Path("slurm"), show_default=True, help="Folder to write into.")
def slurm_command(
    calendar: Path,
    scripts: tuple[str, ...],
    partitions: tuple[str, ...],
    gpus_per_node: int | None,
    lead_s: int,
    reserve: bool,
    users: tuple[str, ...],
    calendar_at: str | None,
    grants: str | None,
    out: Path,
) -> None:
    """Write submit.sh, which submits one job per stretch in which a run holds its GPUs.

    CALENDAR is an output folder of `gridpace plan`, or a calendar's own folder. Each job begins with its stretch, is
    dropped where it could not begin in time, is put back in the queue when its node fails, and gets SIGUSR1 before its
    end. Inside, the Governor or gridpace-run follows limits, holds and checkpoints.
    """
    from planner.export.files import write_files
    from planner.export.slurm import SlurmSite, read_pairs, reservations_script, submit_script
    from planner.export.slurm_grants import epilog_script, prolog_script
    from planner.folders import read_published
    from trainer_hooks.publish import CALENDARS

    header, runs, home = read_published(calendar)
    names = [run.run for run in runs]
    pools = sorted({window.pool for run in runs for window in run.windows if window.pool})
    published = home / CALENDARS if (home / CALENDARS).is_dir() else calendar
    site = SlurmSite(
        scripts={run: _script(path) for run, path in read_pairs("--script", scripts, names).items()},
        calendar=calendar_at or str(published.absolute()),
        partitions=read_pairs("--partition", partitions, pools),
        gpus_per_node=gpus_per_node,
        lead_s=lead_s,
        reserved=reserve,
    )
    files = {out / "submit.sh": submit_script(header, runs, site)}
    if reserve:
        files[out / "reserve.sh"] = reservations_script(header, runs, site, users)
    if grants is not None:
        files |= {out / "prolog.sh": prolog_script(grants), out / "epilog.sh": epilog_script(grants)}
    left_out = sorted(set(names) - set(site.scripts))
    if left_out:
        note(f"note: without a batch script, and not submitted: {', '.join(left_out)}")
    write_files(files)
    for path in files:
        path.chmod(0o755)
        click.echo(path)


def _script(path: str) -> str:
    if not Path(path).is_file():
        raise ConfigError(f"--script names {path!r}, where no file is", fix="name the batch script of the run")
    return str(Path(path).absolute())
