from __future__ import annotations

import ast
import inspect
import re
from http import HTTPStatus
from pathlib import Path

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


PACKAGES = ("planner", "thermal", "power", "trainer_hooks")
NAME = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)
STATUS = re.compile(r"^\| (\d{3}) \|", re.MULTILINE)


@pytest.fixture(scope="module")
def trees(root) -> dict[Path, ast.Module]:
    files = [file for package in PACKAGES for file in (root / package).rglob("*.py")]
    return {file.relative_to(root): ast.parse(file.read_text(encoding="utf-8")) for file in files}


@pytest.fixture(scope="module")
def page(root) -> dict[str, str]:
    sections = re.split(r"^## ", (root / "docs" / "errors.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {title: text for title, _, text in (section.partition("\n") for section in sections)}


def descendants(trees, ancestor: str) -> set[str]:
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    found = {ancestor}
    while more := {name for name, parents in bases.items() if parents & found} - found:
        found |= more
    return found


def test_the_catalogue_has_every_error_of_the_commands_and_no_other(trees, page):
    assert set(NAME.findall(page["Commands"])) == descendants(trees, "GridpaceError")


def test_the_catalogue_has_every_error_of_the_hooks_and_no_other(trees, page):
    assert set(NAME.findall(page["Hooks and agent"])) == descendants(trees, "HookError")


def test_the_catalogue_has_every_status_that_the_service_answers_a_fault_with_and_no_other(trees, page):
    named = {
        node.attr
        for file, tree in trees.items()
        if file.parts[:2] == ("planner", "service")
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "HTTPStatus"
    }
    faults = {HTTPStatus[name].value for name in named if HTTPStatus[name] >= HTTPStatus.BAD_REQUEST}
    assert set(map(int, STATUS.findall(page["Answers of the service"]))) == faults


def test_the_catalogue_has_every_kind_of_alarm_and_no_other(trees, page):
    raised = set()
    for file, tree in trees.items():
        for call in ast.walk(tree) if file.parts[:2] == ("planner", "service") else ():
            if isinstance(call, ast.Call) and ast.unparse(call.func) in {"worker.alarm", "Alarm"}:
                told = call.args[0 if ast.unparse(call.func) == "worker.alarm" else 1]
                raised |= {told.value} if isinstance(told, ast.Constant) else set()
    assert set(NAME.findall(page["Alarms of the service"])) == raised


@pytest.mark.parametrize("kind", kinds())
def test_the_catalogue_has_each_exit_code(kind, page):
    assert f"| `{kind.__name__}` | {kind.exit_code} |" in page["Commands"]
