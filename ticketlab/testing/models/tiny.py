"""Tiny models with real tokenizers, for the tests of plugins: they are written quickly and trained in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ticketlab.backbone.saving import save
from ticketlab.core.errors import UsageError
from ticketlab.testing.models.tiny_config import Family as Family
from ticketlab.testing.models.tiny_config import tiny_config
from ticketlab.testing.models.tiny_tokenizer import tiny_tokenizer

if TYPE_CHECKING:
    from transformers import PretrainedConfig

LARGEST = 2_000_000
"""Parameters of a model that is tiny."""


def tiny_model(model: str | PretrainedConfig, folder: str | Path, *, seed: int = 0) -> Path:
    """Write a tiny model with its tokenizer to a folder, in the format of a pre-trained model, and return the folder.

    ``model`` is a model type of transformers, such as ``"bert"`` or ``"llama"``, or a config, such as
    ``AutoConfig.for_model("llama", hidden_size=32, ...)``. The model of a type has 2 different layers with 4 heads and 64 neurons each
    (ALBERT runs each twice), a hidden size of 32 and a maximum length of 128 tokens. That of a config has its sizes; the size of the
    vocabulary and the ids of special tokens are those of the tokenizer. The vocabulary has some 400 common English words; other words are
    split into characters. The weights are random, initialised from ``seed`` without changing the global random state. There is no head.
    The folder can be loaded with ``from_pretrained`` and used wherever ticketlab takes a model.

    :raises UsageError: transformers has no such model type, or no tiny encoder or decoder can be made of the type or config.
    """
    from transformers import AutoModel

    config = tiny_config(model)
    tokenizer = tiny_tokenizer(config)
    try:
        type(config).from_dict(config.to_dict())  # as it will be read
        with torch.device("meta"):
            size = sum(parameter.numel() for parameter in AutoModel.from_config(config).parameters())
        if size > LARGEST:
            raise ValueError(f"these sizes have {size:,} parameters, and a tiny model has {LARGEST:,} or less")
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.default_generator.manual_seed(seed)
            made = AutoModel.from_config(config).eval()
            made(input_ids=torch.tensor([tokenizer("a good film")["input_ids"]]))
    except Exception as problem:  # the code of a family may raise anything for sizes that it does not expect
        reason = " ".join(str(problem).split())[:150]
        raise UsageError(
            f"no tiny `{config.model_type}` model can be made ({type(problem).__name__}: {reason}); pass a config with sizes that fit"
        ) from None
    return save(made, tokenizer, folder)
