"""Sentence embeddings: the mean of a transformers encoder's last hidden states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ticketlab.attacks.randomness import preserved
from ticketlab.attacks.victim import longest_input
from ticketlab.errors import ResourceError


class Encoder:
    """A transformers encoder with mean pooling. What it returns depends on the texts of the call alone."""

    def __init__(self, model: nn.Module, tokenizer: Any, *, max_length: int = 256, batch_size: int = 64) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.max_length = min(max_length, longest_input(model, tokenizer))
        self.batch_size = batch_size

    @classmethod
    def load(cls, name: str, device: str = "cpu") -> Encoder:
        """Read an encoder from a folder.

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
        if len(tokenizer) < 10:  # transformers 5 makes one out of nothing
            raise ResourceError(f"sentence encoder `{name}` does not load: there are no tokenizer files in it")
        return cls(model.to(device), tokenizer)

    def encode(self, sentences: Sequence[str]) -> Tensor:
        """Return one embedding a sentence, on the CPU; a repeated sentence is embedded once."""
        unique = sorted(set(sentences), key=lambda text: (len(text), text))
        rows = [self._embed(unique[start : start + self.batch_size]) for start in range(0, len(unique), self.batch_size)]
        if not rows:
            return torch.empty(0, 0)
        position = {text: index for index, text in enumerate(unique)}
        return torch.cat(rows)[[position[text] for text in sentences]]

    def _embed(self, texts: Sequence[str]) -> Tensor:
        device = next(self.model.parameters()).device
        batch = self.tokenizer(list(texts), padding=True, truncation=True, max_length=self.max_length, return_tensors="pt").to(device)
        with torch.inference_mode():
            hidden = self.model(**batch).last_hidden_state.float()
            mask = batch["attention_mask"].unsqueeze(-1).float()
            mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
            on_cpu: Tensor = mean.cpu()
        return on_cpu.clone()
