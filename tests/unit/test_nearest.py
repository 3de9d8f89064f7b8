from __future__ import annotations

from planner.nearest import nearest


def test_the_nearest_word_is_found_whatever_its_capitals():
    assert nearest("h100-smx", ["A100-SXM", "H100-SXM"]) == "H100-SXM"
    assert nearest("DEGC", ["degF", "degC"]) == "degC"
    assert nearest("carbn", ("price", "carbon")) == "carbon"


def test_none_is_near():
    assert nearest("quux", ["carbon", "price"]) is None
    assert nearest("carbon", []) is None
