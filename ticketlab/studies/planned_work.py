"""How much work a planned stage is, in units in which stages of other sizes can be expected from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ticketlab.lab.results import TRAININGS
from ticketlab.stages.base import Stage
from ticketlab.studies.plan import Plan, PlannedStage

Kind = tuple[str, ...]
"""What stages are alike: their kind, the model and the name of a search's pruner or of an attack."""


def parts_of(plan: Plan, planned: PlannedStage) -> Iterator[tuple[Kind, float]]:
    """Yield the kinds of work of a planned stage, with the amount of each."""
    inputs = plan.cells[planned.cell].inputs
    assert inputs is not None
    stage, model = planned.stage, inputs.recipe.model
    rows = {split: len(examples) for split, examples in inputs.data[planned.task.label].splits.items()}
    if stage.name in TRAININGS:
        pruner = getattr(stage, "pruner", None)
        kind = (stage.name, model) if pruner is None else (stage.name, model, pruner.name)
        yield kind, 1 if pruner is not None and not pruner.searches else _passes(stage, rows.get("train", 0))
    elif stage.name == "evaluate":
        yield (stage.name, model), _rows(rows, stage) + sum(len(data.splits.get("test", ())) for data in inputs.sets.values())
    elif stage.name == "attack":
        most = _rows(rows, stage)
        number = getattr(stage, "examples", None)
        for attack in getattr(stage, "attacks", ()):
            yield (stage.name, model, attack.label), min(number, most) if number and most else number or most
    else:
        yield (stage.name, model), 1


def _passes(stage: Stage, rows: int) -> float:
    """Return how many times a training passes an example through the model, at most."""
    return max(1.0, float(getattr(stage, "epochs", 1)) * rows) * max(1, int(getattr(getattr(stage, "adversary", None), "steps", 1)))


def _rows(rows: Mapping[str, int], stage: Stage) -> int:
    split = getattr(stage, "split", "test")
    return sum(rows.values()) if split == "all" else rows.get(split, 0)
