from __future__ import annotations

from importlib import import_module

import pytest

from tests.bench.__main__ import BENCHES


@pytest.mark.parametrize("name", BENCHES)
def test_every_benchmark_named_can_be_called(name):
    main = import_module(f"tests.bench.{name}").main
    with pytest.raises(SystemExit, match=r"option|argument|2"):
        main(["--no-such-option"])
