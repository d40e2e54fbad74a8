"""Sentence embeddings: the mean of a transformers encoder's last hidden states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.core.component import Precision
from ticketlab.core.errors import ResourceError
from ticketlab.core.recent import Recent
from ticketlab.inference import tokenization
from ticketlab.inference.batch_invariant import BatchInvariantModel, length
from ticketlab.inference.packing import Packing, Row, runs
from ticketlab.inference.random_state import preserved
from ticketlab.inference.victim import longest_input

_RECENT = 2**13
"""The number of embeddings kept: those of one step of 64 attacks with about 100 candidates, some 12 MB for a width of 384."""


class SentenceEncoder:
    """A transformers encoder with mean pooling. The embedding of a text depends on that text alone."""

    def __init__(self, model: nn.Module, tokenizer: Any, *, max_length: int = 256, precision: Precision = "fp32") -> None:
        self.tokenizer = tokenizer
        """The tokenizer of the model."""
        self.max_length = min(max_length, longest_input(model, tokenizer))
        """The maximum length of a text in tokens."""
        self.batch_invariant_model = BatchInvariantModel(model.eval(), self._means, precision=precision, packing=Packing(model))
        """The model, which gives a row the same bits in any batch."""
        self._recent: Recent[str, Tensor] = Recent(_RECENT)

    @classmethod
    def load(cls, name: str, device: str = "cpu", precision: Precision = "fp32") -> SentenceEncoder:
        """Load an encoder from a folder.

        :raises ResourceError: it does not load.
        """
        from transformers import AutoModel, AutoTokenizer

        try:
            with preserved():
                model = AutoModel.from_pretrained(name, local_files_only=True, use_safetensors=True, trust_remote_code=False)
                tokenizer = AutoTokenizer.from_pretrained(name, local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError) as problem:
            reason = " ".join(str(problem).split())[:200]
            raise ResourceError(f"sentence encoder `{name}` does not load: {reason}") from problem
        if len(tokenizer) < 10:  # transformers 5 creates an empty one if there are no files
            raise ResourceError(f"sentence encoder `{name}` does not load: it has no tokenizer files")
        return cls(model.to(device), tokenizer, precision=precision)

    def encode(self, sentences: Sequence[str]) -> Tensor:
        """Return the embedding of each sentence, in float32 on the CPU.

        Repeated sentences are embedded once, and those that were used recently not again: an attack compares many texts with the same one.
        """
        if not sentences:
            return torch.empty(0, 0)
        known = {sentence: self._recent.get(sentence) for sentence in sentences}
        new = [sentence for sentence, embedding in known.items() if embedding is None]
        rows = list(tokenization.rows(self.tokenizer, [(sentence,) for sentence in new], self.max_length))
        computed = dict(zip(new, self.batch_invariant_model(rows), strict=True))
        embeddings = {sentence: computed[sentence] if found is None else found for sentence, found in known.items()}
        self._recent.use(embeddings)
        return torch.stack([embeddings[sentence] for sentence in sentences])

    def unknown_share(self, sentences: Sequence[str]) -> float:
        """Return the fraction of the tokens of the sentences, without special tokens, that are unknown; 0 if there are no tokens."""
        if not sentences:
            return 0.0
        ids = self.tokenizer(list(sentences), add_special_tokens=False, truncation=True, max_length=self.max_length)["input_ids"]
        tokens = [token for row in ids for token in row]
        return tokens.count(self.tokenizer.unk_token_id) / len(tokens) if tokens else 0.0

    def _means(self, batch: Mapping[str, Tensor], rows: Sequence[Row]) -> Sequence[Tensor]:
        hidden: Tensor = self.batch_invariant_model.model(**batch).last_hidden_state.flatten(0, 1).float()
        shapes = runs(length(row) for row in rows)
        sizes = [tokens * count for tokens, count in shapes]
        parts = torch.split(hidden[: sum(sizes)], sizes)
        means = [part.view(count, tokens, -1).mean(1) for part, (tokens, count) in zip(parts, shapes, strict=True)]
        return torch.cat(means).cpu().unbind()
