"""What the conformance tests of attacks share: a tiny victim, tiny resources in place of the usual ones, and attacked texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest
import torch

from ticketlab.attacks.base import Attack
from ticketlab.attacks.engine.run import run_attack
from ticketlab.attacks.results.record import Record
from ticketlab.attacks.results.record_file import RecordFile
from ticketlab.backbone.loading import load_classifier, load_mlm, save
from ticketlab.core.component import Component
from ticketlab.core.errors import PluginError, ResourceError
from ticketlab.core.settings import default_of
from ticketlab.inference.victim import Text, Victim
from ticketlab.resources.textattack_import import import_textattack
from ticketlab.tasks.base import Example
from ticketlab.testing.component_tests import ComponentTests
from ticketlab.testing.models.words import WORDS
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.workspace import Workspace

LABELS = ("negative", "positive")
LENGTH = 48
SEED = 5
TEXTS = (
    "the film was good and the acting great",
    "The plot is dull, but the music is not bad!",
    "a very awful movie; not a good story",
    "great cast, great scene, great story",
    "a slow start and a sad ending",
    "nothing works in this drama",
)
PAIRS = (("a good film with a great cast", "the cast is great"), ("the story is dull", "nobody likes a dull story"), ("good", "bad"))


class AttackSuite(ComponentTests):
    """The attributes and fixtures of :class:`ticketlab.testing.AttackTests`."""

    component: ClassVar[type[Attack]]
    texts: ClassVar[tuple[str, ...]] = TEXTS
    pairs: ClassVar[tuple[tuple[str, str], ...]] = PAIRS
    fails_on: ClassVar[tuple[str, ...]] = ()
    unbounded: ClassVar[tuple[str, ...]] = ()

    @pytest.fixture
    def attack(self, made: Component, workspace: Workspace) -> Attack:
        """The attack on tiny resources. The test is skipped if another one, or textattack, is not on this machine."""
        attack: Any = made
        with_tiny: Attack = attrs.evolve(attack, **self._tiny_resources(attack, workspace))
        try:
            with_tiny.prepare()
            import_textattack()
        except ResourceError as missing:
            pytest.skip(str(missing))
        return with_tiny

    @pytest.fixture
    def victim(self, workspace: Workspace) -> Victim:
        """A classifier whose predictions differ between texts, with its own weights."""
        return tiny_victim(workspace.model())

    def _run(
        self, attack: Attack, victim: Victim, examples: Sequence[Example], *, columns: Sequence[str] = ("text",), **options: Any
    ) -> list[Record]:
        """Attack the examples, and return their records in this order. An attack that is broken fails the test."""
        options = {"records": RecordFile(None, "test"), "seed": SEED, **options}
        message = ""
        try:
            return run_attack(attack, victim, examples, columns=columns, label_names=LABELS, **options)
        except PluginError as problem:
            message = str(problem)
        require(False, message)
        raise AssertionError

    def _records(self, attack: Attack, victim: Victim, workspace: Workspace) -> list[Record]:
        """Return the records of the plain texts, which several tests compare with."""
        key = ("attack", attack, self.texts)
        if key not in workspace.outcomes:
            workspace.outcomes[key] = self._run(attack, victim, self._examples(victim))
        found: list[Record] = workspace.outcomes[key]
        return found

    def _examples(self, victim: Victim) -> list[Example]:
        """Return the plain texts with the labels that the victim predicts, and the first once more with the other label."""
        right = [Example(f"text-{number}", (text,), predicted(victim, text)) for number, text in enumerate(self.texts)]
        return [*right, attrs.evolve(right[0], id="wrong", label=1 - right[0].label)]

    def _tiny_resources(self, attack: Attack, workspace: Workspace) -> dict[str, str]:
        """Return tiny resources for the settings that are at their defaults."""
        make = {"word_vectors": _vectors, "mlm": _masked_lm, "encoder": _encoder}
        fields = attrs.fields_dict(type(attack))
        names = [name for name in attack.required_resources if name in make]
        return {name: make[name](workspace) for name in names if getattr(attack, name) == default_of(fields[name])}


def tiny_victim(folder: Path) -> Victim:
    """Return a random classifier whose predictions vary strongly between texts, so that attacks succeed."""
    model, tokenizer = load_classifier(str(folder), LABELS, 0, lambda _: None)
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(10, len(tokenizer), (64, 10), generator=generator)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(3)
        model.get_input_embeddings().weight.mul_(3)
        model.classifier.weight.mul_(10)
        model.classifier.bias.sub_(model(input_ids=ids).logits.mean(0))  # both labels are predicted for some texts
    return Victim(model, tokenizer, LABELS, max_length=LENGTH)


def predicted(victim: Victim, text: Text) -> int:
    """Return the label that the victim predicts for a text or a pair."""
    with victim.evaluating():
        return int(victim([text]).argmax())


def _vectors(workspace: Workspace) -> str:
    """Return a file of word vectors in three dimensions, in which each word has many near neighbours."""
    file = workspace.root / "vectors.txt"
    if not file.exists():
        source = np.random.default_rng(0)
        rows = (f"{word} {' '.join(f'{number:.4f}' for number in source.normal(size=3))}" for word in dict.fromkeys(WORDS))
        file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(file)


def _encoder(workspace: Workspace) -> str:
    """Return the folder of a tiny encoder."""
    return str(workspace.model())


def _masked_lm(workspace: Workspace) -> str:
    """Return the folder of a random masked language model."""
    folder = workspace.root / "mlm"
    if not folder.exists():
        model, tokenizer, _ = load_mlm(str(workspace.model()), 0, lambda _: None)
        save(model, tokenizer, folder)
    return str(folder)
