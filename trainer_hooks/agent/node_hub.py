"""The hub by which ranks of this node agree on a step, and its way to the hubs of other nodes."""

from __future__ import annotations

import importlib
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainer_hooks.agent.ramp import node_names
from trainer_hooks.agent.secret import Secret, read_secret
from trainer_hooks.errors import AgentError

if TYPE_CHECKING:
    from trainer_hooks.agent.sections import Section
    from trainer_hooks.wire import Peer

_KEYS = frozenset({"nodes", "node", "address", "port", "secret_file"})
_SECRET_BYTES = 32


@dataclass(frozen=True)
class HubRules:
    """How the hubs of several nodes reach each other.

    Attributes:
        node: Name of this node.
        nodes: Names of all of them, by which they are reached.
        address: Address to listen at; "" for the one that this node's name stands for.
        port: TCP port, the same on all nodes.
        secret: What they all know.
    """

    node: str
    nodes: tuple[str, ...]
    address: str
    port: int
    secret: Secret


def hub_from(section: Section, hostname: str) -> HubRules:
    """Read `[hub]`.

    Raises:
        AgentError: A key is unknown or out of reach, or the secret cannot be used.
    """
    section.expect(_KEYS)
    try:
        nodes = tuple(node_names(", ".join(section.names("nodes"))))
    except ValueError as error:
        raise section.fault("nodes", f"{error}.", "Write it as Slurm does: gpu[001-128].") from error
    secret_file = section.path("secret_file")
    if secret_file is None:
        raise section.fault("secret_file", "it is missing.", "Name a file of mode 0600 with the nodes' common secret.")
    port = section.number("port", "(a TCP port)", 1.0, 65535.0)
    if port != int(port):
        raise section.fault("port", f"{port:g} is not a whole number.", "Set a whole number, such as 9476.")
    node = section.text("node", hostname)
    if node not in nodes:
        node = node.split(".")[0]
    if node not in nodes:
        raise section.fault("node", f"{node!r} is not among the {len(nodes)} nodes.", "Add it, or set its name.")
    return HubRules(node, nodes, section.text("address", ""), int(port), read_secret(secret_file, _SECRET_BYTES))


class NodeHub:
    """Makes the hub when it is first needed, or at once where other nodes may ask.

    Args:
        rules: How the nodes reach each other; None keeps agreement within this node.
        folder: Where the words of ranks are put; the agent's own.
    """

    def __init__(self, rules: HubRules | None, folder: Path) -> None:
        self._rules = rules
        self._folder = folder
        self._lock = threading.Lock()
        self._hub: Any = None
        self._parts: list[Any] = []
        if rules is not None:
            self._made()

    def handle(self, peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
        """Hand a rank's message to the hub; it may name rank 0's node by the name that all nodes know it by."""
        if self._rules is not None and request.get("root") == self._rules.node:
            request = {**request, "root": ""}
        answer: dict[str, Any] = self._made().handle(peer, request)
        return answer

    def close(self) -> None:
        """End; ranks go on by themselves."""
        with self._lock:
            for part in self._parts:
                part.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def _made(self) -> Any:
        with self._lock:
            if self._hub is None:
                self._hub = self._make()
                self._parts.insert(0, self._hub)
            return self._hub

    def _make(self) -> Any:
        # loaded on first use: a node whose jobs have one rank each does without
        hubs = importlib.import_module("trainer_hooks.agreement.hub")
        shutil.rmtree(self._folder, ignore_errors=True)  # words of an agent that was killed; nobody changes them now
        try:
            self._folder.mkdir(mode=0o711)
            self._folder.chmod(0o711)
        except OSError as error:
            raise AgentError(str(self._folder), f"it cannot be made ({error}).", "Let the agent have it.") from error
        if self._rules is None:
            return hubs.Hub(self._folder)
        rules, ways = self._rules, importlib.import_module("trainer_hooks.agreement.link")
        addresses = importlib.import_module("trainer_hooks.agreement.address")
        address = addresses.listening_address(rules.node, rules.address)
        links = {name: ways.Link(name, rules.port, rules.secret.content) for name in rules.nodes if name != rules.node}
        hub = hubs.Hub(self._folder, links=links)
        self._parts = [ways.LinkServer(address, rules.port, rules.secret.content, hub.from_node), *links.values()]
        return hub
