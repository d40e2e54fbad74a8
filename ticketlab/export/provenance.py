"""The known provenance of a model: everything that a model card says about its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from ticketlab.tasks.trained_on import TrainedOn
from ticketlab.tickets.ticket import Ticket


@frozen
class Measurement:
    """One measurement of the model: its accuracy on a split, or under an attack. Numbers are fractions, except queries; None: no examples.

    ``attack`` is the name of the attack, or "no attack". ``examples`` describes the examples: their number, the split, the seed of the
    sample. ``warnings`` are reasons why the numbers may be misleading.
    """

    task: str
    attack: str
    clean: float | None
    aua: float | None = None
    suc: float | None = None
    queries: float | None = None
    examples: str = ""
    warnings: Sequence[str] = ()


@frozen
class Provenance:
    """The origin of a model and its measurements. Empty fields are unknown.

    ``base_model`` is the name of the pre-trained model; ``stages`` has (stage, kind, settings) of each stage that led to the model, in
    order. ``ticket`` is the last one drawn in these stages. ``trained_on`` is written to the folder of the exported model.
    """

    base_model: str = ""
    recipe: str = ""
    scale: str = ""
    task: str = ""
    seed: int | None = None
    stages: Sequence[tuple[str, str, Mapping[str, Any]]] = ()
    ticket: Ticket | None = None
    measurements: Sequence[Measurement] = ()
    trained_on: TrainedOn | None = None
