"""What is known of where a model comes from: the model card says this and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.tasks.trained_on import TrainedOn
from ticketlab.tickets.ticket import Ticket


@frozen
class Measurement:
    """One measurement of the model: accuracy on a split, or what an attack left of it. Fractions; None is a number over nothing.

    ``how`` says on which examples: their number, the split, the seed of the sample; ``warnings`` what makes the numbers mean less than they
    seem to.
    """

    task: str
    what: str
    clean: float | None
    aua: float | None = None
    suc: float | None = None
    queries: float | None = None
    how: str = ""
    warnings: Sequence[str] = ()


@frozen
class Provenance:
    """Where a model comes from. What is empty is not known.

    ``base_model`` is the pre-trained model by its name; ``stages`` has (stage, kind, settings) of each step that led to the model, in
    order. ``ticket`` is the last one drawn on the way. ``trained_on`` goes into the folder of what is exported.
    """

    base_model: str = ""
    recipe: str = ""
    scale: str = ""
    task: str = ""
    seed: int | None = None
    stages: Sequence[tuple[str, str, Mapping[str, Any]]] = ()
    ticket: Ticket | None = None
    measured: Sequence[Measurement] = ()
    trained_on: TrainedOn | None = None
