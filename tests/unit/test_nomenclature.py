"""Names of quantities end in a unit that docs/nomenclature.md lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT
from thermal.description import KINDS
from thermal.plant import settings

PAGE = (ROOT / "docs" / "nomenclature.md").read_text(encoding="utf-8")
PLACES = [
    "power",
    "thermal",
    "planner/week.py",
    "planner/run.py",
    "planner/pool.py",
    "planner/moves.py",
    "planner/schedule.py",
    "planner/evaluate/record.py",
    "planner/heat.py",
    "planner/outcome.py",
    "planner/accounts",
    "planner/config",
    "planner/respond",
    "trainer_hooks/contract.py",
]


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.split(f"## {title}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def first_column(title: str) -> list[str]:
    return [
        word
        for line in re.findall(r"^\| (`.*?) \|", section(title), re.MULTILINE)
        for word in re.findall(r"`(\w+)`", line)
    ]


SUFFIXES = tuple(first_column("Units at the end of names"))
PLAIN = set(first_column("Quantities without a unit in their name"))


def quantities() -> Iterator[tuple[str, str, str]]:
    for place in PLACES:
        path = ROOT / place
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                    continue
                if "NamedTuple" in map(ast.unparse, node.bases):
                    continue  # parts of one computation, not facts that are handed on
                for field in node.body:
                    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                        kind = ast.unparse(field.annotation)
                        if re.search(r"\bfloat|NDArray\[np\.float64\]", kind) and not field.target.id.startswith("_"):
                            yield str(file.relative_to(ROOT)), node.name, field.target.id


@pytest.mark.parametrize(("file", "owner", "name"), list(quantities()))
def test_a_quantity_ends_in_its_unit(file, owner, name):
    own_unit = name in PLAIN or re.search(r"^(tokens|hours)_|_(tokens|gpu_hours)$", name)
    assert own_unit or f"_{name}".endswith(SUFFIXES), f"{file}: {owner}.{name} has no unit of docs/nomenclature.md"
    assert not re.search(r"_mw(_|$)", name), f"{file}: {owner}.{name}: milliwatt or megawatt?"


def test_the_page_lists_no_word_that_nothing_uses():
    used = {name for _, _, name in quantities()}
    assert not PLAIN - used


def test_the_page_lists_no_unit_that_nothing_uses():
    files = [path for top in ("power", "thermal", "planner", "trainer_hooks") for path in (ROOT / top).rglob("*.py")]
    names = "\n".join(path.read_text(encoding="utf-8") for path in files)
    names += "\n".join(name for kind in KINDS for name in settings(kind))  # of a part and a field: pad_effectiveness
    assert not [suffix for suffix in SUFFIXES if not re.search(rf"{suffix}\b", names)]
