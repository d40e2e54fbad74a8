"""The data of a chart, apart from its marks: Altair copies a chart at each step of its composition, and its data with it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
from attrs import define, field


@define
class Tables:
    """The tables of one chart by their names, which are digests of their content."""

    rows: dict[str, list[dict[str, Any]]] = field(factory=dict)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> alt.NamedData:
        """Add a table, and return what a mark refers to it by."""
        table = [dict(row) for row in rows]
        name = f"data-{hashlib.sha256(json.dumps(table).encode()).hexdigest()[:12]}"
        self.rows[name] = table
        return alt.NamedData(name=name)
