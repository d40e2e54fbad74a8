"""The main numbers of a run: for each task, the accuracy of one model without an attack, under the first attack, and on the first set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.lab.results import checkpoint_name, measuring_stages
from ticketlab.report.statistics import Measure, distinct_stages, summarise

Stages = Mapping[str, Mapping[str, Any]]
TEST = "test"
"""The split whose numbers are shown without its name."""


@frozen
class Headline:
    """The main numbers of a task, over the seeds of its run.

    ``model`` is the measured model, the first finished one, which is also the one that `ticketlab evaluate RUN` uses; ``models`` is the
    number of measured models. ``split`` and ``examples`` are what the accuracy was measured on, and ``attack_split`` and
    ``attack_examples`` what was attacked.
    """

    task: str
    model: str
    models: int
    clean: Measure | None = None
    split: str = TEST
    examples: int | None = None
    attack: str = ""
    aua: Measure | None = None
    attack_split: str = TEST
    attack_examples: int | None = None
    ood: str = ""
    ood_accuracy: Measure | None = None


def headlines(tasks: Mapping[str, Mapping[str, Stages]]) -> tuple[Headline, ...]:
    """Return the main numbers of each task in the results of a run; none for a task in which no model was measured."""
    return tuple(found for task, seeds in tasks.items() if (found := _headline(task, list(seeds.values()))) is not None)


def _headline(task: str, seeds: Sequence[Stages]) -> Headline | None:
    measured = [list(measuring_stages(stages).values()) for stages in seeds]
    models = list(dict.fromkeys((str(stage["of"]), str(stage.get("at", ""))) for stages in measured for stage in stages))
    if not models:
        return None
    model = min(models, key=lambda model: model[1] != "")
    own = [[stage for stage in stages if (str(stage["of"]), str(stage.get("at", ""))) == model] for stages in measured]
    evaluated = distinct_stages([stage for stages in own for stage in [stage for stage in stages if "clean" in stage][:1]])
    attacked, attack = _named(own, "attacks")
    challenged, ood = _named(own, "ood")
    sample: Mapping[str, Any] = next((stage.get("sample", {}) for stage in attacked), {})
    return Headline(
        task,
        checkpoint_name(*model),
        len(models),
        clean=summarise([stage["clean"]["accuracy"] for stage in evaluated]),
        split=next((stage["clean"].get("split", TEST) for stage in evaluated), TEST),
        examples=next((stage["clean"].get("n") for stage in evaluated), None),
        attack=attack,
        aua=summarise([stage["attacks"][attack].get("aua") for stage in attacked]),
        attack_split=sample.get("split", TEST),
        attack_examples=sample.get("size"),
        ood=ood,
        ood_accuracy=summarise([stage["ood"][ood].get("accuracy") for stage in challenged]),
    )


def _named(seeds: Sequence[Sequence[Mapping[str, Any]]], key: str) -> tuple[list[Mapping[str, Any]], str]:
    """Return the stages with the first attack or challenge set, and its name; it is empty if there is none."""
    name = next((name for stages in seeds for stage in stages for name in stage.get(key, ())), "")
    found = [[stage for stage in stages if name in stage.get(key, ())][:1] for stages in seeds]
    return distinct_stages([stage for stages in found for stage in stages]), name
