from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import optimizer as optimizers
from torch.utils.data import Dataset

import ticketlab
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier
from ticketlab.backbone.masks import expand
from ticketlab.tickets.draw import draw
from ticketlab.tickets.ticket import Ticket

GROUPS = {"unstructured": ("weights",), "structured": ("heads", "neurons")}


def make_ticket(model: Any, groups: tuple[str, ...] = ("heads", "neurons"), seed: int = 0, sparsity: float = 0.5) -> Ticket:
    backbone = Backbone(model)
    generator = torch.Generator().manual_seed(seed)
    units = {name: shape for name, shape in backbone.units().items() if name.partition("/")[0] in groups}
    masks = draw({name: torch.rand(shape, generator=generator) for name, shape in units.items()}, sparsity)
    return Ticket(masks, backbone.fingerprint(), "", backbone.weights_hash())


@pytest.fixture
def model(tiny: dict[str, Path]) -> Any:
    return load_classifier(str(tiny["bert"]), ("bad", "good"), 0)[0]


@pytest.fixture(autouse=True)
def _no_hook_is_left(only_new_objects: None) -> Iterator[None]:
    before = len(optimizers._global_optimizer_post_hooks)
    yield
    gc.collect()
    assert len(optimizers._global_optimizer_post_hooks) == before


def removed_weights(model: Any, ticket: Ticket) -> Tensor:
    backbone = Backbone(model)
    return torch.cat([backbone.parameter(name).detach()[~kept] for name, kept in expand(backbone, ticket.masks).items()])


def kept_weights(model: Any, ticket: Ticket) -> Tensor:
    backbone = Backbone(model)
    return torch.cat([backbone.parameter(name).detach()[kept] for name, kept in expand(backbone, ticket.masks).items()])


def backward(model: Any, seed: int = 0) -> None:
    ids = torch.randint(5, 100, (4, 8), generator=torch.Generator().manual_seed(seed))
    model(input_ids=ids, labels=torch.tensor([0, 1, 0, 1])).loss.backward()


class Rows(Dataset):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return 24

    def __getitem__(self, index: int) -> dict[str, Any]:
        ids = torch.randint(5, 100, (8,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": index % 2}


def adafactor(parameters: Any) -> Any:
    from transformers.optimization import Adafactor

    return Adafactor(parameters, lr=0.01, relative_step=False, scale_parameter=False, weight_decay=0.1)


OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.5),
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.1),
    "adafactor": adafactor,
}


TRAINED = [("bert", optimizer, groups) for optimizer in OPTIMIZERS for groups in GROUPS]
TRAINED += [(family, "adamw", "structured") for family in ("mpnet", "albert", "modernbert", "gpt2")]


@pytest.mark.parametrize(
    ("family", "make", "groups"),
    [(family, OPTIMIZERS[name], GROUPS[groups]) for family, name, groups in TRAINED],
    ids=["-".join(case) for case in TRAINED],
)
def test_removed_weights_stay_at_zero_under_the_trainer(
    family: str, make: Any, groups: tuple[str, ...], tiny: dict[str, Path], tmp_path: Path
) -> None:
    from transformers import Trainer, TrainingArguments

    model = load_classifier(str(tiny[family]), ("bad", "good"), 0)[0]
    ticket = make_ticket(model, groups)
    optimizer = make(model.parameters())
    backward(model)
    optimizer.step()  # momentum from before the ticket would move the removed weights
    optimizer.zero_grad()
    handle = ticketlab.hold(model, Ticket(ticket.masks, ticket.structure, "", ""))
    before = kept_weights(model, ticket)
    arguments = TrainingArguments(
        str(tmp_path / "trainer"), per_device_train_batch_size=4, num_train_epochs=2, gradient_accumulation_steps=2, save_strategy="no",
        report_to=[], disable_tqdm=True, use_cpu=True, logging_strategy="no",
    )  # fmt: skip
    Trainer(model, arguments, train_dataset=Rows(), optimizers=(optimizer, None)).train()
    assert torch.all(removed_weights(model, ticket) == 0)
    assert not torch.equal(kept_weights(model, ticket), before)
    handle.release()


