"""Signs the calendar in force of a published folder: `python -m trainer_hooks.agent.sign ROOT --key-file FILE`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from trainer_hooks.agent.secret import read_secret
from trainer_hooks.agent.signature import sign_ed25519, sign_hmac
from trainer_hooks.calendar import HEADER_FILE, current_folder, read_calendar
from trainer_hooks.errors import HookError

_KEY_BYTES = 32


def sign_current(root: Path, key_file: Path, *, ed25519: bool) -> Path:
    """Write the signature of the calendar in force.

    Args:
        root: Folder with the pointer `current`.
        key_file: Shared secret, or private key in PEM; mode 0600.
        ed25519: Whether the key is an Ed25519 key.

    Returns:
        The signature's file, `<root>/<calendar_id>.sig`.

    Raises:
        HookError: The calendar is not whole, or the key cannot be used.
        OSError: The disk refused.
    """
    folder = current_folder(root)
    read_calendar(folder)
    content = (folder / HEADER_FILE).read_bytes()
    line = sign_ed25519(content, key_file) if ed25519 else sign_hmac(content, read_secret(key_file, _KEY_BYTES))
    target = root / f"{folder.name}.sig"
    fresh = target.with_suffix(".sig.new")
    fresh.write_bytes(line)
    fresh.replace(target)
    return target


def main(arguments: Sequence[str] | None = None) -> int:
    """Sign the calendar in force; 0 if that went well."""
    parser = argparse.ArgumentParser(prog="python -m trainer_hooks.agent.sign", description=__doc__)
    parser.add_argument("root", type=Path, help="folder with the pointer `current`")
    parser.add_argument("--key-file", type=Path, required=True, help="shared secret, or private key in PEM")
    parser.add_argument("--ed25519", action="store_true", help="the key is an Ed25519 private key")
    given = parser.parse_args(arguments)
    try:
        target = sign_current(given.root, given.key_file, ed25519=given.ed25519)
    except (HookError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
