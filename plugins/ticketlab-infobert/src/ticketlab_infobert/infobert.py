"""InfoBERT: adversarial training with two information-theoretic regularisers (Wang et al., 2021)."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from attrs import evolve, frozen
from torch import Tensor, nn
from torch.nn.functional import softplus

from ticketlab.plugin import (
    Adversary,
    AdversaryRun,
    Batch,
    Callback,
    LossFunction,
    LossOutput,
    SettingError,
    TrainingPlan,
    component,
    plain_step,
    sentence_states,
    setting,
)


@frozen
class InfoBert(Adversary):
    """Adds beta x (upper bound) - alpha x (lower bound) to the loss of each pass of another adversary.

    The upper bound (CLUB, with a Gaussian of unit variance) is on the mutual information of the words and their embeddings. The lower
    bound (InfoNCE) is on that of the representation Z of the sentence and the embeddings of its anchors: the tokens whose gradient of
    the loss is neither small, as they tell nothing, nor among the largest, as they are easily attacked. Both are of the batch. Embeddings
    are the output of the embedding layer, and Z is the last state of the token that stands for the text.

    The defaults are those of the authors' command for ANLI (https://github.com/AI-secure/InfoBERT), whose estimators these are, with
    three differences. The upper bound is the mean over all pairs of tokens, of which theirs draws one for each token. The lower bound
    compares an anchor with all anchors of the batch, and theirs with those of a random chunk. Their perturbations do not follow the
    gradient of the lower bound, and those of the inner adversary follow that of the whole sum.

    Each pass costs a second backward pass, for the gradients of the tokens. In a search that freezes the model the upper bound only
    changes the perturbations, as no mask acts on the embeddings.
    """

    name: ClassVar[str] = "infobert"
    summary: ClassVar[str] = "another adversary, with an information bottleneck and anchored features"
    paper: ClassVar[str] = "Wang et al., 2021, https://arxiv.org/abs/2010.02329"
    required_outputs: ClassVar[tuple[str, ...]] = ("hidden_states",)
    whole_batch: ClassVar[bool] = True  # both bounds compare the tokens of all sentences

    inner: Adversary = component("adversary", "freelb", help="the adversary that trains")
    alpha: float = setting(5e-3, at_least=0, help="weight of the lower bound (alpha)")
    beta: float = setting(5e-3, at_least=0, help="weight of the upper bound (beta)")
    lowest: float = setting(0.5, at_least=0, at_most=1, help="quantile of the gradient norms of a sentence where anchors begin (c_l)")
    highest: float = setting(0.9, at_least=0, at_most=1, help="quantile where they end (c_h)")
    width: int = setting(300, at_least=1, at_most=4096, help="hidden units of the critic")
    lr: float | None = setting(None, above=0, help="learning rate of the critic; by default that of the stage")

    def __attrs_post_init__(self) -> None:
        if self.lowest >= self.highest:
            raise SettingError(f"lowest: {self.lowest:g} is not below highest, {self.highest:g}: no token would be an anchor")

    @property
    def learns_at_rate(self) -> bool:
        """Whether the critic, or the inner adversary, is trained at the stage's rate."""
        return self.lr is None or self.inner.learns_at_rate

    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        """Begin with the inner adversary, and make the critic."""
        critic = Critic(int(plan.model.config.hidden_size), self.width).to(plan.model.device)
        return InfoBertRun(self, self.inner.begin(plan), plan.model, critic)