def test_gradients_of_removed_weights_are_zero_over_accumulated_passes(model: Any) -> None:
    ticket = make_ticket(model, ("weights",))
    twin = copy.deepcopy(model)
    ticket.apply(twin)
    with ticketlab.hold(model, ticket):
        for seed in (0, 1):
            backward(model, seed)
            backward(twin, seed)
    plain = dict(twin.named_parameters())
    masks = expand(Backbone(model), ticket.masks)
    for name, parameter in model.named_parameters():
        expected = plain[name].grad
        kept = masks.get(name.removeprefix("bert."))
        if kept is not None:
            expected = expected * kept  # clipping uses the norm of the ticket's gradients
        assert torch.equal(parameter.grad, expected)


def test_a_weight_that_is_unfrozen_later_is_held_too(model: Any) -> None:
    model.base_model.requires_grad_(False)
    ticket = make_ticket(model)
    with ticketlab.hold(model, ticket):
        assert not any(parameter.requires_grad for parameter in model.base_model.parameters())
        model.requires_grad_(True)
        backward(model)
        backbone = Backbone(model)
        for name, kept in expand(backbone, ticket.masks).items():
            gradient = backbone.parameter(name).grad
            assert gradient is None or torch.all(gradient[~kept] == 0)


def test_a_model_that_is_moved_after_hold_is_held(model: Any) -> None:
    ticket = make_ticket(model)
    with ticketlab.hold(model, ticket):
        model.double()  # like a move to another device, this replaces the data of the same parameters
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for seed in range(2):
            backward(model, seed)
            optimizer.step()
        assert torch.all(removed_weights(model, ticket) == 0)


def test_release_removes_all_hooks_and_may_be_called_twice(model: Any) -> None:
    ticket = make_ticket(model, ("weights",))  # fully removed units would have no gradient anyway
    with ticketlab.hold(model, ticket) as handle:
        pass
    handle.release()
    assert all(not parameter._backward_hooks for parameter in model.parameters())
    backward(model)
    torch.optim.AdamW(model.parameters(), lr=0.01).step()
    assert torch.any(removed_weights(model, ticket) != 0)


def test_a_released_model_is_unchanged(model: Any) -> None:
    state = list(model.state_dict())
    parameters = [id(parameter) for parameter in model.parameters()]
    ticketlab.hold(model, make_ticket(model)).release()
    assert list(model.state_dict()) == state
    assert [id(parameter) for parameter in model.parameters()] == parameters


def test_a_deep_copy_is_not_held_and_the_original_still_is(model: Any) -> None:
    ticket = make_ticket(model, ("weights",))
    with ticketlab.hold(model, ticket):
        twin = copy.deepcopy(model)
        assert all(not parameter._backward_hooks for parameter in twin.parameters())
        for one in (twin, model):
            optimizer = torch.optim.AdamW(one.parameters(), lr=0.01)
            backward(one)
            optimizer.step()
        assert torch.any(removed_weights(twin, ticket) != 0)
        assert torch.all(removed_weights(model, ticket) == 0)


def test_two_models_are_held_by_their_own_tickets(tiny: dict[str, Path]) -> None:
    models = [load_classifier(str(tiny[family]), ("bad", "good"), 0)[0] for family in ("bert", "distilbert")]
    tickets = [make_ticket(model, seed=seed) for seed, model in enumerate(models)]
    handles = [ticketlab.hold(model, ticket) for model, ticket in zip(models, tickets, strict=True)]
    optimizer = torch.optim.SGD([parameter for model in models for parameter in model.parameters()], lr=0.1, weight_decay=0.1)
    for model in models:
        backward(model)
    optimizer.step()
    handles[0].release()
    backward(models[1])
    optimizer.step()
    assert torch.all(removed_weights(models[1], tickets[1]) == 0)
    handles[1].release()


