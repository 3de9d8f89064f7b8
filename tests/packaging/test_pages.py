"""Pages whose commands take minutes, ask providers, start the service or are root's, run with the wheel alone.

Providers are stand-ins on the loopback; so are the programs of a cluster. What root does is done beneath a folder.
"""

from __future__ import annotations

import os
import shutil
import sys

import pytest

from tests.pages import BY_WHEEL, ROOT, beside, run_page
from tests.stand_in import providers

pytestmark = pytest.mark.packaging
NAMES = {
    "kubectl": ("kubectl",),
    "slurm": ("sbatch", "scancel", "scontrol", "squeue"),
    "beneath": ("groupadd", "usermod", "install", "cp"),
    "keyring": ("keyring",),
}


@pytest.fixture
def programs(tmp_path):
    """A folder of stand-ins, each under the names that it stands in for."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for stand_in, names in NAMES.items():
        text = (ROOT / "tests" / "stand_ins" / stand_in).read_text(encoding="utf-8")
        for name in names:
            (folder / name).write_text(text.replace("#!/usr/bin/env python3", f"#!{sys.executable}"), encoding="utf-8")
            (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def machine(tmp_path):
    """A folder that stands for a machine's root, with a user who trains."""
    etc = tmp_path / "machine" / "etc"
    etc.mkdir(parents=True)
    (etc / "passwd").write_text("alice:x:2000:2000::/home/alice:/bin/sh\n")
    (etc / "group").write_text("alice:x:2000:\n")
    (etc / "gshadow").write_text("alice:!::\n")
    shutil.copy("/etc/login.defs", etc)
    return etc.parent


@pytest.mark.parametrize("name", BY_WHEEL)
def test_commands(name, service_python, programs, machine, tmp_path):
    desk = tmp_path / "desk"
    for folder in ("data", "docs"):
        shutil.copytree(ROOT / folder, desk / folder)
    (tmp_path / "providers").mkdir()
    with providers(tmp_path / "providers") as told:
        environment = {
            **told,
            "PATH": f"{programs}{os.pathsep}{beside(service_python.parent)}",
            "HOME": str(tmp_path / "home"),
            "LANG": "C.UTF-8",
            "BENEATH": str(machine),
            "SLURM_JOB_NODELIST": "gpu[1-2]",
        }
        ran = run_page(name, desk, environment, 1800.0)
    assert ran.code == 0, f"{name}: {ran.last}\n{ran.output}"
    if name == "docs/slurm.md":
        assert "--dependency=singleton" in (desk / "sbatch.calls").read_text()
    if name == "docs/agent.md":
        assert "gridpace" in (machine / "etc" / "group").read_text()
        assert (machine / "etc" / "gridpace" / "agent.ini").is_file()
