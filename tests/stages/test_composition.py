"""Every pruner with every adversary, and each of them from every start and with every model family.

What is trained gets gradients, what is frozen stays bit-equal.
"""

import itertools

import pytest
import torch

from ticketlab.adversaries.base import Adversary, AdversaryRun
from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.loading import load_classifier
from ticketlab.backbone.masks import HoldMaskCallback, expand
from ticketlab.backbone.saving import save
from ticketlab.core import registry
from ticketlab.core.settings import build_component
from ticketlab.losses.base import LossRun
from ticketlab.losses.classification import ClassificationLoss
from ticketlab.losses.cross_entropy import CrossEntropy
from ticketlab.tasks.demo.reviews import DemoTask
from ticketlab.tickets.draw import draw
from ticketlab.tickets.ticket import Ticket
from ticketlab.training.batch import tokenize
from ticketlab.training.checkpoint import Checkpoint
from ticketlab.training.loop import Loop
from ticketlab.training.optimizer import adamw
from ticketlab.training.plan import TrainingPlan

PRUNERS = registry.current().names("pruner")
ADVERSARIES = registry.current().names("adversary")
FAMILIES = ("bert", "roberta", "electra", "distilbert")
STARTS = ("pretrained", "finetuned")
LABELS = ("negative", "positive")


def combinations():
    """Combinations that cover every pair of the four dimensions."""
    for (row, pruner), (column, adversary) in itertools.product(enumerate(PRUNERS), enumerate(ADVERSARIES)):
        family, start = FAMILIES[(row + column) % len(FAMILIES)], STARTS[(column + row // 4) % len(STARTS)]
        yield pytest.param(family, pruner, adversary, start, id=f"{family}-{pruner}-{adversary}-{start}")


def test_the_combinations_cover_every_pair():
    rows = [row.values for row in combinations()]
    dimensions = (FAMILIES, PRUNERS, ADVERSARIES, STARTS)
    for one, two in itertools.combinations(range(4), 2):
        assert {(row[one], row[two]) for row in rows} == set(itertools.product(dimensions[one], dimensions[two]))


def examples():
    return DemoTask(rows=24, dev_rows=4, test_rows=4).load().splits["train"]


def train(model, tokenizer, adversary, callbacks, folder, watch=None) -> Loop:
    rows = tokenize(examples(), tokenizer, 48)
    loss_function = (watch or ClassificationLoss)(model, LossRun(CrossEntropy()), callbacks=callbacks)
    torch.manual_seed(0)
    loop = Loop(
        loss_function=loss_function, adversary=AdversaryRun(adversary), optimizer=adamw(model, callbacks, 1e-3, 0.01),
        callbacks=callbacks, rows=rows, batch_size=8,
        epochs=1, warmup=0, clip=1.0, order_seed=0, dropout_seed=0, checkpoint=Checkpoint(folder / "c"), checkpoint_seconds=1e9,
        log=lambda record: None, title="test",
    )  # fmt: skip
    loop.run()
    return loop


@pytest.fixture(scope="module")
def finetuned(tiny, tmp_path_factory):
    folders = {}
    for family in FAMILIES:
        model, tokenizer = load_classifier(str(tiny[family]), LABELS, 0)
        root = tmp_path_factory.mktemp(f"finetuned-{family}")
        train(model, tokenizer, build_component("adversary", "none", ""), [], root)
        folders[family] = save(model, tokenizer, root / "model")
    return folders


class PaddingWatch(ClassificationLoss):
    """Fails when an adversary perturbs padding."""

    def __call__(self, batch, delta=None, weights=None):
        if delta is not None:
            assert bool((delta[batch.attention_mask == 0] == 0).all())
        return super().__call__(batch, delta, weights)


@pytest.mark.parametrize(("family", "pruner_name", "adversary_name", "start"), combinations())
def test_search_draw_and_retrain(family, pruner_name, adversary_name, start, tiny, finetuned, tmp_path):
    adversary = build_component("adversary", adversary_name, "")
    assert isinstance(adversary, Adversary)
    pruner = build_component("pruner", pruner_name, "")
    source = str(tiny[family] if start == "pretrained" else finetuned[family])
    model, tokenizer = load_classifier(source, LABELS, 0)
    backbone = Backbone(model)
    model.requires_grad_(pruner.trains_weights)
    before = {name: value.clone() for name, value in model.state_dict().items()}

    search = pruner.begin(TrainingPlan(backbone.model, steps=3, seed=0))
    initial = {name: score.clone() for name, score in search.scores().items()}
    if pruner.searches:
        train(model, tokenizer, adversary, [search], tmp_path, watch=PaddingWatch)
        moved = search.scores()
        assert all(bool((moved[name] != initial[name]).any()) for name in initial), "a gate got no gradient"
    scores = {name: score.clone() for name, score in search.scores().items()}
    search.close()
    if not pruner.trains_weights:
        after = model.state_dict()
        assert set(after) == set(before)
        assert all(torch.equal(after[name], before[name]) for name in before), "the search moved a frozen weight"

    masks = draw(scores, 0.3)
    fresh, _ = load_classifier(str(tiny[family]), LABELS, 0)
    target = Backbone(fresh)
    ticket = Ticket(masks, backbone.fingerprint(), backbone.weights_hash(), target.weights_hash())
    pretrained = {name: target.parameter(name).detach().clone() for name in expand(target, masks)}
    held = HoldMaskCallback(target, ticket.masks)
    for name, kept in expand(target, masks).items():
        assert torch.equal(target.parameter(name), pretrained[name] * kept), "rewound weights are the pre-trained ones under the mask"
    train(fresh, tokenizer, adversary, [held], tmp_path, watch=PaddingWatch)
    for name, kept in expand(target, masks).items():
        parameter = target.parameter(name)
        assert bool((parameter[~kept] == 0).all()), "a removed weight came back"
        assert bool((parameter[kept] != pretrained[name][kept]).any()), "a kept matrix was not trained"
