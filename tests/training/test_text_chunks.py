import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ticketlab.backbone.loading import load_tokenizer
from ticketlab.training.text_chunks import cut

WORDS = ["good", "film", "the", "zebra", "a", "not"]


@pytest.fixture(params=["bert", "roberta"])
def tokenizer(request, tiny):
    return load_tokenizer(str(tiny[request.param]))


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=80), min_size=1, max_size=5), st.integers(4, 40))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_split_paragraphs_lose_no_text(tokenizer, paragraphs, max_length):
    texts = [" ".join(words) for words in paragraphs]
    rows, short = cut(texts, tokenizer, max_length)
    assert short == 0
    assert max(len(row) for row in rows.input_ids) <= max_length
    assert all((row[0], row[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id) for row in rows.input_ids)
    whole = tokenizer(texts, add_special_tokens=False)["input_ids"]
    assert list(itertools.chain(*(row[1:-1] for row in rows.input_ids))) == list(itertools.chain(*whole))


def test_a_short_paragraph_is_the_tokenizers_row(tokenizer):
    rows, _ = cut(["a good film"], tokenizer, 64)
    assert list(rows.input_ids[0]) == tokenizer("a good film")["input_ids"]


def test_short_paragraphs_are_skipped_and_counted_but_not_short_ends_of_long_ones(tokenizer):
    rows, short = cut(["good film", "good " * 63], tokenizer, 64, shortest=5)
    assert short == 1
    assert sum(len(row) - 2 for row in rows.input_ids) == 63
    assert len(rows) == 2


def test_no_piece_is_longer_than_the_models_maximum(tokenizer):
    rows, _ = cut(["good film " * 500], tokenizer, 5000)
    assert max(len(row) for row in rows.input_ids) <= tokenizer.model_max_length
