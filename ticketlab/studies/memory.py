"""Estimates the main memory that a stage needs, so that stages that run at a time fit in it together."""

from __future__ import annotations

import functools

from attrs import frozen

from ticketlab.attacks.engine.chunk_work import RESOURCES_MEMORY
from ticketlab.backbone.device import pick_device
from ticketlab.backbone.weights import load_config
from ticketlab.core.errors import TicketlabError
from ticketlab.executors.base import PROCESS_MEMORY
from ticketlab.lab.results import TRAININGS
from ticketlab.runs.run_inputs import RunInputs
from ticketlab.stages.base import Stage

STEP = 10**8
"""Estimates are rounded up to a multiple of it."""
FLOAT = 4
COPIES = {"train": 4, "search": 5, "export": 2}
"""Values per weight: the weight, its gradient and the two moments of AdamW; in a search the scores are trained and the weights kept."""
RESOURCES = {"attack": RESOURCES_MEMORY}
"""Bytes of what a stage loads besides the model and data."""


def memory_of(stage: Stage, inputs: RunInputs) -> int | None:
    """Return an estimate of the bytes of main memory that a stage needs; None for a model whose config is unknown.

    It is the sum of a process, the weights with their gradients and AdamW's moments, and the activations of one batch of the longest
    inputs: for the backward pass, those of every layer. What attacks load is counted with 1 GB. On a GPU only the process counts, since
    the rest is in the GPU's memory.
    """
    if pick_device().type != "cpu":
        return PROCESS_MEMORY + RESOURCES.get(stage.name, 0)
    sizes = _sizes(inputs.model) if inputs.model else None
    if sizes is None:
        return None
    weights = FLOAT * sizes.weights * COPIES.get(stage.name, 1)
    rows, length = int(getattr(stage, "batch_size", 1)), stage.longest(inputs.recipe.max_length)
    layers = sizes.layers if stage.name in TRAININGS else 1
    needed = PROCESS_MEMORY + weights + RESOURCES.get(stage.name, 0) + layers * sizes.activations(rows, min(length, sizes.longest))
    return -(-needed // STEP) * STEP


@frozen
class _Sizes:
    weights: int
    hidden: int
    layers: int
    heads: int
    neurons: int
    longest: int

    def activations(self, rows: int, length: int) -> int:
        """Return the bytes of the activations of one layer: 12 of the hidden size, 2 of the neurons, and 2 matrices of attention."""
        return FLOAT * rows * length * (12 * self.hidden + 2 * self.neurons + 2 * self.heads * length)


@functools.cache
def _sizes(model: str) -> _Sizes | None:
    """Return the sizes of a model according to its config; None if it has none that is readable or understood."""
    try:
        config = load_config(model, model)
        hidden, layers, vocabulary = int(config.hidden_size), int(config.num_hidden_layers), int(config.vocab_size)
    except (TicketlabError, AttributeError, TypeError, ValueError):
        return None
    neurons = int(getattr(config, "intermediate_size", None) or 4 * hidden)
    heads = int(getattr(config, "num_attention_heads", 1))
    longest = int(getattr(config, "max_position_embeddings", 512))
    weights = (vocabulary + longest) * hidden + layers * (4 * hidden**2 + 2 * hidden * neurons)
    return _Sizes(weights, hidden, layers, heads, neurons, longest)