def test_a_model_is_held_without_keeping_the_handle(tiny: dict[str, Path]) -> None:
    model = load_classifier(str(tiny["bert"]), ("bad", "good"), 0)[0]
    ticket = make_ticket(model, ("weights",))
    ticketlab.hold(model, ticket)
    gc.collect()
    backward(model)
    torch.optim.AdamW(model.parameters(), lr=0.01).step()
    assert torch.all(removed_weights(model, ticket) == 0)


def test_a_held_model_can_be_collected_and_leaves_no_hook(tiny: dict[str, Path]) -> None:
    model = load_classifier(str(tiny["bert"]), ("bad", "good"), 0)[0]
    gone = weakref.ref(model)
    ticketlab.hold(model, make_ticket(model))
    del model
    gc.collect()
    assert gone() is None  # the fixture checks the hook


def test_saving_a_held_model_gives_a_plain_folder(model: Any, tmp_path: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    ticket = make_ticket(model)
    with ticketlab.hold(model, ticket):
        model.save_pretrained(tmp_path / "saved")
        loaded, found = AutoModelForSequenceClassification.from_pretrained(tmp_path / "saved", output_loading_info=True)
    assert not found["missing_keys"]
    assert not found["unexpected_keys"]
    assert torch.all(removed_weights(loaded, ticket) == 0)


def test_hold_takes_a_path_and_checks_the_structure(model: Any, tiny: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "ticket.safetensors"
    make_ticket(model).save(path)
    ticketlab.hold(model, str(path)).release()
    with pytest.raises(ticketlab.TicketlabError, match="another structure"):
        ticketlab.hold(load_classifier(str(tiny["distilbert"]), ("bad", "good"), 0)[0], path)


def test_holding_on_other_weights_is_a_warning(model: Any) -> None:
    ticket = make_ticket(model)
    nn.init.ones_(Backbone(model).layers[0].query.weight)
    with pytest.warns(UserWarning, match="other weights"):
        ticketlab.hold(model, ticket).release()


def test_rounds_of_pruning_rewind_exactly(model: Any) -> None:
    """Three rounds with a deep copy after each: kept weights have their initial values, and the sparsity is not counted twice."""
    start = copy.deepcopy(model)
    for sparsity in (0.2, 0.4, 0.6):
        trained = copy.deepcopy(start)
        ticket = make_ticket(trained, ("weights",), seed=7, sparsity=sparsity)
        handle = ticketlab.hold(trained, ticket)
        assert torch.equal(kept_weights(trained, ticket), kept_weights(start, ticket))
        backward(trained)
        torch.optim.AdamW(trained.parameters(), lr=0.01, weight_decay=0.1).step()
        zeros = sum(int((Backbone(trained).weight(name) == 0).sum()) for name in ticket.masks)
        assert zeros == ticket.total() - ticket.kept() == int(sparsity * ticket.total() + 0.5)
        copy.deepcopy(trained)
        handle.release()


def test_memory_does_not_grow_over_ten_rounds(model: Any) -> None:
    ticket = make_ticket(model, ("weights",))

    def tensors() -> int:
        gc.collect()
        return sum(1 for thing in gc.get_objects() if issubclass(type(thing), Tensor))

    counts = []
    for _ in range(10):
        handle = ticketlab.hold(model, Ticket(ticket.masks, ticket.structure, "", ""))
        backward(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer.step()
        twin = copy.deepcopy(model)
        handle.release()
        model.zero_grad()
        del twin, optimizer, handle
        counts.append(tensors())
    assert counts[-1] == counts[1]


def test_a_forgotten_handle_keeps_no_model_in_memory(tiny: dict[str, Path]) -> None:
    living = []
    for _ in range(5):
        model = load_classifier(str(tiny["bert"]), ("bad", "good"), 0)[0]
        ticketlab.hold(model, make_ticket(model))
        living.append(weakref.ref(model))
        del model
        gc.collect()
    assert not any(reference() for reference in living)
