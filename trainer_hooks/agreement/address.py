"""Where a node's hub listens for the other nodes: nowhere but where they come, unless it is told to."""

from __future__ import annotations

import ipaddress
import socket

from trainer_hooks.errors import AgentError


def listening_address(name: str, asked: str = "") -> str:
    """Choose the address to listen at.

    Args:
        name: Name or address by which the other nodes reach this one.
        asked: Address that was asked for; "" for none.

    Returns:
        The one asked for, else the one that the name stands for.

    Raises:
        AgentError: The name stands for nothing here, or only for this machine itself, as where /etc/hosts says so.
    """
    if asked:
        return asked
    try:
        found = [str(entry[4][0]) for entry in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)]
    except OSError as error:
        raise _fault(name, f"its name is not known on itself ({error}).") from error
    outward = [address for address in found if not _is_loopback(address)]
    if not outward and not (name == "localhost" or _is_loopback(name)):
        raise _fault(name, f"on itself its name stands for {found[0]}, where no other node comes.")
    return (outward or found)[0]


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _fault(name: str, why: str) -> AgentError:
    fix = "Say where its hub listens: GRIDPACE_HUB_ADDRESS, or for an agent `address` in [hub]."
    return AgentError(f"hub of node {name}", why, fix)
