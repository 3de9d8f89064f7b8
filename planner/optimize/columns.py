"""What a program's parts are written in: its columns, and sums of them."""

from __future__ import annotations

from typing import TypeAlias

import pulp

Column: TypeAlias = pulp.LpVariable
Terms: TypeAlias = list[tuple[Column, float]]
"""Columns with their coefficients."""
