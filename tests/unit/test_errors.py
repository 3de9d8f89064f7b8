from __future__ import annotations

import inspect

import pytest

from planner import errors


def kinds():
    return [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.GridpaceError)]


@pytest.mark.parametrize("kind", kinds())
def test_every_error_is_drawn_in_the_tree_with_its_exit_code(kind):
    (line,) = [line for line in errors.__doc__.splitlines() if line.strip("│├└─ ").split(" ")[0] == kind.__name__]
    if "exit" in line:
        assert f"exit {kind.exit_code}" in line
    else:
        assert kind is errors.GridpaceError or kind.exit_code == kind.__base__.exit_code


def test_an_error_says_what_why_and_fix():
    assert str(errors.ConfigError("w", "y", "f")) == "w\nwhy: y\nfix: f"
    assert str(errors.ConfigError("w", fix="f")) == "w\nfix: f"
    assert errors.Infeasible("w", conflicts=("a", "b")).conflicts == ("a", "b")


@pytest.mark.parametrize("kind", kinds())
def test_every_error_stands_in_the_catalogue_with_its_exit_code(kind, root):
    page = (root / "docs" / "errors.md").read_text(encoding="utf-8")
    assert f"| `{kind.__name__}` | {kind.exit_code} |" in page
