"""The command `gridpace export kubernetes`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from planner.command import FILE
from planner.errors import ConfigError
from planner.terminal import note

if TYPE_CHECKING:
    from collections.abc import Mapping


_LAST_UID = 2**31 - 1  # Kubernetes takes no higher runAsUser
_LONGEST_UID = 10
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*", re.ASCII)
_NAMED = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_LABEL_KEY = re.compile(rf"([a-z0-9]([a-z0-9.-]{{0,251}}[a-z0-9])?/)?{_NAMED}", re.ASCII)
_LABEL_VALUE = re.compile(rf"({_NAMED})?", re.ASCII)


@click.command("kubernetes", short_help="Write a calendar's ConfigMap, agents and job control for Kubernetes.")
@click.argument("calendar", type=FILE)
@click.option("--namespace", default="gridpace", show_default=True, help="Namespace of calendar and agents.")
@click.option("--agent-image", metavar="IMAGE", help="Image with gridpace-agent: also write agent.yaml.")
@click.option("--uid", "uids", metavar="RUN=UID", multiple=True, help="User id of a run's pods; once per run.")
@click.option(
    "--node-label",
    "node_labels",
    metavar="KEY=VALUE",
    multiple=True,
    default=("nvidia.com/gpu.present=true",),
    show_default=True,
    help="Label of nodes with GPUs; repeatable.",
)
@click.option("--runtime-class", metavar="NAME", help="Runtime class that shows the agent the driver.")
@click.option(
    "--job",
    "jobs",
    metavar="RUN=[KIND/]NAME",
    multiple=True,
    help="Object that runs a run: also write runs.yaml. KIND is job, jobset, trainjob, pytorchjob or rayjob.",
)
@click.option("--job-namespace", default="default", show_default=True, help="Namespace of these objects.")
@click.option("--kubectl-image", metavar="IMAGE", help="Image with a shell, date and kubectl.")
@click.option("--kueue", is_flag=True, help="Kueue queues the objects: its Workloads are deactivated and activated.")
@click.option("--out", type=FILE, default=Path("kubernetes"), show_default=True, help="Folder to write into.")
def kubernetes_command(
    calendar: Path,
    namespace: str,
    agent_image: str | None,
    uids: tuple[str, ...],
    node_labels: tuple[str, ...],
    runtime_class: str | None,
    jobs: tuple[str, ...],
    job_namespace: str,
    kubectl_image: str | None,
    kueue: bool,
    out: Path,
) -> None:
    """Write calendar.yaml, and where asked agent.yaml and runs.yaml, to be applied with kubectl.

    CALENDAR is an output folder of `gridpace plan`, or a calendar's own folder. The ConfigMap is what the agents of the
    nodes follow; a CronJob suspends each run's object between its stretches and resumes it. Inside a stretch the
    Governor or gridpace-run follows limits, holds and checkpoints.
    """
    from planner.export.files import write_files
    from planner.export.kubernetes import (
        AgentPods,
        agent_manifests,
        calendar_manifest,
        check_label,
        check_subdomain,
        manifest_text,
    )
    from planner.export.kubernetes_runs import Followed, run_manifests, workload
    from planner.export.slurm import read_pairs
    from planner.folders import read_published
    from trainer_hooks.calendar import seal

    if bool(jobs) != (kubectl_image is not None):
        raise ConfigError("--job and --kubectl-image go together", fix="name both, or neither")
    if bool(uids) != (agent_image is not None):
        raise ConfigError("--uid and --agent-image go together", fix="name both, or neither")
    _check_image("--agent-image", agent_image)
    _check_image("--kubectl-image", kubectl_image)
    header, runs, _ = read_published(calendar)
    names = [run.run for run in runs]
    check_label("--namespace", namespace)
    if runtime_class is not None:
        check_subdomain("--runtime-class", runtime_class)
    _, content = seal(header, runs)
    files = {out / "calendar.yaml": manifest_text([calendar_manifest(header, content, namespace)])}
    if agent_image is not None:
        users = {run: _uid(run, uid) for run, uid in read_pairs("--uid", uids, names).items()}
        pods = AgentPods(agent_image, users, _labels(node_labels), runtime_class)
        files[out / "agent.yaml"] = manifest_text(agent_manifests(pods, namespace))
    if kubectl_image is not None:
        objects = {run: workload("--job", text) for run, text in read_pairs("--job", jobs, names).items()}
        followed = Followed(objects, check_label("--job-namespace", job_namespace), kubectl_image, kueue)
        files[out / "runs.yaml"] = manifest_text(run_manifests(header, runs, followed))
        left_out = sorted(set(names) - set(objects))
        if left_out:
            note(f"note: without an object, and neither suspended nor resumed: {', '.join(left_out)}")
    write_files(files)
    for path in files:
        click.echo(path)


def _check_image(option: str, image: str | None) -> None:
    if image is not None and _IMAGE.fullmatch(image) is None:
        raise ConfigError(f"{option} {image[:80]!r} is no image", fix="write it as registry.example/name:tag")


def _uid(run: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > _LONGEST_UID or int(text) > _LAST_UID:
        raise ConfigError(f"--uid {run}={text[:40]} is no user id", fix="name the runAsUser of the run's pods")
    return int(text)


def _labels(texts: tuple[str, ...]) -> Mapping[str, str]:
    pairs = [text.partition("=") for text in texts]
    for text, (key, equals, value) in zip(texts, pairs, strict=True):
        if not equals or _LABEL_KEY.fullmatch(key) is None or _LABEL_VALUE.fullmatch(value) is None:
            raise ConfigError(f"--node-label {text[:80]!r} is no label", fix="write it as nvidia.com/gpu=true")
    return {key: value for key, _, value in pairs}
