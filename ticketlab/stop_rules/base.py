"""The contract of a stop rule: when a search has seen enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from attrs import frozen
from torch import Tensor

from ticketlab.core.component import Component
from ticketlab.core.settings import setting


@frozen
class Observation:
    """What a rule is shown at the end of a mini-epoch. ``scores`` and ``development`` are computed when they are called."""

    step: int
    """Optimizer steps taken."""
    epoch: float
    """The same in epochs."""
    scores: Callable[[], Mapping[str, Tensor]]
    """The scores of the search, as ``draw`` would rank them."""
    development: Callable[[], float]
    """The accuracy on the development examples of what would be drawn."""


class Monitor:
    """One rule over one search. Whatever it remembers between looks is in :meth:`state_dict`."""

    def observe(self, observation: Observation) -> bool:
        """Take a look; return True to end the search here."""
        raise NotImplementedError

    def seen(self) -> Mapping[str, float]:
        """Return the numbers of the last look, for the log."""
        return {}

    def drawn(self) -> tuple[int, Mapping[str, Tensor]] | None:
        """Return the step and the scores to draw from if the search ended at an earlier look; None for those that it ended with."""
        return None

    def state_dict(self) -> dict[str, Tensor]:
        """Return every tensor that the next look depends on."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take back what :meth:`state_dict` returned."""


@frozen
class StopRule(Component):
    """Settings of a stop rule. A search that its rule never stops ends with its last epoch."""

    kind: ClassVar[str] = "stop rule"
    waits: ClassVar[bool] = True
    """Whether the rule waits for something, so that a search that ends without it deserves a warning."""
    judges: ClassVar[bool] = True
    """Whether the rule may look at the development examples, so that the sparsity of the tickets looked at counts."""

    interval: float = setting(0.05, above=0, unit="epochs", help="time between two looks (a mini-epoch); at least one step")

    @property
    def draws_earlier(self) -> bool:
        """Whether tickets may be drawn from an earlier look than the one that ends the search."""
        return False

    def start_monitor(self) -> Monitor:
        """Start watching a search."""
        raise NotImplementedError
