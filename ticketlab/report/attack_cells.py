"""What one stage's attack did to one model, summarised over the seeds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.report.samples import Sample
from ticketlab.report.statistics import Measure, distinct, summarise, summarise_means

Stages = Mapping[str, Mapping[str, Any]]


@frozen
class AttackCells:
    """What one attack did. ``clean`` is the accuracy on the attacked sample; ``errors`` and ``timeouts`` count examples of all seeds.

    ``label`` is the name, with the stage where several stages attack so. ``split``, ``size`` and ``sample_seed`` say which examples.
    ``words`` is the fraction of words changed and ``similarity`` the cosine to the original, both where the attack succeeded;
    ``replaceable_examples`` and ``replaceable_words`` are the fractions for which the attack had a candidate. ``keys`` has the stage's key
    for each measurement that differs, and ``samples`` what became of its examples.
    """

    name: str
    clean: Measure | None
    aua: Measure | None
    suc: Measure | None
    queries: Measure | None
    words: Measure | None = None
    similarity: Measure | None = None
    replaceable_examples: Measure | None = None
    replaceable_words: Measure | None = None
    errors: int = 0
    timeouts: int = 0
    label: str = ""
    stage: str = ""
    split: str = ""
    size: int | None = None
    sample_seed: int | None = None
    keys: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()


def of_model(seeds: Sequence[Stages], told_apart: Collection[str]) -> tuple[AttackCells, ...]:
    """Return the cells of each stage and attack. ``seeds`` have the stages that measured the model; attacks ``told_apart`` name theirs."""
    names = dict.fromkeys((stage, name) for stages in seeds for stage, found in stages.items() for name in found.get("attacks", {}))
    return tuple(
        _cells(name, stage, [found[stage] for found in seeds if name in found.get(stage, {}).get("attacks", {})], name in told_apart)
        for stage, name in names
    )


def settings_of(stage: Mapping[str, Any], name: str) -> Any:
    """Return the settings of a stage that an attack's numbers depend on, but for the model and the other attacks."""
    settings = stage.get("settings", {})
    return {**settings, "attacks": settings.get("attacks", {}).get(name)}


def _cells(name: str, stage: str, seeds: Sequence[Mapping[str, Any]], told_apart: bool) -> AttackCells:
    stages = distinct(seeds)
    found = [one["attacks"][name] for one in stages]
    sample = stages[0].get("sample", {})

    def share(key: str) -> Measure | None:
        sizes = [one.get(f"{key}_of", {}).get("total", one["n"]) for one in found if one[key] is not None]
        return summarise([one[key] for one in found], sizes)

    return AttackCells(
        name=name,
        clean=share("clean"),
        aua=share("aua"),
        suc=share("suc"),
        queries=summarise_means(found, "queries"),
        words=summarise_means(found, "words_changed"),
        similarity=summarise_means(found, "similarity"),
        replaceable_examples=summarise([one.get("replaceable_examples") for one in found]),
        replaceable_words=summarise([one.get("replaceable_words") for one in found]),
        errors=sum(one.get("errors", 0) for one in found),
        timeouts=sum(one.get("timeouts", 0) for one in found),
        label=f"{name} ({stage})" if told_apart else name,
        stage=stage,
        split=sample.get("split", ""),
        size=sample.get("size"),
        sample_seed=sample.get("seed"),
        keys=tuple(str(one["key"]) for one in stages if "key" in one),
        samples=tuple(Sample.of(sample.get("split", ""), one) for one in found),
    )
