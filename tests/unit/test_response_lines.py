"""How the delivery of an answer is told, by its sign."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.export.response import response_lines
from tests.unit.test_respond import answered, cut


@pytest.fixture(scope="module")
def response():
    return answered(cut(0.05))[0]


@pytest.mark.parametrize(
    ("kw", "words"),
    [(1.5, "; 1.50 kW less than the"), (-1.5, "; 1.50 kW more than the"), (-1e-9, "; as much as the")],
)
def test_delivery_is_told_by_its_sign(response, kw, words):
    part = replace(response.delivered[0], baseline_kw=response.delivered[0].import_kw + kw)
    line = next(response_lines(replace(response, delivered=(part,)), {}, in_force=False))
    assert words in line
