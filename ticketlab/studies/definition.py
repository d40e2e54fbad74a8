"""The definition of a study: what is varied, over which recipes, tasks and seeds, and what its report shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

from ticketlab.recipes.overrides import task_tables
from ticketlab.studies.levels import FactorLevels, numeric
from ticketlab.tasks.base import Task

GRID, ONE_AT_A_TIME = "grid", "one-at-a-time"
ABOUT_LEVEL = ("unavailable", "plugin")
"""Keys of a level that are no settings, besides its label."""
KEY_NAMES = {"attacks": "attack", "examples": "n"}
"""Arguments of :func:`ticketlab.compose` whose flag has another name."""
RECIPE, TASK = "recipe", "task"
DEFAULT_RECIPE = "ticket"


@frozen(kw_only=True)
class Study:
    """A study. ``settings`` apply to every cell whose recipe has them; ``factors`` include recipe and task if there are several.

    ``exclude`` lists combinations of levels to leave out, by factor; ``baseline`` is the label of a cell or of a level that one factor has.
    ``until`` names the last stage to compute, with those that it is computed from; empty for all. ``report`` has the tables ``hypotheses``,
    ``table``, ``figures``, ``published`` and ``differences`` of the file, which change no result. ``source`` is the file, if there is one,
    for error messages. ``reduced``: a scale or the command line has replaced some of the file's cells, so that hypotheses may be about
    others.
    """

    name: str
    recipe: str = DEFAULT_RECIPE
    tasks: tuple[Task, ...] = ()
    scale: str | None = None
    seeds: tuple[int, ...] | None = None
    design: str = GRID
    baseline: str = ""
    until: str = ""
    settings: Mapping[str, Any] = field(factory=dict)
    factors: tuple[FactorLevels, ...] = ()
    exclude: tuple[Mapping[str, Sequence[str]], ...] = ()
    summary: str = ""
    paper: str = ""
    report: Mapping[str, Any] = field(factory=dict)
    source: str = field(default="", eq=False)
    reduced: bool = field(default=False, eq=False)

    def to_table(self) -> dict[str, Any]:
        """Return the study as plain values, which :func:`ticketlab.studies.read_definition.study_of` accepts."""
        table: dict[str, Any] = {"summary": self.summary, "paper": self.paper, "recipes": [self.recipe], "design": self.design}
        table |= {"tasks": task_tables(self.tasks)} if self.tasks else {}
        table |= {"scale": self.scale} if self.scale else {}
        table |= {"seeds": list(self.seeds)} if self.seeds else {}
        table |= {"baseline": self.baseline} if self.baseline else {}
        table |= {"until": self.until} if self.until else {}
        table["set"] = {key: _plain(value) for key, value in self.settings.items()}
        table["factors"] = [
            {
                "name": factor.name,
                "levels": [
                    {"label": level.label}
                    | {key: value for key in ABOUT_LEVEL if (value := getattr(level, key))}
                    | {key: _plain(value) for key, value in level.settings.items()}
                    for level in factor.levels
                ],
            }
            for factor in self.factors
        ]
        table["exclude"] = [{name: list(labels) for name, labels in excluded.items()} for excluded in self.exclude]
        return {**{key: value for key, value in table.items() if value not in ("", {}, [])}, **self.report}

    def digest(self) -> str:
        """Return the sha256 of everything that decides which cells the study has, however it is written: as text, TOML or Python values."""
        told = ("summary", "paper", "baseline", *self.report)
        table = {key: _canonical(value) for key, value in self.to_table().items() if key not in told}
        return hashlib.sha256(json.dumps(table, sort_keys=True).encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """Return a value as plain values in which ``"0.5"`` is 0.5, ``"true"`` is True, ``attacks`` is ``attack`` and ``["a"]`` is ``"a"``."""
    if isinstance(value, Mapping):
        return {KEY_NAMES.get(str(key), str(key).replace("_", "-")): _canonical(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return _canonical(value[0]) if len(value) == 1 else [_canonical(item) for item in value]
    if isinstance(value, str):
        number = numeric(value)
        return {"true": True, "false": False}.get(value, value) if number is None else number
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _plain(value: Any) -> Any:
    """Return a value as TOML and JSON can hold it."""
    if isinstance(value, Task):
        return task_tables([value])[0]
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
