"""Divides a study into parts for the jobs of a job array, each of which works out from the plan what is its own.

The units of the division are the stages of a cell for one task and seed. They are put in an order in which those that share stages are next
to each other, and cut into runs of about equal work, so that few stages are needed by several parts. Such a stage is computed by the part
that gets to it first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from ticketlab.lab.results import TRAININGS
from ticketlab.studies.part import Part
from ticketlab.studies.plan import Plan, PlannedStage
from ticketlab.studies.planned_work import parts_of

PASSES_OF_TRAINING = 3.0
"""The work of training on an example, in passes of an example through the model: a forward and a backward pass, which is about two."""
PASSES_OF_ATTACK = 100.0
"""The work of attacking an example: about the number of queries of one."""
PASSES_OF_STAGE = 50.0
"""The work of a stage apart from its examples: loading the model and writing the results."""


@frozen
class Unit:
    """The stages of a cell, by position, for one task and seed."""

    cell: int
    task: str
    seed: int
    keys: tuple[str, ...]


def units_of_part(plan: Plan, part: Part) -> list[Unit]:
    """Return the units of one part of a plan. Every process that makes the same plan gets the same answer."""
    return divide(plan, part.of)[part.number - 1]


def only_units(plan: Plan, units: Iterable[Unit]) -> Plan:
    """Return a plan with the stages of these units and those that they need."""
    own = {key for unit in units for key in unit.keys}
    for key in reversed(list(plan.stages)):  # each comes after those that it needs
        if key in own:
            own.update(plan.stages[key].needs)
    return evolve(plan, stages={key: planned for key, planned in plan.stages.items() if key in own})


def divide(plan: Plan, number: int) -> list[list[Unit]]:
    """Divide the units of a plan into parts. Some are empty if there are fewer units than parts.

    The work of a stage that several units need is shared out among them. The amounts of two parts differ by about one unit at most.
    """
    units = units_of(plan)
    users = Counter(key for unit in units for key in unit.keys)
    work = {key: work_of(plan, planned) / users[key] for key, planned in plan.stages.items() if users[key]}
    position = {key: place for place, key in enumerate(plan.stages)}
    units.sort(key=lambda unit: sorted((-users[key], position[key]) for key in unit.keys))
    amounts = [sum(work[key] for key in unit.keys) for unit in units]
    parts, start = [], 0
    for end in _ends(amounts, number):
        parts.append(units[start:end])
        start = end
    return parts


def units_of(plan: Plan) -> list[Unit]:
    """Return the units of a plan, without those whose stages another unit has."""
    found: dict[frozenset[str], Unit] = {}
    for number, cell in enumerate(plan.cells):
        keys: dict[tuple[str, int], list[str]] = {}
        for (task, seed, _), key in cell.keys.items():
            keys.setdefault((task, seed), []).append(key)
        for (task, seed), of_unit in keys.items():
            found.setdefault(frozenset(of_unit), Unit(number, task, seed, tuple(dict.fromkeys(of_unit))))
    return list(found.values())


def work_of(plan: Plan, planned: PlannedStage) -> float:
    """Return the expected work of a stage in passes of an example through the model.

    It follows from the plan alone: what a lab has measured changes while the parts run.
    """
    passes = {"attack": PASSES_OF_ATTACK, **dict.fromkeys(TRAININGS, PASSES_OF_TRAINING)}.get(planned.stage.name, 1.0)
    return PASSES_OF_STAGE + passes * sum(amount for _, amount in parts_of(plan, planned))


def _ends(amounts: Sequence[float], number: int) -> list[int]:
    """Return where each of ``number`` runs of these amounts ends. Each run gets what is nearest to the mean of the runs that are left."""
    ends: list[int] = []
    total, left = 0.0, sum(amounts)
    for place, amount in enumerate(amounts):
        runs = number - len(ends)
        full = total + amount / 2 > left / runs or len(amounts) - place < runs
        if total and runs > 1 and full:
            ends.append(place)
            total, left = 0.0, left - total
        total += amount
    return ends + [len(amounts)] * (number - len(ends))
