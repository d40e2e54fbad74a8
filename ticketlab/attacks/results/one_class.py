"""The warning of an attack on a model that predicts one class for every example of the sample, and the class that it names."""

from __future__ import annotations

BEFORE, AFTER = "the model predicts `", "` for every example of the sample"


def warning_of_one_class(label: str) -> str:
    """Return the warning."""
    return f"{BEFORE}{label}{AFTER}; it may have learned nothing"


def label_of_one_class(warning: str) -> str | None:
    """Return the class that a warning names, None if it is another warning."""
    label = warning.partition(BEFORE)[2]
    return label.rpartition(AFTER)[0] if AFTER in label else None
