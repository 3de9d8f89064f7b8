"""What two new users do, step by step: a first plan of their own week, and a training that follows a calendar.

Each step is a command as it stands on the pages, or an edit of a file; commands are timed, lines to be typed counted.
"""

from __future__ import annotations

import difflib
import os
import re
import resource
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tests.launched import RUN, publish
from tests.stand_in import providers

SITE = Path("my-site") / "site.toml"
PLAN = f"gridpace plan {SITE} --out out/my-week"
CHECK = f"gridpace check out/my-week --site {SITE}"
OWN = (
    ('name = "my-site"', 'name = "leeds"'),
    ("latitude = 53.0", "latitude = 53.8"),
    ("energy_per_kwh = 0.11", "energy_per_kwh = 0.19"),
    ("month_to_date_peak_kw = 60", "month_to_date_peak_kw = 35"),
    ("capacity_kw = 100", "capacity_kw = 45"),
    ("rated_it_kw = 90", "rated_it_kw = 40"),
    ("count = 64", "count = 32"),
    ('name = "assistant-8b"', 'name = "chat-8b"'),
    ("gpus = 32", "gpus = 48"),
)
"""What the first user writes into the site file, with a gang that is too large, as happens."""

NOT_THEIRS = (
    re.compile(r"^maintenance = \[\n.*\n\]\n", re.MULTILINE),
    re.compile(r"^\[block\.(?:solar|battery)\][^[]*", re.MULTILINE),
    re.compile(r'^\[\[run\]\]\nname = "search-1b".*', re.MULTILINE | re.DOTALL),
)
"""What of the starter that user's site has not."""

TRAINING = """
import json
import pathlib
import time

KEPT = pathlib.Path("checkpoint.json")
step = json.loads(KEPT.read_text())["step"] if KEPT.exists() else 0


def save_checkpoint():
    KEPT.write_text(json.dumps({"step": step}))


while step < 300:
    time.sleep(0.02)  # a step
    step += 1
save_checkpoint()
print("at step", step)
"""
AWARE = (
    ("import time\n", "import time\n\nfrom trainer_hooks import Governor\n"),
    ("while step", "gov = Governor.from_env()\nwhile step"),
    ("    step += 1\n", "    step += 1\n    if gov.step(tokens=8192, save=save_checkpoint):\n        break\n"),
    ('print("at step", step)\n', 'print("at step", step)\nprint(gov.report())\n'),
)
"""The lines of README.md, put into that training."""


@dataclass(frozen=True)
class Step:
    """One thing that a new user did.

    Args:
        told: The command, or what was edited.
        lines: Lines to be typed.
        wall_s: Time of the machine, s.
        processor_s: Its processor time, s.
        code: Exit code of a command.
        output: What it said, standard error after standard output.
    """

    told: str
    lines: int
    wall_s: float = 0.0
    processor_s: float = 0.0
    code: int = 0
    output: str = ""


class Newcomer:
    """A user with an empty home, in an empty folder.

    Args:
        folder: The folder.
        programs: Folder of the programs of the environment into which gridpace is installed.
        told: Further variables of the environment.
    """

    def __init__(self, folder: Path, programs: Path, told: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.steps: list[Step] = []
        folder.mkdir(parents=True)
        path = os.pathsep.join((str(programs), "/usr/bin", "/bin"))
        self._environ = {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", **(told or {})}

    def types(self, command: str) -> Step:
        """Run a command as it stands on a page."""
        before, begun_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            ["bash", "-ec", command], cwd=self.folder, env=self._environ, capture_output=True, text=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        step = Step(command, 1, time.monotonic() - begun_s, processor_s, done.returncode, done.stdout + done.stderr)
        self.steps.append(step)
        return step

    def edits(self, file: Path | str, text: str, told: str) -> None:
        """Change a file; the lines that are new are counted as typed."""
        path = self.folder / file
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(text, encoding="utf-8")
        new = [line for line in difflib.ndiff(before.splitlines(), text.splitlines()) if line.startswith("+ ")]
        self.steps.append(Step(told, len(new)))


def plan_of_their_own(folder: Path, programs: Path) -> list[Step]:
    """From an empty folder to a checked plan of the coming week in Great Britain; carbon and weather from stand-ins."""
    stood_in = folder.parent / f"{folder.name}-providers"
    stood_in.mkdir(parents=True)
    with providers(stood_in) as told:
        user = Newcomer(folder, programs, told)
        user.types("gridpace init my-site --zone GB")
        text = (folder / SITE).read_text(encoding="utf-8")
        for given, own in OWN:
            assert given in text, given
            text = text.replace(given, own, 1)
        for part in NOT_THEIRS:
            text = part.sub("", text)
        user.edits(SITE, text, f"describe block, pool and run in {SITE}")
        refused = user.types(PLAN)
        assert refused.code == 2, refused.output
        user.edits(SITE, text.replace("gpus = 48", "gpus = 24"), "mend the line that it names")
        user.types(PLAN)
        user.types(CHECK)
    return user.steps


def training_made_aware(folder: Path, programs: Path) -> list[Step]:
    """A training script that follows a calendar: throttled, held, saved and ended by it, then begun again."""
    user = Newcomer(folder, programs)
    script = folder / "train.py"
    script.write_text(TRAINING, encoding="utf-8")
    text = TRAINING
    for place, lines in AWARE:
        assert place in text, place
        text = text.replace(place, lines, 1)
    user.edits("train.py", text, "put the lines of README.md into train.py")
    user.types("python train.py")
    (folder / "checkpoint.json").unlink()
    calendar = folder / "calendar.json"
    asked = f"GRIDPACE_CALENDAR=calendar.json GRIDPACE_RUN={RUN} GRIDPACE_SIMULATE=8 python train.py"
    publish(calendar, (4.0, "run", 300.0, "none"), (0.4, "hold", None, "before"), (3600.0, "off", None, "before"))
    user.types(asked)
    publish(calendar, (3600.0, "run", 350.0, "none"))
    user.types(asked)
    return user.steps
