"""The fault matrix as a table after the tests, from what every test process has found."""

from __future__ import annotations

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    from tests.faults.matrix.cell import STATES, SUBJECTS

    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    cells = [tuple(value) for report in reports for name, value in report.user_properties if name == "cell"]
    if not cells:
        return
    known = {cell[:3]: cell[3:] for cell in cells}
    faults = list(dict.fromkeys(cell[0] for cell in sorted(cells, key=_order)))
    write = terminalreporter.write_line
    terminalreporter.section("fault matrix: what became of the training, and s until the limit was given back")
    write(f"| fault | to | {' | '.join(STATES)} |")
    write(f"|---|---|{'---|' * len(STATES)}")
    for fault in faults:
        for subject in SUBJECTS:
            row = [_written(known.get((fault, subject, state))) for state in STATES]
            write(f"| {fault} | {subject} | {' | '.join(row)} |")
    done = [cell for cell in cells if cell[4] is not None]
    slowest_s = max((cell[4] for cell in done), default=0.0)
    write(
        f"{len(done)} of {len(faults) * len(SUBJECTS) * len(STATES)} cells; limits back after {slowest_s:.1f} s at most"
    )


def _written(found: tuple[str, float | None] | None) -> str:
    if found is None:
        return "-"
    outcome, restored_s = found
    return outcome if restored_s is None else f"{outcome}, {restored_s:.1f}"


def _order(cell: tuple) -> int:
    from tests.faults.matrix.faults import FAULTS

    return [kind.name for kind in FAULTS].index(cell[0])
