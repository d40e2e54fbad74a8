"""The measures that evaluate and attack stages report, to check the name of a metric before anything is measured."""

from __future__ import annotations

import re

import attrs

from ticketlab.attacks.results.metrics import AttackMetrics
from ticketlab.core import registry
from ticketlab.core.errors import UsageError, did_you_mean
from ticketlab.report.metric_text import OF_LABEL, split_metric
from ticketlab.report.numbers import NOT_MEASURES
from ticketlab.report.set_summary import MEASURES

OF_SETS = ("accuracy", *MEASURES)
"""The scores of a model on a set of examples."""
OF_ATTACKS = tuple(field.name for field in attrs.fields(AttackMetrics) if field.name not in NOT_MEASURES)
SPLITS = ("dev", "train", "all")
SUBSET = re.compile(r"\[.*\]")
KNOWN = {"clean": OF_SETS, "ood": OF_SETS, "attack": OF_ATTACKS}


def check_measure(metric: str) -> None:
    """Check the measure in the name of a metric of a set of examples or of an attack; other metrics are accepted.

    :raises UsageError: no stage reports such a score, or what follows the split is neither ``clean``, ``ood`` nor ``attack``.
    """
    _, kind, _, measure = split_metric(SUBSET.sub("", metric))
    if kind in SPLITS:  # what follows it is not a kind and a name
        kind, _, measure = measure.partition(".")
        if kind not in KNOWN:
            raise UsageError(f"`{kind}` is no kind of metric{did_you_mean(kind, KNOWN)}")
    of_label = kind != "attack" and measure.partition(".")[0] in OF_LABEL
    known = [*KNOWN.get(kind, ()), *(registry.current().names("metric") if kind != "attack" else ())]
    if kind in KNOWN and measure not in known and not of_label:
        raise UsageError(f"there is no measure `{measure}`{did_you_mean(measure, known)}")
