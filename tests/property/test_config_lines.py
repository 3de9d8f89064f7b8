"""Every value of any TOML text has a line, and its key stands on that line."""

from __future__ import annotations

import json
import tomllib

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.config.lines import line_numbers

_KEYS = st.text("abcdefgh_-", min_size=1, max_size=5)
_SCALARS = st.one_of(
    st.integers(-99, 99).map(str),
    st.booleans().map(lambda b: str(b).lower()),
    st.text('abc #[]{},=."\\\n', max_size=8).map(json.dumps),
    st.text("abc #[]{},=.\"\\\n'", max_size=8)
    .filter(lambda t: "'''" not in t and not t.endswith("'"))
    .map(lambda t: f"'''\n{t}'''"),
)
_BREAK = st.sampled_from(["", " ", "\n", " # ] note }\n  "])


def _inline(children):
    pairs = st.dictionaries(_KEYS, children, max_size=3)
    table = pairs.map(lambda d: "{ " + ", ".join(f"{k} = {v}" for k, v in d.items()) + " }")
    array = st.tuples(st.lists(children, max_size=3), _BREAK).map(
        lambda t: "[" + t[1] + f",{t[1]}".join(t[0]) + t[1] + "]"
    )
    return st.one_of(table, array)


_VALUES = st.recursive(_SCALARS, _inline, max_leaves=6)


@st.composite
def _texts(draw):
    parts = [f"{k} = {draw(_VALUES)}" for k in draw(st.sets(_KEYS, max_size=3))]
    for name in sorted(draw(st.sets(st.sampled_from(["t1", "t2", "t3"])))):
        for _ in range(draw(st.integers(1, 3))):
            parts.append(f"[[{name}]] # [x]")
            parts += [f"{k} = {draw(_VALUES)}" for k in sorted(draw(st.sets(_KEYS, max_size=3)))]
    return "\n".join(parts) + draw(st.sampled_from(["", "\n"]))


def _paths(value, path=()):
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _paths(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _paths(inner, (*path, i))


@settings(deadline=None)
@given(_texts())
def test_every_key_of_any_text_is_found_on_its_line(text):
    lines = line_numbers(text)
    assert set(lines) == set(_paths(tomllib.loads(text)))
    rows = text.split("\n")
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert path[-1] in rows[line - 1]
