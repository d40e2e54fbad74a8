"""The conformance tests of adapters about inputs and heads: lengths, padding, batches, classifiers, masked language models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ticketlab.backbone.backbone import Backbone
from ticketlab.backbone.classifier_head import is_head
from ticketlab.backbone.loading import load_classifier, load_encoder, load_finished, load_mlm, load_tokenizer, save
from ticketlab.core.errors import UsageError
from ticketlab.inference.victim import Victim
from ticketlab.tasks.base import Example
from ticketlab.testing.adapter_suite import AdapterSuite, no_warning
from ticketlab.testing.models.noisy_model import LABELS, differing_tensor, quiet_logits, token_ids
from ticketlab.testing.trials.failing import require
from ticketlab.testing.trials.reported_errors import reported_errors
from ticketlab.training.batch import tokenize
from ticketlab.training.loss_function import forward

TEXTS = ("good", "the film was not good at all", "a bad plot", "a very slow film with a weak plot, and nothing to say")


class AdapterInputTests(AdapterSuite):
    """Part of :class:`ticketlab.testing.AdapterTests`."""

    def test_the_longest_input_is_that_of_the_model(self, folder: Path, model: Any) -> None:
        """A model runs at ``max_length``, which limits the tokenizer, and uses all of its positions."""
        from transformers import AutoTokenizer

        with reported_errors():
            longest = self._backbone(folder, model).max_length
        ids = token_ids(model, rows=1, length=longest)
        try:
            with torch.inference_mode():
                found = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        except Exception as problem:  # the code of a model that is out of positions may raise anything
            pytest.fail(f"the model fails on {longest} tokens ({type(problem).__name__}): override `max_length`", pytrace=False)
        require(bool(found.isfinite().all()), f"the logits of {longest} tokens are not finite: override `max_length`")
        limit, own = load_tokenizer(str(folder), no_warning).model_max_length, AutoTokenizer.from_pretrained(folder).model_max_length
        require(limit <= longest, f"the tokenizer allows {limit} tokens, and `max_length` is {longest}")
        require(longest >= own, f"`max_length` is {longest}, and the tiny model has positions for {own} tokens: override `max_length`")

    def test_padding_changes_nothing(self, folder: Path, model: Any) -> None:
        """A text has the same logits alone and in a padded batch, also with perturbed word embeddings: see ``decoder``."""
        rows = tokenize([Example(text, (text,), 0) for text in TEXTS], self._tokenizer_for(folder), 24)
        embeddings: Any = Backbone(model).word_embeddings
        together = rows.collate(range(len(TEXTS)))
        noise = torch.randn(*together.input_ids.shape, embeddings.weight.shape[1], generator=torch.Generator().manual_seed(0))
        with torch.inference_mode():
            plain, perturbed = (forward(model, together, "fp32", embeddings, delta) for delta in (None, noise * 0.1))
            for index, ids in enumerate(rows.input_ids):
                alone = rows.collate([index], multiple=1)
                delta = noise[index : index + 1, : len(ids)] * 0.1
                for padded, single in (
                    (plain, forward(model, alone, "fp32")),
                    (perturbed, forward(model, alone, "fp32", embeddings, delta)),
                ):
                    require(
                        torch.allclose(padded[index], single[0], rtol=0, atol=1e-4),
                        f"the logits of `{TEXTS[index]}` depend on the padding of its batch: a family that classifies from the last "
                        "token sets `decoder = True`",
                    )

    def test_a_text_has_the_same_logits_in_every_batch(self, folder: Path, model: Any) -> None:
        """Under attack, bit by bit."""
        victim = Victim(model, self._tokenizer_for(folder), LABELS, max_length=24)
        together = victim(TEXTS)
        for index, text in enumerate(TEXTS):
            require(torch.equal(victim([text])[0], together[index]), f"the logits of `{text}` depend on the other texts of its batch")

    def test_the_word_embeddings_are_the_input(self, folder: Path, model: Any) -> None:
        """Adversaries perturb the word embeddings, which are the model's input in place of token ids."""
        ids = token_ids(model)
        with torch.inference_mode():
            embedded = Backbone(model).word_embeddings(ids)
            found = model(inputs_embeds=embedded, attention_mask=torch.ones_like(ids)).logits
        width = model.get_input_embeddings().weight.shape[1]
        require(
            tuple(embedded.shape) == (*ids.shape, width), f"the word embeddings are {tuple(embedded.shape)}, not (rows, length, {width})"
        )
        require(
            torch.allclose(found, quiet_logits(model), rtol=0, atol=1e-4),
            "the model computes something else from its word embeddings than from the ids of the tokens",
        )

    def test_a_classifier_starts_from_the_pre_trained_encoder(self, folder: Path, tmp_path: Path) -> None:
        """Its head depends on the seed alone, and neither the head nor the labels change the structure that tickets fit."""
        with reported_errors():
            (one, tokenizer), (again, _), (other, _) = (load_classifier(str(folder), LABELS, seed, no_warning) for seed in (1, 1, 2))
            bare = Backbone(load_encoder(str(folder), no_warning))
        backbone = self._backbone(folder, one)
        require(not differing_tensor(one.state_dict(), again.state_dict()), "two classifiers with the same seed differ")
        heads = [key for key in one.state_dict() if is_head(one, key)]
        require(
            any(not torch.equal(one.state_dict()[key], other.state_dict()[key]) for key in heads), "the head does not depend on the seed"
        )
        require(bool(backbone.classifier), "no linear module outside of the encoder has an output for each label")
        require(
            backbone.fingerprint() == bare.fingerprint() and backbone.weights_hash() == bare.weights_hash(),
            "the classifier has another structure, or other weights in its encoder, than the pre-trained model: see `pooler`",
        )
        pooler = self.component.pooler
        require(
            not (pooler and self.component.pooler_in_head) or backbone.has_pooler,
            f"`pooler` names `{pooler}`, and with `pooler_in_head` it must be a linear module of the classifier's head",
        )
        units = backbone.units(pooler=True, classifier=True)
        require(
            units[f"weights/{backbone.classifier[-1]}.weight"][0] == len(LABELS), "the last linear module of the head is not the classifier"
        )
        finished, _, names = load_finished(str(save(one, tokenizer, tmp_path / "model")), no_warning)
        require(
            names == LABELS and not differing_tensor(one.state_dict(), finished.state_dict()), "a saved classifier differs after loading"
        )

    def test_the_masked_language_model_head_is_named(self, folder: Path) -> None:
        """A family with such a head can be trained on plain text; any other is refused."""
        if not self.component.mlm_heads:
            with pytest.raises(UsageError, match="no masked-language-model head"):
                load_mlm(str(folder), 0, no_warning)
            return
        with reported_errors():
            (one, _, complete), (other, _, _) = (load_mlm(str(folder), seed, no_warning) for seed in (1, 2))
        require(not complete, "`mlm_heads` names modules that are in an encoder without a head")
        paths = self.component.mlm_heads
        found = next((path for path in paths if any(name == path for name, _ in one.named_modules())), "")
        require(bool(found), f"`mlm_heads` names {', '.join(paths)}, and {type(one).__name__} has no such module")
        head = {key: value for key, value in one.state_dict().items() if key.startswith(f"{found}.")}
        require(bool(differing_tensor(head, {key: other.state_dict()[key] for key in head})), f"`{found}` does not depend on the seed")
