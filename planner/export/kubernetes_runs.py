"""The runs of a calendar as objects of Kubernetes: a CronJob that suspends and resumes their jobs.

What it does at a time depends on that time alone, not on what it did before: a missed or failed turn is made good by
the next one. Inside a stretch the Governor or `gridpace-run` follows limits, holds and checkpoints.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.errors import ConfigError
from planner.export.kubernetes import check_subdomain, metadata
from planner.export.spells import stretches
from planner.timegrid import iso

if TYPE_CHECKING:
    from planner.export.kubernetes import Manifest
    from planner.export.spells import Stretch
    from trainer_hooks.contract import Calendar, RunCalendar

FOLLOWER = "gridpace-follower"
_SCRIPT = "follow.sh"
_MINUTE_S = 60
_USUAL_MINUTES = range(0, 60, 10)  # what failed at an edge is tried again this often
_LATE_S = 300
_LONGEST_S = 240  # of one turn
_NOBODY = 65534
_CACHE = "/var/cache/kubectl"


@dataclass(frozen=True)
class Kind:
    """A kind of object that runs a training and can be suspended.

    Attributes:
        group: API group.
        plural: Its resource.
        path: Keys on the way to its field `suspend`.
    """

    group: str
    plural: str
    path: tuple[str, ...] = ("spec",)


KINDS = {
    "job": Kind("batch", "jobs"),
    "jobset": Kind("jobset.x-k8s.io", "jobsets"),
    "trainjob": Kind("trainer.kubeflow.org", "trainjobs"),
    "pytorchjob": Kind("kubeflow.org", "pytorchjobs", ("spec", "runPolicy")),
    "rayjob": Kind("ray.io", "rayjobs"),
}


@dataclass(frozen=True)
class Workload:
    """The object that runs a run.

    Attributes:
        kind: Its kind.
        name: Its name.
    """

    kind: Kind
    name: str

    @property
    def resource(self) -> str:
        """What kubectl calls it."""
        return f"{self.kind.plural}.{self.kind.group}/{self.name}"


@dataclass(frozen=True)
class Followed:
    """Whose jobs follow the calendar, and how.

    Attributes:
        workloads: Run -> its object.
        namespace: Namespace of the objects.
        image: Image with a shell, `date` and `kubectl`.
        kueue: Whether Kueue queues the objects: then their Workloads are deactivated and activated.
    """

    workloads: Mapping[str, Workload]
    namespace: str
    image: str
    kueue: bool


def workload(option: str, text: str) -> Workload:
    """Return the object that was typed as NAME or KIND/NAME.

    Raises:
        ConfigError: The kind is unknown, or the name is none of Kubernetes.
    """
    kind, slash, name = text.partition("/")
    if not slash:
        kind, name = "job", text
    if kind not in KINDS:
        raise ConfigError(f"{option} names the kind {kind[:40]!r}", fix=f"kinds: {', '.join(KINDS)}")
    return Workload(KINDS[kind], check_subdomain(option, name))


def run_manifests(calendar: Calendar, runs: Sequence[RunCalendar], followed: Followed) -> tuple[Manifest, ...]:
    """Return what suspends and resumes the runs' jobs: the script, its rights, and the CronJob that calls it.

    Args:
        calendar: The header.
        runs: The windows of every run.
        followed: Their objects.

    Raises:
        ConfigError: A run changes its pool or its count of GPUs: resuming its one object would not.
    """
    chosen = [run for run in runs if run.run in followed.workloads]
    for run in chosen:
        _check_stays(run)
    script = _script(calendar, chosen, followed)
    whole = metadata(FOLLOWER, followed.namespace)
    annotated = whole | {"annotations": {"gridpace/calendar-id": calendar.calendar_id}}
    minutes = _minutes(stretch for run in chosen for stretch in stretches(run))
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": FOLLOWER}
    subject = {"kind": "ServiceAccount", "name": FOLLOWER, "namespace": followed.namespace}
    return (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": annotated, "data": {_SCRIPT: script}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": whole},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": whole,
            "rules": _rules(followed),
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": whole,
            "roleRef": role,
            "subjects": [subject],
        },
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "metadata": annotated,
            "spec": {
                "schedule": f"{','.join(str(minute) for minute in minutes)} * * * *",
                "timeZone": "Etc/UTC",
                "concurrencyPolicy": "Forbid",
                "startingDeadlineSeconds": _LATE_S,
                "successfulJobsHistoryLimit": 1,
                "failedJobsHistoryLimit": 3,
                "jobTemplate": {
                    "spec": {
                        "backoffLimit": 1,
                        "activeDeadlineSeconds": _LONGEST_S,
                        "template": {"spec": _pod(followed.image)},
                    }
                },
            },
        },
    )


def _pod(image: str) -> dict[str, Any]:
    return {
        "serviceAccountName": FOLLOWER,
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": "follower",
                "image": image,
                "command": ["/bin/sh", f"/etc/gridpace/{_SCRIPT}"],
                "env": [{"name": "HOME", "value": _CACHE}],
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
                "volumeMounts": [
                    {"name": "script", "mountPath": "/etc/gridpace", "readOnly": True},
                    {"name": "cache", "mountPath": _CACHE},
                ],
            }
        ],
        "volumes": [
            {"name": "script", "configMap": {"name": FOLLOWER}},
            {"name": "cache", "emptyDir": {}},
        ],
    }


def _rules(followed: Followed) -> list[dict[str, Any]]:
    kinds = sorted({one.kind for one in followed.workloads.values()}, key=lambda kind: kind.plural)
    verbs = ["get"] if followed.kueue else ["get", "patch"]
    rules: list[dict[str, Any]] = [
        {
            "apiGroups": [kind.group],
            "resources": [kind.plural],
            "resourceNames": sorted(one.name for one in followed.workloads.values() if one.kind == kind),
            "verbs": verbs,
        }
        for kind in kinds
    ]
    if followed.kueue:
        rules.append({"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["get", "list", "patch"]})
    return rules


def _minutes(spans: Iterable[Stretch]) -> list[int]:
    """Return the minutes of the hour at which something changes, and those of the usual look."""
    edges = {at.timestamp() for span in spans for at in (span.start, span.end)}
    return sorted({math.ceil(at / _MINUTE_S) % 60 for at in edges} | set(_USUAL_MINUTES))


def _check_stays(run: RunCalendar) -> None:
    gangs = dict.fromkeys((stretch.pool, stretch.gpus) for stretch in stretches(run))
    if len(gangs) > 1:
        told = ", then ".join(f"{gpus} GPUs of {pool}" for pool, gpus in gangs)
        raise ConfigError(
            f"run {run.run!r} is on {told}; a job that is suspended and resumed keeps its nodes",
            fix="leave this run out here, or plan it without sizes and migration",
        )


def _script(calendar: Calendar, runs: Sequence[RunCalendar], followed: Followed) -> str:
    lines = [
        "#!/bin/sh",
        f"# Calendar {calendar.calendar_id}, from {iso(calendar.valid_from)} to {iso(calendar.valid_until)}.",
        "set -u",
        "failed=0",
        "now=$(date +%s)",
        f'if [ "$now" -lt {_seconds(calendar.valid_from)} ] || [ "$now" -ge {_seconds(calendar.valid_until)} ]; then',
        '    echo "the calendar is not in force: everything is left as it is"',
        "    exit 0",
        "fi",
        "",
        _ENDED,
        _KUEUE if followed.kueue else _SUSPEND,
        _FOLLOW,
    ]
    for run in runs:
        one = followed.workloads[run.run]
        words = [one.resource, ".".join(one.kind.path)]
        for stretch in stretches(run):
            words += [_seconds(stretch.start), _seconds(stretch.end)]
        lines += [f"# {run.run!r}", f"follow {shlex.join(words)}"]
    return "\n".join((*lines, 'exit "$failed"')) + "\n"


def _seconds(at: Any) -> str:
    return f"{at.timestamp():.0f}"


_FOLLOW = """\
# follow OBJECT PATH [START END]...: what the run of an object is to do now. Times are seconds since 1970.
follow() {
    object=$1
    path=$2
    shift 2
    suspended=true
    while [ "$#" -gt 1 ]; do
        if [ "$now" -ge "$1" ] && [ "$now" -lt "$2" ]; then suspended=false; fi
        shift 2
    done
    bring "$object" "$path" "$suspended" || failed=1
}
"""

_ENDED = """\
# state OBJECT: sets `ended` to whether it has ended; a RayJob says so in a field of its own.
state() {
    told=$(kubectl get "$1" -o \
        'jsonpath={.status.conditions[?(@.status=="True")].type} {.status.jobDeploymentStatus}') || return 1
    case " $told " in
    *" Complete "* | *" Completed "* | *" Succeeded "* | *" Failed "*) ended=true ;;
    *) ended=false ;;
    esac
}
"""

_SUSPEND = """\
# bring OBJECT PATH BOOLEAN: suspends or resumes it, unless it is so already or has ended.
bring() {
    state "$1" || return 1
    if [ "$ended" = true ]; then return 0; fi
    is=$(kubectl get "$1" -o "jsonpath={.$2.suspend}") || return 1
    if [ "${is:-false}" = "$3" ]; then return 0; fi
    echo "$1: suspend $3"
    wanted="{\\"suspend\\":$3}"
    if [ "$2" = spec.runPolicy ]; then wanted="{\\"runPolicy\\":$wanted}"; fi
    kubectl patch "$1" --type=merge -p "{\\"spec\\":$wanted}"
}
"""

_KUEUE = """\
# bring OBJECT PATH BOOLEAN: deactivates or activates its Workload, unless it is so already or the object has ended;
# Kueue does the rest.
bring() {
    state "$1" || return 1
    if [ "$ended" = true ]; then return 0; fi
    uid=$(kubectl get "$1" -o 'jsonpath={.metadata.uid}') || return 1
    if [ "$3" = true ]; then active=false; else active=true; fi
    found=$(kubectl get workloads.kueue.x-k8s.io -l "kueue.x-k8s.io/job-uid=$uid" -o name) || return 1
    if [ -z "$found" ]; then
        echo "$1 has no Workload: Kueue does not queue it" >&2
        return 1
    fi
    for one in $found; do
        is=$(kubectl get "$one" -o 'jsonpath={.spec.active}') || return 1
        if [ "${is:-true}" = "$active" ]; then continue; fi
        echo "$1: $one active $active"
        kubectl patch "$one" --type=merge -p "{\\"spec\\":{\\"active\\":$active}}" || return 1
    done
}
"""