class InfoBertRun(AdversaryRun):
    """Trains the critic along with the model."""

    def __init__(self, settings: InfoBert, inner: AdversaryRun, model: nn.Module, critic: Critic) -> None:
        super().__init__(settings)
        self.infobert = settings
        self.model = model
        self.critic = critic
        self.bounds = {"upper_bound": torch.zeros(()), "lower_bound": torch.zeros(())}
        self._inner = inner

    def nested(self) -> list[Callback]:
        """Return the inner run."""
        return [self._inner]

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Return the parameters of the critic."""
        rate = {} if self.infobert.lr is None else {"lr": self.infobert.lr}
        return [{"params": list(self.critic.parameters()), "weight_decay": 0.0, **rate}]

    def step(self, loss_function: LossFunction, batch: Batch, step: int) -> Tensor:
        """Take a step of the inner adversary on the regularised loss; before the start step, a plain one without regularisers."""
        if step < self.infobert.start_step:
            return plain_step(loss_function, batch)
        return self._inner.step(Regularised(loss_function, self), batch, step)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the bounds of the last pass, which are only reported."""
        return self.bounds

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore them."""
        self.bounds = dict(state)

    def metrics(self) -> dict[str, float]:
        """Return the bounds of the last pass, in nats."""
        return {name: float(value) for name, value in self.bounds.items()}


class Critic(nn.Module):
    """How well the embedding of a token fits the representation of a sentence: softplus(v . relu(A t + B z + b) + c)."""

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.token = nn.Linear(dim, width)
        self.sentence = nn.Linear(dim, width, bias=False)
        self.score = nn.Linear(width, 1)

    def forward(self, tokens: Tensor, sentences: Tensor) -> Tensor:
        """Return the scores of each token with each sentence, (tokens, sentences)."""
        hidden = self.token(tokens).unsqueeze(1) + self.sentence(sentences).unsqueeze(0)
        scores: Tensor = softplus(self.score(hidden.relu()).squeeze(2))
        return scores


class Regularised:
    """A loss function with both regularisers."""

    def __init__(self, inner: LossFunction, run: InfoBertRun) -> None:
        self.inner = inner
        self.run = run
        self.embedding_dim = inner.embedding_dim

    def __call__(self, batch: Batch, delta: Tensor | None = None, weights: Tensor | None = None) -> LossOutput:
        """Run one forward pass."""
        settings, probe = self.run.infobert, torch.zeros(*batch.input_ids.shape, self.embedding_dim, device=batch.input_ids.device)
        with torch.enable_grad():  # also for a caller that wants no gradients, as a gradient chooses the anchors
            output = self.inner(batch, probe.requires_grad_() if delta is None else delta + probe.requires_grad_(), weights)
            (gradient,) = torch.autograd.grad(output.loss, probe, retain_graph=True)
            anchored = anchors(gradient, batch.attention_mask, settings.lowest, settings.highest)
            sentences = sentence_states(self.run.model, output.hidden_states[-1], batch.attention_mask)
            embeddings = output.hidden_states[0]
            upper = spread(embeddings[batch.attention_mask == 1])
            scores = self.run.critic(embeddings[anchored], sentences)
            lower = info_nce(scores, anchored.nonzero()[:, 0])
            loss = output.loss + settings.beta * upper - settings.alpha * lower
        self.run.bounds = {"upper_bound": upper.detach(), "lower_bound": lower.detach()}
        if torch.is_grad_enabled():
            return evolve(output, loss=loss)
        return evolve(output, loss=loss.detach(), losses=output.losses.detach(), logits=output.logits.detach())

    def with_model(self, model: Any) -> LossFunction:
        """Return the loss function of another model, without the regularisers."""
        return self.inner.with_model(model)


def anchors(gradient: Tensor, attention_mask: Tensor, lowest: float, highest: float) -> Tensor:
    """Return which tokens are anchors, boolean (rows, length).

    Those of a sentence of n tokens have the ranks ceil(lowest x n) to ceil(highest x n) - 1, counted from 0, among the norms of the
    gradient. ``gradient`` is (rows, length, width).
    """
    norms = torch.linalg.vector_norm(gradient, dim=2).masked_fill(attention_mask == 0, torch.inf)
    ranks = norms.argsort(dim=1, stable=True).argsort(dim=1)
    sizes = attention_mask.sum(dim=1, keepdim=True).double()
    first, end = ((share * sizes).ceil() for share in (lowest, highest))
    anchored: Tensor = (ranks >= first) & (ranks < end) & (attention_mask == 1)
    return anchored


def spread(embeddings: Tensor) -> Tensor:
    """Return the mean over all pairs (i, j) of |t_i - t_j|^2 / 2, a scalar, from (tokens, width).

    It is CLUB, E[log q(t_i | x_i)] - E[log q(t_j | x_i)], for q(t | x) a Gaussian of unit variance around the embedding of x.
    """
    return (embeddings - embeddings.mean(dim=0)).square().sum(dim=1).mean()


def info_nce(scores: Tensor, own: Tensor) -> Tensor:
    """Return the mean over anchors of log(exp f(t, z) / mean_j exp f(t_j, z)), a scalar; 0 without anchors.

    ``scores`` is (anchors, rows), and ``own`` (anchors,) has the row of each anchor, whose sentence is z. The mean is over all anchors
    t_j, so the bound is at most the logarithm of their number.
    """
    if not len(own):
        return scores.sum()
    log_shares = scores.log_softmax(dim=0).gather(1, own.unsqueeze(1))
    return log_shares.mean() + math.log(len(own))
