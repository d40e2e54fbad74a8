"""Tiny models of any model type or config: what they are made of, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer

from ticketlab.backbone.loading import load_tokenizer
from ticketlab.core.errors import UsageError
from ticketlab.testing import tiny_model

LLAMA = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 40, "max_position_embeddings": 50}


def test_tiny_models_depend_on_the_seed_alone_and_have_an_english_vocabulary(tmp_path: Path) -> None:
    state = torch.get_rng_state()
    one, same, other = (tiny_model("bert", tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1)))
    assert (one / "model.safetensors").read_bytes() == (same / "model.safetensors").read_bytes()
    assert (one / "model.safetensors").read_bytes() != (other / "model.safetensors").read_bytes()
    assert load_tokenizer(str(one)).tokenize("A great movie, zany!") == ["a", "great", "movie", ",", "z", "##a", "##n", "##y", "!"]
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("model_type", "padding", "around"),
    [("xlm-roberta", 1, [0, 2]), ("megatron-bert", 0, [2, 3]), ("llama", None, []), ("gpt_neox", None, []), ("roformer", 0, [2, 3])],
)
def test_a_model_type_without_an_adapter_has_the_sizes_and_special_tokens_of_its_kind(
    tmp_path: Path, model_type: str, padding: int | None, around: list[int]
) -> None:
    folder = tiny_model(model_type, tmp_path / "model")
    model, tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    config = model.config
    assert (config.hidden_size, config.num_hidden_layers, config.num_attention_heads, config.intermediate_size) == (32, 2, 4, 64)
    assert config.vocab_size == len(tokenizer) == model.get_input_embeddings().num_embeddings
    assert config.pad_token_id == tokenizer.pad_token_id == padding
    assert tokenizer.model_max_length == 128
    found = tokenizer("good")["input_ids"]
    assert [*found[:1], *found[-1:]] == around or (around == [] and len(found) == 1)
    with torch.no_grad():
        model(input_ids=torch.tensor([found * (128 // len(found))]))  # as long as it may be


def test_a_config_keeps_its_sizes_and_gets_the_ids_of_the_tokenizer(tmp_path: Path) -> None:
    given = AutoConfig.for_model("llama", **LLAMA)
    folder = tiny_model(given, tmp_path / "model")
    config, tokenizer = AutoConfig.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert {name: getattr(config, name) for name in LLAMA} == LLAMA
    assert (config.vocab_size, config.bos_token_id, config.eos_token_id) == (len(tokenizer), tokenizer.bos_token_id, tokenizer.eos_token_id)
    assert tokenizer.model_max_length == 50
    assert given.vocab_size == 32_000


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("beert", "^transformers has no model type `beert`; did you mean `bert`"),
        ("t5", "^`t5` models have both an encoder and a decoder; choose a model type with one of them"),
        ("vit", "^no tiny `vit` model can be made .*; pass a config with sizes that fit"),
        ("gpt_neo", "`gpt_neo` .*(attention_layers|convolutional).*; pass a config"),
        (AutoConfig.for_model("bert"), r"^no tiny `bert` model can be made \(ValueError: these sizes have 8\d,\d*,\d* parameters"),
        (AutoConfig.for_model("bert", hidden_size=30, num_attention_heads=4), "hidden size .30. is not a multiple"),
    ],
    ids=["misspelt", "encoder and decoder", "images", "lists of sizes", "full size", "inconsistent"],
)
def test_a_model_that_cannot_be_tiny_is_refused_in_one_line(tmp_path: Path, model: object, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        tiny_model(model, tmp_path / "model")  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "model").exists()
