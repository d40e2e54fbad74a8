"""Summary over the seeds of one stage's attack on one model; ``attack_table`` makes the table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.report.attacked_sample import AttackedSample
from ticketlab.report.statistics import Measure, distinct_stages, summarise, summarise_means

Stages = Mapping[str, Mapping[str, Any]]


@frozen
class AttackSummary:
    """The results of one attack. ``clean`` is the accuracy on the attacked sample; ``errors`` and ``timeouts`` count examples of all seeds.

    ``label`` is the attack's name, with the stage where the name alone is ambiguous. ``split``, ``size`` and ``sample_seed`` identify the
    attacked examples. ``words`` is the fraction of words changed and ``similarity`` the cosine to the original, both over successful
    attacks; ``replaceable_examples`` and ``replaceable_words`` are the fractions for which the attack had a candidate. ``keys`` has the
    stage's key for each distinct measurement, and ``samples`` the counts of outcomes.
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
    samples: tuple[AttackedSample, ...] = ()


def summarise_attacks(seeds: Sequence[Stages], ambiguous: Collection[str]) -> tuple[AttackSummary, ...]:
    """Return a summary for each stage and attack of one model.

    ``seeds`` has the stages of each seed that measured the model. Labels of ``ambiguous`` attacks include the stage.
    """
    names = dict.fromkeys((stage, name) for stages in seeds for stage, found in stages.items() for name in found.get("attacks", {}))
    return tuple(
        _summarise(name, stage, [found[stage] for found in seeds if name in found.get(stage, {}).get("attacks", {})], name in ambiguous)
        for stage, name in names
    )


def attack_settings(stage: Mapping[str, Any], name: str) -> Any:
    """Return the settings of a stage that affect an attack's numbers, without the model and the other attacks."""
    settings = stage.get("settings", {})
    return {**settings, "attacks": settings.get("attacks", {}).get(name)}


def _summarise(name: str, stage: str, seeds: Sequence[Mapping[str, Any]], ambiguous: bool) -> AttackSummary:
    stages = distinct_stages(seeds)
    results = [result["attacks"][name] for result in stages]
    sample = stages[0].get("sample", {})

    def fraction(key: str) -> Measure | None:
        sizes = [result.get(f"{key}_of", {}).get("total", result["n"]) for result in results if result[key] is not None]
        return summarise([result[key] for result in results], sizes)

    return AttackSummary(
        name=name,
        clean=fraction("clean"),
        aua=fraction("aua"),
        suc=fraction("suc"),
        queries=summarise_means(results, "queries"),
        words=summarise_means(results, "words_changed"),
        similarity=summarise_means(results, "similarity"),
        replaceable_examples=summarise([result.get("replaceable_examples") for result in results]),
        replaceable_words=summarise([result.get("replaceable_words") for result in results]),
        errors=sum(result.get("errors", 0) for result in results),
        timeouts=sum(result.get("timeouts", 0) for result in results),
        label=f"{name} ({stage})" if ambiguous else name,
        stage=stage,
        split=sample.get("split", ""),
        size=sample.get("size"),
        sample_seed=sample.get("seed"),
        keys=tuple(str(result["key"]) for result in stages if "key" in result),
        samples=tuple(AttackedSample.of(sample.get("split", ""), result) for result in results),
    )
