"""Input coverage: truncated and unknown tokens, counted while texts are tokenised."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from ticketlab.backbone.loading import load_tokenizer
from ticketlab.core.errors import UsageError
from ticketlab.tasks.base import Example
from ticketlab.training.batch import tokenize
from ticketlab.training.input_coverage import InputCoverage
from ticketlab.training.text_chunks import cut

DINOSAUR = "\U0001f995"
ARABIC = "هذا الفيلم رائع"
THAI = "ภาพยนตร์เรื่องนี้ยอดเยี่ยม"[:20]


def examples(*texts):
    return [Example(str(number), text if isinstance(text, tuple) else (text,), 0) for number, text in enumerate(texts)]


@pytest.fixture(scope="module")
def tokenizer(tiny):
    return load_tokenizer(str(tiny["bert"]))


@pytest.fixture(scope="module")
def bytes_alone():
    """A tokenizer like GPT-2's: byte-level, without special tokens around a text."""
    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE(vocab=letters | {"<|end|>": len(letters)}, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<|end|>", eos_token="<|end|>", unk_token="<|end|>")


@pytest.mark.parametrize(
    ("texts", "max_length", "expected"),
    [
        pytest.param(["good film", "bad"], 16, InputCoverage(rows=2, tokens=3, characters=11), id="all seen"),
        pytest.param(
            [f"good {DINOSAUR} film"],
            16,
            InputCoverage(rows=1, tokens=3, unknown_tokens=1, characters=9, unknown_characters=1),
            id="an emoji",
        ),
        pytest.param(
            [DINOSAUR, "good"],
            16,
            InputCoverage(rows=2, tokens=2, unknown_tokens=1, unseen=1, characters=5, unknown_characters=1),
            id="an emoji alone",
        ),
        pytest.param(["\u200b", "good"], 16, InputCoverage(rows=2, tokens=1, unseen=1, characters=5), id="a space without width"),
        pytest.param(
            [ARABIC],
            16,
            InputCoverage(rows=1, tokens=3, unknown_tokens=3, unseen=1, characters=13, unknown_characters=13),
            id="another script",
        ),
        pytest.param(
            [f"a good film {THAI}"],
            16,
            InputCoverage(rows=1, tokens=4, unknown_tokens=1, characters=29, unknown_characters=20),
            id="without spaces",
        ),
        pytest.param(["good film " * 4, "bad"], 6, InputCoverage(rows=2, truncated=1, cut_tokens=4, tokens=5, characters=19), id="cut off"),
        pytest.param(
            [f"good film good film {DINOSAUR}"],
            6,
            InputCoverage(rows=1, truncated=1, cut_tokens=1, tokens=4, characters=16),
            id="unknown and cut off",
        ),
        pytest.param(
            [("good film", DINOSAUR)],
            16,
            InputCoverage(rows=1, tokens=3, unknown_tokens=1, unseen=1, characters=9, unknown_characters=1),
            id="a second text unseen",
        ),
        pytest.param(
            [("good film " * 9, "bad")],
            8,
            InputCoverage(rows=1, truncated=1, cut_tokens=14, tokens=5, characters=19),
            id="the longer of a pair is cut",
        ),
    ],
)
def test_truncated_and_unknown_tokens_are_counted(tokenizer, texts, max_length, expected):
    rows = tokenize(examples(*texts), tokenizer, max_length)
    assert rows.coverage.facts() == expected.facts()
    assert (rows.coverage.rows, rows.coverage.longest) == (expected.rows, max_length)
    assert rows.truncated == expected.truncated


@pytest.mark.parametrize("pair", [False, True])
def test_truncated_and_other_rows_equal_those_of_the_tokenizer(tokenizer, pair):
    texts = ["good film " * count for count in (1, 9, 2, 30)]
    columns = [texts, texts[::-1]] if pair else [texts]
    expected = tokenizer(*columns, truncation=True, max_length=12)
    rows = tokenize(examples(*(list(zip(*columns, strict=True)) if pair else texts)), tokenizer, 12)
    assert rows.input_ids == expected["input_ids"]
    assert rows.token_type_ids == expected["token_type_ids"]


def test_only_rows_that_are_too_long_are_tokenised_again(tokenizer):
    given = []

    class Counting:
        def __call__(self, texts, **named):
            given.append(len(texts))
            return tokenizer(texts, **named)

        def __getattr__(self, name):
            return getattr(tokenizer, name)

    tokenize(examples("good film " * 9, *["bad"] * 99), Counting(), 12)
    assert given == [100, 1]


@pytest.mark.parametrize(("text", "least"), [("good", 3), (("good", "bad"), 5)])
def test_a_length_without_room_for_a_token_of_each_text_is_refused(tokenizer, text, least):
    assert len(tokenize(examples(text), tokenizer, least).input_ids[0]) == least
    with pytest.raises(UsageError, match=rf"max_length {least - 1}: .* needs {least} tokens or more"):
        tokenize(examples(text), tokenizer, least - 1)


def test_plain_text_has_the_same_minimum_length_and_its_unknown_tokens_are_counted(tokenizer):
    rows, _ = cut([f"good film {DINOSAUR} bad"] * 2, tokenizer, 4)
    assert rows.coverage == InputCoverage(rows=4, tokens=8, unknown_tokens=2, longest=4, most=128, characters=24, unknown_characters=2)
    with pytest.raises(UsageError, match="needs 3 tokens or more"):
        cut(["good"], tokenizer, 2)


def test_a_text_without_tokens_becomes_the_begin_of_text_token(bytes_alone):
    rows = tokenize(examples("", "ab"), bytes_alone, 8)
    assert rows.input_ids[0] == [bytes_alone.bos_token_id]
    assert rows.coverage == InputCoverage(rows=2, tokens=2, unseen=1, longest=8, characters=2)


def test_a_pair_without_a_separator_is_a_warning(bytes_alone, tokenizer):
    apart, together = (tokenize(examples(("ab", "cd")), chosen, 16).coverage for chosen in (tokenizer, bytes_alone))
    assert not apart.is_poor
    assert together.is_poor
    assert "no separator between the two texts of a pair" in together.summary()


@pytest.mark.parametrize(
    ("few", "many", "words"),
    [
        (
            InputCoverage(100, truncated=5, cut_tokens=9, tokens=991),
            InputCoverage(100, truncated=6, cut_tokens=9, tokens=991),
            "6 of 100 examples (6.0 %)",
        ),
        (
            InputCoverage(100, tokens=100, unknown_tokens=2),
            InputCoverage(100, tokens=100, unknown_tokens=3),
            "3.0 % of the tokens are unknown to the model",
        ),
        (
            InputCoverage(100, tokens=200, unknown_tokens=4, characters=100, unknown_characters=2),
            InputCoverage(100, tokens=200, unknown_tokens=4, characters=100, unknown_characters=3),
            "2.0 % of the tokens are unknown to the model, with 3.0 % of the characters",
        ),
        (
            InputCoverage(100, 5, 9, 991, longest=64, most=512),
            InputCoverage(100, 6, 9, 991, longest=64, most=512),
            "cut off at 64 tokens (--max-length; the model's maximum is 512), which",
        ),
        (
            InputCoverage(100, 5, 9, 991, longest=64, most=64),
            InputCoverage(100, 6, 9, 991, longest=64, most=64),
            "cut off at 64 tokens (the model's maximum), which",
        ),
        (
            InputCoverage(100, tokens=100, unseen=1),
            InputCoverage(100, tokens=100, unseen=2),
            "2 examples of 100 without any known token",
        ),
    ],
)
def test_coverage_is_poor_above_each_threshold(few, many, words):
    assert (few.is_poor, many.is_poor) == (False, True)
    assert words in many.summary()
    assert few.summary()


def test_full_coverage_has_an_empty_summary():
    assert InputCoverage(100, tokens=900).summary() == ""
    assert InputCoverage().facts()["unknown_share"] is None
