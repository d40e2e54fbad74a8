"""Adversaries on a loss that can be computed by hand: loss_i = w . sum over tokens of (x_i + delta_i), masked."""

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ticketlab.adversaries.base import AdversaryRun, ascend, norms, uniform_in_ball
from ticketlab.adversaries.fgm import FGM
from ticketlab.adversaries.freelb import FreeLB
from ticketlab.adversaries.none import Clean
from ticketlab.adversaries.pgd import PGD
from ticketlab.core.errors import SettingError
from ticketlab.training.batch import Batch
from ticketlab.training.split_step import SplitStep


class Quadratic:
    """loss = mean over rows of || w * (1 + delta) ||^2 over real tokens; records the perturbations."""

    embedding_dim = 4

    def __init__(self) -> None:
        self.weight = nn.Parameter(torch.tensor([1.0, -2.0, 0.5, 3.0]))
        self.seen: list[torch.Tensor | None] = []

    def __call__(self, batch, delta=None, weights=None):
        self.seen.append(None if delta is None else delta.detach().clone())
        x = torch.ones(*batch.input_ids.shape, 4) + (0 if delta is None else delta)
        losses = ((self.weight * x) ** 2 * batch.attention_mask.unsqueeze(-1)).sum(dim=(1, 2))
        return SimpleNamespace(loss=losses.mean(), losses=losses)


def make_batch() -> Batch:
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])
    return Batch(torch.ones(2, 5, dtype=torch.long), mask, None, torch.tensor([0, 1]))


def gradient_of(adversary) -> torch.Tensor:
    loss_function = Quadratic()
    adversary.backward(loss_function, make_batch())
    assert loss_function.weight.grad is not None
    return loss_function.weight.grad


def test_freelb_with_one_pass_and_no_noise_is_plain_training():
    torch.testing.assert_close(gradient_of(FreeLB(steps=1, init_magnitude=0)), gradient_of(Clean()), rtol=0, atol=0)


def test_pgd_with_one_pass_and_no_noise_is_plain_training():
    torch.testing.assert_close(gradient_of(PGD(steps=1, init_magnitude=0)), gradient_of(Clean()), rtol=0, atol=0)


@pytest.mark.parametrize("adversary", [FreeLB, PGD])
def test_the_first_step_from_zero_has_exactly_the_step_size(adversary):
    loss_function = Quadratic()
    adversary(steps=2, init_magnitude=0, step_size=0.25).backward(loss_function, make_batch())
    assert len(loss_function.seen) == 2
    torch.testing.assert_close(norms(loss_function.seen[1]).flatten(), torch.full((2,), 0.25))


@pytest.mark.parametrize("adversary", [FreeLB, PGD])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_k_steps_are_k_passes_and_the_perturbation_grows_by_at_most_a_step_each(adversary, steps):
    loss_function = Quadratic()
    adversary(steps=steps, init_magnitude=0.3, step_size=0.1).backward(loss_function, make_batch())
    assert len(loss_function.seen) == steps
    first, last = norms(loss_function.seen[0]), norms(loss_function.seen[-1])
    assert bool((last <= first + (steps - 1) * 0.1 + 1e-6).all())


@pytest.mark.parametrize("adversary", [FreeLB(steps=4), PGD(steps=4), FGM()], ids=lambda adversary: adversary.name)
def test_padding_is_never_perturbed(adversary):
    loss_function = Quadratic()
    adversary.backward(loss_function, make_batch())
    for delta in loss_function.seen:
        assert delta is not None
        assert bool((delta[1, 2:] == 0).all())


@pytest.mark.parametrize("adversary", [FreeLB, PGD])
@pytest.mark.parametrize("init_magnitude", [0, 5])
def test_a_bound_holds_for_every_perturbation(adversary, init_magnitude):
    loss_function = Quadratic()
    adversary(steps=5, init_magnitude=init_magnitude, step_size=0.4, max_norm=0.5).backward(loss_function, make_batch())
    assert all(bool((norms(delta) <= 0.5 + 1e-6).all()) for delta in loss_function.seen)
    torch.testing.assert_close(norms(loss_function.seen[-1]).flatten(), torch.full((2,), 0.5))


def test_freelb_averages_the_passes_and_pgd_takes_the_last():
    torch.manual_seed(0)
    loss_function, batch = Quadratic(), make_batch()
    total = FreeLB(steps=3, init_magnitude=0, step_size=0.2).backward(loss_function, batch)
    each = [Quadratic()(batch, delta).loss for delta in loss_function.seen]
    torch.testing.assert_close(total, sum(each).detach() / 3)
    last = PGD(steps=3, init_magnitude=0, step_size=0.2).backward(Quadratic(), batch)
    torch.testing.assert_close(last, each[-1].detach())
    assert each[0] < each[1] < each[2]


