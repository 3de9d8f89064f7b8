from __future__ import annotations

import re
import shlex
from importlib import import_module

import pytest

from tests.bench.__main__ import BENCHES
from tests.pages import BENCH, PAGES, commands

TEXTS = [page.read_text(encoding="utf-8") for page in PAGES.values()]
NAMED = {
    command.removeprefix(BENCH)
    for command in (
        *(command for page in PAGES.values() for command in commands(page) if command.startswith(BENCH)),
        *(named for text in TEXTS for named in re.findall(rf"`({BENCH}[^`]+)`", text)),
    )
}


@pytest.mark.parametrize("name", BENCHES)
def test_every_benchmark_named_can_be_called(name):
    main = import_module(f"tests.bench.{name}").main
    with pytest.raises(SystemExit, match=r"option|argument|2"):
        main(["--no-such-option"])


@pytest.mark.parametrize("told", sorted(NAMED))
def test_every_benchmark_on_a_page_takes_the_options_that_stand_there(told, capsys):
    name, *options = shlex.split(re.sub(r"\bN\b", "2", told))  # N stands for a number
    assert name in BENCHES
    with pytest.raises(SystemExit) as refused:
        import_module(f"tests.bench.{name}").main([*options, "--no-such-option"])
    said = f"{refused.value} {capsys.readouterr().err}"
    # What stands on the page is taken; the one option that is not there is what is refused.
    assert re.search(r"unrecognized arguments: --no-such-option$|not \['--no-such-option'\]", said.strip()), said
