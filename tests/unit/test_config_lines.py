"""The line of every key, for all forms of TOML that a site file may use."""

from __future__ import annotations

import tomllib

import pytest

from planner.config.lines import line_numbers, nearest_line


def test_tables_arrays_of_tables_and_sub_tables():
    lines = line_numbers(
        "top = 1\n\n[a]\nx = 1\n[[b]]\ny = 2\n[b.c]\nz = 3\n[[b]]\ny = 4\n[b.c]\nz = 5\n[[b.d]]\nw = 1\n"
    )
    assert lines["top",] == 1
    assert lines["a", "x"] == 4
    assert (lines["b", 0, "y"], lines["b", 0, "c", "z"]) == (6, 8)
    assert (lines["b", 1, "y"], lines["b", 1, "c", "z"], lines["b", 1, "d", 0, "w"]) == (10, 12, 14)


def test_multiline_arrays_and_inline_tables_have_a_line_for_each_element():
    text = 'stages = [\n  { name = "a", n = 1 }, # one\n\n  { name = "b", n = [\n    2] },\n]\nnext = [[1, 2], [\n3]]\n'
    lines = line_numbers(text)
    assert (lines["stages", 0, "n"], lines["stages", 1, "name"], lines["stages", 1, "n", 0]) == (2, 4, 5)
    assert lines["next", 1, 0] == 8


@pytest.mark.parametrize(
    "value",
    [
        '"a # no comment"',
        "'it ] } , is'",
        '"quote \\" and \\\\"',
        '"""\ntwo\nlines "" inside"""',
        "'''\na 'quoted' one\n'''",
        '"""ends in a quote\n""""',
        "2024-05-17 18:00:00",
        "[ # comment ]\n 1, # [\n 2 ]",
        "+1e9",
    ],
)
def test_whatever_stands_before_does_not_move_the_next_key(value):
    text = f"first = {value}\nlast = 1\n"
    assert tomllib.loads(text)["last"] == 1
    assert line_numbers(text)["last",] == text.count("\n")


def test_quoted_dotted_and_spaced_keys():
    lines = line_numbers('[gpu."my gpu \\u0041"]\nidle . "x.y" = 1\n\'lit\' = 2\n')
    assert lines["gpu", "my gpu A", "idle", "x.y"] == 2
    assert lines["gpu", "my gpu A", "lit"] == 3


def test_carriage_returns_count_once_and_a_missing_last_newline_is_fine():
    assert line_numbers("a = 1\r\nb = 2\r\n\r\nc = 3")["c",] == 4


def test_a_key_that_is_not_there_has_the_line_of_the_table_around_it():
    lines = line_numbers('[[pool]]\nname = "x"\n\n[[pool]]\nname = "y"\n')
    assert nearest_line(lines, ("pool", 1, "count")) == 4
    assert nearest_line(lines, ("run",)) is None
