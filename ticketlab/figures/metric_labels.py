"""What a metric is called on an axis, whether it is shown in percent, and the values that are possible."""

from __future__ import annotations

from attrs import frozen

from ticketlab.lab.results import CORRELATIONS, SHARES

MEASURES = {
    "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "macro_f1": "macro F1", "weighted_f1": "weighted F1",
    "binary_f1": "F1", "matthews": "Matthews correlation", "aua": "Aua", "suc": "Suc", "clean": "Clean", "queries": "queries",
    "similarity": "similarity", "words_changed": "changed words", "bias_degree": "bias degree", "calibration_error": "calibration error",
    "loss": "loss", "gates_at_zero": "gates at 0", "gates_at_one": "gates at 1", "penalty": "regulariser R",
    "heads_at_zero": "heads at 0", "heads_at_one": "heads at 1", "heads_open": "expected open heads",
    "target": "target of R", "heads_target": "target of open heads", "neurons_target": "target of open neurons",
    "neurons_at_zero": "neurons at 0", "neurons_at_one": "neurons at 1", "neurons_open": "expected open neurons",
}  # fmt: skip
COSTS = {"seconds": "time", "search_seconds": "search time", "training_seconds": "training time", "parameters": "trainable parameters"}
NAMES = ("Aua", "Suc", "R ")
"""Beginnings of labels that are names, with a capital letter everywhere."""
OF_LABELS = {"recall": "recall of", "predicted": "predictions of", "examples": "examples of"}
"""Measures of each label."""
GATES = {f"{units}_at_{end}" for units in ("gates", "heads", "neurons") for end in ("zero", "one")}
OPEN = {f"{units}_{measure}" for units in ("heads", "neurons") for measure in ("open", "target")}
PERCENTAGES = {*SHARES, *GATES, *OPEN, "zeros", "ones", "open", "recall", "majority"}


@frozen
class MetricLabel:
    """The text of a metric, such as ``Aua under textfooler``, what its numbers are multiplied by to be shown, and their unit.

    ``bounds`` are the smallest and largest possible shown values, if there are any.
    """

    text: str
    factor: float = 1.0
    bounds: tuple[float, float] | None = None
    unit: str = ""

    @property
    def axis(self) -> str:
        """The title of an axis."""
        unit = "%" if self.factor != 1 else self.unit
        return f"{self.text} ({unit})" if unit else self.text

    @property
    def within(self) -> str:
        """The text within a sentence."""
        return self.text if self.text.startswith(NAMES) else self.text[0].lower() + self.text[1:]


def label_of(metric: str) -> MetricLabel:
    """Return the label of a metric by its name (see :mod:`ticketlab.report.numbers`)."""
    split, _, rest = metric.partition(".")
    if split in ("dev", "train", "all") and rest:
        inner = label_of(rest)
        return MetricLabel(f"{inner.text} on the {split} split", inner.factor, inner.bounds)
    group, *middle, last = metric.split(".")
    name = last.removeprefix("dev_")
    text = MEASURES.get(name, name.replace("_", " "))
    for kind in OF_LABELS:
        if group in ("clean", "ood") and f".{kind}." in metric:
            before, _, label = metric.partition(f".{kind}.")
            return MetricLabel(f"{_set_of(before)} {OF_LABELS[kind]} {label}", 100, (0, 100))
    if group == "cost":
        return MetricLabel(COSTS.get(last, text).capitalize(), bounds=(0, float("inf")), unit="s" if last.endswith("seconds") else "")
    if group == "sparsity":
        return MetricLabel(f"Removed {last}", 100, (0, 100))
    if group == "looks":
        distance = last.removeprefix("distance_")
        return MetricLabel(f"Mask distance of {distance}" if distance != last else text.capitalize())
    shown = text[0].upper() + text[1:]
    if group == "attack" and middle:
        shown = f"{shown} under {'.'.join(middle)}"
    elif group == "ood" and middle:
        shown = f"{'.'.join(middle)} {text}"
    elif group == "clean":
        shown = f"Clean {text}"
    elif group == "history" and last.startswith("dev_"):
        shown = f"Development {text}"
    if name in PERCENTAGES:
        return MetricLabel(shown, 100, (0, 100))
    return MetricLabel(shown, bounds=(-1, 1) if name in CORRELATIONS else None)


def _set_of(prefix: str) -> str:
    """Return the name of the set in the beginning of a metric: ``clean``, ``ood.hans``."""
    return prefix.partition(".")[2] or "Clean"
