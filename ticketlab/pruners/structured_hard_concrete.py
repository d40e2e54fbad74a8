"""Structured hard-concrete masks: a stochastic gate for each attention head and FFN neuron, trained while the weights are frozen.

Gates on heads are those of Voita et al. (2019, Eq. 5-9); :mod:`ticketlab.pruners.hard_concrete` has their distribution.
"""

from __future__ import annotations

from typing import ClassVar

from attrs import frozen

from ticketlab.core.settings import setting
from ticketlab.pruners.gates import unit_gates
from ticketlab.pruners.hard_concrete import HardConcretePruner, HardConcreteSearch, shares
from ticketlab.tickets.draw import group_of
from ticketlab.training.plan import TrainingPlan


@frozen
class StructuredHardConcrete(HardConcretePruner):
    """One gate per head and per neuron. Gates are sampled once per optimizer step and used in all its passes.

    Minimises the objective + heads_penalty x R of the heads + neurons_penalty x R of the neurons over the gates' locations (log alpha),
    where R is the expected fraction of open gates of a group. Voita et al. penalise the expected number of open heads instead: their
    lambda is ``heads_penalty`` divided by the number of heads. The score of a unit is the location of its gate.

    With a ``target``, each of the two groups has a Lagrangian of its own instead, which aims at the target share of open gates, as for
    ``hard-concrete``.
    """

    name: ClassVar[str] = "structured-hard-concrete"
    summary: ClassVar[str] = "train a stochastic gate per head and neuron, with the weights frozen"
    paper: ClassVar[str] = "Voita et al., 2019, https://aclanthology.org/P19-1580"

    heads_penalty: float = setting(1.0, at_least=0, help="weight of the expected fraction of open heads in the loss (lambda_H)")
    neurons_penalty: float = setting(10.0, at_least=0, help="weight of the expected fraction of open neurons in the loss (lambda_F)")

    def groups(self) -> tuple[str, ...]:
        """Return heads and neurons."""
        return ("heads", "neurons")

    def begin(self, plan: TrainingPlan) -> HardConcreteSearch:
        """Put a gate on each head and neuron of the backbone."""
        gates = unit_gates(plan.backbone)
        of_gates: dict[str, float] = {}
        for group in self.groups():
            of_gates |= shares({name: own.shape[0] for name, own in gates.items() if group_of(name) == group}, "elements")
        return HardConcreteSearch(self, plan, gates, {"heads": self.heads_penalty, "neurons": self.neurons_penalty}, of_gates)
