"""Masked language modelling on plain text (Devlin et al., 2019), the objective of task-agnostic tickets (ORTicket, 2024)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from attrs import frozen

from ticketlab.backbone import loading
from ticketlab.backbone.device import where_float64_works
from ticketlab.core.errors import DataError
from ticketlab.core.formatting import counted
from ticketlab.core.setting_values import parse_ratio
from ticketlab.core.settings import setting
from ticketlab.inference.random_state import derive_seed
from ticketlab.objectives.base import Objective, TrainingContext, TrainingParts, TrainingSession
from ticketlab.tasks.base import Example
from ticketlab.tasks.datasets import plain_text as texts
from ticketlab.tasks.reading.splits import stratified_sample
from ticketlab.tasks.trained_on import TrainedOn, hash_texts
from ticketlab.training.batch import Batch, TokenizedRows
from ticketlab.training.evaluation import evaluating
from ticketlab.training.masked_lm import MaskedLMLoss
from ticketlab.training.masking import NOT_MASKED, MaskingVocabulary, mask
from ticketlab.training.text_chunks import cut

BATCH = 64
"""Rows per forward pass on the development text."""


@frozen
class MaskedLM(Objective):
    """Predict words that are chosen at random in each step: 80 % are replaced by the mask token, 10 % by a random word, 10 % are kept.

    Results depend on the content of the text, not on its path. The development text is the validation file, or else a tenth of the
    paragraphs; its masks are the same in every run. A model without a masked-language-model head gets a new one whose decoder is tied to
    the word embeddings. Train that head first (``trains = "head"``); otherwise a search follows noise.
    """

    name: ClassVar[str] = "mlm"
    version: ClassVar[int] = 2  # 2: repeated paragraphs are all in the same split
    summary: ClassVar[str] = "masked language modelling on plain text, without a task"
    paper: ClassVar[str] = "Devlin et al., 2019, https://arxiv.org/abs/1810.04805"

    text: str = setting("", identity=False, help=texts.KINDS)
    config: str | None = setting(None, identity=False, help="the configuration of the hub data set, such as wikitext-2-raw-v1")
    text_column: str | None = setting(None, help="the column of the text; inferred if none")
    split_column: str | None = setting(
        "",
        help="the column that names the split of each row of a file; test rows are skipped; if empty, the column whose values are names of "
        "splits; none for all rows",
    )
    mask_ratio: float = setting(
        0.15, above=0, at_most=1, unit="fraction", converter=parse_ratio, help="fraction of the tokens to predict; at least one per row"
    )
    rows: int | None = setting(None, at_least=1, unit="paragraphs", help="train on at most this many, chosen by a hash of the id")
    dev_rows: int | None = setting(500, at_least=1, unit="paragraphs", help="evaluate on at most this many, chosen in the same way")
    max_length: int | None = setting(
        None,
        at_least=4,
        unit="tokens",
        help="split longer paragraphs into pieces, whatever the task's maximum length; none: the recipe's",
    )
    shortest: int = setting(8, at_least=1, unit="tokens", help="skip shorter paragraphs, such as headings")

    def start_session(self, context: TrainingContext) -> TrainingSession:
        """Load the model with its head, or one initialised from the run's seed, and split the text into rows."""
        return _MaskedLMSession(self, context)

    def external_inputs(self) -> Mapping[str, str]:
        """Return the files of the text, or the hash of a hub data set."""
        if not texts.is_local(self.text):
            return {"text": f"sha256:{self._read().fingerprint}"}
        by_split = texts.find_text_files(self.text)
        return {f"{split}.{index}": str(file) for split, files in by_split.items() for index, file in enumerate(files)}

    def _read(self) -> texts.Paragraphs:
        return texts.read_paragraphs(self.text, self.config, self.text_column, self.split_column)


class _MaskedLMSession(TrainingSession):
    def __init__(self, settings: MaskedLM, context: TrainingContext) -> None:
        self._settings = settings
        self._context = context
        self.model, self.tokenizer, has_head = loading.load_mlm(context.start, derive_seed(context.seed, "mlm head"), context.warn)
        self.head = "found" if has_head else "new"
        self._vocabulary = MaskingVocabulary.of(self.tokenizer, self.model.get_input_embeddings().num_embeddings)
        read = settings._read()
        self._fingerprint = read.fingerprint
        self._dropped = dict(read.dropped)
        for notice in read.notices:
            context.say(notice)
        self.rows, short = self._rows(read.train, settings.rows)
        development, short_too = self._rows(read.dev, settings.dev_rows)
        self._texts = hash_texts(text=(paragraph.texts for paragraph in _chosen(read.train, settings.rows)))
        self._dropped["short"] = short + short_too
        self._development = development
        if all(bool((batch.labels == NOT_MASKED).all()) for batch in self._development_batches):
            raise DataError(f"{settings.text}: no token of the development text is in the vocabulary of the tokenizer; use another text")

    def loss_function(self, parts: TrainingParts) -> MaskedLMLoss:
        seed = derive_seed(self._context.seed, "masks")
        ratio, precision = self._settings.mask_ratio, self._context.precision
        return MaskedLMLoss(
            self.model, self._vocabulary, ratio=ratio, seed=seed, precision=precision, callbacks=parts.callbacks, outputs=parts.outputs
        )

    def evaluate(self) -> dict[str, float]:
        loss_function = self.loss_function(TrainingParts())
        device = next(self.model.parameters()).device
        loss = right = count = 0.0
        with evaluating(self.model):
            for batch in self._development_batches:
                moved = batch.to(device)
                output = loss_function(moved)
                targets = moved.labels[moved.labels != NOT_MASKED]
                loss += float(where_float64_works(output.losses * output.weights).double().sum())
                right += int((output.logits.argmax(dim=1) == targets).sum())
                count += len(targets)
        return {"dev_accuracy": right / count, "dev_loss": loss / count}

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "dev_rows": len(self._development), "dropped": self._dropped}

    def texts(self) -> TrainedOn:
        return self._texts

    def provenance(self) -> dict[str, str]:
        return {"text_fingerprint": self._fingerprint}

    @functools.cached_property
    def _development_batches(self) -> list[Batch]:
        """The development rows, with masks that depend on the rows alone."""
        ratio = self._settings.mask_ratio
        return [
            mask(self._development.collate(indices), self._vocabulary, ratio, derive_seed(0, "development", index))
            for index, indices in enumerate(self._development.by_length(BATCH))
        ]

    def _rows(self, paragraphs: Sequence[Example], limit: int | None) -> tuple[TokenizedRows, int]:
        chosen = _chosen(paragraphs, limit)
        rows, short = cut([paragraph.texts[0] for paragraph in chosen], self.tokenizer, self._context.max_length, self._settings.shortest)
        if not len(rows):
            raise DataError(
                f"{self._settings.text}: none of {counted(len(chosen), 'paragraph')} has "
                f"{counted(self._settings.shortest, 'token')} or more; "
                "lower objective.shortest, or put more text on each line"
            )
        return rows, short


def _chosen(paragraphs: Sequence[Example], limit: int | None) -> list[Example]:
    return list(paragraphs) if limit is None else stratified_sample(paragraphs, limit)[0]