def test_a_clean_pass_is_included_in_the_average():
    loss_function, batch = Quadratic(), make_batch()
    total = FreeLB(steps=1, init_magnitude=0.5, clean_pass=True).backward(loss_function, batch)
    assert loss_function.seen[0] is None
    clean, noisy = (Quadratic()(batch, delta).loss.detach() for delta in loss_function.seen)
    torch.testing.assert_close(total, (clean + noisy) / 2)


def test_fgm_weights_the_clean_and_the_perturbed_loss():
    loss_function, batch = Quadratic(), make_batch()
    total = FGM(step_size=0.5, weight=3).backward(loss_function, batch)
    clean, moved = (Quadratic()(batch, delta).loss.detach() for delta in loss_function.seen)
    torch.testing.assert_close(total, (clean + 3 * moved) / 4)
    torch.testing.assert_close(norms(loss_function.seen[1]).flatten(), torch.full((2,), 0.5))


@pytest.mark.parametrize("shared", [True, False])
def test_passes_share_their_dropout_masks_only_if_configured(shared):
    class Dropping(Quadratic):
        def __call__(self, batch, delta=None, weights=None):
            drawn.append(torch.rand(3))
            return super().__call__(batch, delta, weights)

    drawn: list[torch.Tensor] = []
    FreeLB(steps=3, share_dropout=shared).backward(Dropping(), make_batch())
    assert torch.equal(drawn[0], drawn[1]) is shared
    assert torch.equal(drawn[1], drawn[2]) is shared


@pytest.mark.parametrize("adversary", [FreeLB, PGD])
@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_each_step_begins_with_another_perturbation_if_its_passes_share_dropout(adversary, accumulate, dropout):
    class Dropping(Quadratic):
        def __call__(self, batch, delta=None, weights=None):
            nn.functional.dropout(torch.ones(3), dropout, training=dropout > 0)
            return super().__call__(batch, delta, weights)

    loss_function, batch = Dropping(), make_batch()
    run = AdversaryRun(adversary(steps=1, share_dropout=True))
    divided = SplitStep(None, accumulate, 0, ())
    for step in range(2):
        if accumulate == 1:
            run.step(loss_function, batch, step)
        else:
            divided.gradients(run, loss_function, batch, step, lambda: [loss_function.weight])
        loss_function.weight.grad = None
    first, second = loss_function.seen[0], loss_function.seen[accumulate]
    assert first is not None
    assert second is not None
    assert not torch.equal(first, second)


def test_an_adversary_waits_for_its_start_step():
    loss_function = Quadratic()
    AdversaryRun(FreeLB(steps=3, start_step=2)).step(loss_function, make_batch(), 1)
    assert loss_function.seen == [None]
    AdversaryRun(FreeLB(steps=3, start_step=2)).step(loss_function, make_batch(), 2)
    assert len(loss_function.seen) == 4


def test_the_first_noise_has_the_norm_of_the_paper():
    torch.manual_seed(1)
    mask = torch.ones(64, 40, dtype=torch.long)
    mask[:32, 20:] = 0
    sizes = norms(uniform_in_ball(mask, 32, 0.6)).flatten()
    torch.testing.assert_close(sizes.mean(), torch.tensor(0.6 / 3**0.5), rtol=0.02, atol=0)
    assert float(sizes.max()) < 0.6


def test_a_gradient_of_zero_does_not_move_the_perturbation():
    delta = torch.full((1, 2, 3), 0.1)
    moved = ascend(delta, torch.zeros(1, 2, 3), torch.ones(1, 2, dtype=torch.long), 0.5, None)
    assert torch.equal(moved, delta)


@given(st.integers(0, 2**31), st.floats(0.01, 2), st.one_of(st.none(), st.floats(0.01, 1)))
def test_ascend_moves_by_at_most_a_step_and_stays_in_the_ball(seed, step_size, bound):
    generator = torch.Generator().manual_seed(seed)
    delta, gradient = torch.randn(2, 3, 5, generator=generator), torch.randn(2, 3, 5, generator=generator)
    moved = ascend(delta, gradient, torch.ones(2, 3, dtype=torch.long), step_size, bound)
    if bound is None:
        torch.testing.assert_close(norms(moved - delta).flatten(), torch.full((2,), step_size), rtol=1e-3, atol=1e-4)
    else:
        assert bool((norms(moved) <= bound * (1 + 1e-5)).all())


@pytest.mark.parametrize(("setting", "value"), [("steps", 0), ("step_size", 0.0), ("init_magnitude", -1.0), ("max_norm", 0.0)])
def test_settings_outside_their_bounds_are_refused(setting, value):
    with pytest.raises(SettingError, match=setting):
        FreeLB(**{setting: value})
