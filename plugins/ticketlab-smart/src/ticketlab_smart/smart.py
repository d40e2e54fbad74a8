"""SMART: smoothness-inducing adversarial regularisation and Bregman proximal point optimisation (Jiang et al., 2020)."""

from __future__ import annotations

import copy
from typing import ClassVar

import torch
from attrs import frozen
from torch import Tensor, nn
from torch.nn.utils import parametrize

from ticketlab.plugin import Adversary, AdversaryRun, Batch, DropoutMasks, LossFunction, TrainingPlan, drawn_for_batch, plain_step, setting

AVERAGED = "averaged/"
"""Begins the names of averaged weights in the state."""


@frozen
class Smart(Adversary):
    """Minimises loss + lambda x R + mu x D.

    R is the symmetrised KL divergence between the predictions on clean and on perturbed word embeddings, for the perturbation in an
    L-infinity ball that makes it largest (Algorithm 1). D is that between the predictions of the model and of the moving average of its
    weights. The defaults are the paper's, with one inner step for each batch (S = 1).

    The released code (https://github.com/namisan/mt-dnn) differs from the paper: it has no D; it normalises each token of the perturbation
    to the L-infinity norm 1 instead of projecting it into the ball; and it stops the gradient of R through the second argument of each KL
    divergence, which halves the gradient where the predictions are close. This class follows the paper in all three.

    As in the released code, the clean and the perturbed pass have different dropout masks: with the paper's radius, R then measures the
    effect of dropout far more than that of the perturbation. ``share_dropout`` removes that part.
    """

    name: ClassVar[str] = "smart"
    summary: ClassVar[str] = "keep predictions smooth around each example, and close to those of the averaged model"
    paper: ClassVar[str] = "Jiang et al., 2020, https://aclanthology.org/2020.acl-main.197"
    precisions: ClassVar[tuple[str, ...]] = ("fp32",)  # a perturbation of 1e-5 is lost in the rounding of bf16

    weight: float = setting(1.0, at_least=0, help="weight of the smoothness regulariser (lambda_s); the paper uses 1, 3 or 5")
    steps: int = setting(1, at_least=1, help="ascent steps (T_x)")
    step_size: float = setting(1e-3, above=0, help="length of an ascent step, L-infinity norm per example (eta)")
    noise: float = setting(1e-5, above=0, help="standard deviation of the first perturbation (sigma)")
    radius: float = setting(1e-5, above=0, help="bound on the perturbation, L-infinity norm (epsilon)")
    proximal: float = setting(1.0, at_least=0, help="weight of the Bregman divergence (mu)")
    momentum: float = setting(0.99, at_least=0, below=1, help="decay of the averaged weights in the early steps (beta)")
    late_momentum: float = setting(0.999, at_least=0, below=1, help="decay of the averaged weights in the other steps (beta)")
    early: float = setting(0.1, at_least=0, at_most=1, help="ratio of the steps that are early")
    share_dropout: bool = setting(False, help="use the same dropout masks in all passes of a step through the trained model")

    def begin(self, plan: TrainingPlan) -> AdversaryRun:
        """Return a run that keeps the averaged model."""
        return SmartRun(self, plan.model, plan.steps)


