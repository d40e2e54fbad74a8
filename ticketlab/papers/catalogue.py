"""The catalogue of the papers' studies: names such as ``robust-tickets/table-1``, titles, and reading one.

Each is a study file in the folder of its paper. Listing them reads only their TOML, and imports neither torch nor the recipes.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.studies.required_plugin import reason_not_loaded

if TYPE_CHECKING:
    from ticketlab.studies.definition import Study

FOLDER = Path(__file__).parent
PAPERS = {"robust-tickets": "RobusT", "early-robust": "EarlyRobust", "orticket": "ORTicket", "srnets": "SRNets"}
"""The folder of each paper, and what the paper calls its method."""
SMALL = "small"


@frozen
class PaperStudy:
    """A table or figure of a paper. ``table`` is the content of its study file."""

    name: str
    path: Path
    table: Mapping[str, Any] = field(repr=False)

    @property
    def title(self) -> str:
        """``RobusT, Table 1``; ``SRNets, Figure 2 of the supplement``."""
        paper, item = self.name.split("/")
        kind, number = item.removeprefix("supplement-").split("-")
        supplement = " of the supplement" if item.startswith("supplement-") else ""
        return f"{PAPERS[paper]}, {kind.capitalize()} {number}{supplement}"

    @property
    def summary(self) -> str:
        """What it shows, in one line."""
        return str(self.table["summary"])

    @property
    def paper(self) -> str:
        """The citation of the paper."""
        return str(self.table["paper"])

    @property
    def factors(self) -> dict[str, list[Mapping[str, Any]]]:
        """The levels of each factor at full scale, several recipes or tasks included; each level is a table."""
        found = {key.removesuffix("s"): list(self.table.get(key, ())) for key in ("recipes", "tasks")}
        factors: dict[str, list[Mapping[str, Any]]] = {
            name: [{"label": value} for value in values] for name, values in found.items() if len(values) > 1
        }
        for factor in self.table.get("factors", ()):
            factors[factor["name"]] = [level if isinstance(level, Mapping) else {"label": str(level)} for level in factor["levels"]]
        return factors

    @property
    def cells(self) -> int:
        """The number of cells at full scale that can be computed with the plugins that are loaded."""
        return math.prod(sum(level["label"] not in self.unavailable for level in levels) for levels in self.factors.values())

    @property
    def seeds(self) -> int:
        """The number of seeds at full scale."""
        return int(self.table["seeds"])

    @property
    def unavailable(self) -> dict[str, str]:
        """Levels that cannot be computed, with the reason, such as a plugin that is not loaded."""
        return {label: reason for label, plugin in self.plugins.items() if (reason := reason_not_loaded(plugin))}

    @property
    def plugins(self) -> dict[str, str]:
        """The plugin that a level needs, for those that need one."""
        return {level["label"]: level["plugin"] for levels in self.factors.values() for level in levels if "plugin" in level}

    @property
    def published(self) -> int:
        """How many numbers of the paper the file has."""
        return sum(len(row.keys() - self.factors.keys()) for row in self.table.get("published", ()))

    def text(self) -> str:
        """Return the study file as it was written."""
        return self.path.read_text(encoding="utf-8")


def paper_studies() -> dict[str, PaperStudy]:
    """Return all studies by name: by paper, tables before figures, then those of the supplement."""
    names = [f"{paper}/{path.stem}" for paper in PAPERS for path in sorted((FOLDER / paper).glob("*.toml"), key=_order)]
    return {name: _load(name) for name in names}


def find(name: str) -> PaperStudy:
    """Return the study of this name.

    :raises UsageError: there is none.
    """
    paper, _, item = name.partition("/")
    if paper not in PAPERS:
        raise UsageError(f"no paper is called `{paper}`{did_you_mean(paper, PAPERS)} (`ticketlab papers` lists their tables and figures)")
    items = [path.stem for path in sorted((FOLDER / paper).glob("*.toml"), key=_order)]
    if item not in items:
        raise UsageError(f"{paper} has no table or figure `{item}`{did_you_mean(item, items)} (`ticketlab papers {paper}` lists them)")
    return _load(name)


def read(
    name: str,
    *,
    scale: str | None = None,
    tasks: Sequence[Any] = (),
    model: str | None = None,
    seeds: int | Sequence[int] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Study:
    """Return a paper's study at a scale.

    ``tasks``, ``model`` and ``seeds`` replace those of the paper, and ``settings`` apply to every cell.

    :raises UsageError: there is no such study or scale; or the study varies the model, and a model is given.
    """
    from ticketlab.studies.read_definition import study_of

    found = find(name)
    scales = found.table.get("scales", {})
    if scale is not None and scale != "full" and scale not in scales:
        raise UsageError(f"{name} has no scale `{scale}`{did_you_mean(scale, ['full', *scales])}")
    changes: dict[str, Any] = {"model": model, "seeds": seeds, "set": dict(settings or {})}
    if tasks:
        changes["tasks"] = list(tasks)
    study = study_of(
        name.replace("/", "-"), found.table, scale=scale, **{key: value for key, value in changes.items() if value is not None}
    )
    for factor in study.factors:
        if model is not None and "model" in factor.keys:
            labels = ", ".join(level.label for level in factor.levels)
            raise UsageError(f"--model {model}: {name} compares models ({labels}), so one model cannot replace them; --scale small has one")
    return study


def _load(name: str) -> PaperStudy:
    path = FOLDER / f"{name}.toml"
    return PaperStudy(name, path, tomllib.loads(path.read_text(encoding="utf-8")))


def _order(path: Path) -> tuple[bool, bool, int]:
    supplement, kind, number = re.fullmatch(r"(supplement-)?(table|figure)-(\d+)", path.stem).groups()  # type: ignore[union-attr]
    return supplement is not None, kind == "figure", int(number)
