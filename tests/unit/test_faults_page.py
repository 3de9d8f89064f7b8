"""docs/faults.md says of every fault and subject what the matrix does."""

from __future__ import annotations

from tests.faults.matrix.cell import SUBJECTS
from tests.faults.matrix.faults import FAULTS


def test_the_page_has_every_fault_for_every_subject(root):
    rows = [
        line.strip("| ").split(" | ") for line in (root / "docs/faults.md").read_text().splitlines() if line[:1] == "|"
    ]
    defined = [["fault", *SUBJECTS], *([kind.name, *(kind.means[subject] for subject in SUBJECTS)] for kind in FAULTS)]
    assert [row for row in rows if len(row) == len(SUBJECTS) + 1] == defined
    assert all(len(set(row)) == len(row) for row in defined), "no fault means the same for two subjects"
