"""Both wheels, built from the checkout and installed into empty environments."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_main_wheel_holds_the_four_packages_and_the_data_and_nothing_else(main_wheel):
    top = {name.split("/")[0] for name in names(main_wheel)}
    assert {name for name in top if not name.endswith(".dist-info")} == {"planner", "thermal", "power", "trainer_hooks"}
    assert "planner/data/gpus.toml" in names(main_wheel)
    assert "planner/data/sites/block-20mw.toml" in names(main_wheel)
    assert not [name for name in names(main_wheel) if name.endswith("pyproject.toml")]


def test_the_hooks_wheel_holds_the_hooks_alone(hooks_wheel):
    top = {name.split("/")[0] for name in names(hooks_wheel)}
    assert {name for name in top if not name.endswith(".dist-info")} == {"trainer_hooks"}


def test_both_wheels_carry_the_licence(main_wheel, hooks_wheel, root):
    for wheel in (main_wheel, hooks_wheel):
        (licence,) = [name for name in names(wheel) if name.endswith(".dist-info/licenses/LICENSE")]
        with zipfile.ZipFile(wheel) as archive:
            assert archive.read(licence) == (root / "LICENSE").read_bytes()


def test_both_wheels_carry_the_same_hooks(main_wheel, hooks_wheel):
    with zipfile.ZipFile(main_wheel) as main, zipfile.ZipFile(hooks_wheel) as hooks:
        ours = {n: hooks.read(n) for n in hooks.namelist() if n.startswith("trainer_hooks/")}
        theirs = {n: main.read(n) for n in main.namelist() if n.startswith("trainer_hooks/")}
    assert ours == theirs


def test_hooks_import_without_numpy_or_pandas(hooks_python, tmp_path):
    code = """
import importlib.util, json, pkgutil, sys
import trainer_hooks
for module in pkgutil.walk_packages(trainer_hooks.__path__, "trainer_hooks."):
    importlib.import_module(module.name)
from trainer_hooks import Governor
gov = Governor.from_env()
gov.step(tokens=1)
print(json.dumps({"there": [n for n in ("numpy", "pandas", "pulp", "planner") if importlib.util.find_spec(n)],
                  "report": str(gov.report())}))
"""
    done = subprocess.run([hooks_python, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    said = json.loads(done.stdout)
    assert said["there"] == []
    assert said["report"]


def test_the_installed_program_plans_from_its_bundled_site(main_python, tmp_path):
    bundled = subprocess.run(
        [main_python, "-c", "from planner.bundled import data_dir; print(data_dir())"],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    ).stdout.strip()
    assert bundled.endswith("planner/data")
    site = Path(bundled) / "sites" / "lab-8gpu.toml"
    gridpace = main_python.parent / "gridpace"
    done = subprocess.run([gridpace, "plan", site, "--json"], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["violations"] == 0
