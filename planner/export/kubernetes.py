"""A calendar and the node agent for Kubernetes: a ConfigMap that agents read, and the DaemonSet that runs them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from planner.errors import ConfigError
from trainer_hooks.agent.origin import flat_name
from trainer_hooks.publish import POINTER

if TYPE_CHECKING:
    from trainer_hooks.contract import Calendar

Manifest = Mapping[str, Any]

CALENDAR = "gridpace-calendar"
AGENT = "gridpace-agent"
MOUNTED_CALENDAR = "/etc/gridpace-calendar"
RUN_FOLDER = "/run/gridpace"

_STATE_FOLDER = "/var/lib/gridpace"
_CONFIG = "agent.ini"
_MOST_BYTES = 1024 * 1024  # of all that a ConfigMap holds (Kubernetes, "ConfigMap")
_LONGEST_KEY = 253
_GRACE_S = 30  # an agent gives its limits back in well under a second each
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_LONGEST_NAME = 253


@dataclass(frozen=True)
class AgentPods:
    """How the node agent runs in a cluster.

    Attributes:
        image: Image that holds `gridpace-agent`.
        uids: Run -> user id as which its pods run, by which the agent knows them.
        node_selector: Labels of nodes with GPUs.
        runtime_class: Class of the container runtime that shows a pod the driver; None leaves the cluster's default.
    """

    image: str
    uids: Mapping[str, int]
    node_selector: Mapping[str, str]
    runtime_class: str | None


def calendar_manifest(calendar: Calendar, files: Mapping[str, bytes], namespace: str) -> Manifest:
    """Return the ConfigMap of a published calendar, which an agent reads as a folder.

    A newer calendar has the same name, so that it replaces the older one where it is mounted.

    Args:
        calendar: The header.
        files: Path in the calendar's folder -> content: the header and every run's file.
        namespace: Namespace of the agents.

    Raises:
        ConfigError: It is larger than a ConfigMap may be, or a run's name is too long for a key.
    """
    data = {flat_name(f"{calendar.calendar_id}/{path}"): content.decode() for path, content in sorted(files.items())}
    data[POINTER] = f"{calendar.calendar_id}\n"
    too_long = max(data, key=len)
    if len(too_long) > _LONGEST_KEY:
        raise ConfigError(
            f"the key {too_long[:60]!r}... has {len(too_long)} characters; a ConfigMap takes {_LONGEST_KEY}",
            fix="give the run a shorter name",
        )
    size = sum(len(key) + len(text.encode()) for key, text in data.items())
    if size > _MOST_BYTES:
        raise ConfigError(
            f"the calendar has {size:,} bytes; a ConfigMap takes {_MOST_BYTES:,}",
            why=f"it has {len(files) - 1} runs",
            fix="have the agents pull it from a web server (https:// as source in their [calendar])",
        )
    annotations = {"gridpace/calendar-id": calendar.calendar_id}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(CALENDAR, namespace) | {"annotations": annotations},
        "data": data,
    }


def agent_manifests(pods: AgentPods, namespace: str) -> tuple[Manifest, ...]:
    """Return the configuration and the DaemonSet of the node agent.

    The pod is privileged and sees the processes of its node: limits are set by root, and a job is known by the user of
    the process that calls.

    Raises:
        ConfigError: A user id is root's or none, or no run is named.
    """
    if not pods.uids:
        raise ConfigError("no run may set limits", fix="name the user id of its pods as --uid RUN=UID, for each run")
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(AGENT, namespace),
        "data": {_CONFIG: _agent_ini(pods.uids)},
    }
    container = {
        "name": "agent",
        "image": pods.image,
        "command": ["gridpace-agent", "--config", f"/etc/gridpace/{_CONFIG}"],
        "env": [
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"},
        ],
        "securityContext": {"privileged": True, "runAsUser": 0},
        "resources": {"requests": {"cpu": "20m", "memory": "48Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [
            # The agent refuses a link as its configuration; a single key is mounted as a plain file.
            {"name": "config", "mountPath": f"/etc/gridpace/{_CONFIG}", "subPath": _CONFIG, "readOnly": True},
            {"name": "calendar", "mountPath": MOUNTED_CALENDAR, "readOnly": True},
            {"name": "run", "mountPath": RUN_FOLDER},
            {"name": "state", "mountPath": _STATE_FOLDER},
        ],
    }
    pod: dict[str, Any] = {
        "hostPID": True,
        "automountServiceAccountToken": False,
        "priorityClassName": "system-node-critical",
        "terminationGracePeriodSeconds": _GRACE_S,
        "nodeSelector": dict(pods.node_selector),
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [
            {"name": "config", "configMap": {"name": AGENT, "defaultMode": 0o444}},
            {"name": "calendar", "configMap": {"name": CALENDAR, "optional": True}},
            {"name": "run", "hostPath": {"path": RUN_FOLDER, "type": "DirectoryOrCreate"}},
            {"name": "state", "hostPath": {"path": _STATE_FOLDER, "type": "DirectoryOrCreate"}},
        ],
    }
    if pods.runtime_class is not None:
        pod["runtimeClassName"] = pods.runtime_class
    labels = {"app.kubernetes.io/name": AGENT}
    agents = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(AGENT, namespace),
        "spec": {
            "selector": {"matchLabels": labels},
            # Two agents never share a board's leases: the old one ends before the new one begins.
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%", "maxSurge": 0}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    return config, agents


def metadata(name: str, namespace: str) -> dict[str, Any]:
    """Return name, namespace and labels of an object of ours."""
    return {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/name": name}}


def check_label(option: str, text: str) -> str:
    """Return a name of Kubernetes as it stands.

    Raises:
        ConfigError: It is none (RFC 1123: lower case, digits and `-`, at most 63 characters).
    """
    if _LABEL.fullmatch(text) is None:
        raise ConfigError(
            f"{option} {text[:80]!r} is no name in Kubernetes",
            fix="use lower-case letters, digits and -, at most 63 characters",
        )
    return text


def check_subdomain(option: str, text: str) -> str:
    """Return a name of Kubernetes that may have dots, as most objects' may.

    Raises:
        ConfigError: It is none (RFC 1123: labels with a `.` between them, at most 253 characters).
    """
    if len(text) > _LONGEST_NAME or not all(_LABEL.fullmatch(part) for part in text.split(".")):
        raise ConfigError(
            f"{option} {text[:80]!r} is no name in Kubernetes",
            fix=f"use lower-case letters, digits, - and ., at most {_LONGEST_NAME} characters",
        )
    return text


def manifest_text(manifests: Sequence[Manifest]) -> bytes:
    """Return manifests as one YAML file."""
    return yaml.dump_all(manifests, Dumper=_Dumper, sort_keys=False, explicit_start=True, width=120).encode()


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, and no references to what came before."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _agent_ini(uids: Mapping[str, int]) -> str:
    lines = ["[calendar]", f"source = {MOUNTED_CALENDAR}"]
    for run, uid in sorted(uids.items()):
        if re.search(r"[\s,;#\[\]%]", run):
            raise ConfigError(
                f"the agent's configuration cannot name run {run!r}",
                why="it has blanks, or one of , ; # [ ] %",
                fix="give the run another name",
            )
        if uid <= 0:
            raise ConfigError(f"--uid {run}={uid} is no user of a job's own", fix="set runAsUser of its pods, above 0")
        lines += ["", f"[grant {run}]", "gpus = all", f"uids = {uid}", f"runs = {run}"]
    return "\n".join(lines) + "\n"
