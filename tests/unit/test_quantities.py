from __future__ import annotations

import argparse

import pytest

from trainer_hooks.quantities import LONGEST_S, count, seconds, share


def test_quantities_within_their_limits_are_taken():
    assert (seconds("0"), seconds("2.5"), seconds(str(LONGEST_S))) == (0.0, 2.5, LONGEST_S)
    assert (share("0.03"), share("1")) == (0.03, 1.0)
    assert (count("0"), count("12")) == (0, 12)


@pytest.mark.parametrize(
    ("read", "text"),
    [
        *((read, text) for read in (seconds, share, count) for text in ("inf", "nan", "-1", "", "ten", "1e99")),
        (share, "0"),
        (share, "1.5"),
        (count, "2.5"),
        (seconds, "604801"),
    ],
)
def test_what_means_nothing_is_refused_with_its_limits(read, text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"is no .*"):
        read(text)