class SmartRun(AdversaryRun):
    """The averaged weights are those that the passes see, so under a search those of the masked model."""

    def __init__(self, settings: Smart, model: nn.Module, steps: int) -> None:
        super().__init__(settings)
        self._smart = settings
        self._model = model
        self._steps = steps
        self._averaged: nn.Module | None = None
        self._loaded: dict[str, Tensor] = {}
        self._terms = {"smoothness": torch.zeros(()), "divergence": torch.zeros(())}

    def step(self, loss_function: LossFunction, batch: Batch, step: int) -> Tensor:
        """Accumulate the gradients of the loss and both regularisers; return their sum."""
        if step < self._smart.start_step:
            return plain_step(loss_function, batch)
        # Renewing shared masks rewinds the generators, so noise that was drawn after them could be the same in every step.
        noise = self._noise(loss_function, batch) if self._smart.share_dropout and self._smart.weight else None
        dropout = DropoutMasks(shared=self._smart.share_dropout)
        clean = loss_function(batch)
        total = clean.loss
        if self._smart.weight:
            noise = self._noise(loss_function, batch) if noise is None else noise
            delta = self._perturbation(noise, loss_function, batch, clean.logits.detach(), dropout)
            dropout.renew()
            smoothness = symmetric_kl(loss_function(batch, delta).logits, clean.logits).mean()
            total = total + self._smart.weight * smoothness
            self._terms["smoothness"] = smoothness.detach()
        if self._smart.proximal:
            averaged = self._average(self._smart.momentum if step <= self._smart.early * self._steps else self._smart.late_momentum)
            with torch.no_grad():
                target = loss_function.with_model(averaged)(batch).logits
            divergence = symmetric_kl(clean.logits, target).mean()
            total = total + self._smart.proximal * divergence
            self._terms["divergence"] = divergence.detach()
        torch.autograd.backward(total)
        return total.detach()

    def metrics(self) -> dict[str, float]:
        """Return R and D of the last step, in nats."""
        return {name: float(value) for name, value in self._terms.items()}

    def state_dict(self) -> dict[str, Tensor]:
        """Return the averaged weights, if there has been a step, and the terms of the last step, which are only reported."""
        now = self._loaded if self._averaged is None else {name: value.detach() for name, value in self._averaged.named_parameters()}
        return self._terms | {f"{AVERAGED}{name}": value for name, value in now.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore them."""
        self._averaged = None
        self._terms = {name: state[name] for name in self._terms}
        self._loaded = {name.removeprefix(AVERAGED): value for name, value in state.items() if name.startswith(AVERAGED)}

    def _noise(self, loss_function: LossFunction, batch: Batch) -> Tensor:
        rows, length = batch.input_ids.shape
        width, device = loss_function.embedding_dim, batch.input_ids.device
        noise = drawn_for_batch(rows, lambda count: torch.randn(count, length, width, device=device))
        return noise * self._smart.noise * batch.attention_mask.unsqueeze(-1)

    def _perturbation(self, delta: Tensor, loss_function: LossFunction, batch: Batch, target: Tensor, dropout: DropoutMasks) -> Tensor:
        mask = batch.attention_mask.unsqueeze(-1)
        for _ in range(self._smart.steps):
            delta.requires_grad_()
            dropout.renew()
            divergence = symmetric_kl(loss_function(batch, delta).logits, target).sum()
            (gradient,) = torch.autograd.grad(divergence, delta)
            delta = ascend_in_box(delta.detach(), gradient * mask, self._smart.step_size, self._smart.radius)
        return delta

    @torch.no_grad()
    def _average(self, momentum: float) -> nn.Module:
        """Move the averaged weights towards those of this step, and return their model."""
        fresh = self._averaged is None and not self._loaded
        averaged = plain_copy(self._model) if self._averaged is None else self._averaged
        own = dict(averaged.named_parameters())
        for name, value in self._loaded.items():
            own[name].copy_(value)
        self._averaged, self._loaded = averaged, {}
        if not fresh:
            now = weights_seen(self._model)
            for name, value in own.items():
                value.lerp_(now[name], 1 - momentum)
        return averaged


def symmetric_kl(first: Tensor, second: Tensor) -> Tensor:
    """Return KL(p || q) + KL(q || p) of each row of logits, (rows,)."""
    p, q = first.log_softmax(dim=-1), second.log_softmax(dim=-1)
    return ((p.exp() - q.exp()) * (p - q)).sum(dim=-1)


def ascend_in_box(delta: Tensor, gradient: Tensor, step_size: float, radius: float) -> Tensor:
    """Move each example's perturbation by ``step_size`` along its gradient (L-infinity norm), and project it into the box."""
    largest = gradient.flatten(1).abs().amax(dim=1).view(-1, 1, 1).clamp(min=torch.finfo(gradient.dtype).tiny)
    return (delta + step_size * gradient / largest).clamp(-radius, radius)


def weights_seen(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters of a model as a forward pass sees them, those under a mask masked."""
    found: dict[str, Tensor] = {}
    for path, module in model.named_modules():
        if isinstance(module, parametrize.ParametrizationList) or ".parametrizations" in f".{path}":
            continue
        for name in (*module._parameters, *parametrized(module)):
            found[f"{path}.{name}" if path else name] = getattr(module, name)
    return found


def parametrized(module: nn.Module) -> list[str]:
    """Return the names of a module's masked parameters."""
    masked = getattr(module, "parametrizations", None)
    return list(masked) if isinstance(masked, nn.ModuleDict) else []


def plain_copy(model: nn.Module) -> nn.Module:
    """Return a copy of a model without its masks, whose weights are those that a forward pass of the model sees."""
    copied = copy.deepcopy(model)
    for module in list(copied.modules()):
        for name in parametrized(module):
            parametrize.remove_parametrizations(module, name, leave_parametrized=True)
    return copied.eval().requires_grad_(False)
